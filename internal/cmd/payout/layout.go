package payout

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/near"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/sheet"
	"example.com/till/pkg/payout/sheet/xlsx"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The formats of a file of payments.
const csv, jsonl, workbook = "csv", "jsonl", "xlsx"

type layoutFlags struct {
	layout, format string
	columns        []string
	flagged        sheet.Layout // what the other flags say
}

// layoutFields returns flags that set the fields of a layout, in the order in which they are proposed.
func layoutFields(l *sheet.Layout) *pflag.FlagSet {
	f := pflag.NewFlagSet("layout", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&l.Other, "other-columns", l.Other, `"ignore" leaves them out`)
	f.IntVar(&l.SkipLines, "skip-lines", l.SkipLines, "lines above the header")
	f.BoolVar(&l.UntilBlank, "until-blank", l.UntilBlank, "the table ends with the first blank row")
	f.StringVar(&l.Delimiter, "delimiter", l.Delimiter, `of CSV: "," or ";" or tab`)
	f.StringVar(&l.Decimal, "decimal", l.Decimal, `decimal mark: "." or ","`)
	f.StringVar(&l.Group, "group", l.Group, `between thousands: "." or "," or "'" or space`)
	f.StringVar(&l.Currency, "currency", l.Currency, "of all rows, in a file without that column")
	f.StringVar(&l.Encoding, "encoding", l.Encoding, "utf-8, windows-1252 or utf-16")
	f.StringVar(&l.Sheet, "sheet", l.Sheet, "of a workbook, if it is not the first")
	return f
}

func (f *layoutFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.layout, "layout", "", "layout of the configuration")
	flags.StringVar(&f.format, "format", "", "csv, jsonl or xlsx, whatever its name is")
	f.flagged.Delimiter = "auto"
	fields := layoutFields(&f.flagged)
	flags.AddFlag(fields.Lookup("delimiter")) // help has it here, and a proposal after --until-blank
	flags.StringArrayVar(&f.columns, "map", nil, "header of a column: `COLUMN=HEADER`")
	flags.AddFlagSet(fields)
	for flag, values := range map[string][]string{
		"delimiter": {"auto", ",", ";", "tab"}, "format": {csv, jsonl, workbook}, "other-columns": {sheet.Ignore, "refuse"},
		"decimal": {".", ","}, "group": {".", ",", "'", "space"}, "encoding": {sheet.UTF8, sheet.Windows1252, sheet.UTF16},
	} {
		cmdline.OfferWords(cmd, flag, values...)
	}
}

// choose returns the layout: the flags' values and, where there are none, those of the named layout.
func (f *layoutFlags) choose(s *cmdutil.Session) (l sheet.Layout, err error) {
	if f.layout != "" {
		found := false
		if l, found = s.Layouts[f.layout]; !found {
			names := slices.Sorted(maps.Keys(s.Layouts))
			return l, exit.UsageError(fmt.Sprintf("--layout: there is no layout %q", f.layout),
				cmp.Or(near.Question(f.layout, "", names), "write it under layouts: of the configuration, as till payout layout FILE -o yaml prints it"))
		}
	}
	changed := s.Cmd.Flags().Changed
	if l.Columns, err = f.mapped(l.Columns); err != nil {
		return l, err
	}
	fields := layoutFields(&l)
	s.Cmd.Flags().Visit(func(given *pflag.Flag) {
		if field := fields.Lookup(given.Name); field != nil {
			_ = field.Value.Set(given.Value.String()) // the flag has taken it
		}
	})
	l.Delimiter = strings.NewReplacer("auto", "", "tab", "\t").Replace(l.Delimiter)
	switch err := l.Check(); {
	case err != nil && changed("delimiter") && strings.HasPrefix(err.Error(), "delimiter"):
		return l, exit.UsageError(fmt.Sprintf("--delimiter: fields cannot be separated by %q", f.flagged.Delimiter),
			`use auto, ",", ";" or tab`)
	case err != nil:
		field, why, _ := strings.Cut(err.Error(), ": ")
		flag := strings.ReplaceAll(field, "_", "-")
		if field == "columns" {
			flag = "map"
		}
		return l, exit.UsageError("--"+flag+": "+why, "see till help payout-layouts")
	case f.format == jsonl && changed("delimiter"):
		return l, exit.UsageError("--delimiter is about CSV, and the rows are JSON lines",
			"leave it out, or add --format csv")
	case f.format == jsonl && len(layoutOptions(l)) > 0:
		return l, exit.UsageError("a layout is about CSV and workbooks, and the rows are JSON lines",
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
			return nil, exit.UsageError(fmt.Sprintf("--map: %q names no header", text), "write it as --map address=IBAN")
		}
		if column = strings.TrimSpace(column); slices.Contains(given, column) {
			return nil, exit.UsageError(fmt.Sprintf("--map: %s has two headers", column), "leave one out")
		}
		if given = append(given, column); columns == nil {
			columns = map[string]string{}
		}
		columns[column] = header
	}
	return columns, nil
}

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

