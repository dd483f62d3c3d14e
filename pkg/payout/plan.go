package payout

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/till/internal/address"
	"example.com/till/internal/atomicfile"
	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/internal/planfile"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
)

// A Plan is what a plan file had when it was opened, after its digest was verified.
type Plan struct {
	Path          string
	Digest        string // "sha256:" and 64 hexadecimal digits
	Account       Account
	Made, Expires time.Time // UTC
	Batch         string    // from which the order ids were derived; empty: the input had them
	Since         string    // the batch's newest run when the plan was made; empty: none had begun
	Gone          int64     // how many accepted orders of the batch the plan lacks
	Rows          []PlanRow
	Totals        []Total       // by unit, in the order of first appearance
	OneCase       int           // rows that pay to an Ethereum address without a checksum, as all its letters have one case
	Layout        *sheet.Layout // of the file of the rows; nil: a plain one
	Limits        Limits        // when the plan was made
	Warnings      []string

	decimals decimals
}

// A Total is the sum of the rows of one unit.
type Total struct {
	Amount api.BigAmount
	Rows   int
}

// A PlanRow is one withdrawal of a plan. ExternalOrderID is its order id.
type PlanRow struct {
	api.CreateWithdrawal
	sheet.Kept      // an order id is derived from the reference too
	Line       int  // of the file that the plan was made of; 0: it has no lines
	Warned     bool // one of the plan's warnings is about it
}

// row returns the row in the journal's type.
func (r PlanRow) row() journal.Row {
	return journal.Row{OrderID: r.ExternalOrderID, Content: contentOf(r.CreateWithdrawal), Callback: r.Callback, Kept: r.Kept}
}

// recorded yields rows as the journal records them when their run begins.
func recorded(rows []PlanRow) iter.Seq2[journal.Row, error] {
	return func(yield func(journal.Row, error) bool) {
		for i := 0; i < len(rows) && yield(rows[i].row(), nil); i++ {
		}
	}
}

// Name returns the name of the plan's run: the first eight hexadecimal digits of its digest.
func (p *Plan) Name() string { return strings.TrimPrefix(p.Digest, digestKind)[:8] }

// Expired reports whether it is too late for the plan's run to begin.
func (p *Plan) Expired(now time.Time) bool { return !now.Before(p.Expires) }

// Decimals returns the number of decimals with which the plan shows amounts of a unit, or -1.
func (p *Plan) Decimals(a api.BigAmount) int { return p.decimals.of(a) }

// CheckAccount refuses a plan of another account. Payments of it that were made there are not known here.
func (p *Plan) CheckAccount(account Account) error {
	if p.Account == account {
		return nil
	}
	return refused(RuleAccount, "the plan is for %s, and this is %s", p.Account, account).
		hint("apply it there, or make a plan for this account if it is to be paid from here as well")
}

// CheckDecimals refuses a plan that shows amounts with other decimals than the currencies have today. The
// person who approved it has read amounts that differ from what would be shown now.
func (p *Plan) CheckDecimals(added []Currency) error { return p.checkDecimals(registryOf(added)) }

func (p *Plan) checkDecimals(m money.Registry) error {
	for _, t := range p.Totals {
		then, now := p.Decimals(t.Amount), m.DecimalsOf(t.Amount.Kind, t.Amount.Code)
		if then != now {
			return refused(RuleDecimals,
				"the plan %s was made with %s of %s, and the profile has %s now: %s in the plan is %s today",
				p.Path, decimalsText(then), t.Amount.Code, decimalsText(now), p.Pays(t.Amount), m.FormatBig(t.Amount)).
				hint("find out how many decimals the service counts, set them with till currency set, and make a new plan")
		}
	}
	return nil
}

// decimalsText returns a number of decimals in words.
func decimalsText(n int) string {
	switch n {
	case money.Unknown:
		return "no decimals known"
	case 1:
		return "1 decimal"
	}
	return fmt.Sprintf("%d decimals", n)
}

// WriteTo writes the text of the plan's file.
func (p *Plan) WriteTo(w io.Writer) (int64, error) {
	counted := &counter{to: w}
	digest, err := p.write(counted, slices.Values(p.Rows))
	if err == nil && digest != p.Digest {
		err = p.changed("its fields were changed since it was opened")
	}
	return counted.n, err
}

// counter counts what is written.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}

// Pays formats an amount with the decimals of the plan, such as "25.00 USD", or "1500000 minor Btc" if they
// are unknown.
func (p *Plan) Pays(a api.BigAmount) string { return money.FormatBig(a, p.decimals.of(a)) }

