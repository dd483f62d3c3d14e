package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/near"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/schema"
	"github.com/spf13/cobra"
)

func schemaCommand(a *cmdutil.App) *cobra.Command {
	var errors bool
	cmd := &cobra.Command{
		Use:   "schema [COMMAND...]",
		Short: "Print the JSON Schema of what a command prints",
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.Join(args, " ")
			switch {
			case errors && name != "":
				return exit.UsageError("--errors is about all commands: it goes without "+name, "leave one out")
			case errors || name != "":
				return printSchema(a, cmd, name)
			}
			_, out, err := cmdutil.BeginAlone(a, cmd, schemaNamesView)
			if err != nil {
				return err
			}
			return out.Slice(schema.Names())
		},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeSchemas,
	}
	cmd.Flags().BoolVar(&errors, "errors", false, "print the kinds of errors, their exit codes and the rules")
	cmdutil.Prints[schemaJSON](a, cmdutil.One, cmd)
	cmdutil.Prints[errorCatalogue](a, cmdutil.One, cmd)
	return cmdutil.WithView(a, cmdutil.List, schemaNamesView, cmd)
}

// printSchema prints a schema, which is that of a line with -o jsonl, or without a name what there is about errors.
func printSchema(a *cmdutil.App, cmd *cobra.Command, name string) error {
	s, out, err := cmdutil.BeginAlone(a, cmd, func(money.Registry) render.View[[]byte] { return cmdutil.LineView() })
	if err != nil {
		return err
	}
	text := schema.Of(name)
	switch format := &s.Render.Format; {
	case *format == render.CSV:
		return exit.UsageError("--output: this is not a list of rows, so it has no CSV form", "leave it out for JSON")
	case *format == render.Table:
		*format = render.JSON
	case *format == render.JSONL && name != "":
		text, *format = schema.Line(name), render.JSON
	}
	if name == "" {
		text = render.Encode(errorCatalogue{exit.Codes()[1:], exit.Rules()})
	}
	if text == nil {
		return exit.UsageError(fmt.Sprintf("there is no schema of %q", name),
			cmp.Or(near.Question(name, "till schema ", schema.Names()), "till schema lists the names"))
	}
	return out.One(text)
}

func schemaNamesView(money.Registry) render.View[string] {
	own := func(name string) string { return name }
	return views.Of(own, render.Value[string](), render.Field("name", "what there is a schema of: a command, or another name", render.Own, own))
}

// schemaJSON is what every schema has.
type schemaJSON struct {
	Dialect string `json:"$schema"`
	Title   string `json:"title"`
}

// errorCatalogue is what programs need to know about errors.
type errorCatalogue struct {
	Kinds []exit.ErrorKind `json:"kinds"`
	Rules []exit.Rule      `json:"rules"` // of errors of the kind refused; duplicate also of unknown and busy
}

func completeSchemas(_ *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, name := range schema.Names() {
		parts := strings.Fields(name)
		if len(parts) <= len(given) || !slices.Equal(parts[:len(given)], given) {
			continue
		}
		if word := parts[len(given)]; strings.HasPrefix(word, typed) && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
