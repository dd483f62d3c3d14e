// Package near finds the names that a misspelt name may have meant, and lists words in a sentence.
package near

import (
	"slices"
	"strings"
)

// Names returns the names nearest to typed: those with one mistake in them, or else those that begin with
// typed, or end with it after an underscore, or else those that typed abbreviates, such as cols for columns,
// or else those with two mistakes. It ignores case. If no name is near, it returns none.
func Names(typed string, names []string) []string {
	var found []string
	best := far
	for _, name := range names {
		switch n := distance(strings.ToLower(typed), strings.ToLower(name)); {
		case n < best:
			best, found = n, []string{name}
		case n == best && n < far:
			found = append(found, name)
		}
	}
	for _, name := range found { // payouts, a topic, goes with payout, a command
		if plural := name + "s"; slices.Contains(names, plural) && !slices.Contains(found, plural) {
			found = append(found, plural)
		}
	}
	return found
}

// far is the distance of a name that is not near.
const far = 5

func distance(typed, name string) int {
	n := mistakes(typed, name, 2)
	switch {
	case n >= max(len(typed), len(name)): // they share no letter
		return far
	case n < 2:
		return n
	case typed != "" && (strings.HasPrefix(name, typed) || strings.HasSuffix(name, "_"+typed)):
		return 2
	case abbreviates(typed, name):
		return 3
	case n == 2 && len(typed) > 4: // two mistakes in a short name make another name
		return 4
	}
	return far
}

// Question returns "did you mean A, B or C?" with the names nearest to typed, each after prefix. If no name
// is near, it returns "".
func Question(typed, prefix string, names []string) string {
	var found []string
	for _, name := range Names(typed, names) {
		if len(found) < 3 {
			found = append(found, prefix+name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "did you mean " + Or(found) + "?"
}

// Or lists words as "A, B or C".
func Or(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// abbreviates reports whether typed is name without some of its letters. The first one is there, and enough
// others to be meant.
func abbreviates(typed, name string) bool {
	if len(typed) < 3 || name == "" || typed[0] != name[0] {
		return false
	}
	for _, letter := range []byte(name) {
		if typed != "" && typed[0] == letter {
			typed = typed[1:]
		}
	}
	return typed == ""
}

// mistakes returns how many letters are missing, extra, different or swapped with the next one. It looks for no
// more than most, and then returns a larger number.
func mistakes(a, b string, most int) int {
	switch {
	case a == "" || b == "":
		return len(a) + len(b)
	case a[0] == b[0]:
		return mistakes(a[1:], b[1:], most)
	case most == 0:
		return 1
	}
	n := min(mistakes(a[1:], b, most-1), mistakes(a, b[1:], most-1), mistakes(a[1:], b[1:], most-1))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		n = min(n, mistakes(a[2:], b[2:], most-1))
	}
	return n + 1
}
