package approval

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/crypto/ssh"
	"golang.org/x/text/unicode/norm"
)

// Approvers are the keys of those who may approve, from a file in the format allowed_signers of OpenSSH.
type Approvers struct {
	Path  string // of the file; empty: there is none
	lines []line
}

// A line is one key of the file.
type line struct {
	person        int // whose it is
	principals    []string
	folded        []string // the principals in the form in which they are compared
	key           ssh.PublicKey
	fingerprint   string
	namespaces    string // list of patterns; empty: any namespace
	after, before int64  // Unix seconds; 0: no limit
	text          string // as it was written
}

// maxApprovers is the most lines with a key. A file of people is far shorter.
const maxApprovers = 1000

// ParseApprovers reads the text of an allowed_signers file: see ssh-keygen(1). The path is only the name by
// which the journal remembers the file. A time without a zone is in local. ParseApprovers refuses what a
// person could misread: a principal that is a pattern, a certificate authority, an option that it does not
// know.
func ParseApprovers(path string, text []byte, local *time.Location) (Approvers, error) {
	a := Approvers{Path: path}
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		row := strings.TrimSpace(string(raw))
		if row == "" || row[0] == '#' {
			continue
		}
		l, err := parseLine(row, local)
		if err == nil && len(a.lines) == maxApprovers {
			err = fmt.Errorf("there are more than %d keys", maxApprovers)
		}
		if err != nil {
			return Approvers{}, fmt.Errorf("the approvers in %s cannot be read: line %d: %w", path, number, err)
		}
		a.add(l)
	}
	return a, nil
}

// add adds a line. All lines that share a key or a principal with it, or with each other, are one person's.
//
// Principals that differ only in case, width or another form of the same letters are one. ssh-keygen tells
// them apart, but a person who is listed twice by mistake must not count twice.
func (a *Approvers) add(l line) {
	l.person = len(a.lines)
	a.lines = append(a.lines, l)
	own := func(name string) bool { return slices.Contains(l.folded, name) }
	for _, other := range a.lines {
		if other.person == l.person || other.fingerprint != l.fingerprint && !slices.ContainsFunc(other.folded, own) {
			continue
		}
		for i := range a.lines {
			if a.lines[i].person == other.person {
				a.lines[i].person = l.person
			}
		}
	}
}

// fold returns the same text for names that a person could take for one. Some small letters, such as the two forms of
// sigma, have one capital.
func fold(name string) string { return strings.ToLower(strings.ToUpper(norm.NFKC.String(name))) }

func parseLine(row string, local *time.Location) (l line, err error) {
	names, rest, err := cutPrincipals(row)
	if err != nil {
		return l, err
	}
	for name := range strings.SplitSeq(names, ",") {
		switch {
		case name == "" || name != strings.TrimSpace(name) || strings.ContainsFunc(name, unprintable):
			return l, fmt.Errorf("the principal %+q is empty, or has spaces around it or characters that are not seen", name)
		case strings.Contains(name, `"`):
			return l, fmt.Errorf("the principal %q has a quotation mark, which ssh-keygen removes: leave it out", name)
		case strings.ContainsAny(name, "*?!"):
			return l, fmt.Errorf("the principal %q is a pattern, which names no person: write a line for each person", name)
		}
		l.principals, l.folded = append(l.principals, name), append(l.folded, fold(name))
	}
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(rest))
	if err != nil {
		return l, errors.New("there is no public key after the principals: write it as in a file that ends in .pub")
	}
	if err := checkKey(key); err != nil {
		return l, err
	}
	l.key, l.fingerprint, l.text = key, ssh.FingerprintSHA256(key), row
	return l, l.setOptions(options, local)
}

// cutPrincipals cuts a line behind its first word, which may be in double quotes.
func cutPrincipals(row string) (names, rest string, err error) {
	if quoted, found := strings.CutPrefix(row, `"`); found {
		names, rest, found = strings.Cut(quoted, `"`)
		if !found || !strings.HasPrefix(rest, " ") && !strings.HasPrefix(rest, "\t") {
			return "", "", errors.New("a quotation mark is missing")
		}
		return names, rest, nil
	}
	end := strings.IndexAny(row, " \t")
	if end < 0 {
		return "", "", errors.New("there is no public key")
	}
	return row[:end], row[end:], nil
}

