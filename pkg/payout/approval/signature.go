package approval

import (
	"bytes"
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

// verify checks a signature over a message. The error says why it does not count, in words that follow the
// name of its file.
func (a Approvers) verify(m *Message, armored []byte, now time.Time) (Approval, error) {
	parsed, err := sshsig.Unarmor(armored)
	if err != nil || hasMore(parsed) {
		return Approval{}, errors.New("it is not an OpenSSH signature")
	}
	if bytes.Count(armored, []byte("-----BEGIN SSH SIGNATURE-----")) > 1 {
		return Approval{}, errors.New("it has several signatures: write each to a file of its own")
	}
	if _, is := parsed.PublicKey.(*ssh.Certificate); is {
		return Approval{}, errors.New("it was made with a certificate, and certificates are not accepted")
	}
	if parsed.Namespace != Namespace {
		return Approval{}, fmt.Errorf("it is for the namespace %q, and not for %s", parsed.Namespace, Namespace)
	}
	l, err := a.find(parsed.PublicKey, now)
	if err != nil {
		return Approval{}, err
	}
	text, err := m.signed(parsed.HashAlgorithm)
	if err != nil {
		return Approval{}, err
	}
	if err := l.key.Verify(text, parsed.Signature); err != nil {
		if untouched(parsed.Signature) {
			return Approval{}, fmt.Errorf("the token that made it was not touched (%s)", l.principals[0])
		}
		return Approval{}, fmt.Errorf("it is not a signature of %s over this plan", l.principals[0])
	}
	return Approval{Principal: l.principals[0], Key: strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(l.key)), "\n"),
		Fingerprint: l.fingerprint, Signature: string(sshsig.Armor(parsed)), person: l.person}, nil
}

// hasMore reports whether something follows the signature of a key. ssh-keygen refuses that, so no one could
// verify later what the journal keeps. With a token, its flags and counter follow.
func hasMore(s *sshsig.Signature) bool {
	most := 0
	if strings.HasPrefix(s.PublicKey.Type(), "sk-") {
		most = tokenFields
	}
	return len(s.Signature.Rest) > most
}

// tokenFields is the length of what a token adds to a signature: a byte with flags and a counter of 4 bytes.
// The lowest flag says that somebody has touched the token. ssh.PublicKey.Verify demands it, but has no error
// of its own for it.
const tokenFields = 5

func untouched(s *ssh.Signature) bool {
	return strings.HasPrefix(s.Format, "sk-") && len(s.Rest) == tokenFields && s.Rest[0]&1 == 0
}

// Find returns the principal of a key, which is empty if the key is not listed. If a signature with it would not count
// now, the error says why, in words that follow "it".
func (a Approvers) Find(key ssh.PublicKey, now time.Time) (principal string, err error) {
	l, err := a.find(key, now)
	if l.key != nil {
		principal = l.principals[0]
	}
	return principal, err
}

// find returns a line on which a key is valid or, with an error, one on which it is not.
func (a Approvers) find(key ssh.PublicKey, now time.Time) (found line, why error) {
	fingerprint := ssh.FingerprintSHA256(key)
	why = fmt.Errorf("its key %s is not one of the approvers'", fingerprint)
	for _, l := range a.lines {
		if l.fingerprint != fingerprint {
			continue
		}
		switch bad := l.invalid(now); {
		case bad == nil:
			return l, nil
		case found.key == nil:
			found, why = l, fmt.Errorf("%w (%s)", bad, l.principals[0])
		}
	}
	return found, why
}

// Sign signs a text, and returns the signature as ssh-keygen writes it. It returns no signature that verify
// would refuse, whatever the agent or the token answers.
func Sign(text io.Reader, signer ssh.Signer) ([]byte, error) {
	key, err := ssh.ParsePublicKey(signer.PublicKey().Marshal()) // that of an agent has no methods for its type
	if err != nil {
		return nil, err
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	m := NewMessage()
	s, err := sshsig.Sign(io.TeeReader(text, m), signer, sshsig.HashSHA512, Namespace)
	if err != nil {
		return nil, err
	}
	signed, err := m.signed(s.HashAlgorithm)
	if err != nil {
		return nil, err
	}
	switch err := key.Verify(signed, s.Signature); {
	case err != nil && untouched(s.Signature):
		return nil, errors.New("the token was not touched, and a signature without that does not count")
	case err != nil || hasMore(s):
		return nil, fmt.Errorf("the answer of the agent or token is not a signature of the key %s", ssh.FingerprintSHA256(key))
	}
	return sshsig.Armor(s), nil
}
