package approval

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

const text = "the text of a plan\n"

var now = time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC)

func message(t string) *Message {
	m := NewMessage()
	io.WriteString(m, t)
	return m
}

// ok ends the test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newKey(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	ok(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	ok(t, err)
	return signer
}

// row returns a line of an allowed_signers file.
func row(principals, options string, key ssh.Signer) string {
	return fmt.Sprintf("%s %s %s", principals, options, ssh.MarshalAuthorizedKey(key.PublicKey()))
}

func parse(t *testing.T, rows ...string) Approvers {
	t.Helper()
	a, err := ParseApprovers("allowed", []byte(strings.Join(rows, "\n")), time.UTC)
	ok(t, err)
	return a
}

func sign(t *testing.T, text string, key ssh.Signer) []byte {
	t.Helper()
	s, err := Sign(strings.NewReader(text), key)
	ok(t, err)
	return s
}

// keygen runs ssh-keygen with a standard input.
func keygen(t *testing.T, in string, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command("ssh-keygen", args...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// keygenVerifies has ssh-keygen verify a signature of ann.
func keygenVerifies(t *testing.T, allowed, signature string, options ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "allowed"), allowed)
	write(t, filepath.Join(dir, "sig"), signature)
	return keygen(t, text, append([]string{"-Y", "verify", "-f", filepath.Join(dir, "allowed"), "-I", "ann", "-n", Namespace,
		"-s", filepath.Join(dir, "sig")}, options...)...)
}

