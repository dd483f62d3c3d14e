package config

import (
	"errors"

	"example.com/till/internal/place"
)

// What is wrong with a journal never shows it, because it may hold a password.

func checkJournal(text string) error {
	if err := checkText(text); err != nil {
		if text == "" {
			return err
		}
		return errors.New("it begins or ends in a space or has control characters: write a path, or postgres://USER@HOST/DATABASE")
	}
	return place.Check(text)
}

func checkProfileJournal(text string) error {
	if err := checkJournal(text); err != nil || place.IsPostgres(text) {
		return err
	}
	return checkPath(text)
}

// RedactJournal returns a journal as it may be shown: without a password.
func RedactJournal(text string) string { return place.Redact(text) }
