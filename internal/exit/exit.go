// Package exit has the exit codes, and the one error with which a command ends: Explain makes it of every other
// error. It has the sentence that a person reads, the code, and what to do.
package exit

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"syscall"

	"example.com/till/internal/config"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/usage"
	"example.com/till/pkg/api"
	"example.com/till/pkg/api/sandbox"
	"example.com/till/pkg/payout"
)

// The exit codes. The tens digit says what to do: 1x correct the call, nothing was sent; 2x stop, money may
// have moved; 3x the service refused; 4x try again; 5x done in part; 6x interrupted.
const (
	Done         = 0
	Internal     = 1
	Usage        = 10
	Config       = 11
	Refused      = 12
	Busy         = 13
	Journal      = 14
	Unknown      = 20
	Conflict     = 21
	Rejected     = 30
	Unauthorized = 31
	RateLimited  = 32
	FailedStatus = 33
	Unreachable  = 40
	ReadFailed   = 41
	NotYet       = 42
	Partial      = 50
	Output       = 51
	Interrupted  = 60

	// Those of shells, for a command that till sandbox run cannot run.
	CannotRun = 126
	NotFound  = 127
)

// ErrorKind is a row of `till help exit-codes`. That of success has no kind.
type ErrorKind struct {
	Code      int    `json:"exit_code" schema:"exit-code"`
	Kind      string `json:"kind" schema:"kind"`
	Meaning   string `json:"meaning"`
	Advice    string `json:"advice"`    // what to do
	Retryable bool   `json:"retryable"` // whether the same command again may help
}

// Codes returns all exit codes: till returns no other of its own. Of several with the same kind, the
// first is the one that every command may return.
func Codes() []ErrorKind {
	return []ErrorKind{
		{Done, "", "Done.",
			"Nothing.", false},
		{Internal, "internal", "Something unexpected failed before anything was sent: a fault in till.",
			"Run it again with --debug, and report what it says.", false},
		{Usage, "usage", "The command line is wrong: an unknown flag or command, a bad amount, a missing memo.",
			"Correct the command line as the message says.", false},
		{Config, "config",
			"This machine is not set up: no address, an unknown profile, no key, file modes, plain http.",
			"Correct the configuration or the machine as the message says.", false},
		{Refused, "refused",
			"A guard said no: a limit, the list of allowed addresses, a confirmation that was not given.",
			"See the rule.", false},
		{Busy, "busy", "Another process is sending this order, the same content, or a plan from this journal. " +
			"Wait, then run the same command again.",
			"Wait, then run the same command again.", true},
		{Journal, "journal", "The journal cannot be opened, read or written, and nothing was sent.",
			"Make the journal usable, then run the same command again.", false},
		{Unknown, "unknown",
			"The outcome is unknown: it may have been paid. Do not send it again; find out first.",
			"Do not send it again. Find out with the command of the hint, such as till withdraw reconcile.", false},
		{Conflict, "conflict", "The service's record is not what the journal has.",
			"Do not send it again. A person compares the two records and decides.", false},
		{Rejected, "rejected", "The service rejected the call, definitely.",
			"Correct what the service rejects. Nothing was paid.", false},
		{Unauthorized, "unauthorized", "The service refused the key.",
			"Check the key with till auth status.", false},
		{RateLimited, "rate_limited", "The service asks for fewer calls; nothing is unknown.",
			"Wait, then run the same command again.", true},
		{FailedStatus, "failed_status", "A wait saw a status that --fail-on names.",
			"Look at the withdrawal or invoice, and decide.", false},
		{Unreachable, "unreachable", "A create never left this machine: not one byte was written. Run it again.",
			"Run the same command again.", true},
		{ReadFailed, "read_failed", "A call that only reads got no usable answer. Run it again.",
			"Run the same command again.", true},
		{NotYet, "not_yet",
			"A wait ran out of time, --exit-status says not finished, or a report is below --fail-below.",
			"Wait longer, or look again later.", true},
		{Partial, "partial", "Some of it was done, some not, and nothing is unknown.",
			"See which are done, then run the same command again for the rest.", false},
		{Output, "output", "Done, but the result could not be written; the error line carries the ids.",
			"Do not do it again. Take the ids from the error, or run the same command with the same order id.", false},
		{Interrupted, "interrupted", "Stopped on a signal, and nothing is unknown.",
			"Run the same command again to go on.", true},
		{CannotRun, "usage", "Only till sandbox run: its command was found and cannot be run.",
			"Check the mode of the command, and the interpreter in its first line.", false},
		{NotFound, "usage", "Only till sandbox run: its command was not found.",
			"Check the spelling of the command, and PATH.", false},
	}
}

