package xlsx

import (
	"math"
	"strconv"
	"strings"
)

// exact writes out a number of a workbook. Programs store 0.1 as 0.10000000000000001, too, and show at most 15
// digits. It reports whether a person can have typed the number: 0.1+0.2 is another one than 0.3.
func exact(text string) (string, bool) {
	stored, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "xXpP_nN") || math.Abs(stored) >= 1e21 {
		return "", false
	}
	shown := strconv.FormatFloat(stored, 'e', 14, 64)
	if again, err := strconv.ParseFloat(shown, 64); err != nil || again != stored {
		return "", false
	}
	return strconv.FormatFloat(stored, 'f', -1, 64), true
}

// builtIn returns a format for the number of a built-in one (ISO 29500-1, 18.8.30), as far as it matters here.
// The numbers from 27 on are dates in the languages of East Asia and Thailand.
func builtIn(id string) string {
	n, err := strconv.Atoi(id)
	switch {
	case err != nil:
		return ""
	case n == 9 || n == 10:
		return "0%"
	case n >= 14 && n <= 22 || n >= 27 && n <= 36 || n >= 45 && n <= 47 || n >= 50 && n <= 58 || n >= 71 && n <= 81:
		return "yyyy-mm-dd"
	}
	return ""
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isDate reports whether a number is shown as a date or a time: whether letters are left in its format
// without texts, colours and the exponent. A letter that is none of a date is refused with them.
func isDate(format string) bool {
	if strings.EqualFold(format, "General") {
		return false
	}
	for i := 0; i < len(format); i++ {
		switch c := format[i]; {
		case c == '"':
			end := strings.IndexByte(format[i+1:], '"')
			if end < 0 {
				return false
			}
			i += end + 1
		case c == '\\' || c == '_' || c == '*':
			i++
		case c == '[':
			end := strings.IndexByte(format[i:], ']')
			if end < 0 {
				return false
			}
			if elapsed := strings.ToLower(format[i+1 : i+end]); elapsed != "" && strings.Trim(elapsed, "hms") == "" {
				return true
			}
			i += end
		case (c == 'E' || c == 'e') && i+1 < len(format) && (format[i+1] == '+' || format[i+1] == '-'):
		case isLetter(c):
			return !strings.HasPrefix(strings.ToLower(format[i:]), "general")
		}
	}
	return false
}
