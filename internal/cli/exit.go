package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"strings"

	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
)

// The exit codes. The tens digit says whose turn it is: 1x the caller's, nothing was sent; 2x stop, money may have
// moved; 3x the service said no; 4x try again; 5x done in part; 6x interrupted.
const (
	exitDone         = 0
	exitInternal     = 1
	exitUsage        = 10
	exitConfig       = 11
	exitRefused      = 12
	exitBusy         = 13
	exitJournal      = 14
	exitUnknown      = 20
	exitConflict     = 21
	exitRejected     = 30
	exitUnauthorized = 31
	exitRateLimited  = 32
	exitFailedStatus = 33
	exitUnreachable  = 40
	exitReadFailed   = 41
	exitNotYet       = 42
	exitPartial      = 50
	exitOutput       = 51
	exitInterrupted  = 60
)

// exitCode is one row of `till help exit-codes`.
type exitCode struct {
	code    int
	kind    string
	meaning string
}

// exitCodes is the one list of them: a code that is not in it is never returned.
func exitCodes() []exitCode {
	return []exitCode{
		{exitDone, "", "Done."},
		{exitInternal, "internal", "Something unexpected failed before anything was sent: a fault in till."},
		{exitUsage, "usage", "The command line is wrong: an unknown flag or command, a bad amount, a missing memo."},
		{exitConfig, "config", "This machine is not set up: no address, an unknown profile, no key, file modes, plain http."},
		{exitRefused, "refused", "A guard said no: a limit, the list of allowed addresses, a confirmation that was not given."},
		{exitBusy, "busy", "Another process is sending the same, and what it learns decides."},
		{exitJournal, "journal", "The journal cannot be opened, read or written, and nothing was sent."},
		{exitUnknown, "unknown", "The outcome is unknown: it may have been paid. Do not send it again; find out first."},
		{exitConflict, "conflict", "The service's record is not what the journal has."},
		{exitRejected, "rejected", "The service rejected the call, definitely."},
		{exitUnauthorized, "unauthorized", "The service refused the key."},
		{exitRateLimited, "rate_limited", "The service asks for fewer calls; nothing is unknown."},
		{exitFailedStatus, "failed_status", "A wait saw a status that --fail-on names."},
		{exitUnreachable, "unreachable", "A create never left this machine: not one byte was written. Run it again."},
		{exitReadFailed, "read_failed", "A call that only reads got no usable answer. Run it again."},
		{exitNotYet, "not_yet", "A wait ran out of time, --exit-status says not finished, or a report is below --fail-below."},
		{exitPartial, "partial", "Some of it was done, some not, and nothing is unknown."},
		{exitOutput, "output", "Done, but the result could not be written; the error line carries the ids."},
		{exitInterrupted, "interrupted", "Stopped on a signal, and nothing is unknown."},
	}
}

func kindOf(code int) string {
	for _, e := range exitCodes() {
		if e.code == code {
			return e.kind
		}
	}
	return "internal"
}

// failure is an error that the commands themselves find.
type failure struct {
	code int
	rule string // the guard that said no
	msg  string
	hint payout.Hint // what to do next
	err  error
	about
}

func (f *failure) Error() string { return f.msg }
func (f *failure) Unwrap() error { return f.err }

// beside is found, which is about money, where what was to be printed could not be: both are told, and found has the exit code.
func beside(found, printed error) error {
	f, ok := errors.AsType[*failure](found)
	if !ok || printed == nil {
		return cmp.Or(found, printed)
	}
	both := *f
	both.msg += "; besides, " + printed.Error()
	return &both
}

// usageError is about a command line. What to do next is a text and, if there is one, a command.
func usageError(msg, text string, command ...string) error {
	return &failure{code: exitUsage, msg: msg, hint: payout.NewHint(text, command...)}
}

// refusal is about a guard that said no.
func refusal(rule, msg, text string, command ...string) error {
	return &failure{code: exitRefused, rule: rule, msg: msg, hint: payout.NewHint(text, command...)}
}

// codeOf is the exit code of a kind.
func codeOf(kind string) int {
	for _, e := range exitCodes() {
		if e.kind == kind {
			return e.code
		}
	}
	return exitInternal
}

// errorReport is an error as it is shown: its exit code, and what the error line says.
type errorReport struct {
	code    int
	rule    string
	message string
	hint    payout.Hint
	call    *api.Error // the call that failed, if one did
	details []payout.Detail
	about
}

