package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
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
	"example.com/till/pkg/api/sandbox"
	"github.com/spf13/cobra"
)

// faultKinds are the completions of --do. The help of sandbox fault add explains them.
var faultKinds = []string{"refuse", "drop-before", "drop-after", "truncate", "deliver-twice", "delay=2s",
	"stale-list=10m", "status=503", "status=503,bare", "status=429,retry-after=5", "html", "html=502", "body=FILE", "respond=FILE",
	"lose-callback", "delay-callback=10m"}

// nearKind asks whether a kind with a name near to that of do was meant. If the name is right, it returns "".
func nearKind(do string) string {
	typed, _, _ := strings.Cut(do, "=")
	var names []string
	for _, kind := range faultKinds {
		name, _, _ := strings.Cut(kind, "=")
		names = append(names, name)
	}
	if slices.Contains(names, typed) {
		return ""
	}
	return near.Question(typed, "", slices.Compact(names))
}

type faultFlags struct {
	sandbox.Fault
	rate  string
	match []string
}

func faultAddCommand(a *cmdutil.App) *cobra.Command {
	var flags faultFlags
	cmd := newAnswer(a, faultView, true, &cobra.Command{
		Use:   "add --do KIND",
		Short: "Make calls to the sandbox fail from now on",
	}, func(s *cmdutil.Session, _ []string) (sandbox.Fault, error) {
		f, err := flags.fault(s.Cmd)
		if err != nil {
			return f, err
		}
		return tell[sandbox.Fault](s, "/sandbox/faults", faultOrder{f.Do, f.On, f.Rate, f.Times, f.Match, f.Seed, f.Body})
	})
	f := cmd.Flags()
	f.StringVar(&flags.Do, "do", "", "what goes wrong")
	f.StringVar(&flags.On, "on", "", `one operation, such as "POST /api/invoice"`)
	f.StringVar(&flags.rate, "rate", "1", "share of the calls it affects, as 0.1")
	f.Int64Var(&flags.Times, "times", 0, "how many calls it affects (default: without end)")
	f.StringArrayVar(&flags.match, "match", nil, "only calls with this; may be given again")
	f.Int64Var(&flags.Seed, "seed", 0, "of the choice by --rate (default: the id)")
	cmdline.Require(cmd, "do")
	cmdline.OfferWords(cmd, "do", faultKinds...)
	offerOperations(cmd)
	return cmd
}

type faultOrder struct {
	Do    string            `json:"do"`
	On    string            `json:"on"`
	Rate  float64           `json:"rate"`
	Times int64             `json:"times"`
	Match map[string]string `json:"match"`
	Seed  int64             `json:"seed,omitempty"`
	Body  []byte            `json:"body,omitempty"` // encoded in base64
}

func (flags faultFlags) fault(cmd *cobra.Command) (f sandbox.Fault, err error) {
	f = flags.Fault
	f.Rate, err = strconv.ParseFloat(flags.rate, 64)
	if err != nil || f.Rate == 0 || strings.Trim(flags.rate, "0123456789.") != "" {
		return f, exit.UsageError(fmt.Sprintf("--rate: %q is not a decimal above 0 and at most 1", flags.rate),
			"0.1 affects one call in ten")
	}
	if f.Match, err = parseMatch(flags.match); err != nil {
		return f, err
	}
	for _, number := range []string{"times", "seed"} {
		if value, _ := cmd.Flags().GetInt64(number); cmd.Flags().Changed(number) && value < 1 {
			return f, exit.UsageError("--"+number+": it must be at least 1", "leave it out for the default")
		}
	}
	if kind, name, given := strings.Cut(f.Do, "="); kind == "body" || kind == "respond" {
		if !given {
			return f, exit.UsageError("--do: "+kind+" names no file", "write "+kind+"=FILE")
		}
		f.Do = kind
		if f.Body, err = os.ReadFile(name); err != nil {
			return f, exit.UsageError(fmt.Sprintf("--do: the file cannot be read: %v", err), "name another")
		}
	}
	f, err = sandbox.CheckFault(f)
	if wrong, ok := errors.AsType[*sandbox.FaultError](err); ok {
		switch wrong.Field {
		case "do":
			wrong.Advice = cmp.Or(nearKind(f.Do), "use one of "+strings.Join(faultKinds, ", "))
		case "body":
			wrong.Field = "do"
		}
		return f, exit.UsageError("--"+wrong.Field+": "+wrong.Problem, wrong.Advice)
	}
	return f, err
}

