package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/till/internal/cmdline"
	"example.com/till/internal/exit"
	"example.com/till/internal/near"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// counted is the value of a flag that can be given once. It counts instead of refusing, so that a command
// line for completion or help is parsed to its end.
type counted struct {
	pflag.Value
	times int
}

func (c *counted) Set(text string) error {
	c.times++
	return c.Value.Set(text)
}

// countFlags makes it possible to detect a flag that is given twice: with two amounts, the intended one is
// unknown.
func countFlags(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "string", "int", "int64", "duration":
			f.Value = &counted{Value: f.Value}
		}
	})
}

// flagUsages returns the lines of a help text about flags, each with a word for what it takes.
func flagUsages(flags *pflag.FlagSet, width int) string {
	flags.VisitAll(nameFlag)
	return flags.FlagUsagesWrapped(width)
}

// nameFlag makes a flag say what it takes. It cannot be set after that.
func nameFlag(f *pflag.Flag) {
	if _, done := f.Value.(named); !done && f.Value.Type() != "bool" {
		f.Value = named{f.Value, placeholder(f)}
		if f.NoOptDefVal != "" { // pflag writes [=VALUE] without a blank only if the name in back quotes is empty
			f.NoOptDefVal, f.Usage = f.Value.Type(), "``"+f.Usage
		}
	}
	if f.DefValue == "[]" || f.DefValue == "0s" { // pflag omits these defaults only for its own types
		f.DefValue = ""
	}
}

type named struct {
	pflag.Value
	takes string
}

func (n named) Type() string { return n.takes }

// placeholder returns the word for what a flag takes: that in back quotes in its usage, or else by its type
// or name.
func placeholder(f *pflag.Flag) string {
	if quoted, _ := pflag.UnquoteUsage(f); strings.Contains(f.Usage, "`") {
		return quoted
	}
	switch f.Value.Type() {
	case "int", "int64", "uint16":
		return "N"
	case "duration":
		return "DURATION"
	}
	words := map[string]string{"by": "GROUP", "from": "TIME", "to": "TIME", "lookup-since": "TIME", "clock": "TIME", "currency": "CODE",
		"out": "FILE", "metrics": "FILE", "on-finish": "PROGRAM", "results": "FILE", "html": "FILE", "svg": "FILE", "env-file": "FILE", "ready-file": "FILE", "key": "FILE",
		"input": "FILE", "approval": "FILE", "api-key-file": "FILE", "config": "FILE", "journal": "PLACE", "exec": "COMMAND",
		"match": "FIELD=VALUE", "set": "NAME=VALUE", "on": "OPERATION", "do": "FAULT", "include-fiat": "VALUE", "ids": "KIND", "accept": "REASON",
		"callback": "URL", "callback-url": "URL", "public-url": "URL", "base-url": "URL", "to-base-url": "URL", "listen": "ADDRESS",
		"order-id": "ORDER", "paid-as": "ID", "auto-order-id": "BATCH", "identical-within": "AGE", "amount-minor": "AMOUNT", "address-format": "FORMAT",
		"decimal": "MARK", "group": "MARK", "delimiter": "MARK", "filter": "JSON", "jq": "FILTER", "sort": "COLUMN", "csv-for": "PROGRAM", "locale": "LOCALE", "output": "FORMAT",
		"profile": "NAME", "color": "WHEN", "lookup": "WHEN", "fail-on": "STATUS", "other-columns": "WHAT"}
	return cmp.Or(words[f.Name], strings.ToUpper(f.Name))
}

// checkFlags refuses values that are empty and flags that are given twice, in a command's own flags and the
// global ones. Of a list with commas it takes off the blanks beside them.
func checkFlags(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		var values []string
		if isList {
			values = list.GetSlice()
		} else if f.Value.Type() == "string" {
			values = []string{f.Value.String()}
		}
		for i, value := range values {
			if f.Value.Type() == "stringSlice" { // and so the flag's own values
				values[i] = strings.TrimSpace(value)
			}
		}
		times, _ := f.Value.(*counted)
		switch {
		case err != nil:
		case isList && len(values) == 0, len(values) == 1 && values[0] == "":
			err = exit.UsageError("--"+f.Name+" is empty", cmdline.UnsetHint)
		case slices.Contains(values, ""):
			err = exit.UsageError("one of the values of --"+f.Name+" is empty", cmdline.UnsetHint)
		case slices.ContainsFunc(values, func(value string) bool { return isFlag(flags, value) }):
			err = exit.UsageError("--"+f.Name+" has a flag for a value: "+strings.Join(values, ","), cmdline.UnsetHint)
		case times != nil && times.times > 1:
			err = exit.UsageError("--"+f.Name+" is given twice", "leave one out")
		}
	})
	return err
}

// isFlag reports whether a value is a flag of the command, as when a variable in front of it is unset.
func isFlag(flags *pflag.FlagSet, value string) bool {
	name, long := strings.CutPrefix(value, "--")
	name, _, _ = strings.Cut(name, "=")
	return long && flags.Lookup(name) != nil || len(value) == 2 && value[0] == '-' && flags.ShorthandLookup(value[1:]) != nil
}

