package cli

import (
	"fmt"
	"regexp"
	"sync"

	"example.com/till/pkg/payout"
)

const (
	mostDetails = 20 // lines of text below an error
	mostReasons = 9  // each has two lines; there is one more for other reasons, and one for what has no line in the file
)

// varies matches what differs between the details of one reason: texts of the file, and numbers.
var varies = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:\\.|[^"\\])*"|[0-9]+(?:\.[0-9]+)?`) })

// detailLines returns the lines of text for the details of an error. If there are many, it shows one of each
// reason, and how many more there are.
func detailLines(all []payout.Detail) (lines []string) {
	if len(all) <= mostDetails {
		for _, d := range all {
			lines = append(lines, d.String())
		}
		return lines
	}
	var reasons []string // in the order of the file
	of := map[string][]payout.Detail{}
	for _, d := range all {
		reason := d.Field + ": " + varies().ReplaceAllString(d.Message, "*")
		if of[reason] == nil {
			reasons = append(reasons, reason)
		}
		of[reason] = append(of[reason], d)
	}
	others := 0
	for i, reason := range reasons {
		same := of[reason]
		if i >= mostReasons && same[0].Line > 0 {
			others += len(same)
			continue
		}
		lines = append(lines, same[0].String())
		if n := len(same) - 1; n > 0 && same[n].Line > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more of this kind, up to line %d", n, same[n].Line))
		} else if n > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more of this kind", n))
		}
	}
	if others > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more of other kinds; -o json lists them", others))
	}
	return lines
}
