package cmdutil

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"example.com/till/internal/exit"
	"example.com/till/internal/render"
	"example.com/till/internal/terminal"
	"example.com/till/internal/usage"
	"example.com/till/pkg/payout"
)

// HintLine is a hint as JSON.
type HintLine struct {
	Text    string   `json:"text"`              // all of it, with the command as it is typed
	Command []string `json:"command,omitempty"` // its words, till first
}

// NewHintLine returns a hint as JSON, or nil if it is empty.
func NewHintLine(h payout.Hint) *HintLine {
	line := &HintLine{Text: h.String()}
	switch {
	case h.IsZero():
		return nil
	case len(h.Command) > 0:
		line.Command = append([]string{"till"}, h.Command...)
	}
	return line
}

// NoteLine is a note as JSON.
type NoteLine struct {
	Note Remark `json:"note"`
}

// WarningLine is a warning as JSON.
type WarningLine struct {
	Warning Remark `json:"warning"`
}

// Remark is a line on standard error that is not an error.
type Remark struct {
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`  // of the file that it is about
	Field   string `json:"field,omitempty"` // the column of that line

	Hint *HintLine `json:"hint,omitempty"`
	exit.About
}

// Note writes a line for a person to standard error. Under -o json it is {"note":{...}}.
func (a *App) Note(format string, args ...any) error {
	return a.NoteAbout(exit.About{}, format, args...)
}

// NoteAbout is like Note, for a line about something other than the subject of the command, or about more.
func (a *App) NoteAbout(what exit.About, format string, args ...any) error {
	text := a.InText(fmt.Sprintf(format, args...))
	return a.note(a.Wrapped(text), Remark{Message: text, About: what})
}

// NoteCopy writes a note that ends with something to copy: see WithCopy.
func (a *App) NoteCopy(thing, format string, args ...any) error {
	text := a.InText(fmt.Sprintf(format, args...))
	return a.note(a.WithCopy(a.Wrapped(text), thing), Remark{Message: text + " " + thing})
}

// NoteCommand writes a note that ends with a command of till.
func (a *App) NoteCommand(command []string, format string, args ...any) error {
	hint, text := NewHintLine(a.AddGlobalFlags(payout.NewHint("", command...))), a.InText(fmt.Sprintf(format, args...))
	return a.note(a.WithCopy(a.Wrapped(text), hint.Text), Remark{Message: text + " " + hint.Text, Hint: hint})
}

// AddGlobalFlags adds global flags to the commands in a hint. A command that depends on the account and the
// journal, or changes a configuration, gets the flags that select them; without these, it would act on another.
// Settings from the environment still apply.
func (a *App) AddGlobalFlags(h payout.Hint) payout.Hint {
	return payout.NewHint(a.InText(h.Text), slices.Concat(a.selecting(h.Command), h.Command)...)
}

// InText is AddGlobalFlags for the commands that stand in a text.
func (a *App) InText(text string) string {
	parts := strings.SplitAfter(text, "till ")
	for i, command := range parts[1:] {
		for _, word := range a.selecting(strings.Fields(command)) {
			parts[i] += usage.Quote(word) + " "
		}
	}
	return strings.Join(parts, "")
}

func (a *App) selecting(command []string) (given []string) {
	if len(command) == 0 || slices.Contains(command, "--help") {
		return nil
	}
	account := []string{"profile", "sandbox", "base-url", "config", "journal", "api-key-file"}
	selecting := map[string][]string{"withdraw": account, "journal": account, "payout": account, "auth": account,
		"config": account, "reseller": account, "invoice": account, "invite": account, "service": account, "api": account,
		"currency": {"profile", "sandbox", "config"}, "profile": {"config"}}
	for _, name := range selecting[command[0]] {
		f := a.Global.Lookup(name)
		switch {
		case !f.Changed || slices.Contains(command, "--"+name):
		case name == "api-key-file" && !isFile(f.Value.String()): // a pipe that was read or, by mistake, the key itself
		case f.Value.Type() != "bool":
			given = append(given, "--"+name, f.Value.String())
		case f.Value.String() == "true":
			given = append(given, "--"+name)
		}
	}
	return given
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Warn writes a warning. Under -o json it is {"warning":{...}}.
func (a *App) Warn(w payout.Detail) error {
	about := exit.About{OrderID: w.OrderID}.Or(a.Subject)
	return a.remark(a.Wrapped("warning: "+a.InText(w.String())),
		WarningLine{Remark{Message: a.InText(w.Message), Line: w.Line, Field: w.Field, About: about}})
}

// Warnf is Warn with a message alone.
func (a *App) Warnf(format string, args ...any) error {
	return a.Warn(payout.Detail{Message: fmt.Sprintf(format, args...)})
}

// NoteQuit says that SIGQUIT ends the process. It may run beside everything else, and so names no order.
func (a *App) NoteQuit() {
	const text = "ended by SIGQUIT: an order that was being sent, if any, is unknown now, and till journal list shows it"
	a.remark(a.Wrapped(text), NoteLine{Remark{Message: text}})
}

func (a *App) note(text string, r Remark) error {
	r.About = r.About.Or(a.Subject)
	return a.remark(text, NoteLine{r})
}

// remark writes a text or, under -o json, a line.
func (a *App) remark(text string, line any) error {
	if a.JSON.Load() {
		text = render.Line(line)
	}
	return a.writeErr(text + "\n")
}

// writeErr writes to standard error, above the line of the spinner.
func (a *App) writeErr(text string) error { return a.Spinner.Write(a.IO.Err, text) }

// Wrapped escapes a message, and breaks it at spaces for the terminal at standard error. In a pipe it stays
// one line.
func (a *App) Wrapped(message string) string { return a.wrap(render.Safe(message), hanging) }

// hanging is the indent of a message behind its first line.
const hanging = 2

func (a *App) wrap(text string, indent int) string {
	return render.WrapWords(text, terminal.Width(a.IO.Err), indent)
}

// WithCopy adds to a message, which has been escaped, what a person may want to copy: a command, a digest or
// an id. On a terminal that has a line of its own, so that a triple click takes it.
func (a *App) WithCopy(message, thing string) string {
	between := " "
	if terminal.Of(a.IO.Err) != nil {
		between = "\n" + strings.Repeat(" ", hanging)
	}
	return message + between + render.Safe(thing)
}

// Fact is a line of what a person has to know before an answer.
type Fact struct {
	Name, Value string
	Copy        bool         // whether the value is there to be copied
	Style       render.Style // of the value, with colours
}

// pad returns the name of a fact in the width of the longest name of all.
func (f Fact) pad(all []Fact) string {
	widest := 0
	for _, other := range all {
		widest = max(widest, len(other.Name))
	}
	return fmt.Sprintf("%-*s  ", widest, f.Name)
}

// NoteFacts writes each fact as a note.
func (s *Session) NoteFacts(facts []Fact) {
	for _, f := range facts {
		name := f.pad(facts)
		s.note(s.factLine(f, name), Remark{Message: name + s.InText(f.Value)})
	}
}

// ErrRender returns the options of a table on standard error.
func (s *Session) ErrRender() render.Options { return s.IO.Look(s.Color, s.IO.Err) }

func (s *Session) factLine(f Fact, name string) string {
	value := render.Safe(s.InText(f.Value))
	o := s.ErrRender()
	if o.Width == 0 {
		return name + value
	}
	if f.Copy || !strings.Contains(value, " ") && render.Width(name+value) > o.Width {
		return s.WithCopy(f.Name, f.Value)
	}
	line := s.wrap(name+value, len(name))
	return line[:len(name)] + o.Styled(f.Style, line[len(name):])
}

// otherLines returns the writer for lines that till does not word itself: a trace, and the output of commands
// that till runs. Under -o json each line is a note, except on a terminal, where such a command may ask a
// question.
func (a *App) otherLines() io.Writer {
	if a.JSON.Load() && terminal.Of(a.IO.Err) == nil {
		return &a.Others
	}
	return a.IO.Err
}

// NoteLines writes each line that it gets as a note or, without -o json, as text that is escaped.
type NoteLines struct {
	App  *App
	mu   sync.Mutex
	rest []byte // an incomplete line
}

// Write implements io.Writer. It never fails: standard error cannot report its own failure.
func (n *NoteLines) Write(text []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rest = append(n.rest, text...)
	for {
		line, rest, ended := bytes.Cut(n.rest, []byte{'\n'})
		if !ended && len(n.rest) < maxNoteLine {
			return len(text), nil
		}
		n.rest = rest
		n.line(line)
	}
}

func (n *NoteLines) line(line []byte) {
	if n.App.JSON.Load() {
		n.App.Note("%s", line)
	} else {
		_ = n.App.writeErr(render.Safe(string(line)) + "\n") // a failure can be told nowhere
	}
}

// maxNoteLine limits an incomplete line, in bytes.
const maxNoteLine = 64 << 10

// Flush writes the incomplete line.
func (n *NoteLines) Flush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.rest) > 0 {
		n.line(n.rest)
		n.rest = nil
	}
}

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
