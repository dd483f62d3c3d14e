// Package schema has the JSON Schemas (draft 2020-12) of everything that till prints as JSON. The files are
// made from the types that are printed: make schemas.
package schema

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed json
var files embed.FS

// LineSuffix ends the name of the schema of a line of -o jsonl where it is not an element of what -o json
// prints.
const LineSuffix = " jsonl"

// File returns the name of the file that has the schema of a name.
func File(name string) string { return strings.ReplaceAll(name, " ", "-") + ".json" }

// Names returns the names of all schemas: those of commands, such as "withdraw list", and error, finish, note,
// plan, report, request and warning.
func Names() []string {
	entries, _ := files.ReadDir("json") // a part of the program
	var names []string
	for _, e := range entries {
		name := strings.ReplaceAll(strings.TrimSuffix(e.Name(), ".json"), "-", " ")
		if !strings.HasSuffix(name, LineSuffix) {
			names = append(names, name)
		}
	}
	return names
}

// Of returns the schema of a name, or nil if there is none.
func Of(name string) []byte {
	text, _ := files.ReadFile("json/" + File(name))
	return text
}

// Line returns the schema of one line of what a command prints with -o jsonl, or nil if there is none.
func Line(command string) []byte {
	if text := Of(command + LineSuffix); text != nil {
		return text
	}
	text := Of(command)
	var list struct {
		Schema json.RawMessage `json:"$schema"`
		Title  string          `json:"title"`
		Type   any             `json:"type"`
		Items  json.RawMessage `json:"items"`
		Defs   json.RawMessage `json:"$defs"`
	}
	if json.Unmarshal(text, &list) != nil || list.Type != "array" {
		return text
	}
	line := fmt.Appendf(nil, `{"$schema":%s,"title":%q`, list.Schema, "a line of "+list.Title+"l")
	if items := bytes.TrimSpace(list.Items); len(items) > len("{}") { // its members, without the braces
		line = fmt.Appendf(line, ",%s", items[1:len(items)-1])
	}
	if list.Defs != nil {
		line = fmt.Appendf(line, `,"$defs":%s`, list.Defs)
	}
	var indented bytes.Buffer
	_ = json.Indent(&indented, append(line, '}', '\n'), "", "  ") // of JSON
	return indented.Bytes()
}