// KindOf returns what there is to say about an exit code.
func KindOf(code int) ErrorKind {
	for _, e := range Codes() {
		if e.Code == code {
			return e
		}
	}
	return ErrorKind{Kind: "internal"}
}

// Error is an error that a command itself finds, or what Explain makes of any other: what is shown of it.
type Error struct {
	Code    int
	Rule    string // the rule that refused
	Msg     string
	Hint    payout.Hint // what to do next
	Err     error
	Call    *api.Error      // the failed call, if there is one; set by Explain
	Details []payout.Detail // set by Explain
	About
}

// Error implements error.
func (f *Error) Error() string { return f.Msg }

// Unwrap returns the cause.
func (f *Error) Unwrap() error { return f.Err }

// Retryable reports whether the same command again may help. If only some of it was done, the call that failed
// decides. An answer that is too large will be so again.
func (f *Error) Retryable() bool {
	code := f.Code
	if code == Partial && f.Call != nil {
		code, _ = explainCall(f.Call)
	}
	return KindOf(code).Retryable && (f.Call == nil || !errors.Is(f.Call, api.ErrTooLarge))
}

// WithPrintError adds the message of printed, a failure to print the output, to the error found. The error
// found is about money, so it decides the exit code. That a reader has gone is not worth a word.
func WithPrintError(found, printed error) error {
	f, ok := errors.AsType[*Error](found)
	if !ok || printed == nil || ReaderGone(printed) {
		return cmp.Or(found, printed)
	}
	both := *f
	both.Msg += "; besides, " + printed.Error()
	return &both
}

// Failure returns an error with an exit code and its cause, which may be nil. The hint is a text and, if given, a
// command.
func Failure(code int, cause error, msg, text string, command ...string) error {
	return &Error{Code: code, Err: cause, Msg: msg, Hint: payout.NewHint(text, command...)}
}

// UsageError returns an error about the command line.
func UsageError(msg, text string, command ...string) error {
	return Failure(Usage, nil, msg, text, command...)
}

// Refusal returns the error of a rule that refuses.
func Refusal(rule, msg, text string, command ...string) error {
	return &Error{Code: Refused, Rule: rule, Msg: msg, Hint: payout.NewHint(text, command...)}
}

