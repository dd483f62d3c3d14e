package cmdutil

import (
	"fmt"
	"strings"
)

// CountOf returns a count with its noun, such as "2 orders".
func CountOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// IsOrAre returns the subject and the verb of a message about ids, such as "order 7 is".
func IsOrAre(noun string, ids []string) string {
	if len(ids) == 1 {
		return noun + " " + ids[0] + " is"
	}
	return fmt.Sprintf("%d %ss (%s) are", len(ids), noun, strings.Join(Few(ids), ", "))
}

// Few returns at most five of the ids, with "..." for the others.
func Few(ids []string) []string {
	if len(ids) > 5 {
		return append(ids[:5:5], "...")
	}
	return ids
}