func parseMatch(texts []string) (map[string]string, error) {
	match := map[string]string{}
	for _, text := range texts {
		field, value, found := strings.Cut(text, "=")
		if !found {
			return nil, exit.UsageError(fmt.Sprintf("--match: %q is not FIELD=VALUE", text),
				"write it like external_order_id=5001")
		}
		if _, twice := match[field]; twice {
			return nil, exit.UsageError(
				fmt.Sprintf("--match: %s is given twice, and no call has two values for it", field), "leave one out")
		}
		match[field] = value
	}
	return match, nil
}

func offerOperations(cmd *cobra.Command) {
	cmdline.OfferOwn(cmd, "on", cobra.FixedCompletions(sandbox.Operations(), cobra.ShellCompDirectiveNoFileComp))
}

func faultListCommand(a *cmdutil.App) *cobra.Command {
	return newControl(a, cmdutil.List, faultView, &cobra.Command{
		Use:   "list",
		Short: "List the sandbox's faults, and how many calls they affected",
	}, func(s *cmdutil.Session, out cmdutil.Output[sandbox.Fault], _ []string) error {
		faults, err := ask[[]sandbox.Fault](s, "/sandbox/faults")
		if err != nil {
			return err
		}
		return out.Slice(faults)
	})
}

func faultClearCommand(a *cmdutil.App) *cobra.Command {
	return newControl(a, cmdutil.List, faultView, &cobra.Command{
		Use:   "clear [ID]",
		Short: "Remove a fault of the sandbox, or all of them",
	}, func(s *cmdutil.Session, out cmdutil.Output[sandbox.Fault], args []string) error {
		order := map[string]string{}
		if len(args) == 1 {
			order["id"] = args[0]
		}
		cleared, err := tell[[]sandbox.Fault](s, "/sandbox/faults/clear", order)
		if err != nil {
			return missing(err, "fault", cmdutil.FirstOf(args), "sandbox", "fault", "list")
		}
		return out.Slice(cleared)
	})
}

func faultView(money.Registry) render.View[sandbox.Fault] {
	type row = sandbox.Fault
	return views.Of(func(f row) string { return f.ID }, render.Value[row](),
		render.Field("id", "id of the fault", render.Text, func(f row) string { return f.ID }),
		render.Field("on", "operation that it applies to", render.Text, func(f row) string { return f.On }),
		render.Field("do", "what goes wrong: till help faults", render.Text, func(f row) string { return f.Do }),
		render.Field("rate", "share of the calls that it affects", render.Text,
			func(f row) string { return strconv.FormatFloat(f.Rate, 'f', -1, 64) }),
		render.Field("times", "how many calls it affects", views.Number, func(f row) int64 { return f.Times }),
		render.Field("seen", "number of calls that it could apply to", render.Int, func(f row) int64 { return f.Seen }),
		render.Field("fired", "number of calls that it has affected", render.Int, func(f row) int64 { return f.Fired }),
		render.Field("match", "values that a call must have", render.Text, func(f row) string { return matchText(f.Match) }),
		render.Field("seed", "number that decides which calls it affects", render.Int,
			func(f row) int64 { return f.Seed })).Extra("seed")
}

func matchText(match map[string]string) string {
	var pairs []string
	for _, field := range slices.Sorted(maps.Keys(match)) {
		pairs = append(pairs, field+"="+match[field])
	}
	return strings.Join(pairs, ", ")
}
