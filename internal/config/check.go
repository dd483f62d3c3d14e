package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"example.com/till/internal/place"
)

func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("it is empty: write a value, or leave it out")
	case text != strings.TrimSpace(text):
		return fmt.Errorf("%q begins or ends in a space: remove it", text)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("%q has control characters: write plain text", text)
	}
	return nil
}

func checkBool(text string) error {
	if _, err := strconv.ParseBool(text); err != nil {
		return fmt.Errorf("%q is neither true nor false: write true or false", text)
	}
	return nil
}

// upTo returns the check of a number.
func upTo(most uint64, advice string) func(text string) error {
	return func(text string) error {
		if n, err := strconv.ParseUint(text, 10, 64); err != nil || n > most || strconv.FormatUint(n, 10) != text {
			return fmt.Errorf("%q is not a number from 0 to %d: %s", text, most, advice)
		}
		return nil
	}
}

func checkDuration(text string) error {
	if d, err := time.ParseDuration(text); err != nil || d < 0 {
		return fmt.Errorf("%q is not a duration: write a number and a unit, such as 90s, 15m or 2h", text)
	}
	return nil
}

func checkPositiveDuration(text string) error {
	if d, err := time.ParseDuration(text); err == nil && d == 0 {
		return fmt.Errorf("%q is no time at all: write a duration such as 30s", text)
	}
	return checkDuration(text)
}

// checkUnshown is checkText for what may be a secret, such as a key in place of its path, or have a password. Its
// error does not show the text.
func checkUnshown(text, advice string) error {
	if checkText(text) != nil {
		return errors.New("it is empty, begins or ends in a space or has control characters: " + advice)
	}
	return nil
}

func checkKeyPlace(text string) error {
	return checkUnshown(text, "write the path of a file that holds the key")
}

func checkKeyFile(text string) error {
	if checkKeyPlace(text) != nil || !filepath.IsAbs(text) && !strings.HasPrefix(text, "~/") {
		return errors.New("it is no absolute path, and none that begins with ~/: write the path of a file that holds the key, not the key")
	}
	return nil
}

func checkJournal(text string) error {
	return cmp.Or(checkUnshown(text, "write a path, or postgres://USER@HOST/DATABASE"), place.Check(text))
}

func expandHome(home, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

func checkTimeZone(text string) error {
	if err := checkText(text); err != nil {
		return err
	}
	if _, err := time.LoadLocation(text); err != nil {
		return fmt.Errorf("%q is not a time zone that this machine knows: write a name such as UTC or Europe/Berlin",
			text)
	}
	return nil
}

// checkTimeLayout requires a layout in which two different days never look the same.
func checkTimeLayout(text string) error {
	if err := checkText(text); err != nil {
		return err
	}
	day := time.Date(2001, time.February, 3, 4, 5, 6, 0, time.UTC)
	// 28 years and 7 days keep the day of the week, which alone is not a date
	for _, other := range []time.Time{day.AddDate(28, 0, 0), day.AddDate(0, 1, 0), day.AddDate(0, 0, 7)} {
		if day.Format(text) == other.Format(text) {
			return fmt.Errorf("%q lacks the year, the month or the day: write how 2 January 2006, 15:04:05 looks, such as 2006-01-02T15:04:05", text)
		}
	}
	return nil
}

// ValidProfileName reports whether a profile can have this name: lower-case letters, digits, - and _, with a
// letter or a digit first.
func ValidProfileName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.HasPrefix(name, "-") && !strings.HasPrefix(name, "_") &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

func checkProfileName(name string) error {
	if !ValidProfileName(name) {
		return fmt.Errorf("%q cannot be the name of a profile: write lower-case letters, digits, - and _, at most 64",
			name)
	}
	if name == Sandbox {
		return fmt.Errorf("the profile %s is built in and has no settings: choose another name", Sandbox)
	}
	return nil
}

// checkProgramPath checks a program that a flag names.
func checkProgramPath(text string) error {
	if err := checkText(text); err != nil {
		return err
	}
	if !filepath.IsAbs(text) {
		return fmt.Errorf("%q is not an absolute path: write one, without arguments", text)
	}
	return nil
}

// RedactJournal returns a journal without its password, for display.
func RedactJournal(text string) string { return place.Redact(text) }
