package api

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// MaxDecimals is the largest number of decimals of a currency: an int64 holds no more digits.
const MaxDecimals = 18

// ParseDecimal reads an exact decimal such as "25.00" as a count of minor units of a currency with the given
// number of decimals: ParseDecimal("25.00", 2) is 2500.
//
// The text is digits, optionally followed by a point and at most that many digits. Signs, exponents,
// thousands separators, a missing digit before or after the point, leading zeros, and values that do not fit
// into an int64 are errors that name the problem. Zero is accepted: whether an amount may be zero is up to
// the caller.
func ParseDecimal(text string, decimals int) (int64, error) {
	if decimals < 0 || decimals > MaxDecimals {
		return 0, fmt.Errorf("%d decimals: a currency has 0 to %d", decimals, MaxDecimals)
	}
	if err := checkDecimal(text); err != nil {
		return 0, err
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if len(fraction) > decimals {
		noun := "decimals"
		if len(fraction) == 1 {
			noun = "decimal"
		}
		return 0, fmt.Errorf("%q has %d %s, and the currency has %d: write no more digits than that", text,
			len(fraction), noun, decimals)
	}
	minor, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	if err != nil { // only the range can be wrong here
		return 0, fmt.Errorf("%q is too large: at most %s fits", text, FormatDecimal(math.MaxInt64, decimals))
	}
	return minor, nil
}

// checkDecimal returns an error about the first thing that keeps text from being an exact decimal.
func checkDecimal(text string) error {
	if text == "" {
		return errors.New("the amount is empty: write it as digits, such as 25.00")
	}
	if text[0] == '-' {
		return fmt.Errorf("%q is negative: write a positive amount", text)
	}
	if text[0] == '+' {
		return fmt.Errorf("%q has a sign: write the digits alone", text)
	}
	points := 0
	for i, r := range text {
		switch {
		case r >= '0' && r <= '9':
		case r == '.':
			if points++; points > 1 {
				return fmt.Errorf("%q has two decimal points: write one", text)
			}
			if i == 0 {
				return fmt.Errorf("%q has no digit before the point: write 0%s", text, text)
			}
			if i == len(text)-1 {
				return fmt.Errorf("%q ends in a point: write %s", text, text[:i])
			}
		case r == ',' || r == '_' || r == '\'':
			return fmt.Errorf("%q has a separator: write digits and one point only", text)
		case r == 'e' || r == 'E':
			return fmt.Errorf("%q has an exponent: write all digits out", text)
		default:
			return fmt.Errorf("%q is not a number: write digits and one point, such as 25.00", text)
		}
	}
	if len(text) > 1 && text[0] == '0' && text[1] != '.' {
		return fmt.Errorf("%q has a leading zero: write %s", text, trimZeros(text))
	}
	return nil
}

func trimZeros(text string) string {
	text = strings.TrimLeft(text, "0")
	if text == "" || text[0] == '.' {
		return "0" + text
	}
	return text
}

// FormatDecimal writes a count of minor units as an exact decimal: FormatDecimal(2500, 2) is "25.00". It
// writes all decimals, so that the text shows the currency's precision. It panics if decimals is negative.
func FormatDecimal(minor int64, decimals int) string {
	if decimals < 0 {
		panic("api.FormatDecimal: negative decimals")
	}
	var room [48]byte
	text := strconv.AppendInt(room[:0], minor, 10)
	if decimals == 0 {
		return string(text)
	}
	first := 0
	if text[0] == '-' {
		first = 1
	}
	for len(text)-first <= decimals {
		text = slices.Insert(text, first, '0')
	}
	text = slices.Insert(text, len(text)-decimals, '.')
	return string(text)
}
