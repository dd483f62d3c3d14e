package approval

import (
	"crypto/rand"
	"crypto/rsa"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/till/e2e/tokentest"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

func tokenKinds() []string { return []string{ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256} }

func newToken(t *testing.T, kind string) *tokentest.Token {
	t.Helper()
	token, err := tokentest.New(kind)
	ok(t, err)
	return token
}

// TestTokenSignatures compares for signatures of tokens what verify says with what ssh-keygen says. It also
// demands that the token was touched, as sshd does.
func TestTokenSignatures(t *testing.T) {
	const over, untouched = "it is not a signature of ann over this plan", "the token that made it was not touched (ann)"
	for _, kind := range tokenKinds() {
		for name, c := range map[string]struct {
			token   func(*tokentest.Token)  // before it signs
			changed func(*sshsig.Signature) // after it has signed
			want    string                  // empty: it is accepted
			keygen  bool                    // whether ssh-keygen accepts it
		}{
			"touched":         {keygen: true},
			"with a PIN":      {token: func(k *tokentest.Token) { k.Flags |= tokentest.Verified }, keygen: true},
			"a large counter": {token: func(k *tokentest.Token) { k.Counter = 1<<32 - 2 }, keygen: true},
			"not touched":     {token: func(k *tokentest.Token) { k.Flags = 0 }, keygen: true, want: untouched},
			"a PIN and no touch": {token: func(k *tokentest.Token) { k.Flags = tokentest.Verified }, keygen: true,
				want: untouched},
			"for another application": {token: func(k *tokentest.Token) { k.Application = "https://shop.example" },
				want: over},
			"a changed flag":    {changed: func(s *sshsig.Signature) { s.Signature.Rest[0] |= tokentest.Verified }, want: over},
			"a changed counter": {changed: func(s *sshsig.Signature) { s.Signature.Rest[4]++ }, want: over},
			"a touch that was added": {token: func(k *tokentest.Token) { k.Flags = 0 },
				changed: func(s *sshsig.Signature) { s.Signature.Rest[0] |= tokentest.Touched },
				want:    over},
			"no flags and no counter": {changed: func(s *sshsig.Signature) { s.Signature.Rest = nil }, want: over},
			"half a counter":          {changed: func(s *sshsig.Signature) { s.Signature.Rest = s.Signature.Rest[:3] }, want: over},
			"more after the counter": {token: func(k *tokentest.Token) { k.Extra = []byte("more") },
				want: "it is not an OpenSSH signature"},
			"as a key without a token": {changed: func(s *sshsig.Signature) { s.Signature.Format = ssh.KeyAlgoED25519 },
				want: over},
			"a changed signature": {changed: func(s *sshsig.Signature) { s.Signature.Blob[len(s.Signature.Blob)-1] ^= 1 },
				want: over},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				token := newToken(t, kind)
				if c.token != nil {
					c.token(token)
				}
				s, err := sshsig.Sign(strings.NewReader(text), token, sshsig.HashSHA512, Namespace)
				ok(t, err)
				if c.changed != nil {
					c.changed(s)
				}
				got := ""
				if _, err := parse(t, row("ann", "", token)).verify(message(text), sshsig.Armor(s), now); err != nil {
					got = err.Error()
				}
				if got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if out, err := keygenVerifies(t, row("ann", "", token), string(sshsig.Armor(s))); (err == nil) != c.keygen {
					t.Errorf("ssh-keygen says %s", out)
				}
			})
		}
	}
}

// throughAgent returns the keys of the agent behind a listener.
func throughAgent(t *testing.T, serve func(net.Listener)) []ssh.Signer {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // the name of a socket must be short
	ok(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	ok(t, err)
	t.Cleanup(func() { listener.Close() })
	go serve(listener)
	conn, err := net.Dial("unix", listener.Addr().String())
	ok(t, err)
	t.Cleanup(func() { conn.Close() })
	signers, err := agent.NewClient(conn).Signers()
	ok(t, err)
	return signers
}

// TestSignThroughAgent checks that Sign works with keys of an agent: those on tokens, and those of RSA, for
// which the agent is asked for another hash.
func TestSignThroughAgent(t *testing.T) {
	for _, kind := range tokenKinds() {
		token := newToken(t, kind)
		key := throughAgent(t, token.Serve)[0]
		s, err := parse(t, row("ann", "", token)).verify(message(text), sign(t, text, key), now)
		if err != nil || s.Fingerprint != ssh.FingerprintSHA256(token.PublicKey()) {
			t.Errorf("%s: %+v, %v", kind, s, err)
		}
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	ok(t, err)
	ring := agent.NewKeyring()
	ok(t, ring.Add(agent.AddedKey{PrivateKey: private}))
	key := throughAgent(t, func(l net.Listener) {
		if conn, err := l.Accept(); err == nil {
			agent.ServeAgent(ring, conn)
		}
	})[0]
	if _, err := parse(t, row("ann", "", key)).verify(message(text), sign(t, text, key), now); err != nil {
		t.Errorf("RSA: %v", err)
	}
}

// TestSignRefuses checks that Sign returns no signature of a token that would not count.
func TestSignRefuses(t *testing.T) {
	for _, kind := range tokenKinds() {
		for name, c := range map[string]struct {
			token func(*tokentest.Token)
			want  string
		}{
			"not touched": {func(k *tokentest.Token) { k.Flags = 0 },
				"the token was not touched, and a signature without that does not count"},
			"another application": {func(k *tokentest.Token) { k.Application = "other" },
				"the answer of the agent or token is not a signature of the key "},
			"more": {func(k *tokentest.Token) { k.Extra = []byte("more") },
				"the answer of the agent or token is not a signature of the key "},
		} {
			token := newToken(t, kind)
			c.token(token)
			if _, err := Sign(strings.NewReader(text), token); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s, %s: got %v, want %s", kind, name, err, c.want)
			}
		}
	}
}
