package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/render"
	"example.com/till/pkg/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"
)

// Every till that a test of this package starts records what it prints and how it ends. After the tests, TestMain
// checks all JSON with the schemas, and the exit codes with till commands. recordsVariable has the folder of the records.
const recordsVariable = "RECORD_OUTPUT_IN"

// seenRun is one run of till, as testdata/till records it.
type seenRun struct {
	Args     []string // without the name of the program
	Output   string   // TILL_OUTPUT
	Code     int
	Out, Err []byte
}

// buildTill puts the till that records into the place of the one in the PATH, which is this test. The
// packages that only tests need make a program start more slowly, and the tests start thousands.
func buildTill() error {
	path, err := exec.LookPath("till")
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil { // it may be a link to this test
		return err
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "./testdata/till")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// checkRecords checks all records in a folder, and returns what is wrong with them.
func checkRecords(folder string) (wrong []string) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return []string{err.Error()}
	}
	c := newSchemaCheck()
	for _, file := range files {
		var r seenRun
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err == nil {
			err = c.check(r)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("till %q, which ended with %d: %v", r.Args, r.Code, err))
		}
	}
	return wrong
}

// printed says which JSON a command prints, as Go types.
type printed struct {
	JSON    []reflect.Type   // what -o json prints: a value of one of these types
	Line    []reflect.Type   // what each line of -o jsonl is
	Columns []render.Meaning // which describe the members of the same names
}

// allPrinted returns what every command prints, by its path without till.
func allPrinted() map[string]printed {
	of := map[*cobra.Command]printed{}
	root(&cmdutil.App{
		Printed: func(cmd *cobra.Command, form cmdutil.Form, row reflect.Type, columns []render.Meaning) {
			p := of[cmd]
			if is := []cmdutil.Form{cmdutil.One, cmdutil.OneOrList, cmdutil.Whole}; slices.Contains(is, form) {
				p.JSON = append(p.JSON, row)
			}
			if form == cmdutil.List || form == cmdutil.OneOrList {
				p.JSON = append(p.JSON, reflect.SliceOf(row))
			}
			if form != cmdutil.Whole && form != cmdutil.Apart {
				p.Line = append(p.Line, row)
			}
			p.Columns = append(p.Columns, columns...)
			of[cmd] = p
		},
	})
	all := map[string]printed{}
	for cmd, p := range of {
		all[strings.TrimPrefix(cmd.CommandPath(), "till ")] = p
	}
	return all
}

// schemaCheck checks outputs with the schemas, each of which it compiles once.
type schemaCheck struct {
	printed  map[string]printed
	codes    map[string][]int // with which a command may end
	compiled map[string]*jsonschema.Schema
}

func newSchemaCheck() *schemaCheck {
	c := &schemaCheck{printed: allPrinted(), codes: map[string][]int{}, compiled: map[string]*jsonschema.Schema{}}
	for _, line := range commandLines(Tree()) {
		c.codes[line.Command] = line.ExitCodes
	}
	return c
}

// check checks both streams of a run.
func (c *schemaCheck) check(r seenRun) error {
	name, format, shaped := c.command(r)
	if codes := c.codes["till "+name]; codes != nil && !slices.Contains(codes, r.Code) {
		return fmt.Errorf("till commands does not say that it can end so: add the code, or what follows from it, to deeds.go")
	}
	isJSON := cmdutil.IsJSON(format)
	if isJSON {
		for line := range bytes.Lines(r.Err) {
			if err := c.remark(line); err != nil {
				return err
			}
		}
	}
	switch schemas := len(r.Args) > 1 && (!strings.HasPrefix(r.Args[1], "-") || r.Args[1] == "--errors"); {
	case name == "callback listen", name == "journal export" && format != "json":
		format = "jsonl"
	case name == "sandbox dump" && !isJSON, name == "schema" && schemas:
		format = "json"
	}
	if !shaped && isJSON && slices.Contains(r.Args, "--dry-run") {
		return c.requests(r.Out)
	}
	if shaped || name == "api" || len(bytes.TrimSpace(r.Out)) == 0 {
		return nil
	}
	if name == "" || c.printed[name].JSON == nil {
		if isJSON && json.Valid(r.Out) {
			return fmt.Errorf("it prints JSON, and there is no schema of it: declare its type with cmdutil.Prints\n%s", r.Out)
		}
		return nil
	}
	switch format {
	case "json":
		return c.whole(name, r)
	case "jsonl":
		return c.lines(name, r.Out)
	}
	return nil
}

