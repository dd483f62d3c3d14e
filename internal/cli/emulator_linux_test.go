package cli

import (
	"fmt"
	"strings"
	"unicode"

	"example.com/till/internal/render"
)

// emulator shows what a terminal shows after it got some output. It knows as much as till uses: line breaks,
// lines that are too wide, erasing, and colours. Wide characters take two places, and combining ones none.
type emulator struct {
	width  int
	lines  [][]string // a place holds a character with its marks; the second place of a wide one is empty
	x, y   int
	colour bool
	hidden bool // the cursor
}

// emulate returns the lines of the screen, with ‸ for the cursor. It fails if the terminal is left with
// colours or without a cursor.
func emulate(width int, output string) (string, error) {
	e := &emulator{width: width, lines: [][]string{nil}}
	for output != "" {
		if rest, found := strings.CutPrefix(output, "\x1b["); found {
			end := strings.IndexFunc(rest, unicode.IsLetter)
			if end < 0 {
				return "", fmt.Errorf("an escape sequence does not end: %q", rest)
			}
			if err := e.control(rest[:end], rest[end]); err != nil {
				return "", err
			}
			output = rest[end+1:]
			continue
		}
		r := []rune(output)[0]
		output = output[len(string(r)):]
		e.put(r)
	}
	if e.colour || e.hidden {
		return "", fmt.Errorf("the terminal is left with colours: %t; without a cursor: %t", e.colour, e.hidden)
	}
	var b strings.Builder
	for y, line := range e.lines {
		text := ""
		for x := range max(len(line), e.x+1) {
			if y == e.y && x == e.x {
				text += "‸"
			}
			if x < len(line) {
				text += line[x]
			} else {
				text += " "
			}
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return b.String(), nil
}

func (e *emulator) control(parameters string, verb byte) error {
	switch sequence := parameters + string(verb); {
	case sequence == "K":
		e.lines[e.y] = e.lines[e.y][:min(e.x, len(e.lines[e.y]))]
	case sequence == "J":
		e.lines[e.y] = e.lines[e.y][:min(e.x, len(e.lines[e.y]))]
		e.lines = e.lines[:e.y+1]
	case verb == 'm':
		e.colour = parameters != "" && parameters != "0"
	case sequence == "?25l", sequence == "?25h":
		e.hidden = verb == 'l'
	default:
		return fmt.Errorf("the emulator does not know the sequence %q", sequence)
	}
	return nil
}

func (e *emulator) put(r rune) {
	switch r {
	case '\r':
		e.x = 0
		return
	case '\n':
		e.y++
		if e.y == len(e.lines) {
			e.lines = append(e.lines, nil)
		}
		return
	}
	wide := render.Width(string(r))
	line := e.lines[e.y]
	if wide == 0 && e.x > 0 && e.x <= len(line) {
		line[e.x-1] += string(r)
		return
	}
	if e.x+wide > e.width {
		e.put('\r')
		e.put('\n')
		line = e.lines[e.y]
	}
	for len(line) < e.x+wide {
		line = append(line, " ")
	}
	line[e.x] = string(r)
	for i := 1; i < wide; i++ {
		line[e.x+i] = ""
	}
	e.lines[e.y] = line
	e.x += wide
}
