package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/exit"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
	"github.com/spf13/cobra"
)

type requestFlags struct {
	expectation
	on    string
	match []string
	since int64
}

// expectation is how many of something there must be, and how long to wait for them.
type expectation struct {
	expect int64
	wait   time.Duration
}

func (e *expectation) add(cmd *cobra.Command, what string) {
	cmd.Flags().Int64Var(&e.expect, "expect", 0, "exit with code 42 unless there are exactly so many"+what)
	cmd.Flags().DurationVar(&e.wait, "wait", 0, "wait so long for those that --expect names")
}

func (e *expectation) check(cmd *cobra.Command) error {
	switch {
	case e.expect < 0:
		return exit.UsageError(fmt.Sprintf("--expect: %d is negative", e.expect), "write a number from 0")
	case e.wait < 0, e.wait > 0 && !cmd.Flags().Changed("expect"):
		return exit.UsageError("--wait is how long --expect waits", "write --expect 2 --wait 10s")
	}
	return nil
}

// until reads until there are as many as expected, or one if none is, or the wait is over.
func (e *expectation) until(ctx context.Context, read func() (count int, err error)) error {
	enough := max(e.expect, 1)
	count, err := read()
	if err != nil || e.wait == 0 || int64(count) >= enough {
		return err
	}
	err = api.WaitFor(ctx, api.Poll{Interval: 50 * time.Millisecond, Timeout: e.wait, Passes: func(error) bool { return false }},
		func(context.Context) (bool, error) {
			count, err := read()
			return int64(count) >= enough, err
		})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil // there are fewer
	}
	return err
}

func requestsCommand(a *cmdutil.App) *cobra.Command {
	var flags requestFlags
	cmd := newControl(a, cmdutil.List, requestView, &cobra.Command{
		Use:   "requests",
		Short: "List the requests that the sandbox has received, and count them",
	}, func(s *cmdutil.Session, out cmdutil.Output[sandbox.Request], _ []string) error {
		query, err := flags.query(s.Cmd)
		if err != nil {
			return err
		}
		if err := requireServed(s, "keeps no log"); err != nil {
			return err
		}
		var log requestLog
		err = flags.until(s.Ctx, func() (int, error) {
			var err error
			log, err = readLog(s, maps.Clone(query))
			return len(log.Requests), err
		})
		if err != nil {
			return refusedInput(err, "--")
		}
		printed := out.Slice(log.Requests)
		expected := s.Cmd.Flags().Changed("expect")
		lost := log.lost()
		if expected && (lost != "" || int64(len(log.Requests)) != flags.expect) {
			return exit.WithPrintError(log.unexpected(flags.expect), printed)
		}
		if lost != "" {
			s.Note("%s", lost)
		}
		return printed
	})
	f := cmd.Flags()
	f.StringVar(&flags.on, "on", "", `one operation, such as "POST /api/invoice"`)
	f.StringArrayVar(&flags.match, "match", nil, "only requests with this; may be given again")
	f.Int64Var(&flags.since, "since", 0, "only requests after the one with this id")
	flags.add(cmd, "")
	offerOperations(cmd)
	return cmd
}

// requireServed refuses to ask the sandbox of till --sandbox for what ends with its command.
func requireServed(s *cmdutil.Session, why string) error {
	if s.BaseURL != "" {
		return nil
	}
	return exit.UsageError("the sandbox of till --sandbox "+why+", because it runs for one command only",
		"use till sandbox run or till sandbox serve")
}

// logPage is how many requests are read at once. The sandbox sends fewer if they are large.
const logPage = 1000

// readLog reads the whole log page by page, because it may be larger than what the client takes in one
// answer.
func readLog(s *cmdutil.Session, query url.Values) (log requestLog, err error) {
	query.Set("limit", strconv.Itoa(logPage))
	for {
		page, err := ask[requestLog](s, "/sandbox/requests?"+query.Encode())
		if err != nil {
			return log, err
		}
		log.Requests = append(log.Requests, page.Requests...)
		log.Dropped += page.Dropped
		log.Undecided += page.Undecided
		if !page.More || len(page.Requests) == 0 {
			return log, nil
		}
		query.Set("since", strconv.FormatInt(log.Requests[len(log.Requests)-1].ID, 10))
	}
}

// query checks the flags, and returns them as the sandbox takes them.
func (flags requestFlags) query(cmd *cobra.Command) (url.Values, error) {
	if err := flags.check(cmd); err != nil {
		return nil, err
	}
	if flags.since < 0 {
		return nil, exit.UsageError(fmt.Sprintf("--since: %d is negative", flags.since), "write a number from 0")
	}
	if _, err := parseMatch(flags.match); err != nil {
		return nil, err
	}
	values := url.Values{"match": flags.match}
	if cmd.Flags().Changed("on") {
		values.Set("on", flags.on)
	}
	if flags.since > 0 {
		values.Set("since", strconv.FormatInt(flags.since, 10))
	}
	return values, nil
}

// requestLog is a part of the sandbox's log, and how many requests it cannot tell about.
type requestLog struct {
	Requests  []sandbox.Request `json:"requests"`
	Dropped   int64             `json:"dropped"`
	Undecided int64             `json:"undecided"`
	More      bool              `json:"more"`
}

// lost says which requests may be missing, or nothing.
func (l requestLog) lost() string {
	var all []string
	if l.Dropped > 0 {
		all = append(all, fmt.Sprintf("the log has dropped its %s", cmdutil.CountOf(int(l.Dropped), "oldest request")))
	}
	if l.Undecided > 0 {
		all = append(all, fmt.Sprintf("%s cannot be compared with --match, because the log has only the beginning of the body",
			cmdutil.CountOf(int(l.Undecided), "request")))
	}
	return strings.Join(all, "; ")
}

func (l requestLog) unexpected(expect int64) error {
	msg := cmdutil.CountOf(len(l.Requests), "request") + fmt.Sprintf(" found, %d expected", expect)
	hint := payout.Hint{}
	if lost := l.lost(); lost != "" {
		msg = "at least " + msg + ": " + lost
		hint = payout.NewHint("count fewer at a time, with --since, or begin again", "sandbox", "reset")
	}
	return &exit.Error{Code: exit.NotYet, Msg: msg, Hint: hint}
}

func requestView(money.Registry) render.View[sandbox.Request] {
	type row = sandbox.Request
	return views.Of(func(r row) string { return strconv.FormatInt(r.ID, 10) }, render.Value[row](),
		render.Field("id", "number of the request, for --since", render.Int, func(r row) int64 { return r.ID }),
		render.Field("method", "method of the request", render.Text, func(r row) string { return r.Method }),
		render.Field("path", "path of the request", render.Text, func(r row) string { return r.Path }),
		render.Field("status", "status of the answer; empty if there was none", views.Number,
			func(r row) int64 { return int64(r.Status) }),
		render.Field("fault", "what the faults did that struck it: till help faults", render.Text,
			func(r row) string { return r.Fault }),
		render.Field("query", "query of the request", render.Text, func(r row) string { return r.Query }),
		render.Field("body", "body of the request", bodyCell, func(r row) json.RawMessage { return r.Body }),
		render.Field("cut", "whether the log has only the beginning of the body", render.Bool,
			func(r row) bool { return r.Cut })).Extra("query", "body", "cut")
}

func bodyCell(body json.RawMessage) render.Cell {
	if len(body) == 0 || string(body) == "null" {
		return render.Text("")
	}
	return render.JSONText(body)
}
