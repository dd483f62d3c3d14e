package render

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Style is how a text looks on a terminal with colours.
type Style int

// The styles. Headers and labels are bold, the word minor is dim, true and growth are green, false and decline
// are red, and the bars of a chart are blue.
const (
	Plain Style = iota
	Bold
	Dim
	Green
	Red
	Blue
	RedGround // red, in reverse
)

// painter has how each style but Plain is written. A nil painter adds no colour.
type painter map[Style]lipgloss.Style

// Of the 256 colours, those of the bars and signs have a contrast of at least 3 on black, on white, and on
// both backgrounds of Solarized. The sixteen are whatever the terminal makes of them.
const (
	green256 = "29"  // #00875f
	red256   = "167" // #d75f5f
	blue256  = "32"  // #0087d7
)

func (o Options) painter() painter {
	if !o.Color {
		return nil
	}
	// The profile and the background are set, so that termenv does not query the terminal.
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	green, red, blue := lipgloss.Color("2"), lipgloss.Color("1"), lipgloss.Color("4")
	if o.Colors256 {
		r.SetColorProfile(termenv.ANSI256)
		green, red, blue = green256, red256, blue256
	}
	r.SetHasDarkBackground(true)
	return painter{
		Bold:      r.NewStyle().Bold(true),
		Dim:       r.NewStyle().Faint(true),
		Green:     r.NewStyle().Foreground(green),
		Red:       r.NewStyle().Foreground(red),
		Blue:      r.NewStyle().Foreground(blue),
		RedGround: r.NewStyle().Foreground(red).Reverse(true),
	}
}

// Styled returns a text in a style, if there are colours.
func (o Options) Styled(as Style, s string) string {
	p, lines := o.painter(), strings.Split(s, "\n") // which lipgloss would make equally wide
	for i, line := range lines {
		lines[i] = p.mark(as, line)
	}
	return strings.Join(lines, "\n")
}

func (p painter) mark(as Style, s string) string {
	if p == nil || as == Plain || s == "" {
		return s
	}
	return p[as].Render(s)
}

// wrap breaks a text into lines in a style, of at most limit columns.
func (p painter) wrap(as Style, text string, limit int) []string {
	lines := Wrap(Safe(text), limit)
	for i, line := range lines {
		lines[i] = p.mark(as, line)
	}
	return lines
}

// tint colours the text of a cell by its value.
func (p painter) tint(c Cell, text string) string {
	switch {
	case c.signed:
		return p.mark(signStyle(c.number().Sign()), text)
	case c.form == formBool:
		return p.mark(map[string]Style{"true": Green, "false": Red}[c.text], text)
	}
	return text
}

// signStyle returns the style of growth (1) or decline (-1).
func signStyle(sign int) Style { return map[int]Style{1: Green, -1: Red}[sign] }

func (p painter) unit(c Cell) string {
	_, unit := c.amount()
	if c.decimals >= 0 {
		return unit
	}
	return p.mark(Dim, minorWord) + strings.TrimPrefix(unit, minorWord)
}
