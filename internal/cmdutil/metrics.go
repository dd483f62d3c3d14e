package cmdutil

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/atomicfile"
)

// metric is a metric in the text format of Prometheus. All are gauges: each tells about the last run.
type metric struct{ name, help string }

const (
	metricStart     = "till_last_start_timestamp_seconds"
	metricSuccess   = "till_last_success_timestamp_seconds"
	metricCode      = "till_last_exit_code"
	metricDuration  = "till_last_duration_seconds"
	metricCalls     = "till_last_calls"
	metricRetries   = "till_last_retries"
	metricOrders    = "till_last_orders"
	metricAmount    = "till_last_amount_minor_units"
	metricUnsettled = "till_unsettled_orders"
)

// metrics returns all metrics in the order of the file.
func metrics() []metric {
	return []metric{
		{metricStart, "When the command last started, as seconds since 1970."},
		{metricSuccess, "When the command last ended with exit code 0, as seconds since 1970; 0 if it never did."},
		{metricCode, "Exit code with which the command last ended."},
		{metricDuration, "How long the command last took."},
		{metricCalls, "Calls to the service that the command last made."},
		{metricRetries, "How often these calls were repeated."},
		{metricOrders, "Orders of the run, or the one order, that the command was last about, by state."},
		{metricAmount, "Sums of the last command by currency, in minor units."},
		{metricUnsettled, "Orders of the account whose outcome is open, by state."},
	}
}

// metricsFile is the content of a metrics file: the samples of each metric, as lines. Every sample has a label
// with the name of the file, because Prometheus reads all files of a directory as one, and refuses a sample
// that is there twice. All but those of the account have a label with the command, so that the commands of a
// profile can share a file.
type metricsFile struct {
	file, command string // the labels of what is added
	lines         map[string][]string
}

// mostMetrics is the largest metrics file in bytes. A larger one is not ours.
const mostMetrics = 1 << 20

// readMetrics reads a metrics file. One that does not exist is empty. It refuses a file that till has not
// written, which must not be replaced.
func readMetrics(path, command string) (*metricsFile, error) {
	m := &metricsFile{file: filepath.Base(path), command: command, lines: map[string][]string{}}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, nil
	case err != nil:
		return nil, WithoutPath(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, WithoutPath(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostMetrics+1))
	if err != nil {
		return nil, WithoutPath(err)
	}
	if len(text) > mostMetrics || len(text) > 0 && !bytes.HasPrefix(text, []byte("# HELP "+metricStart+" ")) {
		return nil, errors.New("the file exists and has no metrics of till: name another one, or remove it")
	}
	ours := `file="` + escapeLabel(m.file) + `"`
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		name, labels, ok := strings.Cut(line, "{")
		if ok && strings.HasPrefix(labels, ours) && isMetric(name) {
			m.lines[name] = append(m.lines[name], line)
		}
	}
	return m, nil
}

func isMetric(name string) bool {
	return slices.ContainsFunc(metrics(), func(m metric) bool { return m.name == name })
}

// labels returns the labels of a sample: the file, the command unless it is empty, and pairs of a name and a value.
func (m *metricsFile) labels(command string, more ...string) string {
	pairs := []string{"file", m.file}
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

// forget removes the samples of a metric that are of this command, or of no command.
func (m *metricsFile) forget(name string) {
	m.lines[name] = slices.DeleteFunc(m.lines[name], func(line string) bool {
		return strings.HasPrefix(line, name+"{"+m.labels(m.command)) || !strings.Contains(line, `,command="`)
	})
}

// value returns the value of the sample of this command, or 0.
func (m *metricsFile) value(name string) string {
	for _, line := range m.lines[name] {
		if value, ok := strings.CutPrefix(line, name+"{"+m.labels(m.command)+"} "); ok {
			return value
		}
	}
	return "0"
}

// add adds a sample of this command.
func (m *metricsFile) add(name, value string, labels ...string) {
	m.addOf(m.command, name, value, labels...)
}

func (m *metricsFile) addOf(command, name, value string, labels ...string) {
	m.lines[name] = append(m.lines[name], name+"{"+m.labels(command, labels...)+"} "+value)
}

// write replaces the file. Its mode is always 0644, because the program that reads it is another user's.
func (m *metricsFile) write(path string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return WithoutPath(err)
	}
	var text strings.Builder
	for _, metric := range metrics() {
		lines := m.lines[metric.name]
		if len(lines) == 0 && metric.name != metricStart { // readMetrics looks for its first line
			continue
		}
		fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %[1]s gauge\n", metric.name, metric.help)
		for _, line := range slices.Sorted(slices.Values(lines)) {
			text.WriteString(line + "\n")
		}
	}
	_, err = f.WriteString(text.String())
	if err == nil {
		err = f.Chmod(0o644) // whatever the umask is
	}
	if err != nil {
		return errors.Join(WithoutPath(err), f.Discard())
	}
	if err := f.Commit(); err != nil && !errors.As(err, new(*atomicfile.UnsyncedError)) {
		return WithoutPath(err)
	}
	return nil
}

// timestamp returns a time as Prometheus has it.
func timestamp(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

// writeStart records that a command has started. If it is killed, this start has no end.
func writeStart(path, command string, at time.Time) error {
	m, err := readMetrics(path, command)
	if err != nil {
		return err
	}
	success := m.value(metricSuccess)
	for _, name := range []string{metricStart, metricSuccess} {
		m.forget(name)
	}
	m.add(metricStart, timestamp(at))
	m.add(metricSuccess, success)
	return m.write(path)
}

// writeMetrics records how a command has ended.
func writeMetrics(path string, f Finished) error {
	m, err := readMetrics(path, f.Command)
	if err != nil {
		return err
	}
	success := m.value(metricSuccess)
	if f.ExitCode == ExitDone {
		success = timestamp(f.ended)
	}
	for _, metric := range metrics() {
		if metric.name != metricUnsettled || f.Unsettled != nil { // what is open stays open until it is counted again
			m.forget(metric.name)
		}
	}
	m.add(metricStart, timestamp(f.began))
	m.add(metricSuccess, success)
	m.add(metricCode, strconv.Itoa(f.ExitCode))
	m.add(metricDuration, strconv.FormatFloat(f.Seconds, 'f', 3, 64))
	m.add(metricCalls, strconv.Itoa(f.Calls))
	m.add(metricRetries, strconv.Itoa(f.Retries))
	if n := f.Orders; n != nil {
		for _, s := range []struct {
			state string
			n     int
		}{{"planned", n.Planned}, {"sending", n.Sending}, {"accepted", n.Accepted}, {"rejected", n.Rejected},
			{"unknown", n.Unknown}, {"conflict", n.Conflict}} {
			m.add(metricOrders, strconv.Itoa(s.n), "state", s.state)
		}
	}
	for _, sum := range f.Amounts {
		m.add(metricAmount, sum.Minor.String(), "of", sum.Of, "currency", sum.Currency)
	}
	if n := f.Unsettled; n != nil {
		for _, s := range []struct {
			state string
			n     int
		}{{"sending", n.Sending}, {"unknown", n.Unknown}, {"conflict", n.Conflict}} {
			m.addOf("", metricUnsettled, strconv.Itoa(s.n), "state", s.state)
		}
	}
	return m.write(path)
}
