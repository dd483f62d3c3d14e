// Package metrics keeps a file of metrics in the text format of Prometheus, which many commands write.
package metrics

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
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

// all returns all metrics in the order of the file.
func all() []struct{ name, help string } {
	return []struct{ name, help string }{
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

// Sample is a value of a metric. Its labels are pairs of a name and a value.
type Sample struct {
	Value  string
	Labels []string
}

// One returns the samples of a metric that has a single one.
func One(value string) []Sample { return []Sample{{Value: value}} }

// ByState returns a sample for each state.
func ByState(counts map[string]int) (samples []Sample) {
	for state, n := range counts {
		samples = append(samples, Sample{fmt.Sprint(n), []string{"state", state}})
	}
	return samples
}

// owner has the labels of the samples that a command writes: the name of the file, because Prometheus reads all
// files of a directory as one and refuses a sample that is there twice; the account and, unless a metric is
// about the whole account, the command, so that accounts and commands can share a file.
type owner struct{ file, account, command string }

// begin returns how the samples of a metric begin, or those of them with more labels.
func (o owner) begin(metric string, more ...string) string {
	labels := []string{"file", o.file}
	if o.account != "" {
		labels = append(labels, "account", o.account)
	}
	if o.command != "" && metric != Unsettled {
		labels = append(labels, "command", o.command)
	}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	text, between := metric, "{"
	for pair := range slices.Chunk(append(labels, more...), 2) {
		text += between + pair[0] + `="` + escape.Replace(strings.ToValidUTF8(pair[1], "\uFFFD")) + `"`
		between = ","
	}
	return text
}

// replace replaces the owner's samples of a metric in the lines of a file. Those without an account go too: they
// are of a command that could not read its configuration. Without a new one, the time of the last success stays.
func (o owner) replace(lines []string, metric string, samples []Sample) []string {
	last := "0"
	for _, account := range []string{"", o.account} {
		begin := owner{o.file, account, o.command}.begin(metric)
		if metric == Unsettled { // those of another account begin in the same way if there is none
			begin += ",state="
		}
		lines = slices.DeleteFunc(lines, func(line string) bool {
			if value, ok := strings.CutPrefix(line, begin+"} "); ok {
				last = value
			}
			return strings.HasPrefix(line, begin)
		})
	}
	if metric == Success && len(samples) == 0 {
		samples = One(last)
	}
	for _, s := range samples {
		lines = append(lines, o.begin(metric, s.Labels...)+"} "+s.Value)
	}
	return lines
}

// mostBytes is the size of the largest metrics file. A larger one is not ours.
const mostBytes = 1 << 20

// read returns the lines of a metrics file. One that does not exist is empty. It refuses a file that till has
// not written, which must not be replaced.
func read(path string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	text := []byte("too large")
	if info.Size() <= mostBytes {
		if text, err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	if len(text) > 0 && !bytes.HasPrefix(text, []byte("# HELP "+Start+" ")) {
		return nil, errors.New("the file exists and has no metrics of till: name another one, or remove it")
	}
	return strings.Split(string(text), "\n"), nil
}

// write replaces the file with the lines that have its name as a label. Its mode is always 0644, because the
// program that reads it is another user's.
func write(path string, lines []string, file string) error {
	var text strings.Builder
	slices.Sort(lines)
	for _, metric := range all() {
		begin := owner{file: file}.begin(metric.name)
		own := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, begin) })
		if len(own) > 0 || metric.name == Start { // read looks for its first line
			fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %[1]s gauge\n", metric.name, metric.help)
		}
		for _, line := range own {
			text.WriteString(line + "\n")
		}
	}
	if text.Len() > mostBytes {
		return fmt.Errorf("they are larger than %d KiB", mostBytes>>10)
	}
	f, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text.String())
	if err = cmp.Or(err, f.Chmod(0o644)); err != nil { // whatever the umask is
		return errors.Join(atomicfile.WithoutPath(err), f.Discard())
	}
	if err := f.Commit(); !errors.As(err, new(*atomicfile.UnsyncedError)) {
		return err
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

// Check refuses a file that is not meant for metrics: one with another name than node_exporter reads, which may
// be empty and of use to somebody else, and one that is one of the streams of the command.
func Check(path string, streams ...any) error {
	const suffix = ".prom"
	target, err := place.Follow(path)
	if err != nil {
		target = path // writing it says why
	}
	if !strings.HasSuffix(path, suffix) || !strings.HasSuffix(target, suffix) {
		return errors.New("its name does not end in " + suffix)
	}
	info, err := os.Stat(target)
	for _, stream := range streams {
		if file, ok := stream.(*os.File); ok && err == nil {
			if out, err := file.Stat(); err == nil && os.SameFile(info, out) {
				return errors.New("the output of the command is written to it")
			}
		}
	}
	return nil
}

// Write replaces the samples of a command in a metrics file, or of its account. A metric that samples does not
// have keeps its own. No other command changes the file meanwhile, unless one takes longer than the given wait.
func Write(path, account, command string, wait time.Duration, samples map[string][]Sample) error {
	target, err := place.Follow(path)
	if err != nil {
		return atomicfile.WithoutPath(err)
	}
	unlock, unlocked := atomicfile.Lock(target, wait)
	if unlocked == nil {
		defer unlock()
	}
	lines, err := read(path)
	if err == nil {
		of := owner{filepath.Base(path), account, command}
		for metric, its := range samples {
			lines = of.replace(lines, metric, its)
		}
		err = write(target, lines, of.file)
	}
	if err != nil || unlocked == nil {
		return atomicfile.WithoutPath(err)
	}
	return UnlockedError{atomicfile.WithoutPath(unlocked)}
}