// checkStdin refuses to read both the key and something else from standard input. Arguments after -- belong
// to another program.
func checkStdin(cmd *cobra.Command, args []string) error {
	key := cmd.Flags().Lookup("api-key-file")
	if key == nil || key.Value.String() != "-" || cmd.ArgsLenAtDash() >= 0 {
		return nil
	}
	what := ""
	if slices.Contains(args, "-") {
		what = "the argument -"
	}
	own := cmd.LocalNonPersistentFlags()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if text := f.Value.String(); own.Lookup(f.Name) != nil && (text == "-" || text == "@-") {
			what = "--" + f.Name + " " + text
		}
	})
	if what == "" {
		return nil
	}
	return exit.UsageError("--api-key-file - and "+what+" both read standard input",
		"put one of them into a file, or the key into TILL_API_KEY")
}

// flagError puts the errors of the flag library into till's words.
func flagError(cmd *cobra.Command, err error) error {
	var (
		invalid *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
		unknown *pflag.NotExistError
		syntax  *pflag.InvalidSyntaxError
	)
	msg, question := cmdline.CommandName(cmd)+": "+err.Error(), ""
	shared := !cmd.HasParent() // the flag is one of all commands, whose help is a topic
	isShared := func(f *pflag.Flag) bool { return cmd.Root().PersistentFlags().Lookup(f.Name) == f }
	switch {
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		msg, shared = "--"+f.Name+": "+wrongValue(f.Value.Type(), invalid.GetValue(), invalid.Unwrap()), isShared(f)
	case errors.As(err, &missing):
		msg, shared = "--"+missing.GetFlag().Name+" needs a value", isShared(missing.GetFlag())
	case errors.As(err, &unknown):
		flag, typed := "--"+unknown.GetSpecifiedName(), unknown.GetSpecifiedName()
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			flag, typed = flag[1:], letters // -amount is a cluster of letters, meant as --amount
		}
		msg = "there is no flag " + flag
		if cmd.HasParent() {
			msg = cmdline.CommandName(cmd) + " has no flag " + flag
		}
		question = nearFlag(cmd, typed)
	case errors.As(err, &syntax):
		msg = fmt.Sprintf("%q is not the name of a flag", syntax.GetSpecifiedFlag())
	}
	if question == "" && shared {
		return exit.UsageError(msg, "see", "help", "flags")
	}
	return cmdline.HelpError(cmd, msg, question)
}

// nearFlag asks whether a flag with a name near to typed was meant. If there is none, it returns "". A single
// letter is near to no name.
func nearFlag(cmd *cobra.Command, typed string) string {
	if len(typed) < 2 {
		return ""
	}
	ours := map[string]string{"json": "output json", "format": "output", "fields": "columns", "force": "yes"}[typed]
	if name, _, _ := strings.Cut(ours, " "); ours != "" && slices.Contains(heeded(cmd), name) {
		return "did you mean --" + ours + "?"
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return near.Question(typed, "--", names)
}

// The annotations in which cobra keeps the groups of a flag, each with its names.
const (
	oneRequired = "cobra_annotation_one_required"
	oneAtMost   = "cobra_annotation_mutually_exclusive"
)

// checkGroups refuses a command line without a required flag, or with flags that cannot be used together. Cobra
// would do so in words of its own.
func checkGroups(cmd *cobra.Command, _ []string) error {
	var missing []string
	var none, several error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, required := f.Annotations[cobra.BashCompOneRequiredFlag]; required && !f.Changed {
			missing = append(missing, f.Name)
		}
		for _, group := range f.Annotations[oneRequired] {
			if names := strings.Fields(group); !slices.ContainsFunc(names, cmd.Flags().Changed) {
				none = cmdline.HelpError(cmd, cmdline.CommandName(cmd)+" needs "+flagNames(names, "or"), "")
			}
		}
		for _, group := range f.Annotations[oneAtMost] {
			given := slices.DeleteFunc(strings.Fields(group), func(name string) bool { return !cmd.Flags().Changed(name) })
			if len(given) > 1 {
				several = exit.UsageError(flagNames(given, "and")+" cannot be used together", "leave one out")
			}
		}
	})
	if len(missing) > 0 {
		return cmdline.HelpError(cmd, cmdline.CommandName(cmd)+" needs "+flagNames(missing, "and"), "")
	}
	return cmp.Or(none, several)
}

// flagNames returns "--a, --b or --c".
func flagNames(names []string, last string) string {
	for i := range names {
		names[i] = "--" + names[i]
	}
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + " " + last + " " + names[n]
	}
	return names[0]
}

func wrongValue(kind, text string, cause error) string {
	switch {
	case errors.Is(cause, strconv.ErrRange):
		return fmt.Sprintf("the number %q does not fit into 64 bits", text)
	case kind == "int" || kind == "int64":
		return fmt.Sprintf("%q is not a whole number", text)
	case kind == "duration":
		return fmt.Sprintf("%q is not a duration: write a number and a unit, such as 90s, 15m or 2h", text)
	case kind == "bool":
		return fmt.Sprintf("%q is neither true nor false", text)
	case kind == "stringSlice":
		return fmt.Sprintf("%q has a quote that is out of place: write values with commas between", text)
	}
	return fmt.Sprintf("%q is not a valid value: %v", text, cause)
}
