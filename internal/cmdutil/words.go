package cmdutil

import (
	"fmt"
	"strings"
)

func CountOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func IsOrAre(noun string, ids []string) string {
	if len(ids) == 1 {
		return noun + " " + ids[0] + " is"
	}
	return fmt.Sprintf("%d %ss (%s) are", len(ids), noun, strings.Join(Few(ids), ", "))
}

func Few(ids []string) []string {
	if len(ids) > 5 {
		return append(ids[:5:5], "...")
	}
	return ids
}
