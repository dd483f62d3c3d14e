package journal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/internal/views"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout"
	"example.com/till/pkg/payout/approval"
	"github.com/spf13/cobra"
)

func approvalsCommand(a *cmdutil.App) *cobra.Command {
	var reason string
	return reasonFlag(cmdutil.NewCommand(a, cmdutil.List, demandView, &cobra.Command{
		Use:   "approvals [N]",
		Short: "Show or change how many persons must approve what is sent",
		Long: `Show how many persons the account required to approve what it sends, the oldest
first; the last line is in force. The journal remembers the strictest settings
of all profiles that were used with the account. If another profile requires
less, nothing is sent.

With N and --reason, record that from now on N persons must approve, with the
approvers and the totals of the profile in use. Nobody must approve if N is 0,
until a profile requires it. Other accounts keep what they require.`,
		Example: `  till journal approvals
  till journal approvals 0 --reason "the account has only one owner now"`,
		Args: cmdutil.OptionalArg("N"),
	}, func(s *cmdutil.Session, out cmdutil.Output[approval.Demand], args []string) error {
		if len(args) > 0 || s.Cmd.Flags().Changed("reason") {
			return setApprovals(s, cmdutil.FirstOf(args), reason)
		}
		return cmdutil.ListOfLedger(s, out, (*payout.Ledger).Demands)
	}), &reason, "why it is changed, for the record")
}

// setApprovals records a person's decision about what the account requires.
func setApprovals(s *cmdutil.Session, number, reason string) error {
	n, err := strconv.ParseUint(number, 10, 8)
	switch {
	case number == "":
		return cmdutil.UsageError("--reason is about a change, and no number of approvals is given", "name one",
			"journal", "approvals", "N", "--reason", "TEXT")
	case err != nil:
		return cmdutil.UsageError(fmt.Sprintf("%q is not a number of approvals", number), "write digits, such as 2")
	case strings.TrimSpace(reason) == "":
		return cmdutil.UsageError("the reason for the change is missing", "give one",
			"journal", "approvals", number, "--reason", "TEXT")
	}
	ledger, err := s.LedgerToChange(s.OpenJournal)
	if err != nil {
		return err
	}
	var policy approval.Policy
	if n > 0 {
		if policy, err = s.PayoutApprovals(true); err != nil {
			return err
		}
		policy.Required = int(n)
	}
	if err := ledger.SetApprovals(s.Ctx, policy, reason); err != nil {
		return err
	}
	if n == 0 {
		return s.Note("nobody must approve what is sent for %s, until a profile requires it", ledger.Account())
	}
	return s.Note("%s must approve what is sent for %s", cmdutil.CountOf(int(n), "person"), ledger.Account())
}

// demandLine is what an account required from a moment on, as JSON.
type demandLine struct {
	Number    int64       `json:"number"` // an attempt names it
	At        string      `json:"at"`
	Required  int         `json:"required"`
	Above     []aboveLine `json:"above"`     // totals up to which no approval is needed
	Approvers string      `json:"approvers"` // the file of those who may
	Digest    string      `json:"digest"`    // of the keys in that file
	Reason    string      `json:"reason"`    // of the person who decided it; empty: a profile requires it
	User      string      `json:"user"`
	Host      string      `json:"host"`
}

type aboveLine struct {
	Amount  api.Amount `json:"amount"`
	Decimal *string    `json:"decimal" schema:"decimal"`
	Pays    string     `json:"pays"`
}

func newDemandLine(m money.Registry, d approval.Demand) demandLine {
	line := demandLine{Number: d.Number, At: views.Moment(d.At), Required: d.Required, Above: []aboveLine{},
		Approvers: d.Approvers, Digest: d.Digest, Reason: d.Reason, User: d.User, Host: d.Host}
	for _, amount := range d.Above {
		if e, known := m.Lookup(amount.Code); known && e.Kind == amount.Kind {
			amount.Code = e.Code
		}
		line.Above = append(line.Above, aboveLine{amount, views.DecimalOf(m, amount), m.Format(amount)})
	}
	return line
}

func demandView(m money.Registry) render.View[approval.Demand] {
	type row = approval.Demand
	text := render.Field[row, string]
	texts := func(d row) string {
		var all []string
		for _, line := range newDemandLine(m, d).Above {
			all = append(all, line.Pays)
		}
		return strings.Join(all, ", ")
	}
	return render.View[row]{
		ID:   func(d row) string { return strconv.Itoa(d.Required) },
		JSON: render.Encoded(func(d row) demandLine { return newDemandLine(m, d) }),
		Columns: []render.Column[row]{
			render.Field("at", "from when on", views.MomentCell, func(d row) time.Time { return d.At }),
			render.Field("required", "how many persons must approve", render.Int, func(d row) int64 { return int64(d.Required) }),
			text("above", "totals up to which no approval is needed", render.Own, texts),
			text("approvers", "the file of those who may approve", render.Own, func(d row) string { return d.Approvers }),
			text("digest", "digest of the keys in that file; a table has its beginning", render.Own,
				func(d row) string { return d.Digest[:min(len(d.Digest), 8)] }),
			text("reason", "why a person decided it; empty: a profile requires it", render.Own,
				func(d row) string { return d.Reason }),
			text("user", "who was at the keyboard", render.Own, func(d row) string { return d.User }),
			text("host", "on which machine", render.Own, func(d row) string { return d.Host }),
		},
	}.Default("at", "required", "above", "approvers", "digest", "reason")
}