func layoutOptions(l sheet.Layout) (options []string) {
	for _, name := range sheet.Names() {
		if header, mapped := l.Columns[name]; mapped {
			options = append(options, "--map", name+"="+header)
		}
	}
	none := layoutFields(new(sheet.Layout))
	layoutFields(&l).VisitAll(func(field *pflag.Flag) {
		switch value := field.Value.String(); {
		case value == none.Lookup(field.Name).Value.String():
		case field.Value.Type() == "bool":
			options = append(options, "--"+field.Name)
		default:
			options = append(options, "--"+field.Name, strings.ReplaceAll(value, "\t", "tab"))
		}
	})
	return options
}

func layoutCommand(a *cmdutil.App) *cobra.Command {
	var flags layoutFlags
	var name string
	cmd := cmdutil.NewCommand(a, cmdutil.One, layoutView, &cobra.Command{
		Use:               "layout FILE",
		Short:             "Look at a file of payments and propose how to read it",
		ValidArgsFunction: cmdline.FileNames,
	}, func(s *cmdutil.Session, out cmdutil.Output[proposedLayout], args []string) error {
		file := args[0]
		l, err := flags.look(s, file)
		if strings.HasSuffix(file, ".plan") {
			file = "FILE"
		}
		if err != nil {
			return err
		}
		err = out.One(proposedLayout{map[string]sheet.Layout{cmp.Or(name, "NAME"): l}, l})
		if err != nil || !s.Plain() {
			return err
		}
		return s.NoteCommand(slices.Concat([]string{"payout", "plan", file, "--out", "PLAN"}, layoutOptions(l)), "to plan it:")
	})
	f := cmd.Flags()
	f.StringVar(&flags.format, "format", "", "csv or xlsx, whatever the file is called")
	f.StringVar(&flags.flagged.Sheet, "sheet", "", "sheet of a workbook, if it is not the first")
	f.StringVar(&name, "name", "", "name of the layout in the configuration")
	cmdline.OfferWords(cmd, "format", csv, workbook)
	return cmd
}

// look returns the layout that a file of payments seems to have, or with which the file of a plan was read.
func (f *layoutFlags) look(s *cmdutil.Session, file string) (l sheet.Layout, err error) {
	if strings.HasSuffix(file, ".plan") {
		p, err := openPlan(file)
		if err == nil && p.Layout == nil {
			err = exit.UsageError(file+" has no layout: its file had till's own columns", "plan such a file as it is")
		}
		if err != nil {
			return l, err
		}
		return *p.Layout, nil
	}
	if err := f.chooseFormat(file); err != nil {
		return l, err
	}
	if f.format == jsonl {
		return l, exit.UsageError("payout layout: JSON lines have no layout", "plan them as they are")
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
	if s.Ctx.Err() != nil {
		return l, s.Ctx.Err()
	}
	if err != nil {
		return l, &payout.Error{Kind: payout.Invalid, Msg: fmt.Sprintf("%s cannot be read: %v", file, err), Err: err}
	}
	for _, column := range l.Unsure {
		s.Note("%s: say which with --map", column)
	}
	if l.Decimal == "" && len(l.Unsure) == 0 { // otherwise they may be those of another column
		s.Note("the amounts do not show their decimal mark: it is a point, unless --decimal says otherwise")
	}
	return l, nil
}

// A proposedLayout is a layout in the form that the configuration has.
type proposedLayout struct {
	Layouts map[string]sheet.Layout `json:"layouts"`
	layout  sheet.Layout
}

func layoutView(money.Registry) render.View[proposedLayout] {
	type row = proposedLayout
	text := func(name, about string, of func(sheet.Layout) string) render.Column[row] {
		return render.Column[row]{Name: name, About: about, Whole: true,
			Cell: func(r row) render.Cell { return render.Own(of(r.layout)) }}
	}
	return views.Of(nil, render.Value[row](),
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
		text("currency", "of all rows, in a file without that column", func(l sheet.Layout) string { return l.Currency }))
}
