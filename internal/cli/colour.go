package cli

import (
	"io"
	"strings"

	"example.com/till/internal/terminal"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

const errorPrefix = "till:"

// paint makes the beginning of the error line red where a person sees it.
func (a *app) paint(text, choice string) string {
	rest, found := strings.CutPrefix(text, errorPrefix)
	if !found || !wantsColour(choice, a.io.env, terminal.Of(a.io.Err) != nil) {
		return text
	}
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI) // told, so that the terminal is not asked
	r.SetHasDarkBackground(true)
	return r.NewStyle().Foreground(lipgloss.Color("1")).Render(errorPrefix) + rest
}

// wantsColour decides for one stream: --color first, then NO_COLOR, then CLICOLOR_FORCE, then whether it is a terminal.
func wantsColour(choice string, env func(string) string, onTerminal bool) bool {
	switch choice {
	case "always":
		return true
	case "never":
		return false
	}
	if env("NO_COLOR") != "" {
		return false
	}
	if force := env("CLICOLOR_FORCE"); force != "" && force != "0" {
		return true
	}
	return onTerminal && env("TERM") != "dumb"
}
