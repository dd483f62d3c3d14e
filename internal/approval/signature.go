// Package approval reads, checks and writes approvals: OpenSSH signatures over a file, and the file of those
// who may sign.
//
// A signature counts if its key is listed among the approvers, for the namespace and for today, and if it is
// a signature over exactly the given text. Persons count, not keys: a person is everything that principals
// and keys connect. If a key is listed under two principals, these are one person, and so are all keys of
// both.
package approval

import (
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// Namespace is the purpose of the signatures. A signature made for another purpose does not approve.
const Namespace = "till-payout"

// MaxSignature is the most bytes of a signature. One with a long RSA key has about 3000.
const MaxSignature = 64 << 10

// A Message is a text that is signed. Write adds to it.
type Message struct{ sha256, sha512 hash.Hash }

// NewMessage returns an empty Message.
func NewMessage() *Message { return &Message{sha256.New(), sha512.New()} }

// Write implements io.Writer. It never fails.
func (m *Message) Write(p []byte) (int, error) {
	m.sha256.Write(p)
	return m.sha512.Write(p)
}

// signed returns what the key of a signature has signed, as in the file PROTOCOL.sshsig of OpenSSH. The text
// is hashed once for all signatures, and not once for each, as sshsig.Verify does.
func (m *Message) signed(algorithm sshsig.HashAlgorithm) ([]byte, error) {
	sum := map[sshsig.HashAlgorithm]hash.Hash{sshsig.HashSHA256: m.sha256, sshsig.HashSHA512: m.sha512}[algorithm]
	if sum == nil {
		return nil, fmt.Errorf("its hash algorithm %q is not known", algorithm)
	}
	return append([]byte("SSHSIG"), ssh.Marshal(struct{ Namespace, Reserved, Algorithm, Hash string }{
		Namespace, "", algorithm.String(), string(sum.Sum(nil))})...), nil
}

// A Signature is a signature by a person who may approve, over a given text.
type Signature struct {
	Person
	Key         string // in the format of authorized_keys, without a comment
	Fingerprint string
	Armored     string // as ssh-keygen reads it
}

// Verify checks a signature over a message. The error says why it does not count, in words that follow the
// name of its file.
func (a Approvers) Verify(m *Message, armored []byte, now time.Time) (Signature, error) {
	parsed, err := sshsig.Unarmor(armored)
	if err != nil || hasMore(parsed) {
		return Signature{}, errors.New("it is not an OpenSSH signature")
	}
	if parsed.Namespace != Namespace {
		return Signature{}, fmt.Errorf("it is for the namespace %q, and not for %s", parsed.Namespace, Namespace)
	}
	l, err := a.find(parsed.PublicKey, now)
	if err != nil {
		return Signature{}, err
	}
	text, err := m.signed(parsed.HashAlgorithm)
	if err != nil {
		return Signature{}, err
	}
	if err := l.key.Verify(text, parsed.Signature); err != nil {
		return Signature{}, fmt.Errorf("it is not a signature of %s over this plan", l.principals[0])
	}
	return Signature{
		Person: a.person(l), Fingerprint: l.fingerprint, Armored: string(sshsig.Armor(parsed)),
		Key: string(trimLine(ssh.MarshalAuthorizedKey(l.key))),
	}, nil
}

// hasMore reports whether something follows the signature of a key. ssh-keygen refuses that, so nobody could
// verify later what the journal keeps. With a token, its flags and counter follow.
func hasMore(s *sshsig.Signature) bool {
	return len(s.Signature.Rest) > 0 && !strings.HasPrefix(s.PublicKey.Type(), "sk-")
}

func trimLine(text []byte) []byte { return text[:len(text)-1] }

// find returns a line on which a key is valid. If it is listed and not valid, the error says why.
func (a Approvers) find(key ssh.PublicKey, now time.Time) (line, error) {
	fingerprint := ssh.FingerprintSHA256(key)
	why := fmt.Errorf("its key %s is not one of the approvers'", fingerprint)
	for _, l := range a.lines {
		if l.fingerprint != fingerprint {
			continue
		}
		if why = l.invalid(now); why == nil {
			return l, nil
		}
		why = fmt.Errorf("%w (%s)", why, l.principals[0])
	}
	return line{}, why
}

// Sign signs a text, and returns the signature as ssh-keygen writes it.
func Sign(text io.Reader, signer ssh.Signer) ([]byte, error) {
	if err := checkKey(signer.PublicKey()); err != nil {
		return nil, err
	}
	s, err := sshsig.Sign(text, signer, sshsig.HashSHA512, Namespace)
	if err != nil {
		return nil, err
	}
	return sshsig.Armor(s), nil
}