func unprintable(r rune) bool {
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// leastBits is the shortest RSA key that is accepted.
const leastBits = 2048

// checkKey refuses a kind of key whose signatures are not accepted.
func checkKey(key ssh.PublicKey) error {
	switch key.Type() {
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKED25519,
		ssh.KeyAlgoSKECDSA256:
		return nil
	case ssh.KeyAlgoRSA:
		crypto, _ := key.(ssh.CryptoPublicKey)
		if public, ok := crypto.CryptoPublicKey().(*rsa.PublicKey); !ok || public.N.BitLen() < leastBits {
			return fmt.Errorf("the RSA key is shorter than %d bits", leastBits)
		}
		return nil
	}
	return fmt.Errorf("keys of the type %s are not accepted: use ed25519, ECDSA, RSA or a FIDO2 token", key.Type())
}

func (l *line) setOptions(options []string, local *time.Location) error {
	seen := map[string]bool{}
	for _, option := range options {
		name, value, found := strings.Cut(option, "=")
		name, value = strings.ToLower(name), strings.Trim(value, `"`)
		if seen[name] {
			return fmt.Errorf("the option %s is given twice", name)
		}
		seen[name] = true
		var err error
		switch name {
		case "namespaces":
			if l.namespaces = value; value == "" {
				err = errors.New("it is empty")
			}
		case "valid-after":
			l.after, err = parseTime(value, local)
		case "valid-before":
			l.before, err = parseTime(value, local)
		case "cert-authority":
			return errors.New("certificate authorities are not accepted: write the key of each person")
		default:
			return fmt.Errorf("the option %q is not known: there are namespaces, valid-after and valid-before", name)
		}
		if err != nil || !found {
			return fmt.Errorf("the option %s: %q is not a value for it", name, value)
		}
	}
	if l.after != 0 && l.before != 0 && l.before <= l.after {
		return errors.New("valid-before is not later than valid-after")
	}
	return nil
}

// parseTime reads a time as ssh-keygen does: YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, and a Z for UTC.
func parseTime(text string, local *time.Location) (int64, error) {
	digits, utc := strings.CutSuffix(text, "Z")
	if utc {
		local = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(layout) == len(digits) {
			at, err := time.ParseInLocation(layout, digits, local)
			if err == nil && at.Unix() <= 0 {
				err = errors.New("it is before 1970")
			}
			return at.Unix(), err
		}
	}
	return 0, errors.New("it is not a time")
}

// invalid says why signatures with the key of a line do not count now; nil: they do.
func (l line) invalid(now time.Time) error {
	switch at := now.Unix(); {
	case l.namespaces != "" && !matchesList(l.namespaces, Namespace):
		return fmt.Errorf("its key is not for the namespace %s", Namespace)
	case l.after != 0 && at < l.after:
		return errors.New("its key is not valid yet")
	case l.before != 0 && at > l.before:
		return errors.New("its key has expired")
	}
	return nil
}

// missing returns a principal of each person who has a valid key and has not approved, in the order of the
// file.
func (a Approvers) missing(approved []Approval, now time.Time) (principals []string) {
	seen := map[int]bool{}
	for _, one := range approved {
		seen[one.person] = true
	}
	for _, l := range a.lines {
		if l.invalid(now) == nil && !seen[l.person] {
			seen[l.person] = true
			principals = append(principals, l.principals[0])
		}
	}
	return principals
}

// Persons returns how many persons there are, whether their keys are valid or not.
func (a Approvers) Persons() int {
	seen := map[int]bool{}
	for _, l := range a.lines {
		seen[l.person] = true
	}
	return len(seen)
}

// joined says which lines are about one person although their principals differ, one sentence for each
// person.
func (a Approvers) joined() (all []string) {
	seen := map[int]bool{}
	for _, first := range a.lines {
		if seen[first.person] {
			continue
		}
		seen[first.person] = true
		names, why := first.principals[:1:1], "their names differ only in the form of their letters"
		for _, l := range a.lines {
			if l.person != first.person || slices.Contains(names, l.principals[0]) {
				continue
			}
			if names = append(names, l.principals[0]); l.folded[0] != first.folded[0] {
				why = "their keys or other principals connect them"
			}
		}
		if len(names) > 1 {
			all = append(all, fmt.Sprintf("%s are one person, because %s", strings.Join(names, " and "), why))
		}
	}
	return all
}

// Digest returns the same text for the same lines, in any order and with any comments between them.
func (a Approvers) Digest() string {
	rows := make([]string, len(a.lines))
	for i, l := range a.lines {
		rows[i] = l.text
	}
	slices.Sort(rows)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(rows), "\n")))
	return hex.EncodeToString(sum[:])
}

// matchesList reports whether a list of patterns, separated by commas, contains a text as OpenSSH sees it:
// one of the patterns matches, and none that begins with an exclamation mark does. The text has no slash.
func matchesList(patterns, text string) (matches bool) {
	literal := strings.NewReplacer(`\`, `\\`, "[", `\[`) // of what path.Match knows, OpenSSH knows only * and ?
	for p := range strings.SplitSeq(patterns, ",") {
		p, negated := strings.CutPrefix(p, "!")
		if found, _ := path.Match(literal.Replace(p), text); found && negated {
			return false
		} else if found {
			matches = true
		}
	}
	return matches
}