// TestOpenSSH checks for each kind of key that ssh-keygen accepts what Sign writes, and that verify accepts
// what ssh-keygen writes, with both of its hashes.
func TestOpenSSH(t *testing.T) {
	for _, kind := range []string{"ed25519", "ecdsa -b 256", "ecdsa -b 384", "ecdsa -b 521", "rsa -b 2048"} {
		t.Run(kind, func(t *testing.T) {
			key := filepath.Join(t.TempDir(), "key")
			args := append([]string{"-q", "-N", "", "-f", key, "-t"}, strings.Fields(kind)...)
			if out, err := keygen(t, "", args...); err != nil {
				t.Fatal(out)
			}
			allowed := "ann " + read(t, key+".pub")
			signer, err := ssh.ParsePrivateKey([]byte(read(t, key)))
			ok(t, err)
			if out, err := keygenVerifies(t, allowed, string(sign(t, text, signer))); err != nil {
				t.Errorf("ssh-keygen refuses it: %s", out)
			}
			for _, hash := range []string{"sha256", "sha512"} {
				theirs, err := keygen(t, text, "-Y", "sign", "-q", "-n", Namespace, "-f", key, "-O", "hashalg="+hash)
				if err != nil {
					t.Fatal(theirs)
				}
				s, err := parse(t, allowed).verify(message(text), []byte(theirs), now)
				if err != nil || s.Principal != "ann" || s.Fingerprint != ssh.FingerprintSHA256(signer.PublicKey()) {
					t.Errorf("with %s: %+v, %v", hash, s, err)
				}
				// What the journal keeps is enough for ssh-keygen.
				if out, err := keygenVerifies(t, s.Principal+" "+s.Key+"\n", s.Signature); err != nil {
					t.Errorf("ssh-keygen refuses what is kept: %s", out)
				}
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	ok(t, os.WriteFile(path, []byte(text), 0o600))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	ok(t, err)
	return string(text)
}

func TestVerifyRefuses(t *testing.T) {
	ann, eve := newKey(t), newKey(t)
	const over, none = "it is not a signature of ann over this plan", "it is not an OpenSSH signature"
	good := sign(t, text, ann)
	other, err := sshsig.Sign(strings.NewReader(text), ann, sshsig.HashSHA512, "till-release")
	ok(t, err)
	changed := func(armored []byte, change func(s *sshsig.Signature)) []byte {
		s, err := sshsig.Unarmor(armored)
		ok(t, err)
		change(s)
		return sshsig.Armor(s)
	}
	// The signature of ann's key under the name of eve's, and the reverse.
	stolen := changed(good, func(s *sshsig.Signature) { s.PublicKey = eve.PublicKey() })
	forged := changed(sign(t, text, eve), func(s *sshsig.Signature) { s.PublicKey = ann.PublicKey() })
	renamed := changed(sshsig.Armor(other), func(s *sshsig.Signature) { s.Namespace = Namespace })
	longer := changed(good, func(s *sshsig.Signature) { s.Signature.Rest = []byte("more") })
	foreign := "its key " + ssh.FingerprintSHA256(eve.PublicKey()) + " is not one of the approvers'"
	for name, c := range map[string]struct {
		options   string
		text      string
		signature []byte
		want      string // empty: it is accepted
	}{
		"good":           {"", text, good, ""},
		"a changed byte": {"", strings.Replace(text, "plan", "plaN", 1), good, over},
		"a byte more":    {"", text + " ", good, over},
		"no text":        {"", "", good, over},
		"another namespace": {"", text, sshsig.Armor(other),
			`it is for the namespace "till-release", and not for till-payout`},
		"a changed namespace":   {"", text, renamed, over},
		"a foreign key":         {"", text, sign(t, text, eve), foreign},
		"another key named":     {"", text, stolen, foreign},
		"ann's key named":       {"", text, forged, over},
		"expired":               {`valid-before="20260503115959Z"`, text, good, "its key has expired (ann)"},
		"the last second":       {`valid-before="20260503120000Z"`, text, good, ""},
		"not yet valid":         {`valid-after="20260503120001Z"`, text, good, "its key is not valid yet (ann)"},
		"the first second":      {`valid-after="20260503120000Z"`, text, good, ""},
		"for another namespace": {`namespaces="git,file"`, text, good, "its key is not for the namespace till-payout (ann)"},
		"for this namespace":    {`namespaces="git,till-*"`, text, good, ""},
		"not for this one": {`namespaces="*,!till-payout"`, text, good,
			"its key is not for the namespace till-payout (ann)"},
		"garbage":               {"", text, []byte("garbage"), none},
		"nothing":               {"", text, nil, none},
		"a cut signature":       {"", text, good[:len(good)/2], none},
		"text after it":         {"", text, longer, none},
		"another kind of block": {"", text, bytes.ReplaceAll(good, []byte("SSH SIGNATURE"), []byte("SIGNATURE")), none},
		"two signatures": {"", text, slices.Concat(good, sign(t, text, eve)),
			"it has several signatures: write each to a file of its own"},
		"of a certificate": {"", text, signWithCertificate(t, ann),
			"it was made with a certificate, and certificates are not accepted"},
		"a key": {"", text, ssh.MarshalAuthorizedKey(ann.PublicKey()), none},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if _, err := parse(t, row("ann", c.options, ann)).verify(message(c.text), c.signature, now); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func signWithCertificate(t *testing.T, key ssh.Signer) []byte {
	t.Helper()
	c := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.UserCert, ValidBefore: ssh.CertTimeInfinity}
	ok(t, c.SignCert(rand.Reader, key))
	signer, err := ssh.NewCertSigner(c, key)
	ok(t, err)
	s, err := sshsig.Sign(strings.NewReader(text), signer, sshsig.HashSHA512, Namespace)
	ok(t, err)
	return sshsig.Armor(s)
}

// TestRSAWithSHA1 checks that a signature with the old algorithm of RSA is refused, although the key is
// listed.
func TestRSAWithSHA1(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	ok(t, err)
	key, err := ssh.NewSignerFromKey(private)
	ok(t, err)
	good, err := sshsig.Unarmor(sign(t, text, key))
	ok(t, err)
	list := parse(t, row("ann", "", key))
	if _, err := list.verify(message(text), sshsig.Armor(good), now); err != nil {
		t.Fatal(err)
	}
	signed, err := message(text).signed(good.HashAlgorithm)
	ok(t, err)
	if good.Signature, err = key.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, signed, ssh.KeyAlgoRSA); err != nil {
		t.Fatal(err)
	}
	if _, err := list.verify(message(text), sshsig.Armor(good), now); err == nil {
		t.Error("SHA-1 was accepted")
	}
}

// TestPersons checks that everything that principals and keys connect is one person.
func TestPersons(t *testing.T) {
	keys := []ssh.Signer{newKey(t), newKey(t), newKey(t), newKey(t)}
	for name, c := range map[string]struct {
		rows   []string
		signed []int // keys
		want   int   // persons who signed
		people []string
	}{
		"two persons": {[]string{row("ann", "", keys[0]), row("bob", "", keys[1])}, []int{0, 1}, 2, []string{"ann", "bob"}},
		"one with two keys": {[]string{row("ann", "", keys[0]), row("ann", "", keys[1]), row("bob", "", keys[2])},
			[]int{0, 1}, 1, []string{"ann", "bob"}},
		"a key of two principals": {[]string{row("ann", "", keys[0]), row("bob", "", keys[0])}, []int{0},
			1, []string{"ann"}},
		"two principals in a line": {[]string{row("ann,bob", "", keys[0]), row("bob", "", keys[1])}, []int{0, 1},
			1, []string{"ann"}},
		"connected by others": {[]string{row("ann", "", keys[0]), row("cleo", "", keys[2]), row("bob", "", keys[1]),
			row("bob", "", keys[0]), row("cleo", "", keys[1])},
			[]int{0, 1, 2}, 1, []string{"ann"}},
		"connected by an expired line": {[]string{row("ann", "", keys[0]), row("bob", "", keys[1]),
			row("bob", `valid-before="20200101Z"`, keys[0])}, []int{0, 1}, 1, []string{"ann"}},
		"an expired person": {[]string{row("ann", "", keys[0]), row("bob", `valid-before="20200101Z"`, keys[1])},
			nil, 0, []string{"ann"}},
		"a name like a fingerprint": {[]string{row(ssh.FingerprintSHA256(keys[1].PublicKey()), "", keys[0]),
			row("bob", "", keys[1])}, []int{0, 1}, 2, []string{ssh.FingerprintSHA256(keys[1].PublicKey()), "bob"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := parse(t, c.rows...)
			if people := list.missing(nil, now); !slices.Equal(people, c.people) {
				t.Errorf("the people are %q, want %q", people, c.people)
			}
			s := list.Count(2, message(text), now, func(yield func(Approval, error) bool) {
				for _, i := range c.signed {
					yield(Approval{File: "a.sig", Signature: string(sign(t, text, keys[i]))}, nil)
				}
			})
			if len(s.Approved) != c.want || len(s.Missing) != len(c.people)-c.want || len(s.Rejected) > 0 ||
				s.Enough() != (c.want == 2) {
				t.Errorf("%d persons signed, want %d: %s %s", len(s.Approved), c.want, s, s.Notes())
			}
		})
	}
}

func TestParseApproversRefuses(t *testing.T) {
	key := newKey(t)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	ok(t, err)
	short, err := ssh.NewSignerFromKey(small)
	ok(t, err)
	many := strings.Repeat(row("ann", "", key), maxApprovers)
	if _, err := ParseApprovers("allowed", []byte(many), time.UTC); err != nil {
		t.Errorf("%d keys: %v", maxApprovers, err)
	}
	if _, err := ParseApprovers("allowed", []byte(many+row("ann", "", key)), time.UTC); err == nil {
		t.Errorf("%d keys were accepted", maxApprovers+1)
	}
	same := row("ann", `valid-after="20260503Z",valid-before="20260503Z"`, key)
	if _, err := ParseApprovers("allowed", []byte(same), time.UTC); err == nil {
		t.Error("a key that is never valid was accepted")
	}
	for _, c := range []struct{ line, want string }{
		{"ann", "there is no public key"},
		{"ann ssh-ed25519", "there is no public key after the principals: write it as in a file that ends in .pub"},
		{"ann ssh-ed25519 AAAA", "there is no public key after the principals: write it as in a file that ends in .pub"},
		{row("*", "", key), `the principal "*" is a pattern, which names no person: write a line for each person`},
		{row("ann,*@example.com", "", key),
			`the principal "*@example.com" is a pattern, which names no person: write a line for each person`},
		{row("!ann", "", key), `the principal "!ann" is a pattern, which names no person: write a line for each person`},
		{row("ann,", "", key), `the principal "" is empty, or has spaces around it or characters that are not seen`},
		{row("an\u202en", "", key),
			`the principal "an\u202en" is empty, or has spaces around it or characters that are not seen`},
		{row(`"ann`, "", key), "a quotation mark is missing"},
		{row("ann", "cert-authority", key), "certificate authorities are not accepted: write the key of each person"},
		{row("ann", "no-touch-required", key),
			`the option "no-touch-required" is not known: there are namespaces, valid-after and valid-before`},
		{row("ann", `valid-before="tomorrow"`, key), `the option valid-before: "tomorrow" is not a value for it`},
		{row("ann", `valid-before="20261301"`, key), `the option valid-before: "20261301" is not a value for it`},
		{row("ann", `valid-before="19700101Z"`, key), `the option valid-before: "19700101Z" is not a value for it`},
		{row("ann", `valid-after="2027",valid-before="2026"`, key), `the option valid-after: "2027" is not a value for it`},
		{row("ann", `valid-after="20270101",valid-before="20260101"`, key), "valid-before is not later than valid-after"},
		{row("ann", `valid-before="20270101",valid-before="20280101"`, key), "the option valid-before is given twice"},
		{row("ann", `namespaces=""`, key), `the option namespaces: "" is not a value for it`},
		{row("ann", "", short), "the RSA key is shorter than 2048 bits"},
	} {
		_, err := ParseApprovers("allowed", []byte("# approvers\n\n"+c.line), time.UTC)
		if err == nil || err.Error() != "the approvers in allowed cannot be read: line 3: "+c.want {
			t.Errorf("%q: got %v, want line 3: %s", c.line, err, c.want)
		}
	}
}

// TestTimes compares the times of allowed_signers files with what ssh-keygen makes of them. The zone has no
// summer time, with which some versions of ssh-keygen are an hour off.
func TestTimes(t *testing.T) {
	key := newKey(t)
	signature := sign(t, text, key)
	zone, err := time.LoadLocation("Asia/Tokyo")
	ok(t, err)
	t.Setenv("TZ", "Asia/Tokyo")
	for _, options := range []string{`valid-after="20260503"`, `valid-before="20260503"`, `valid-before="20260503Z"`,
		`valid-after="202605031200"`, `valid-after="202605031200Z"`, `valid-before="20260503120001"`,
		`valid-after="20260501",valid-before="20260502"`, `VALID-AFTER="20260503"`,
		`namespaces="till-payout",valid-after="20260503Z"`} {
		list, err := ParseApprovers("allowed", []byte(row("ann", options, key)), zone)
		ok(t, err)
		for _, at := range strings.Fields("20260502235959 20260503000000 20260503000001 20260503085959 20260503090000 " +
			"20260503090001 20260503205959 20260503210000 20260503120000 20260503120001 20260503120002") {
			moment, err := time.ParseInLocation("20060102150405", at, zone)
			ok(t, err)
			_, ours := list.verify(message(text), signature, moment)
			out, theirs := keygenVerifies(t, row("ann", options, key), string(signature), "-O", "verify-time="+at)
			if (ours == nil) != (theirs == nil) {
				t.Errorf("%s at %s: %v, and ssh-keygen says %s", options, at, ours, out)
			}
		}
	}
}

func TestDigest(t *testing.T) {
	ann, bob := newKey(t), newKey(t)
	one := parse(t, row("ann", "", ann), row("bob", "", bob)).Digest()
	for name, c := range map[string]struct {
		rows []string
		same bool
	}{
		"another order":   {[]string{row("bob", "", bob), "# a comment", row("ann", "", ann)}, true},
		"another name":    {[]string{row("ann", "", ann), row("rob", "", bob)}, false},
		"a limit":         {[]string{row("ann", "", ann), row("bob", `valid-before="20300101"`, bob)}, false},
		"a person less":   {[]string{row("ann", "", ann)}, false},
		"nobody":          {nil, false},
		"a repeated line": {[]string{row("ann", "", ann), row("ann", "", ann), row("bob", "", bob)}, true},
	} {
		if got := parse(t, c.rows...).Digest(); (got == one) != c.same {
			t.Errorf("%s: the digests are %s and %s", name, one, got)
		}
	}
}

// FuzzVerify checks that nothing but a signature of a listed key over the text is accepted.
func FuzzVerify(f *testing.F) {
	_, private, _ := ed25519.GenerateKey(bytes.NewReader(make([]byte, 64)))
	key, _ := ssh.NewSignerFromKey(private)
	good, _ := Sign(strings.NewReader(text), key)
	list, err := ParseApprovers("allowed", []byte(row("ann", "", key)), time.UTC)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("garbage"))
	f.Fuzz(func(t *testing.T, armored []byte) {
		s, err := list.verify(message(text), armored, now)
		if err == nil && s.Signature != string(good) {
			t.Errorf("accepted as %q", s.Signature)
		}
	})
}

// TestFormsOfAPrincipal checks that principals which a person could take for one count as one, and that no name is
// accepted which cannot be seen whole.
func TestFormsOfAPrincipal(t *testing.T) {
	ann, other := newKey(t), newKey(t)
	for name, c := range map[string]struct {
		first, second string
		persons       int
	}{
		"two names":             {"ann", "bob", 2},
		"capitals":              {"ann@till.example", "Ann@TILL.example", 1},
		"the sign for kelvin":   {"kim", "\u212aim", 1},
		"wide letters":          {"ann", "\uff41\uff4e\uff4e", 1},
		"an accent of its own":  {"ren\u00e9", "rene\u0301", 1},
		"without the accent":    {"ren\u00e9", "rene", 2},
		"a long s":              {"nikos", "niko\u017f", 1},
		"a letter of another":   {"ann", "\u0430nn", 2}, // they look the same, and only a person can tell
		"a name and a key text": {"ann", "name ann", 2},
	} {
		t.Run(name, func(t *testing.T) {
			a := parse(t, row(`"`+c.first+`"`, "", ann), row(`"`+c.second+`"`, "", other))
			if got := len(a.missing(nil, now)); got != c.persons || a.Persons() != c.persons {
				t.Errorf("these are %d persons, and %d with a valid key, want %d", a.Persons(), got, c.persons)
			}
			if got := len(a.joined()); got != 2-c.persons {
				t.Errorf("it says %q", a.joined())
			}
		})
	}
	for name, principal := range map[string]string{
		"an escape sequence": "ann\x1b[2J", "a space of no width": "an\u200bn", "a filler": "ann\u3164",
		"a joiner":   "an\u034fn",
		"a selector": "ann\ufe0f", "another direction": "\u202enna", "a tab": "a\tn", "a quotation mark": `ann"x`,
	} {
		rows := row(principal, "", ann)
		if !strings.Contains(principal, `"`) {
			rows = row(`"`+principal+`"`, "", ann)
		}
		if _, err := ParseApprovers("allowed", []byte(rows), time.UTC); err == nil ||
			strings.ContainsFunc(err.Error(), unprintable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJoined(t *testing.T) {
	ann, bob, old := newKey(t), newKey(t), newKey(t)
	for name, c := range map[string]struct {
		rows []string
		want []string
	}{
		"two persons":        {[]string{row("ann", "", ann), row("bob", "", bob)}, nil},
		"two names of a key": {[]string{row("ann,ann@till.example", "", ann), row("ann", "", old)}, nil},
		"a key of two": {[]string{row("ann", "", ann), row("bob", "", bob), row("dan", "", ann)},
			[]string{"ann and dan are one person, because their keys or other principals connect them"}},
		"capitals": {[]string{row("ann", "", ann), row("Ann", "", old)},
			[]string{"ann and Ann are one person, because their names differ only in the form of their letters"}},
	} {
		if got := parse(t, c.rows...).joined(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestKeyOnTwoLines checks that a key is valid if one of its lines is.
func TestKeyOnTwoLines(t *testing.T) {
	ann := newKey(t)
	a := parse(t, row("ann", `valid-before="20200101Z"`, ann), row("ann", "", ann))
	_, err := a.Find(ann.PublicKey(), now)
	ok(t, err)
}
