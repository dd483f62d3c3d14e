package config

import (
	"errors"
	"net/url"
	"strings"
)

// A journal is a file, or an address that begins with postgres://. What is wrong with one never shows it, because it may
// hold a password.

func isPostgres(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

func checkJournal(text string) error {
	if err := checkText(text); err != nil && text == "" {
		return err
	} else if err != nil {
		return errors.New("it begins or ends in a space or has control characters: write a path, or postgres://USER@HOST/DATABASE")
	}
	if isPostgres(text) {
		if _, err := url.Parse(text); err != nil {
			return errors.New("the address of the database cannot be understood: write postgres://USER@HOST/DATABASE")
		}
		return nil
	}
	if strings.Contains(text, "://") {
		return errors.New("it is an address of a kind that is not known: write a path, or postgres://USER@HOST/DATABASE")
	}
	for _, word := range []string{"host=", "user=", "dbname=", "password="} {
		if strings.HasPrefix(text, word) || strings.Contains(text, " "+word) {
			return errors.New("it is a list of connection settings: write them as an address, postgres://USER@HOST/DATABASE")
		}
	}
	return nil
}

func checkProfileJournal(text string) error {
	if err := checkJournal(text); err != nil || isPostgres(text) {
		return err
	}
	return checkPath(text)
}

// journalHasPassword reports whether a journal's address holds a password, in either of its two places.
func journalHasPassword(text string) bool {
	return isPostgres(text) && RedactJournal(text) != text
}

// RedactJournal returns a journal as it may be shown: without a password.
func RedactJournal(text string) string {
	if !isPostgres(text) {
		return text
	}
	scheme, rest, _ := strings.Cut(text, "://")
	// By hand rather than by url.Parse, so that an address that cannot be understood is redacted as well.
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	if at := strings.LastIndexByte(rest[:end], '@'); at >= 0 {
		if user, _, found := strings.Cut(rest[:at], ":"); found {
			rest = user + ":xxxxx" + rest[at:]
		}
	} else if at := strings.LastIndexByte(rest, '@'); at >= 0 && strings.Contains(rest[:at], ":") { // a password with a slash
		rest = "xxxxx" + rest[at:]
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