// Explain returns any error with its exit code, and as it is shown. No other function does this.
func Explain(err error) Error {
	r := Error{Code: Internal, Msg: err.Error(), Err: err, About: AboutError(err)}
	var (
		own     *Error
		call    *api.Error
		invalid *api.InvalidError
		set     *config.Error
		state   *sandbox.StateError
		sending *payout.Error
		typed   *usage.Error
		limit   *money.LimitError
		output  *render.WriteError
	)
	switch {
	case errors.As(err, &own):
		r.Code, r.Rule, r.Hint = own.Code, own.Rule, own.Hint
		if errors.As(err, &output) { // --jq or --template failed on the result; the output did not fail
			r.Msg = own.Msg
		}
		errors.As(err, &r.Call)
	case errors.As(err, &invalid):
		r.Code, r.Msg = Usage, flagOf(invalid.Field)+": "+invalid.Why
	case errors.As(err, &sending) && (len(sending.Hint.Text) > 0 || !errors.As(err, &call)):
		r.Code, r.Rule, r.Hint, r.Details = codeOf(sending.Kind), sending.Rule, sending.Hint, sending.Details
		errors.As(err, &r.Call)
	case errors.As(err, &output):
		r.Code, r.Hint = Output, payout.NewHint(outputHint(output))
		if errors.As(err, &call) { // a dry run failed to print; there was no call
			r.Msg = output.Error()
		}
	case errors.As(err, &call):
		r.Call = call
		if r.Code, r.Hint = explainCall(call); r.Code == Interrupted {
			r.Msg = "interrupted"
		}
	case errors.As(err, &typed):
		r.Code, r.Hint = Usage, payout.NewHint(typed.Advice, typed.Command...)
	case errors.Is(err, api.ErrUseCreate):
		r.Code = Usage
	case errors.As(err, &limit):
		r.Code, r.Rule, r.Hint = Refused, limit.Rule, payout.NewHint(limit.Advice, limit.Command...)
	case errors.As(err, &set):
		r.Code, r.Hint = Config, payout.NewHint(set.Advice, set.Command...)
	case errors.As(err, &state):
		r.Code, r.Hint = explainState(state)
		r.Msg = "the sandbox's state cannot be used: " + state.Path + ": " + state.Err.Error()
	case errors.Is(err, context.Canceled):
		r.Code, r.Msg = Interrupted, "interrupted"
	case DiskFull(err):
		r.Code = Config
	}
	if r.Code == Config && r.Hint.IsZero() && DiskFull(err) {
		r.Hint = payout.NewHint("free some space there, and run it again")
	}
	return r
}

func explainState(e *sandbox.StateError) (code int, todo payout.Hint) {
	const another = "name another file in TILL_SANDBOX_STATE or --state"
	if errors.Is(e, sandbox.ErrInUse) {
		return Usage, payout.NewHint("end it, or use its address (TILL_BASE_URL, TILL_API_KEY), or " + another)
	}
	return Config, payout.NewHint(another + ", move this one away, or free the disk if it is full")
}

// ReaderGone reports whether a command only failed to print to a program that has ended, as in till ... | head.
// The error of a command that has sent or received something is an *Error, which names what may be nowhere else.
func ReaderGone(err error) bool {
	output, failed := errors.AsType[*render.WriteError](err)
	return failed && errors.Is(output, syscall.EPIPE) && !errors.As(err, new(*Error))
}

// NothingSent returns the failure to print of a command that turned out to send nothing: if the reader has gone,
// ReaderGone holds for it.
func NothingSent(printed error) error {
	if output, ok := errors.AsType[*render.WriteError](printed); ok && ReaderGone(output) {
		return output
	}
	return printed
}

// codeOf returns the exit code of an error that keeps a withdrawal from being sent or settled.
func codeOf(kind payout.Kind) int {
	codes := map[payout.Kind]int{
		payout.Refused: Refused, payout.Busy: Busy, payout.Conflict: Conflict, payout.Rejected: Rejected,
		payout.NotSent: Unreachable, payout.ReadFailed: ReadFailed, payout.Partial: Partial,
		payout.Invalid: Usage, payout.NotFound: Usage, payout.NoRoom: Config, payout.JournalPlace: Config,
		payout.Settings: Config, payout.JournalBroken: Journal, payout.FailedStatus: FailedStatus,
		payout.NotYet: NotYet,
	}
	return cmp.Or(codes[kind], Unknown)
}

// explainCreate explains the failure of a call that creates something.
func explainCreate(e *api.Error) (code int, todo payout.Hint) {
	switch {
	case e.Outcome == api.NotSent && errors.Is(e, context.Canceled):
		return Interrupted, payout.Hint{}
	case e.Outcome == api.NotSent:
		return Unreachable, payout.NewHint(cmp.Or(hintOfConnection(e), "it is safe to run the same command again"))
	case e.Outcome != api.Rejected:
		return Unknown, payout.NewHint("do not send it again: look in the merchant panel whether it is there")
	case e.Status == 401 || e.Status == 403:
		return Unauthorized, payout.NewHint("check the key", "auth", "status")
	case e.Status == 429 && e.RetryAfter > 0:
		return RateLimited, payout.NewHint("run it again after " + e.RetryAfter.String())
	case e.Status == 429:
		return RateLimited, payout.NewHint("run it again later")
	}
	return Rejected, payout.Hint{}
}

