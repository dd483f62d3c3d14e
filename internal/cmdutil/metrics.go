package cmdutil

import (
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
// that is there twice. It also has labels with the account and, unless it is about the whole account, with the
// command, so that accounts and commands can share a file.
type metricsFile struct {
	file, account, command string // the labels of what is added
	lines                  map[string][]string
}

// mostMetrics is the largest metrics file in bytes. A larger one is not ours.
const mostMetrics = 1 << 20

// readMetrics reads a metrics file. One that does not exist is empty. It refuses a file that till has not
// written, which must not be replaced.
func readMetrics(path, account, command string) (*metricsFile, error) {
	m := &metricsFile{file: filepath.Base(path), account: account, command: command, lines: map[string][]string{}}
	for _, metric := range metrics() {
		m.lines[metric.name] = nil
	}
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
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		name, labels, ok := strings.Cut(line, "{")
		if lines, known := m.lines[name]; ok && known && strings.HasPrefix(labels, ours) {
			m.lines[name] = append(lines, line)
		}
	}
	return m, nil
}

// labels returns the labels of a sample: the file, the account and the command unless they are empty, and pairs
// of a name and a value.
func (m *metricsFile) labels(account, command string, more ...string) string {
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
func (m *metricsFile) own(name, account string) string {
	if name == metricUnsettled {
		return name + "{" + m.labels(account, "") + `,state=`
	}
	return name + "{" + m.labels(account, m.command)
}

// forget removes the own samples of a metric. It also removes those without an account: they are of a command
// that could not read its configuration.
func (m *metricsFile) forget(name string) {
	m.lines[name] = slices.DeleteFunc(m.lines[name], func(line string) bool {
		return strings.HasPrefix(line, m.own(name, m.account)) || strings.HasPrefix(line, m.own(name, ""))
	})
}

// value returns the value of the sample of this command, or 0.
func (m *metricsFile) value(name string) string {
	for _, account := range []string{m.account, ""} {
		for _, line := range m.lines[name] {
			if value, ok := strings.CutPrefix(line, m.own(name, account)+"} "); ok {
				return value
			}
		}
	}
	return "0"
}

// add adds a sample of this command.
func (m *metricsFile) add(name, value string, labels ...string) {
	m.addOf(m.command, name, value, labels...)
}

func (m *metricsFile) addOf(command, name, value string, labels ...string) {
	m.lines[name] = append(m.lines[name], name+"{"+m.labels(m.account, command, labels...)+"} "+value)
}

// text returns the content of the file.
func (m *metricsFile) text() string {
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
	return text.String()
}

// write replaces the file. Its mode is always 0644, because the program that reads it is another user's.
func (m *metricsFile) write(path string) error {
	text := m.text()
	if len(text) > mostMetrics {
		return fmt.Errorf("they are larger than %d KiB", mostMetrics>>10)
	}
	f, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return WithoutPath(err)
	}
	_, err = f.WriteString(text)
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

// metricsLock is the longest wait for another command that changes the same file.
const metricsLock = 2 * time.Second

// An unlockedError says that metrics were written without a lock. The end of a command that wrote at the same
// time may be missing, but that of this one would be missing otherwise.
type unlockedError struct{ error }

// metricsSuffix ends the names of the files that node_exporter reads.
const metricsSuffix = ".prom"

// checkMetrics refuses a file that is not meant for metrics: one with another name, which may be empty and of use
// to somebody else, and one that has the output.
func (a *App) checkMetrics(path string) error {
	target := metricsTarget(path)
	if !strings.HasSuffix(path, metricsSuffix) || !strings.HasSuffix(target, metricsSuffix) {
		return errors.New("its name does not end in " + metricsSuffix)
	}
	info, err := os.Stat(target)
	if err != nil {
		return nil // writing it says why
	}
	for _, stream := range []any{a.IO.Out, a.IO.Err} {
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

// metricsTarget follows the links to a metrics file.
func metricsTarget(path string) string {
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		return followed
	}
	return path
}

// changeMetrics reads a metrics file, changes it and replaces it. No other command does so meanwhile, unless one
// takes longer than the given wait.
func changeMetrics(path, account, command string, wait time.Duration, change func(*metricsFile)) error {
	target := metricsTarget(path)
	unlock, unlocked := atomicfile.Lock(target, wait)
	if unlocked == nil {
		defer unlock()
	}
	m, err := readMetrics(path, account, command)
	if err != nil {
		return err
	}
	change(m)
	if err := m.write(target); err != nil || unlocked == nil {
		return err
	}
	return unlockedError{WithoutPath(unlocked)}
}

// timestamp returns a time as Prometheus has it.
func timestamp(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64)
}

// writeStart records that a command has started. If it is killed, this start has no end.
func writeStart(path, account, command string, at time.Time) error {
	return changeMetrics(path, account, command, metricsLock, func(m *metricsFile) {
		success := m.value(metricSuccess)
		m.forget(metricStart)
		m.forget(metricSuccess)
		m.add(metricStart, timestamp(at))
		m.add(metricSuccess, success)
	})
}

// writeMetrics records how a command has ended.
func writeMetrics(path string, f Finished) error {
	return changeMetrics(path, f.Account, f.Command, metricsLock, f.record)
}

// record adds the end of a command to a metrics file.
func (f Finished) record(m *metricsFile) {
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
		for state, n := range map[string]int{"planned": n.Planned, "sending": n.Sending, "accepted": n.Accepted,
			"rejected": n.Rejected, "unknown": n.Unknown, "conflict": n.Conflict} {
			m.add(metricOrders, strconv.Itoa(n), "state", state)
		}
	}
	for _, sum := range f.Amounts {
		m.add(metricAmount, sum.Minor.String(), "of", sum.Of, "currency", sum.Currency)
	}
	if n := f.Unsettled; n != nil {
		for state, n := range map[string]int{"sending": n.Sending, "unknown": n.Unknown, "conflict": n.Conflict} {
			m.addOf("", metricUnsettled, strconv.Itoa(n), "state", state)
		}
	}
}
