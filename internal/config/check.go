package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"example.com/till/internal/period"
	"example.com/till/internal/place"
	"example.com/till/pkg/api"
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

// checkTime accepts what --from does. Only the service can read a full date-time.
func checkTime(text string) error {
	if err := checkText(text); err != nil || period.IsDateTime(text) {
		return err
	}
	_, err := period.Parser{Zone: time.UTC}.Parse(text)
	return err
}

func checkBool(text string) error {
	if _, err := strconv.ParseBool(text); err != nil {
		return fmt.Errorf("%q is neither true nor false: write true or false", text)
	}
	return nil
}

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

func checkProfileName(name string) error {
	if name == "" || len(name) > 64 || strings.HasPrefix(name, "-") || strings.HasPrefix(name, "_") ||
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return fmt.Errorf("%q cannot be the name of a profile: write lower-case letters, digits, - and _, at most 64",
			name)
	}
	if name == Sandbox {
		return fmt.Errorf("the profile %s is built in and has no settings: choose another name", Sandbox)
	}
	return nil
}

func checkProgramPath(text string) error {
	if err := checkText(text); err != nil {
		return err
	}
	if !filepath.IsAbs(text) {
		return fmt.Errorf("%q is not an absolute path: write one, without arguments", text)
	}
	return nil
}

// NormalizeBaseURL checks the address of a service and writes it in its only normal form: scheme and host in
// lower case, no default port, no slash at the end. It accepts plain http only for literal loopback
// addresses, and no other spelling of the same address, see [api.CheckSpelling].
func NormalizeBaseURL(text string) (string, error) {
	u, err := parseBaseURL(text)
	if err != nil {
		return "", err
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// errPlainHTTP marks the only fault of an address that is dangerous and not merely misspelled.
var errPlainHTTP = errors.New("plain http to another machine")

func parseBaseURL(text string) (*url.URL, error) {
	const want = "write one such as https://pay.example.com"
	u, err := url.Parse(text)
	switch { // the errors show no address that may hold a password
	case err != nil || strings.ContainsFunc(text, unicode.IsSpace):
		return nil, fmt.Errorf("the address cannot be understood: %s", want)
	case u.User != nil || strings.ContainsAny(text, "?#"):
		return nil, fmt.Errorf("the address has a user name or a password, a query or a fragment: leave them out, and %s", want)
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return nil, fmt.Errorf("%q does not begin with https:// and a host: %s", text, want)
	}
	host := strings.ToLower(u.Hostname())
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if u.Port() != "" && (err != nil || port == 0) {
		return nil, fmt.Errorf("%q has no such port: write a number from 1 to 65535", text)
	}
	if u.Scheme == "http" && !isLoopback(host) {
		instead := "write https://"
		if host == "localhost" { // a name: a machine can be set up to resolve it to any address
			instead = "write 127.0.0.1 instead of localhost"
		}
		return nil, fmt.Errorf("%w: over %q a key would be readable on the way, %s", errPlainHTTP, text, instead)
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		host = "[" + addr.String() + "]" // one spelling
	}
	if u.Host = host; port != 0 && port != map[string]uint64{"https": 443, "http": 80}[u.Scheme] {
		u.Host += ":" + strconv.FormatUint(port, 10)
	}
	return u, api.CheckSpelling(u)
}

// isLoopback reports whether a host is a literal loopback address, 127.0.0.0/8 or ::1. No name is one.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == "" && !addr.Is4In6() && addr.IsLoopback()
}

// IsLoopbackURL reports whether an address is on a literal loopback address.
func IsLoopbackURL(text string) bool {
	u, err := parseBaseURL(text)
	return err == nil && isLoopback(u.Hostname())
}

// serverOf returns the part of an address that decides who gets a key: scheme, host and port. It is empty for
// no address.
func serverOf(text string) string {
	u, err := parseBaseURL(text)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
}