// explain maps every error to its exit code. There is no other place that knows.
func explain(err error) errorReport {
	r := errorReport{code: exitInternal, message: err.Error(), about: aboutError(err)}
	var (
		own       *failure
		call      *api.Error
		invalid   *api.InvalidError
		usage     *config.UsageError
		set       *config.Error
		state     *sandbox.StateError
		sending   *payout.Error
		amount    *money.Error
		limit     *money.LimitError
		output    *render.WriteError
		rendering *render.UsageError
	)
	if advised := (interface{ Hint() string })(nil); errors.As(err, &advised) {
		r.hint = payout.NewHint(advised.Hint())
	}
	switch {
	case errors.As(err, &own):
		r.code, r.rule, r.hint = own.code, own.rule, own.hint
		if errors.As(err, &output) { // --jq failed on the result, and nothing was to be written
			r.message = own.msg
		}
		errors.As(err, &r.call)
	case errors.As(err, &invalid):
		r.code, r.message = exitUsage, flagOf(invalid.Field)+": "+invalid.Why
	case errors.As(err, &sending) && (len(sending.Hint.Text) > 0 || !errors.As(err, &call)):
		r.code, r.rule, r.hint, r.details = explainSending(sending), sending.Rule, sending.Hint, sending.Details
		errors.As(err, &r.call)
	case errors.As(err, &output):
		r.code = exitOutput
		if errors.As(err, &call) { // a dry run's, which made no call that could say more
			r.message = output.Error()
		}
		r.hint = payout.NewHint(outputHint(output))
	case errors.As(err, &call):
		r.call = call
		r.code, r.hint = explainCall(call)
	case errors.As(err, &usage), errors.As(err, &amount), errors.As(err, &rendering), errors.Is(err, api.ErrUseCreate):
		r.code = exitUsage
	case errors.As(err, &limit):
		r.code, r.rule = exitRefused, limit.Rule
	case errors.As(err, &set):
		r.code, r.hint.Command = exitConfig, set.Command
	case errors.As(err, &state):
		r.code, r.message, r.hint = exitConfig, "the sandbox's state cannot be used: "+state.Path+": "+state.Err.Error(), payout.NewHint("name another file in TILL_SANDBOX_STATE or --state, move this one away, or free the disk if it is full")
	case errors.Is(err, context.Canceled):
		r.code, r.message = exitInterrupted, "interrupted"
	case diskFull(err):
		r.code = exitConfig
	}
	if r.code == exitConfig && r.hint.IsZero() && diskFull(err) {
		r.hint = payout.NewHint("free some space there, and run it again")
	}
	return r
}

// explainSending maps what keeps a withdrawal from being sent or settled.
func explainSending(e *payout.Error) int {
	switch e.Kind {
	case payout.Refused:
		return exitRefused
	case payout.Busy:
		return exitBusy
	case payout.Conflict:
		return exitConflict
	case payout.Rejected:
		return exitRejected
	case payout.NotSent:
		return exitUnreachable
	case payout.ReadFailed:
		return exitReadFailed
	case payout.Partial:
		return exitPartial
	case payout.Invalid, payout.NotFound:
		return exitUsage
	case payout.NoRoom, payout.JournalPlace:
		return exitConfig
	case payout.JournalBroken:
		return exitJournal
	}
	return exitUnknown
}

// explainCall maps what came back from the service.
func explainCall(e *api.Error) (code int, todo payout.Hint) {
	if e.Outcome != api.Failed {
		switch code = codeOf(payout.Observe(e).Exit); code {
		case exitUnknown:
			todo = payout.NewHint("do not send it again: look in the merchant panel whether it is there")
		case exitUnreachable:
			todo = payout.NewHint(cmp.Or(hintOfConnection(e), "it is safe to run the same command again"))
		case exitUnauthorized:
			todo = payout.NewHint("check the key", "auth", "status")
		case exitRateLimited:
			todo = payout.NewHint("run it again later")
			if e.RetryAfter > 0 {
				todo = payout.NewHint("run it again after " + e.RetryAfter.String())
			}
		}
		return code, todo
	}
	interrupted := errors.Is(e.Err, context.Canceled)
	if interrupted {
		return exitInterrupted, payout.Hint{}
	}
	if errors.Is(e, api.ErrTooLarge) {
		if strings.HasSuffix(e.Path, "/list") && !strings.HasPrefix(e.Op, e.Method) { // the lists that come in pages; not till api
			return exitReadFailed, payout.NewHint("it will be as large the next time: ask for less, with --page-size or a filter")
		}
		return exitReadFailed, payout.Hint{}
	}
	return exitReadFailed, payout.NewHint(cmp.Or(hintOfConnection(e), "nothing was changed, run it again"))
}

// hintOfConnection says what to do about a connection that will fail the next time as well; empty: nothing is known.
func hintOfConnection(e *api.Error) string {
	if errors.As(e, new(*api.ProxyError)) {
		return "check the proxy in HTTPS_PROXY, or name the service's host in NO_PROXY"
	}
	if errors.As(e, new(*tls.CertificateVerificationError)) {
		return "check base_url and this machine's clock; if a private authority signed the certificate, name that authority's own in ca_file of the profile, or in TILL_CA_FILE"
	}
	return ""
}

// flagOf names the flag that a field of a request comes from.
func flagOf(field string) string {
	switch field {
	case "external_order_id", "order_id":
		return "--order-id"
	case "callback_url":
		return "--callback-url"
	case "page_size":
		return "--page-size"
	case "address", "amount", "callback", "currency", "memo", "page", "title", "filter":
		return "--" + field
	}
	return field
}
