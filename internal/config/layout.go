package config

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/till/pkg/payout/sheet"
	yaml "go.yaml.in/yaml/v3"
)

// layouts reads the layouts of files by name. Check says whether their values mean something.
func (r *reader) layouts(n *yaml.Node) map[string]sheet.Layout {
	found := r.mapping(n, keyLayouts, func(key, _ string) error { return checkProfileName(key) })
	var all map[string]sheet.Layout
	if len(found) > 0 {
		all = map[string]sheet.Layout{}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		all[name] = r.layout(found[name], keyLayouts+"."+name)
	}
	return all
}

func (r *reader) layout(n *yaml.Node, name string) (l sheet.Layout) {
	values := r.mapping(n, name, oneOf("a layout", "columns", "other_columns", "skip_lines", "until_blank", "delimiter",
		"encoding", "decimal", "group", "currency", "sheet"))
	for _, text := range []struct {
		key string
		to  *string
	}{{"other_columns", &l.Other}, {"delimiter", &l.Delimiter}, {"encoding", &l.Encoding}, {"decimal", &l.Decimal},
		{"group", &l.Group}, {"currency", &l.Currency}, {"sheet", &l.Sheet}} {
		if values[text.key] != nil {
			*text.to = r.text(values[text.key], name+"."+text.key)
		}
	}
	if l.Delimiter == "tab" {
		l.Delimiter = "\t"
	}
	columns := r.mapping(values["columns"], name+".columns", oneOf("a layout's columns", sheet.Names()...))
	for _, column := range slices.Sorted(maps.Keys(columns)) {
		if l.Columns == nil {
			l.Columns = map[string]string{}
		}
		l.Columns[column] = r.text(columns[column], name+".columns."+column)
	}
	if n := values["skip_lines"]; n != nil {
		var err error
		if l.SkipLines, err = strconv.Atoi(n.Value); err != nil || n.ShortTag() != "!!int" {
			r.fail(n, "%s.skip_lines: it is not a number of lines: write one such as 2", name)
		}
	}
	if n := values["until_blank"]; n != nil {
		if l.UntilBlank = n.Value == "true"; n.ShortTag() != "!!bool" {
			r.fail(n, "%s.until_blank: write true or false", name)
		}
	}
	if err := l.Check(); err != nil {
		key, _, _ := strings.Cut(err.Error(), ":")
		r.fail(cmp.Or(values[key], n), "%s.%w", name, err)
	}
	return l
}
