// Package place says where a journal can be: which texts name one, how to show them, and whether another user
// can change what is at a path.
package place

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// IsPostgres reports whether a text is the address of a database, not the name of a file.
func IsPostgres(text string) bool {
	scheme, _, found := strings.Cut(text, "://")
	return found && (scheme == "postgres" || scheme == "postgresql")
}

// An Error says why a text names no journal.
type Error string

func (e Error) Error() string { return string(e) }

// Check refuses a text that names no journal, or that may be a mistyped address. Used as a file name, such an
// address would make an empty journal, and show a password to everybody who lists the directory. No error
// shows the text.
func Check(text string) error {
	if IsPostgres(text) {
		u, err := url.Parse(text)
		// An unescaped / or # in a password puts the @ where an address has none.
		if err != nil || strings.Contains(u.Host+u.EscapedPath()+u.RawQuery, "@") || strings.Contains(text, "#") {
			return Error("the address of the database cannot be understood: write postgres://USER@HOST/DATABASE, and in a password %2F for /, %40 for @, %3F for ? and %23 for #")
		}
		return nil
	}
	if isAddress(text) {
		return Error("it looks like an address, and is not one that is known: write a path, or postgres://USER@HOST/DATABASE (a file whose name has a colon begins with ./)")
	}
	for _, word := range []string{"host=", "user=", "dbname=", "password="} {
		if strings.HasPrefix(text, word) || strings.Contains(text, " "+word) {
			return Error("it is a list of connection settings: write them as an address, postgres://USER@HOST/DATABASE")
		}
	}
	return nil
}

var scheme = sync.OnceValue(func() *regexp.Regexp { // a single letter is a drive
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)
})

// isAddress reports whether a text was probably meant as an address, with or without its scheme. A text that
// begins as only a path can is a path.
func isAddress(text string) bool {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "://") || scheme().MatchString(text) {
		return true
	}
	isStart := func(start string) bool { return strings.HasPrefix(text, start) }
	if slices.ContainsFunc([]string{"./", "../", "~/", `.\`, `..\`}, isStart) || filepath.IsAbs(text) && !isStart("//") {
		return false
	}
	_, after, colon := strings.Cut(text, ":")
	return colon && strings.Contains(after, "@") // a password
}

// Redact returns a text that names a journal without its password, so that it can be shown.
func Redact(text string) string {
	switch {
	case IsPostgres(text):
	case isAddress(text):
		return redactUnknown(text)
	default:
		return text
	}
	scheme, rest, _ := strings.Cut(text, "://")
	// This does not use url.Parse, so that it also redacts an address that cannot be parsed.
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

// redactUnknown keeps what is before the first colon and after the last @ of an address that cannot be
// parsed.
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

// Untrusted is a file, directory or link that another user can change.
type Untrusted struct {
	Path string
	Why  string // as Distrust says it
	Info fs.FileInfo
}

// Alone reports whether the machine's list of users has no person but this one, as in a container, which may have no
// list at all.
func Alone() bool {
	users, err := os.ReadFile("/etc/passwd")
	return (err == nil || errors.Is(err, fs.ErrNotExist)) && !otherPeople(string(users), os.Geteuid())
}

// otherPeople reports whether a list of users, as in /etc/passwd, has a person other than this user.
func otherPeople(passwd string, euid int) bool {
	const first, last = 1000, 59999 // the numbers of people; services have others
	for line := range strings.Lines(passwd) {
		fields := strings.Split(line, ":")
		if len(fields) < 3 {
			continue
		}
		if uid, err := strconv.Atoi(fields[2]); err == nil && uid >= first && uid <= last && uid != euid {
			return true
		}
	}
	return false
}
