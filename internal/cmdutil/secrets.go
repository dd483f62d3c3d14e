package cmdutil

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"example.com/till/internal/place"
	"github.com/jackc/pgx/v5/pgconn"
)

// journalVariable names the journal. Its value may have a password, and other variables may have the value.
const journalVariable = "TILL_JOURNAL"

// The shortest key and the shortest password that are looked for within the value of a variable. A shorter one
// may be a part of it by chance.
const (
	shortestKey      = 8
	shortestPassword = 4
)

// withoutSecrets returns the environment without the key and the journal's password, in any variable.
func (a *App) withoutSecrets() []string {
	keys := []string{strings.TrimSpace(a.IO.Env("TILL_API_KEY"))} // also if the command ended before it read the key
	journals := []string{a.IO.Env(journalVariable)}
	if s := a.session; s != nil {
		keys, journals = append(keys, s.key), append(journals, s.Journal, s.ProfileJournal)
	}
	// A text that names no journal may have a password too.
	journals = slices.DeleteFunc(journals, func(text string) bool {
		return text == "" || !place.IsPostgres(text) && place.Redact(text) == text && place.Check(text) == nil
	})
	var passwords []string
	for _, text := range journals {
		passwords = append(passwords, a.passwordsOf(text)...)
		if place.Redact(text) != text || place.Check(text) != nil {
			passwords = append(passwords, text)
		}
	}
	return slices.DeleteFunc(slices.Clone(a.IO.Environ()), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return name == "TILL_API_KEY" || name == "PGPASSWORD" ||
			slices.ContainsFunc(keys, func(key string) bool { return hasSecret(value, key, shortestKey) }) ||
			slices.ContainsFunc(passwords, func(text string) bool { return hasSecret(value, text, shortestPassword) })
	})
}

// passwordsOf returns the passwords for the database at an address: its own, that of the environment and that
// of the password file.
func (a *App) passwordsOf(address string) []string {
	passwords := []string{a.IO.Env("PGPASSWORD")}
	if c, err := pgconn.ParseConfig(address); err == nil {
		passwords = append(passwords, c.Password)
	} else if u, err := url.Parse(address); err == nil { // a file that the address names cannot be read
		own, _ := u.User.Password()
		passwords = append(passwords, own, u.Query().Get("password"))
	}
	return passwords
}

// hasSecret reports whether a value has a secret, as it is or escaped for an address. A secret that is shorter
// than shortest must be the whole value.
func hasSecret(value, secret string, shortest int) bool {
	if secret == "" {
		return false
	}
	for _, text := range []string{value, unescape(value), unescape(strings.ReplaceAll(value, "+", " "))} {
		if text == secret || len(secret) >= shortest && strings.Contains(text, secret) {
			return true
		}
	}
	return false
}

var escaped = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
})

// unescape replaces what is escaped for an address, also where the text is none.
func unescape(text string) string {
	return escaped().ReplaceAllStringFunc(text, func(code string) string {
		char, _ := url.PathUnescape(code)
		return char
	})
}
