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

func newPainter(color bool) painter {
	if !color {
		return nil
	}
	// The profile and the background are set, so that termenv does not query the terminal.
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	r.SetHasDarkBackground(true)
	return painter{
		bold:  r.NewStyle().Bold(true),
		dim:   r.NewStyle().Faint(true),
		green: r.NewStyle().Foreground(lipgloss.Color("2")),
		red:   r.NewStyle().Foreground(lipgloss.Color("1")),
		blue:  r.NewStyle().Foreground(lipgloss.Color("4")),
	}
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
