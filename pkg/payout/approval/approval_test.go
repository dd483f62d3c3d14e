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
	const notFor, twice = "its key is not for the namespace till-payout (ann)", "it has several signatures: write each"
	const certificate = "it was made with a certificate, and certificates are not accepted"
	again := `valid-before="20200101Z" ` + string(ssh.MarshalAuthorizedKey(ann.PublicKey())) + "ann"
	for name, c := range map[string]struct {
		options   string
		text      string
		signature []byte
		want      string // empty: it is accepted
	}{
		"good":                  {"", text, good, ""},
		"a changed byte":        {"", strings.Replace(text, "plan", "plaN", 1), good, over},
		"a byte more":           {"", text + " ", good, over},
		"another namespace":     {"", text, sshsig.Armor(other), `it is for the namespace "till-release"`},
		"a changed namespace":   {"", text, renamed, over},
		"a foreign key":         {"", text, sign(t, text, eve), foreign},
		"another key named":     {"", text, stolen, foreign},
		"ann's key named":       {"", text, forged, over},
		"expired":               {`valid-before="20260503115959Z"`, text, good, "its key has expired (ann)"},
		"the last second":       {`valid-before="20260503120000Z"`, text, good, ""},
		"not yet valid":         {`valid-after="20260503120001Z"`, text, good, "its key is not valid yet (ann)"},
		"the first second":      {`valid-after="20260503120000Z"`, text, good, ""},
		"for another namespace": {`namespaces="git,file"`, text, good, notFor},
		"for this namespace":    {`namespaces="git,till-*"`, text, good, ""},
		"not for this one":      {`namespaces="*,!till-payout"`, text, good, notFor},
		"expired and valid":     {again, text, good, ""},
		"garbage":               {"", text, []byte("garbage"), none},
		"text after it":         {"", text, longer, none},
		"two signatures":        {"", text, slices.Concat(good, sign(t, text, eve)), twice},
		"of a certificate":      {"", text, signWithCertificate(t, ann), certificate},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if _, err := parse(t, row("ann", c.options, ann)).verify(message(c.text), c.signature, now); err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
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

// TestPersons checks that everything that principals and keys connect is one person, and so are principals which a
// person could take for one.
func TestPersons(t *testing.T) {
	keys := []ssh.Signer{newKey(t), newKey(t), newKey(t)}
	print1 := ssh.FingerprintSHA256(keys[1].PublicKey())
	const keyed = " are one person, because their keys or other principals connect them"
	const formed = " are one person, because their names differ only in the form of their letters"
	for name, c := range map[string]struct {
		rows    string // principals and the numbers of their keys
		persons int    // with a key
		people  string // who may sign
		joined  string // who are said to be one
	}{
		"two persons":           {"ann = 0; bob = 1", 2, "ann bob", ""},
		"one with two keys":     {"ann,ann@x = 0; ann = 1; bob = 2", 2, "ann bob", ""},
		"a key of two":          {"ann = 0; bob = 0", 1, "ann", "ann and bob" + keyed},
		"two in a line":         {"ann,bob = 0; bob = 1", 1, "ann", "ann and bob" + keyed},
		"an expired person":     {"ann = 0; bob = 1 old", 2, "ann", ""},
		"like a fingerprint":    {print1 + " = 0; bob = 1", 2, print1 + " bob", ""},
		"by an expired line":    {"ann = 0; bob = 1; bob = 0 old", 1, "ann", "ann and bob" + keyed},
		"connected by others":   {"ann = 0; cleo = 2; bob = 1; bob = 0; cleo = 1", 1, "ann", "ann and cleo and bob" + keyed},
		"capitals":              {"ann@x = 0; Ann@X = 1", 1, "ann@x", "ann@x and Ann@X" + formed},
		"the sign for kelvin":   {"kim = 0; \u212aim = 1", 1, "kim", "kim and \u212aim" + formed},
		"wide letters":          {"ann = 0; \uff41nn = 1", 1, "ann", "ann and \uff41nn" + formed},
		"an accent of its own":  {"ren\u00e9 = 0; rene\u0301 = 1", 1, "ren\u00e9", "ren\u00e9 and rene\u0301" + formed},
		"a long s":              {"nikos = 0; niko\u017f = 1", 1, "nikos", "nikos and niko\u017f" + formed},
		"without the accent":    {"ren\u00e9 = 0; rene = 1", 2, "ren\u00e9 rene", ""},
		"a letter of another":   {"ann = 0; \u0430nn = 1", 2, "ann \u0430nn", ""}, // only a person can tell
		"a name and a key text": {"ann = 0; \"name ann\" = 1", 2, "ann name ann", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var rows []string
			for line := range strings.SplitSeq(c.rows, "; ") {
				principal, key, _ := strings.Cut(line, " = ")
				options := map[bool]string{true: `valid-before="20200101Z"`}[strings.HasSuffix(key, " old")]
				rows = append(rows, row(principal, options, keys[key[0]-'0']))
			}
			list := parse(t, rows...)
			people := list.missing(nil, now)
			if got := strings.Join(people, " "); got != c.people || list.Persons() != c.persons {
				t.Errorf("%d persons, and %s may sign; want %d and %s", list.Persons(), got, c.persons, c.people)
			}
			s := list.Count(2, message(text), now, func(yield func(Approval, error) bool) {
				for _, key := range keys {
					yield(Approval{File: "a.sig", Signature: string(sign(t, text, key))}, nil)
				}
			})
			if len(s.Approved) != len(people) || len(s.Missing) > 0 || strings.Join(s.Joined, "") != c.joined ||
				s.Enough() != (len(people) == 2) {
				t.Errorf("%d persons signed: %s %s", len(s.Approved), s, s.Notes())
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
	const unseen = " is empty, or has spaces around it or characters that are not seen"
	const pattern = " is a pattern, which names no person: write a line for each person"
	for _, c := range []struct{ line, want string }{
		{"ann", "there is no public key"},
		{"ann ssh-ed25519 AAAA", "there is no public key after the principals: write it as in a file that ends in .pub"},
		{row("ann,*@example.com", "", key), `the principal "*@example.com"` + pattern},
		{row("!ann", "", key), `the principal "!ann"` + pattern},
		{row("ann,", "", key), `the principal ""` + unseen},
		{row("an\u202en", "", key), `the principal "an\u202en"` + unseen},
		{row("\"ann\x1b[2J\"", "", key), `the principal "ann\x1b[2J"` + unseen},
		{row("an\u200bn", "", key), `the principal "an\u200bn"` + unseen},
		{row("ann\u3164", "", key), `the principal "ann\u3164"` + unseen},
		{row("an\u034fn", "", key), `the principal "an\u034fn"` + unseen},
		{row("ann\ufe0f", "", key), `the principal "ann\ufe0f"` + unseen},
		{row("\"a\tn\"", "", key), `the principal "a\tn"` + unseen},
		{row(`ann"x`, "", key), `the principal "ann\"x" has a quotation mark, which ssh-keygen removes: leave it out`},
		{row(`"ann`, "", key), "a quotation mark is missing"},
		{row("ann", "cert-authority", key), "certificate authorities are not accepted: write the key of each person"},
		{row("ann", "no-touch-required", key),
			`the option "no-touch-required" is not known: there are namespaces, valid-after and valid-before`},
		{row("ann", `valid-before="tomorrow"`, key), `the option valid-before: "tomorrow" is not a value for it`},
		{row("ann", `valid-before="2027"`, key), `the option valid-before: "2027" is not a value for it`},
		{row("ann", `valid-before="19700101Z"`, key), `the option valid-before: "19700101Z" is not a value for it`},
		{row("ann", `valid-after="20260503Z",valid-before="20260503Z"`, key), "valid-before is not later than valid-after"},
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
