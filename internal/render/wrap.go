package render

import "strings"

// Width returns how many columns of a terminal a text takes.
func Width(s string) int { return width(s) }

// WrapWords breaks each line of a text at spaces, so that no line is wider than limit columns of a terminal.
// Behind a break, a line is indented. A word that is too wide stays whole, for the terminal to break: a
// person can then copy it as one.
func WrapWords(s string, limit, indent int) string {
	var b strings.Builder
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		at := 0
		for line != "" {
			word := strings.TrimLeft(line, " ")
			gap := line[:len(line)-len(word)]
			if end := strings.IndexByte(word, ' '); end >= 0 {
				word = word[:end]
			}
			line = line[len(gap)+len(word):]
			at += len(gap)
			if word != "" && at > indent && at+width(word) > limit {
				gap, at = "\n"+spaces(indent), indent
			}
			b.WriteString(gap + word)
			at += width(word)
		}
	}
	return b.String()
}
