// Package place says where a journal can be: which texts name one, how they are shown, and whether somebody else can change
// what lies at a path.
package place

import (
	"errors"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// IsPostgres tells a database's address from a file's name.
func IsPostgres(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (scheme == "postgres" || scheme == "postgresql")
}

// ErrNotPlace is in the chain of every error of Check.
var ErrNotPlace = errors.New("it is neither a path nor the address of a PostgreSQL database")

type notPlace string

func (e notPlace) Error() string        { return string(e) }
func (e notPlace) Is(target error) bool { return target == ErrNotPlace }

const write = ": write a path, or postgres://USER@HOST/DATABASE"

// Check refuses a text that names no journal, or that may be a mistyped address: as a file's name it would make a journal in
// which nothing has happened, and keep a password in a directory for all to read. No error shows the text.
func Check(text string) error {
	if IsPostgres(text) {
		u, err := url.Parse(text)
		// After an unescaped / or # in a password comes the @ where nothing else has one.
		if err != nil || strings.Contains(u.Host+u.EscapedPath()+u.RawQuery, "@") || strings.Contains(text, "#") {
			return notPlace("the address of the database cannot be understood: write postgres://USER@HOST/DATABASE, and in a password %2F for /, %40 for @, %3F for ? and %23 for #")
		}
		return nil
	}
	if isAddress(text) {
		return notPlace("it looks like an address, and is not one that is known" + write + " (a file whose name has a colon begins with ./)")
	}
	for _, word := range []string{"host=", "user=", "dbname=", "password="} {
		if strings.HasPrefix(text, word) || strings.Contains(text, " "+word) {
			return notPlace("it is a list of connection settings: write them as an address, postgres://USER@HOST/DATABASE")
		}
	}
	return nil
}

var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`) // a single letter is a drive

// isAddress reports whether a text looks as if it was to be an address, with or without its scheme. A text that begins as
// only a path does is one.
func isAddress(text string) bool {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "://") || scheme.MatchString(text) {
		return true
	}
	for _, start := range []string{"./", "../", "~/", `.\`, `..\`} {
		if strings.HasPrefix(text, start) {
			return false
		}
	}
	if filepath.IsAbs(text) && !strings.HasPrefix(text, "//") {
		return false
	}
	_, after, colon := strings.Cut(text, ":")
	return colon && strings.Contains(after, "@") // a password
}

// Redact returns a text that names a journal as it may be shown: without a password.
func Redact(text string) string {
	if !IsPostgres(text) {
		if isAddress(text) {
			return redactUnknown(text)
		}
		return text
	}
	scheme, rest, _ := strings.Cut(text, "://")
	// By hand rather than by url.Parse, so that an address that cannot be understood is redacted as well.
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest, '@'); at > end { // a password with a slash
		rest = "xxxxx" + rest[at:]
	} else if at >= 0 {
		if user, _, found := strings.Cut(rest[:at], ":"); found {
			rest = user + ":xxxxx" + rest[at:]
		}
	}
	rest, query, found := strings.Cut(rest, "?")
	if !found {
		return scheme + "://" + rest
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		key, _, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(key); err != nil || strings.Contains(strings.ToLower(name), "password") {
			pairs[i] = key + "=xxxxx"
		}
	}
	return scheme + "://" + rest + "?" + strings.Join(pairs, "&")
}

// redactUnknown leaves of an address that is not understood what is before its first colon and after its last @.
func redactUnknown(text string) string {
	before, after, _ := strings.Cut(text, ":")
	if strings.Contains(before, "@") {
		return "xxxxx"
	}
	kept := ""
	if at := strings.LastIndexByte(after, '@'); at >= 0 {
		kept, _, _ = strings.Cut(after[at:], "?")
	}
	return before + ":xxxxx" + kept
}