// decimals has the number of decimals of each unit. Codes are in lower case.
type decimals map[api.Currency]int

func (d decimals) of(a api.BigAmount) int {
	if n, known := d[journal.LowerCase(a.Unit())]; known {
		return n
	}
	return money.Unknown
}

// count adds one more row, with the decimals of its amount, to the fields that follow from the rows.
func (p *Plan) count(row PlanRow, decimals int) {
	p.Totals = addTotal(p.Totals, Total{api.Big(row.Amount), 1})
	p.decimals[journal.LowerCase(row.Amount.Unit())] = decimals
	if address.OneCase(row.Address) {
		p.OneCase++
	}
}

// save writes the file of a plan, whose rows were counted, and sets its digest. It writes a temporary file in
// the same directory, syncs it and renames it, so that the plan is complete or missing.
func (p *Plan) save(rows iter.Seq[PlanRow]) error {
	if err := checkPlace(p.Path); err != nil {
		return err
	}
	f, err := atomicfile.Create(p.Path, 0o600)
	if err == nil {
		if p.Digest, err = p.write(f, rows); err == nil {
			err = f.Commit()
		} else {
			err = errors.Join(err, f.Discard())
		}
	}
	switch {
	case errors.As(err, new(*atomicfile.UnsyncedError)):
		return noPlace(p.Path, "is written, but may not outlast a power cut", err)
	case err != nil:
		return noPlace(p.Path, "cannot be written", err)
	}
	return nil
}

// noPlace returns the error for a plan that cannot be written to its path.
func noPlace(path, why string, err error) error {
	e := failed(Invalid, "the plan %s %s: %s", path, why, cause(err)).because(err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		e.Kind = NoRoom
		return e.hint("free some space in " + filepath.Dir(path) + ", and plan it again")
	}
	return e.hint("name a file in a directory that you may write to")
}

// checkPlace returns an error if the path of a plan has anything other than a plan.
func checkPlace(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		dir, err := os.Stat(filepath.Dir(path))
		if err == nil && dir.IsDir() {
			return nil
		}
		return failed(Invalid, "the directory of the plan %s does not exist", path).because(err).
			hint("make it, or name a file in another one")
	case err != nil:
		return noPlace(path, "cannot be replaced", err)
	}
	other := failed(Invalid, "%s exists and is not a plan", path).hint("name another file")
	if !info.Mode().IsRegular() { // opening a pipe may block forever
		return other
	}
	f, err := os.Open(path)
	if err != nil {
		return noPlace(path, "cannot be replaced", err)
	}
	defer f.Close()
	start := make([]byte, len(begins))
	if n, err := io.ReadFull(f, start); n > 0 && (err != nil || string(start) != begins) { // an empty file may be from mktemp
		return other
	}
	return nil
}

// write writes the text of a plan's file, and returns its digest.
func (p *Plan) write(w io.Writer, rows iter.Seq[PlanRow]) (digest string, err error) {
	h := planfile.Head{
		Account: p.Account.Name, BaseURL: p.Account.Address, Made: p.Made.UTC().Truncate(time.Second),
		Expires: p.Expires.UTC().Truncate(time.Second),
		Batch:   p.Batch, Since: p.Since, Gone: p.Gone, Layout: p.Layout, Limits: money.Limits(p.Limits), Warnings: p.Warnings,
	}
	for _, t := range p.Totals {
		h.Totals = append(h.Totals, planfile.Total{Amount: t.Amount, Rows: t.Rows, Pays: p.Pays(t.Amount)})
	}
	line, err := h.Append(nil)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 64<<10) // it keeps its first error
	out.Write(line)
	end := ""
	for row := range rows {
		r := planfile.Row{OrderID: row.ExternalOrderID, Currency: row.Currency, Amount: row.Amount, Pays: p.Pays(api.Big(row.Amount)),
			Address: row.Address, Memo: row.Memo, Callback: row.Callback, KeptIfAny: sheet.KeptIfAny(row.Kept), Line: row.Line, Warned: row.Warned}
		if line, err = r.Append(append(line[:0], end+"    "...)); err != nil {
			return "", err
		}
		if _, err := out.Write(line); err != nil {
			return "", err
		}
		end = ",\n"
	}
	if end != "" {
		end = "\n"
	}
	out.WriteString(end + afterRows + "\n")
	if err := out.Flush(); err != nil {
		return "", err
	}
	digest = digestOf(sum)
	_, err = io.WriteString(w, tail(digest))
	return digest, err
}
