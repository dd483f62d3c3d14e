package render

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// painter adds colour to cells with a meaning: headers and labels are bold, the word minor is dim, true and
// growth are green, false and decline are red, and the bars of a chart are blue. A nil painter adds no
// colour.
type painter map[style]lipgloss.Style

type style int

const (
	bold style = iota
	dim
	green
	red
	blue
)

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
	greenest, reddest, bluest := lipgloss.Color("2"), lipgloss.Color("1"), lipgloss.Color("4")
	if o.Colors256 {
		r.SetColorProfile(termenv.ANSI256)
		greenest, reddest, bluest = green256, red256, blue256
	}
	r.SetHasDarkBackground(true)
	return painter{
		bold:  r.NewStyle().Bold(true),
		dim:   r.NewStyle().Faint(true),
		green: r.NewStyle().Foreground(greenest),
		red:   r.NewStyle().Foreground(reddest),
		blue:  r.NewStyle().Foreground(bluest),
	}
}

// Style is how a text outside of tables looks on a terminal with colours.
type Style int

const (
	Plain Style = iota
	Bold
	Red
	Blue
	RedGround // red, in reverse
)

// Styled returns a text in a style, for a terminal.
func Styled(as Style, s string, colors256 bool) string {
	if as == Plain {
		return s
	}
	p := Options{Color: true, Colors256: colors256}.painter()
	style := map[Style]lipgloss.Style{Bold: p[bold], Red: p[red], Blue: p[blue], RedGround: p[red].Reverse(true)}[as]
	lines := strings.Split(s, "\n") // which lipgloss would make equally wide
	for i, line := range lines {
		lines[i] = style.Render(line)
	}
	return strings.Join(lines, "\n")
}

func (p painter) mark(as style, s string) string {
	if p == nil || s == "" {
		return s
	}
	return p[as].Render(s)
}

// tint colours the text of a cell by its value.
func (p painter) tint(c Cell, text string) string {
	switch {
	case c.kind == kindBool && c.n != 0, c.signed && c.sign() > 0:
		return p.mark(green, text)
	case c.kind == kindBool, c.signed && c.sign() < 0:
		return p.mark(red, text)
	}
	return text
}

func (p painter) unit(c Cell) string {
	_, unit := c.amount()
	if c.decimals >= 0 {
		return unit
	}
	return p.mark(dim, minorWord) + strings.TrimPrefix(unit, minorWord)
}

func (p painter) amount(c Cell) string {
	number, _ := c.amount()
	return strings.TrimSuffix(number+" "+p.unit(c), " ")
}
