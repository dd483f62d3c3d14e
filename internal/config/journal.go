package config

import (
	"errors"

	"example.com/till/internal/place"
)

// An error about a journal never shows it, because it may hold a password.

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

// RedactJournal returns a journal without its password, for display.
func RedactJournal(text string) string { return place.Redact(text) }
