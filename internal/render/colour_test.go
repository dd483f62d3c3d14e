package render

import (
	"regexp"
	"testing"
)

// TestColoursOfTheTheme checks that every style is bold, dim or one of the colours that themes keep legible
// on their background. No fixed colour is legible on black, on dark grey, on white and on cream; yellow and
// white are not even so in most light themes.
func TestColoursOfTheTheme(t *testing.T) {
	legible := regexp.MustCompile("^\x1b\\[(1|2|31|32|34|35)mtext\x1b\\[0m$")
	for style, s := range newPainter(true) {
		if got := s.Render("text"); !legible.MatchString(got) {
			t.Errorf("style %d: %q", style, got)
		}
	}
	for _, style := range []style{bold, dim, green, red, blue} {
		if got := newPainter(false).mark(style, "text"); got != "text" {
			t.Errorf("without colour: %q", got)
		}
	}
}
