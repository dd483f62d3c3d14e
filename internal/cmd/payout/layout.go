package payout

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/near"
	"example.com/till/internal/render"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/sheet"
	"example.com/till/pkg/payout/sheet/xlsx"
	"github.com/spf13/cobra"
)

// The formats of a file of payments.
const csv, jsonl, workbook = "csv", "jsonl", "xlsx"

// layoutFlags say how a file of payments is to be read.
type layoutFlags struct {
	layout, format, delimiter string
	columns                   []string
	flagged                   sheet.Layout // what the other flags say
}

func (f *layoutFlags) add(cmd *cobra.Command) {
	flags, l := cmd.Flags(), &f.flagged
	flags.StringVar(&f.layout, "layout", "", "layout of the configuration")
	flags.StringVar(&f.format, "format", "", "csv, jsonl or xlsx, whatever its name is")
	flags.StringVar(&f.delimiter, "delimiter", "auto", `of CSV: "," or ";" or tab`)
	flags.StringArrayVar(&f.columns, "map", nil, "header of a column: `COLUMN=HEADER`")
	flags.StringVar(&l.Other, "other-columns", "", `"ignore" leaves them out`)
	flags.IntVar(&l.SkipLines, "skip-lines", 0, "lines above the header")
	flags.BoolVar(&l.UntilBlank, "until-blank", false, "the table ends with the first blank row")
	flags.StringVar(&l.Decimal, "decimal", "", `decimal mark: "." or ","`)
	flags.StringVar(&l.Group, "group", "", `between thousands: "." or "," or "'" or space`)
	flags.StringVar(&l.Currency, "currency", "", "of all rows, in a file without that column")
	flags.StringVar(&l.Encoding, "encoding", "", "utf-8, windows-1252 or utf-16")
	flags.StringVar(&l.Sheet, "sheet", "", "of a workbook, if it is not the first")
	complete := func(flag string, values ...string) {
		cmdutil.Offer(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	complete("delimiter", "auto", ",", ";", "tab")
	complete("format", csv, jsonl, workbook)
	complete("other-columns", sheet.Ignore, "refuse")
	complete("decimal", ".", ",")
	complete("group", ".", ",", "'", "space")
	complete("encoding", sheet.UTF8, sheet.Windows1252, sheet.UTF16)
}

// choose returns the layout: the flags' values and, where there are none, those of the named layout.
func (f *layoutFlags) choose(s *cmdutil.Session) (l sheet.Layout, err error) {
	if f.layout != "" {
		found := false
		if l, found = s.Layouts[f.layout]; !found {
			names := slices.Sorted(maps.Keys(s.Layouts))
			return l, cmdutil.UsageError(fmt.Sprintf("--layout: there is no layout %q", f.layout),
				cmp.Or(near.Question(f.layout, "", names), "write it under layouts: of the configuration, as till payout layout FILE -o yaml prints it"))
		}
	}
	changed := s.Cmd.Flags().Changed
	if l.Columns, err = f.mapped(l.Columns); err != nil {
		return l, err
	}
	for flag, text := range map[string]struct{ to, from *string }{
		"other-columns": {&l.Other, &f.flagged.Other}, "decimal": {&l.Decimal, &f.flagged.Decimal},
		"group": {&l.Group, &f.flagged.Group}, "currency": {&l.Currency, &f.flagged.Currency},
		"encoding": {&l.Encoding, &f.flagged.Encoding}, "sheet": {&l.Sheet, &f.flagged.Sheet},
		"delimiter": {&l.Delimiter, &f.delimiter},
	} {
		if changed(flag) {
			*text.to = *text.from
		}
	}
	if changed("skip-lines") {
		l.SkipLines = f.flagged.SkipLines
	}
	if changed("until-blank") {
		l.UntilBlank = f.flagged.UntilBlank
	}
	switch l.Delimiter {
	case "auto":
		l.Delimiter = ""
	case "tab":
		l.Delimiter = "\t"
	}
	switch err := l.Check(); {
	case err != nil && changed("delimiter") && strings.HasPrefix(err.Error(), "delimiter"):
		return l, cmdutil.UsageError(fmt.Sprintf("--delimiter: fields cannot be separated by %q", f.delimiter),
			`use auto, ",", ";" or tab`)
	case err != nil:
		field, why, _ := strings.Cut(err.Error(), ": ")
		flag := strings.ReplaceAll(field, "_", "-")
		if field == "columns" {
			flag = "map"
		}
		return l, cmdutil.UsageError("--"+flag+": "+why, "see till help payout-layouts")
	case f.format == jsonl && changed("delimiter"):
		return l, cmdutil.UsageError("--delimiter is about CSV, and the rows are JSON lines",
			"leave it out, or add --format csv")
	}
	if f.format == jsonl && len(layoutOptions(l)) > 0 {
		return l, cmdutil.UsageError("a layout is about CSV and workbooks, and the rows are JSON lines",
			"leave it out, or add --format csv")
	}
	return l, nil
}

// mapped returns the headers of a layout's columns, with those of --map in their place.
func (f *layoutFlags) mapped(columns map[string]string) (map[string]string, error) {
	columns = maps.Clone(columns)
	var given []string
	for _, text := range f.columns {
		column, header, found := strings.Cut(text, "=")
		if !found {
			return nil, cmdutil.UsageError(fmt.Sprintf("--map: %q names no header", text), "write it as --map address=IBAN")
		}
		if column = strings.TrimSpace(column); slices.Contains(given, column) {
			return nil, cmdutil.UsageError(fmt.Sprintf("--map: %s has two headers", column), "leave one out")
		}
		if given = append(given, column); columns == nil {
			columns = map[string]string{}
		}
		columns[column] = header
	}
	return columns, nil
}

// rows returns the rows of a file of payments.
func (f *layoutFlags) rows(in io.Reader, l sheet.Layout) (sheet.Rows, error) {
	switch f.format {
	case jsonl:
		return sheet.JSONLines(in), nil
	case csv:
		return sheet.CSV(in, l), nil
	}
	data, err := io.ReadAll(io.LimitReader(in, xlsx.MaxFile+1))
	return xlsx.Rows(data, l), err
}

// layoutOptions returns the flags that say a layout.
func layoutOptions(l sheet.Layout) (options []string) {
	add := func(flag, value string) {
		if value != "" {
			options = append(options, "--"+flag, value)
		}
	}
	for _, name := range sheet.Names() {
		if header, mapped := l.Columns[name]; mapped {
			add("map", name+"="+header)
		}
	}
	add("other-columns", l.Other)
	if l.SkipLines > 0 {
		add("skip-lines", strconv.Itoa(l.SkipLines))
	}
	if l.UntilBlank {
		options = append(options, "--until-blank")
	}
	add("delimiter", strings.ReplaceAll(l.Delimiter, "\t", "tab"))
	add("decimal", l.Decimal)
	add("group", l.Group)
	add("currency", l.Currency)
	add("encoding", l.Encoding)
	add("sheet", l.Sheet)
	return options
}

func layoutCommand(a *cmdutil.App) *cobra.Command {
	var flags layoutFlags
	var name string
	cmd := cmdutil.NewCommand(a, cmdutil.One, layoutView, &cobra.Command{
		Use:   "layout FILE",
		Short: "Look at a file of payments and propose how to read it",
		Long: `Look at the beginning of a file of payments (CSV or a workbook, .xlsx), and
propose a layout: which of its columns are till's, which line is the header,
which marks the amounts have. It decides nothing. Correct what it proposes, and
give it to till payout plan as flags, or keep it in the configuration under
layouts and its name: -o yaml prints it so. Of a plan (.plan) it shows the
layout with which its file was read.`,
		Example: `  till payout layout staff.csv
  till payout layout staff.csv --name payroll -o yaml`,
		Args:              cmdutil.Args("FILE"),
		ValidArgsFunction: cmdutil.FileNames,
	}, func(s *cmdutil.Session, out cmdutil.Output[proposedLayout], args []string) error {
		file := args[0]
		look := func() (sheet.Layout, error) { return flags.look(s, file) }
		if strings.HasSuffix(file, ".plan") {
			look, file = func() (sheet.Layout, error) { return layoutOfPlan(args[0]) }, "FILE"
		}
		l, err := look()
		if err != nil {
			return err
		}
		line := proposedLayout{Layouts: map[string]sheet.Layout{cmp.Or(name, "NAME"): l}, layout: l}
		line.command = payout.NewHint("", slices.Concat([]string{"payout", "plan", file, "--out", "PLAN"}, layoutOptions(l))...).String()
		return out.One(line)
	})
	f := cmd.Flags()
	f.StringVar(&flags.format, "format", "", "csv or xlsx, whatever the file is called")
	f.StringVar(&flags.flagged.Sheet, "sheet", "", "sheet of a workbook, if it is not the first")
	f.StringVar(&name, "name", "", "name of the layout in the configuration")
	cmdutil.Offer(cmd, "format", cobra.FixedCompletions([]string{csv, workbook}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// layoutOfPlan returns the layout with which the file of a plan was read.
func layoutOfPlan(file string) (sheet.Layout, error) {
	p, err := payout.OpenPlan(file)
	if err != nil {
		return sheet.Layout{}, err
	}
	if p.Layout == nil {
		return sheet.Layout{}, cmdutil.UsageError(file+" has no layout: its file had till's own columns", "plan such a file as it is")
	}
	return *p.Layout, nil
}

// look returns the layout that a file of payments seems to have.
func (f *layoutFlags) look(s *cmdutil.Session, file string) (l sheet.Layout, err error) {
	if err := f.chooseFormat(file); err != nil {
		return l, err
	}
	if f.format == jsonl {
		return l, cmdutil.UsageError("payout layout: JSON lines have no layout", "plan them as they are")
	}
	in, _, err := planInput(s, file)
	if err != nil {
		return l, err
	}
	defer in.Close()
	if f.format == csv {
		l, err = sheet.LookCSV(in)
	} else {
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(in, xlsx.MaxFile+1)); err == nil {
			l, err = xlsx.Look(data, f.flagged.Sheet)
		}
	}
	if err != nil {
		return l, &payout.Error{Kind: payout.Invalid, Msg: fmt.Sprintf("%s cannot be read: %v", file, err), Err: err}
	}
	if l.Decimal == "" {
		s.Note("the amounts do not show their decimal mark: it is a point, unless --decimal says otherwise")
	}
	return l, nil
}

// A proposedLayout is a layout in the form that the configuration has.
type proposedLayout struct {
	Layouts map[string]sheet.Layout `json:"layouts"`
	layout  sheet.Layout
	command string
}

func layoutView(money.Registry) render.View[proposedLayout] {
	type row = proposedLayout
	text := func(name, about string, of func(sheet.Layout) string) render.Column[row] {
		return render.Column[row]{Name: name, About: about, Whole: true,
			Cell: func(r row) render.Cell { return render.Own(of(r.layout)) }}
	}
	return render.View[row]{
		JSON: render.Encoded(func(r row) proposedLayout { return r }),
		Columns: []render.Column[row]{
			text("columns", "headers of the file, by till's name of the column", func(l sheet.Layout) string {
				var all []string
				for _, name := range sheet.Names() {
					if header := l.Columns[name]; header != "" {
						all = append(all, name+": "+header)
					}
				}
				return strings.Join(all, ", ")
			}),
			text("other_columns", "ignore: there are columns that are not till's", func(l sheet.Layout) string { return l.Other }),
			text("skip_lines", "lines above the header", func(l sheet.Layout) string { return strconv.Itoa(l.SkipLines) }),
			text("until_blank", "whether something stands below the table, after a blank row",
				func(l sheet.Layout) string { return strconv.FormatBool(l.UntilBlank) }),
			text("delimiter", "what separates the fields", func(l sheet.Layout) string { return strings.ReplaceAll(l.Delimiter, "\t", "tab") }),
			text("encoding", "of the text", func(l sheet.Layout) string { return cmp.Or(l.Encoding, sheet.UTF8) }),
			text("decimal", "decimal mark of the amounts", func(l sheet.Layout) string { return l.Decimal }),
			text("group", "mark between thousands", func(l sheet.Layout) string { return l.Group }),
			text("currency", "of all rows, in a file without that column", func(l sheet.Layout) string { return l.Currency }),
			{Name: "command", About: "command that plans the file with this layout", Whole: true,
				Cell: func(r row) render.Cell { return render.Own(r.command) }},
		},
	}
}
