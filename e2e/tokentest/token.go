// Package tokentest emulates FIDO2 tokens, for tests. A token signs as the file PROTOCOL.u2f of OpenSSH says.
package tokentest

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// Flags of a signature, as a token reports them.
const (
	Touched  = 1 << 0
	Verified = 1 << 2 // by a PIN or a fingerprint
)

// Application is what OpenSSH calls itself to a token.
const Application = "ssh:"

// A Token is an ssh.Signer whose key is on a token. Its fields may be changed until it is served.
type Token struct {
	Flags       byte
	Counter     uint32 // of the last signature
	Application string // for which it signs; that of its key is always the same
	Extra       []byte // more than belongs into a signature

	public ssh.PublicKey
	key    ssh.Signer // without the token
	using  sync.Mutex
}

// New returns a token with a new key of a type: ssh.KeyAlgoSKED25519 or ssh.KeyAlgoSKECDSA256.
func New(kind string) (*Token, error) {
	var private any
	var err error
	switch kind {
	case ssh.KeyAlgoSKED25519:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case ssh.KeyAlgoSKECDSA256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		err = fmt.Errorf("a token has no key of the type %q", kind)
	}
	if err != nil {
		return nil, err
	}
	t := &Token{Flags: Touched, Application: Application}
	if t.key, err = ssh.NewSignerFromKey(private); err != nil {
		return nil, err
	}
	plain := t.key.PublicKey()
	public := ssh.Marshal(struct{ Type string }{kind})
	public = append(public, plain.Marshal()[4+len(plain.Type()):]...) // the fields behind the type
	public = append(public, ssh.Marshal(struct{ Application string }{Application})...)
	t.public, err = ssh.ParsePublicKey(public)
	return t, err
}

// PublicKey implements ssh.Signer.
func (t *Token) PublicKey() ssh.PublicKey { return t.public }

// Sign implements ssh.Signer.
func (t *Token) Sign(_ io.Reader, data []byte) (*ssh.Signature, error) {
	t.using.Lock()
	defer t.using.Unlock()
	t.Counter++
	application, message := sha256.Sum256([]byte(t.Application)), sha256.Sum256(data)
	said := ssh.Marshal(struct {
		Flags   byte
		Counter uint32
	}{t.Flags, t.Counter})
	signature, err := t.key.Sign(rand.Reader, slices.Concat(application[:], said, message[:]))
	if err != nil {
		return nil, err
	}
	return &ssh.Signature{Format: t.public.Type(), Blob: signature.Blob, Rest: append(said, t.Extra...)}, nil
}

// Untouched makes the token sign without being touched from now on.
func (t *Token) Untouched() {
	t.using.Lock()
	defer t.using.Unlock()
	t.Flags &^= Touched
}

// Serve answers clients of the SSH agent that has the token, until the listener is closed.
func (t *Token) Serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			agent.ServeAgent(holder{agent.NewKeyring(), t}, conn)
		}()
	}
}

// holder is an agent that has the key of a token, and no other.
type holder struct {
	agent.Agent
	token *Token
}

// List implements agent.Agent.
func (h holder) List() ([]*agent.Key, error) {
	key := h.token.public
	return []*agent.Key{{Format: key.Type(), Blob: key.Marshal(), Comment: "token"}}, nil
}

// Sign implements agent.Agent.
func (h holder) Sign(key ssh.PublicKey, data []byte) (*ssh.Signature, error) {
	if string(key.Marshal()) != string(h.token.public.Marshal()) {
		return nil, errors.New("the agent does not have the key")
	}
	return h.token.Sign(rand.Reader, data)
}

// Line returns the public key as ssh-keygen writes it to a file.
func (t *Token) Line() string {
	return strings.TrimSuffix(string(ssh.MarshalAuthorizedKey(t.public)), "\n") + " token\n"
}
