// Package metrics keeps a file of metrics in the text format of Prometheus, which many commands write.
package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/place"
)

// The metrics. All are gauges: each tells about the last run.
const (
	Start     = "till_last_start_timestamp_seconds"
	Success   = "till_last_success_timestamp_seconds"
	ExitCode  = "till_last_exit_code"
	Duration  = "till_last_duration_seconds"
	Calls     = "till_last_calls"
	Retries   = "till_last_retries"
	Orders    = "till_last_orders"
	Amount    = "till_last_amount_minor_units"
	Unsettled = "till_unsettled_orders"
)

type metric struct{ name, help string }

// all returns all metrics in the order of the file.
func all() []metric {
	return []metric{
		{Start, "When the command last started, as seconds since 1970."},
		{Success, "When the command last ended with exit code 0, as seconds since 1970; 0 if it never did."},
		{ExitCode, "Exit code with which the command last ended."},
		{Duration, "How long the command last took."},
		{Calls, "Calls to the service that the command last made."},
		{Retries, "How often these calls were repeated."},
		{Orders, "Orders of the run, or the one order, that the command was last about, by state."},
		{Amount, "Sums of the last command by currency, in minor units."},
		{Unsettled, "Orders of the account whose outcome is open, by state."},
	}
}

// Names returns the names of all metrics.
func Names() []string {
	var names []string
	for _, metric := range all() {
		names = append(names, metric.name)
	}
	return names
}

// File is the content of a metrics file: the samples of each metric, as lines. Every sample has a label with
// the name of the file, because Prometheus reads all files of a directory as one, and refuses a sample that
// is there twice. It also has labels with the account and, unless it is about the whole account, with the
// command, so that accounts and commands can share a file.
type File struct {
	file, account, command string // the labels of what is added
	lines                  map[string][]string
}

// mostBytes is the size of the largest metrics file. A larger one is not ours.
const mostBytes = 1 << 20

// read reads a metrics file. One that does not exist is empty. It refuses a file that till has not
// written, which must not be replaced.
func read(path, account, command string) (*File, error) {
	m := &File{file: filepath.Base(path), account: account, command: command, lines: map[string][]string{}}
	for _, metric := range all() {
		m.lines[metric.name] = nil
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return nil, atomicfile.WithoutPath(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, atomicfile.WithoutPath(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err != nil {
		return nil, atomicfile.WithoutPath(err)
	}
	if len(text) > mostBytes || len(text) > 0 && !bytes.HasPrefix(text, []byte("# HELP "+Start+" ")) {
		return nil, errors.New("the file exists and has no metrics of till: name another one, or remove it")
	}
	ours := `file="` + escapeLabel(m.file) + `"`
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		name, labels, ok := strings.Cut(line, "{")
		if lines, known := m.lines[name]; ok && known && strings.HasPrefix(labels, ours) {
			m.lines[name] = append(lines, line)
		}
	}
	return m, nil
}

// labels returns the labels of a sample: the file, the account and the command unless they are empty, and
// pairs of a name and a value.
func (m *File) labels(account, command string, more ...string) string {
	pairs := []string{"file", m.file}
	if account != "" {
		pairs = append(pairs, "account", account)
	}
	if command != "" {
		pairs = append(pairs, "command", command)
	}
	var b strings.Builder
	for i, pairs := 0, append(pairs, more...); i < len(pairs); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(pairs[i] + `="` + escapeLabel(pairs[i+1]) + `"`)
	}
	return b.String()
}

// escapeLabel escapes the value of a label.
func escapeLabel(text string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(text, "\uFFFD"))
}

// own returns how the samples of a metric begin that are of this command or, if the metric is about a whole
// account, of this account.
func (m *File) own(name, account string) string {
	if name == Unsettled {
		return name + "{" + m.labels(account, "") + `,state=`
	}
	return name + "{" + m.labels(account, m.command)
}

