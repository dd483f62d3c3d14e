package cmdutil

import (
	"net/url"
	"slices"
	"strings"

	"example.com/till/internal/place"
	"example.com/till/internal/secret"
	"github.com/jackc/pgx/v5/pgconn"
)

// withoutSecrets returns the environment without the key and the journal's password, in any variable.
func (a *App) withoutSecrets() []string {
	// The key of the variable counts even if the command ended before it read the key.
	secrets := []string{strings.TrimSpace(a.IO.Env("TILL_API_KEY")), a.IO.Env("PGPASSWORD")}
	journals := []string{a.IO.Env("TILL_JOURNAL")}
	if s := a.session; s != nil {
		secrets, journals = append(secrets, s.key), append(journals, s.Journal, s.ProfileJournal)
	}
	for _, text := range journals {
		if place.Redact(text) != text || place.Check(text) != nil { // it has a password, or may have one
			secrets = append(secrets, text)
		} else if !place.IsPostgres(text) {
			continue
		}
		if c, err := pgconn.ParseConfig(text); err == nil { // its password may be that of the password file
			secrets = append(secrets, c.Password)
		} else if u, err := url.Parse(text); err == nil { // a file that the address names cannot be read
			password, _ := u.User.Password()
			secrets = append(secrets, password, u.Query().Get("password"))
		}
	}
	return slices.DeleteFunc(slices.Clone(a.IO.Environ()), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return name == "TILL_API_KEY" || name == "PGPASSWORD" || value != "" && slices.Contains(secrets, value) ||
			secret.Hide(value, secrets...) != value
	})
}
