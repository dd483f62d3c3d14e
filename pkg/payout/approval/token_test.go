package approval

import (
	"crypto/rand"
	"crypto/rsa"
	"net"
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

func untouchedToken(k *tokentest.Token) { k.Flags = 0 }

// TestTokenSignatures compares for signatures of tokens what verify says with what ssh-keygen says. It also
// demands that the token was touched, as sshd does, and that Sign returns none that would not count.
func TestTokenSignatures(t *testing.T) {
	const none = "it is not an OpenSSH signature"
	const over, untouched = "it is not a signature of ann over this plan", "the token that made it was not touched (ann)"
	for _, kind := range tokenKinds() {
		for name, c := range map[string]struct {
			token   func(*tokentest.Token)  // before it signs
			changed func(*sshsig.Signature) // after it has signed
			want    string                  // empty: it is accepted
			keygen  bool                    // whether ssh-keygen accepts it
		}{
			"touched":           {keygen: true},
			"with a PIN":        {token: func(k *tokentest.Token) { k.Flags |= tokentest.Verified }, keygen: true},
			"not touched":       {token: untouchedToken, keygen: true, want: untouched},
			"a PIN, no touch":   {token: func(k *tokentest.Token) { k.Flags = tokentest.Verified }, keygen: true, want: untouched},
			"another use":       {token: func(k *tokentest.Token) { k.Application = "https://shop.example" }, want: over},
			"more at the end":   {token: func(k *tokentest.Token) { k.Extra = []byte("more") }, want: none},
			"a changed flag":    {changed: func(s *sshsig.Signature) { s.Signature.Rest[0] |= tokentest.Verified }, want: over},
			"a changed counter": {changed: func(s *sshsig.Signature) { s.Signature.Rest[4]++ }, want: over},
			"no counter":        {changed: func(s *sshsig.Signature) { s.Signature.Rest = nil }, want: over},
			"half a counter":    {changed: func(s *sshsig.Signature) { s.Signature.Rest = s.Signature.Rest[:3] }, want: over},
			"without a token":   {changed: func(s *sshsig.Signature) { s.Signature.Format = ssh.KeyAlgoED25519 }, want: over},
			"an added touch": {token: untouchedToken, want: over,
				changed: func(s *sshsig.Signature) { s.Signature.Rest[0] |= tokentest.Touched }},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				token := newToken(t, kind)
				if c.token != nil {
					c.token(token)
				}
				if s, err := Sign(strings.NewReader(text), token); c.changed == nil && (err == nil) != (c.want == "") {
					t.Errorf("Sign returns %s, %v", s, err)
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

// TestSignThroughAgent checks that Sign works with a key of RSA in an agent, which is asked for another hash.
func TestSignThroughAgent(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	ok(t, err)
	ring := agent.NewKeyring()
	ok(t, ring.Add(agent.AddedKey{PrivateKey: private}))
	client, server := net.Pipe()
	t.Cleanup(func() { client.Close() })
	go agent.ServeAgent(ring, server)
	signers, err := agent.NewClient(client).Signers()
	ok(t, err)
	key := signers[0]
	_, err = parse(t, row("ann", "", key)).verify(message(text), sign(t, text, key), now)
	ok(t, err)
}
