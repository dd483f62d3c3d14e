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
	typed = strings.ToLower(typed)
	var near [3][]string // by the number of mistakes
	var longer, abbreviated []string
	for _, name := range names {
		lower := strings.ToLower(name)
		// a name that shares no letter is not near
		if n := mistakes(typed, lower); n < len(near) && n < max(len(typed), len(lower)) {
			near[n] = append(near[n], name)
		}
		if typed != "" && (strings.HasPrefix(lower, typed) || strings.HasSuffix(lower, "_"+typed)) {
			longer = append(longer, name)
		}
		if abbreviates(typed, lower) {
			abbreviated = append(abbreviated, name)
		}
	}
	if len(typed) <= 4 { // two mistakes in a short name make another name
		near[2] = nil
	}
	for _, found := range [][]string{near[0], near[1], longer, abbreviated, near[2]} {
		if len(found) > 0 {
			return withPlurals(found, names)
		}
	}
	return nil
}

// withPlurals adds the plurals of the names found, such as payouts, a topic, to payout, a command.
func withPlurals(found, names []string) []string {
	all := slices.Clone(found)
	for _, name := range found {
		if plural := name + "s"; slices.Contains(names, plural) && !slices.Contains(all, plural) {
			all = append(all, plural)
		}
	}
	return all
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

// mistakes returns how many letters are missing, extra, different or swapped with the next one: the optimal
// string alignment distance.
func mistakes(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			differ := 1
			if a[i-1] == b[j-1] {
				differ = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
