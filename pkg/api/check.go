package api

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// MaxOrderID is the largest order id of a withdrawal: external_id is a JSON number, and many JSON readers
// round numbers above 2^53-1.
const MaxOrderID = 1<<53 - 1

// CheckOrderID returns an error if an order id of a withdrawal is not a whole number from 1 to MaxOrderID in
// plain digits. The service shows the id both as a string and as a number, so any other spelling would be
// lost.
func CheckOrderID(id string) error {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 || n > MaxOrderID || id[0] == '0' || id[0] == '+' {
		return fmt.Errorf("%q is not an order id: write a whole number from 1 to %d in digits, without a leading zero",
			id, int64(MaxOrderID))
	}
	return nil
}

// CheckUUID returns an error if a text is not a UUID in its usual form of 8-4-4-4-12 hexadecimal digits.
func CheckUUID(id string) error {
	if !isUUID(id) {
		return fmt.Errorf("%q is not a UUID, such as 7c9e6679-7425-40de-944b-e07fc1f90ae7", id)
	}
	return nil
}

func isUUID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return false
			}
		}
	}
	return true
}

func checkID(field, id string) error {
	if id == "" {
		return invalid(field, "it is empty: name one")
	}
	if i := strings.IndexFunc(id,
		func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }); i >= 0 {
		return invalid(field, "%q has a control character in it", id)
	}
	return nil
}

func checkUUIDField(field, id string) error {
	if err := CheckUUID(id); err != nil {
		return invalid(field, "%v", err)
	}
	return nil
}

func checkText(field, text string) error {
	if strings.TrimSpace(text) == "" {
		return invalid(field, "it is empty")
	}
	return checkPlain(field, text)
}

// checkPlain refuses control characters and invalid UTF-8, which a person cannot read and check.
func checkPlain(field, text string) error {
	for i, r := range text {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return invalid(field, "%q has a control character or invalid UTF-8 at byte %d", text, i)
		}
	}
	return nil
}

// visibleASCII reports whether a text is not empty and consists of ASCII letters, digits and signs, without a
// space. Nearly every address does, and needs no check of single characters.
func visibleASCII(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return false
		}
	}
	return text != ""
}

func checkCallback(field, text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return invalid(field,
			"%q is not an absolute http or https address, such as https://shop.example.com/paid", text)
	}
	return checkPlain(field, text)
}