func explainCall(e *api.Error) (code int, todo payout.Hint) {
	if e.Outcome != api.Failed {
		return explainCreate(e)
	}
	pages := strings.HasSuffix(e.Path, "/list") && !strings.HasPrefix(e.Op, e.Method) // not when till api reads them
	switch {
	case errors.Is(e.Err, context.Canceled):
		return Interrupted, payout.Hint{}
	case errors.Is(e, api.ErrTooLarge) && pages:
		return ReadFailed,
			payout.NewHint("it would be as large the next time: ask for less, with --page-size or a filter")
	case errors.Is(e, api.ErrTooLarge):
		return ReadFailed, payout.Hint{}
	case pages && e.Status == 500: // no command, which a program might run: page 0 must not be left out for a passing 500
		return ReadFailed, payout.NewHint("nothing was changed, run it again; if it stays, and the service counts its pages from 1, type till profile set NAME first_page=1")
	}
	return ReadFailed, payout.NewHint(cmp.Or(hintOfConnection(e), "nothing was changed, run it again"))
}

// hintOfConnection says what to do about a connection that will fail again, or returns "" if it is not known.
func hintOfConnection(e *api.Error) string {
	if errors.As(e, new(*api.ProxyError)) {
		return "check the proxy in HTTPS_PROXY, or name the service's host in NO_PROXY"
	}
	if errors.As(e, new(*tls.CertificateVerificationError)) {
		return "check base_url and this machine's clock; if a private authority signed the certificate, name that authority's own in ca_file of the profile, or in TILL_CA_FILE"
	}
	return ""
}

func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

func outputHint(err error) string {
	switch {
	case errors.Is(err, syscall.EPIPE):
		return "the program that reads standard output has ended before it had all of it"
	case DiskFull(err):
		return "free some space on the disk that standard output leads to"
	}
	return "look at where standard output leads"
}

// flagOf returns the flag that sets a field of a request.
func flagOf(field string) string {
	switch field {
	case "address", "amount", "callback", "callback_url", "currency", "external_order_id", "filter", "memo", "order_id",
		"page", "page_size", "title":
		return "--" + strings.ReplaceAll(strings.TrimPrefix(field, "external_"), "_", "-")
	}
	return field
}

// About names what a line on standard error is about: the orders, the withdrawal or invoice, and the run.
type About struct {
	OrderID  string   `json:"order_id,omitempty"`
	OrderIDs []string `json:"order_ids,omitempty"` // if there are several; OrderID is empty then
	ID       string   `json:"id,omitempty"`
	Run      string   `json:"run,omitempty"`
}

// AboutOrders returns an About for the given orders.
func AboutOrders(ids ...string) About {
	if len(ids) == 1 {
		return About{OrderID: ids[0]}
	}
	return About{OrderIDs: ids}
}

// Or fills in what is missing from other.
func (w About) Or(other About) About {
	if w.OrderID == "" && len(w.OrderIDs) == 0 {
		w.OrderID, w.OrderIDs = other.OrderID, other.OrderIDs
	}
	w.ID, w.Run = cmp.Or(w.ID, other.ID), cmp.Or(w.Run, other.Run)
	return w
}

// AboutError collects what the errors in a chain are about. The outermost one decides.
func AboutError(err error) (w About) {
	if own, is := errors.AsType[*Error](err); is {
		w = own.About
	}
	if sending, is := errors.AsType[*payout.Error](err); is {
		w = w.Or(About{OrderID: sending.OrderID, OrderIDs: sending.OrderIDs, ID: sending.ID, Run: sending.Run})
	}
	return w
}