// Forget removes the own samples of a metric. It also removes those without an account: they are of a command
// that could not read its configuration.
func (m *File) Forget(name string) {
	m.lines[name] = slices.DeleteFunc(m.lines[name], func(line string) bool {
		return strings.HasPrefix(line, m.own(name, m.account)) || strings.HasPrefix(line, m.own(name, ""))
	})
}

// Value returns the value of the sample of this command, or 0.
func (m *File) Value(name string) string {
	for _, account := range []string{m.account, ""} {
		for _, line := range m.lines[name] {
			if value, ok := strings.CutPrefix(line, m.own(name, account)+"} "); ok {
				return value
			}
		}
	}
	return "0"
}

// Add adds a sample of this command or, if the metric is about a whole account, of this account. The labels are pairs
// of a name and a value.
func (m *File) Add(name, value string, labels ...string) {
	command := m.command
	if name == Unsettled {
		command = ""
	}
	m.lines[name] = append(m.lines[name], name+"{"+m.labels(m.account, command, labels...)+"} "+value)
}

// text returns the content of the file.
func (m *File) text() string {
	var text strings.Builder
	for _, metric := range all() {
		lines := m.lines[metric.name]
		if len(lines) == 0 && metric.name != Start { // read looks for its first line
			continue
		}
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %[1]s gauge\n", metric.name, metric.help)
		for _, line := range slices.Sorted(slices.Values(lines)) {
			text.WriteString(line + "\n")
		}
	}
	return text.String()
}

// write replaces the file. Its mode is always 0644, because the program that reads it is another user's.
func (m *File) write(path string) error {
	text := m.text()
	if len(text) > mostBytes {
		return fmt.Errorf("they are larger than %d KiB", mostBytes>>10)
	}
	f, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return atomicfile.WithoutPath(err)
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Chmod(0o644) // whatever the umask is
	}
	if err != nil {
		return errors.Join(atomicfile.WithoutPath(err), f.Discard())
	}
	if err := f.Commit(); err != nil && !errors.As(err, new(*atomicfile.UnsyncedError)) {
		return atomicfile.WithoutPath(err)
	}
	return nil
}

// Wait is the longest wait for another command that changes the same file.
const Wait = 2 * time.Second

// An UnlockedError says that metrics were written without a lock. The end of a command that wrote at the same
// time may be missing, but that of this one would be missing otherwise.
type UnlockedError struct{ Err error }

// Error implements error.
func (e UnlockedError) Error() string { return e.Err.Error() }

// suffix ends the names of the files that node_exporter reads.
const suffix = ".prom"

// Check refuses a file that is not meant for metrics: one with another name, which may be empty and of use
// to somebody else, and one that is one of the streams of the command.
func Check(path string, streams ...any) error {
	target, err := place.Follow(path)
	if err != nil {
		target = path // writing it says why
	}
	if !strings.HasSuffix(path, suffix) || !strings.HasSuffix(target, suffix) {
		return errors.New("its name does not end in " + suffix)
	}
	info, err := os.Stat(target)
	if err != nil {
		return nil // writing it says why
	}
	for _, stream := range streams {
		file, ok := stream.(*os.File)
		if !ok {
			continue
		}
		if out, err := file.Stat(); err == nil && os.SameFile(info, out) {
			return errors.New("the output of the command is written to it")
		}
	}
	return nil
}

// Change reads a metrics file, changes it and replaces it. No other command does so meanwhile, unless one
// takes longer than the given wait.
func Change(path, account, command string, wait time.Duration, change func(*File)) error {
	target, err := place.Follow(path)
	if err != nil {
		return atomicfile.WithoutPath(err)
	}
	unlock, unlocked := atomicfile.Lock(target, wait)
	if unlocked == nil {
		defer unlock()
	}
	m, err := read(path, account, command)
	if err != nil {
		return err
	}
	change(m)
	if err := m.write(target); err != nil || unlocked == nil {
		return err
	}
	return UnlockedError{atomicfile.WithoutPath(unlocked)}
}