// command returns the command that ran and the format of its output. shaped reports that the output is not
// the JSON of the schema: a filter or a template made it, or it is ids or help.
func (c *schemaCheck) command(r seenRun) (name, format string, shaped bool) {
	all := root(&cmdutil.App{})
	cmd, rest, err := all.Find(r.Args)
	if err != nil || cmd.ParseFlags(rest) != nil {
		return "", r.Output, true
	}
	name, format = strings.TrimPrefix(cmd.CommandPath(), "till "), r.Output
	flags := cmd.Flags()
	if flags.Changed("output") {
		format = flags.Lookup("output").Value.String()
	}
	for _, flag := range []string{"jq", "template", "quiet", "help", "columns"} {
		shaped = shaped || flags.Changed(flag)
	}
	if name == "till" && flags.Changed("version") {
		name = "version"
	}
	if flags.Changed("jq") && format == "" {
		format = "json" // of standard error
	}
	return name, format, shaped
}

// remark checks a line of standard error.
func (c *schemaCheck) remark(line []byte) error {
	var kind map[string]json.RawMessage
	if err := json.Unmarshal(line, &kind); err != nil || len(kind) != 1 {
		return fmt.Errorf("standard error has a line that is no note, warning or error: %s", line)
	}
	for name := range kind {
		if name != "note" && name != "warning" && name != "error" {
			return fmt.Errorf("standard error has a line that is no note, warning or error: %s", line)
		}
		return c.value(name, schema.Of(name), line)
	}
	return nil
}

// whole checks the output of -o json. A list that broke off because of an error is not closed.
func (c *schemaCheck) whole(name string, r seenRun) error {
	text := r.Out
	if r.Code != 0 && !json.Valid(text) && bytes.HasPrefix(text, []byte("[")) {
		text = append(bytes.TrimRight(text, ", \n"), ']')
	}
	return c.value(name, schema.Of(name), text)
}

// requests checks the requests that --dry-run shows.
func (c *schemaCheck) requests(text []byte) error {
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var value json.RawMessage
		if err := decoder.Decode(&value); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := c.value("request", schema.Of("request"), value); err != nil {
			return err
		}
	}
}

// lines checks the output of -o jsonl.
func (c *schemaCheck) lines(name string, text []byte) error {
	for line := range bytes.Lines(text) {
		if err := c.value(name+schema.LineSuffix, schema.Line(name), line); err != nil {
			return err
		}
	}
	return nil
}

// value checks one value with a schema, which has the name in c.compiled.
func (c *schemaCheck) value(name string, text, value []byte) error {
	if text == nil {
		return fmt.Errorf("there is no schema of %s: run make schemas", name)
	}
	s := c.compiled[name]
	if s == nil {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		if err := compiler.AddResource("schema.json", doc); err != nil {
			return err
		}
		if s, err = compiler.Compile("schema.json"); err != nil {
			return err
		}
		c.compiled[name] = s
	}
	got, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("it is not JSON: %v\n%s", err, value)
	}
	if err := s.Validate(got); err != nil {
		return fmt.Errorf("%v\n%s", err, value)
	}
	return nil
}

// recording runs the tests with records, and fails if one of them does not have its schema.
func recording(m *testing.M) int {
	folder, err := os.MkdirTemp("", "records")
	if err == nil {
		err = buildTill()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	os.Setenv(recordsVariable, folder)
	code := m.Run()
	if wrong := checkRecords(folder); len(wrong) > 0 {
		fmt.Printf("FAIL: %d runs do not have their schema or exit code, see pkg/schema and deeds.go:\n%s\n", len(wrong), strings.Join(wrong, "\n"))
		return 1
	}
	return code
}
