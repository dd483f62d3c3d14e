package payout

import (
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"strings"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
)

// A Plan is an open plan file whose digest is right.
type Plan struct {
	Path          string
	Digest        string // "sha256:" and 64 hexadecimal digits
	Account       Account
	Made, Expires time.Time // UTC
	Batch         string    // from which the order ids were derived; empty: they were given
	Since         string    // the batch's newest run that the rows were held against; empty: none had begun
	Rows          int
	Totals        []Total // by unit, in the order of first appearance
	OneCase       int     // how many rows pay to an Ethereum address without a checksum, see address.OneCase
	Limits        Limits  // when it was made
	Warnings      []string

	file     *os.File
	size     int64
	from     int64 // where the rows begin
	head     int   // how many lines come before them
	decimals decimals
}

// A Total is what the rows of one unit come to.
type Total struct {
	Amount api.Amount
	Rows   int
}

// A PlanRow is one withdrawal of a plan. ExternalOrderID is its order id.
type PlanRow struct {
	api.CreateWithdrawal
	Note string // kept and shown, never sent
}

// row is the row as the journal takes it.
func (r PlanRow) row() journal.Row {
	return journal.Row{OrderID: r.ExternalOrderID, Content: contentOf(r.CreateWithdrawal), Callback: r.Callback, Note: r.Note}
}

// Name is the name of the plan's run: the first eight hexadecimal digits of its digest.
func (p *Plan) Name() string { return runName(p.Digest) }

func runName(digest string) string { return strings.TrimPrefix(digest, digestKind)[:8] }

// Expired reports whether the plan may no longer begin.
func (p *Plan) Expired(now time.Time) bool { return !now.Before(p.Expires) }

// Decimals are those with which the plan shows amounts of a unit, or UnknownDecimals.
func (p *Plan) Decimals(a api.Amount) int { return p.decimals.of(a) }

// CheckDecimals refuses a plan that shows amounts with other decimals than a registry has today: the person who approved it has read
// other amounts than these are now.
func (p *Plan) CheckDecimals(c Currencies) error {
	m := c.registry
	for _, t := range p.Totals {
		then, now := p.Decimals(t.Amount), m.DecimalsOf(t.Amount)
		if then != now {
			return refused(RuleDecimals, fmt.Sprintf("the plan %s was made with %s of %s, and the profile has %s now: %s in the plan is %s today",
				p.Path, decimalsText(then), t.Amount.Code, decimalsText(now), p.Pays(t.Amount), m.Format(t.Amount)),
				"find out how many decimals the service counts, set them with till currency set, and make a new plan")
		}
	}
	return nil
}

// decimalsText is a number of decimals in words.
func decimalsText(n int) string {
	switch n {
	case money.Unknown:
		return "no decimals known"
	case 1:
		return "1 decimal"
	}
	return fmt.Sprintf("%d decimals", n)
}

// WriteTo writes the whole text of the plan, hashing it once more: see All.
func (p *Plan) WriteTo(w io.Writer) (int64, error) {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), io.NewSectionReader(p.file, 0, p.size-tailSize))
	if err != nil {
		return n, err
	}
	if digestOf(sum) != p.Digest {
		return n, p.changed("it was changed while it was read")
	}
	more, err := io.WriteString(w, tail(p.Digest))
	return n + int64(more), err
}

// Close closes the file.
func (p *Plan) Close() error { return p.file.Close() }

// Pays writes an amount with the decimals with which the plan was made, as money.Registry.Format does.
func (p *Plan) Pays(a api.Amount) string { return p.decimals.format(a) }

// All returns the rows, from the file that was opened, and hashes them again: it ends with an error when the file is not the
// one that it was. It can be called several times, also at the same time.
func (p *Plan) All() iter.Seq2[PlanRow, error] {
	return func(yield func(PlanRow, error) bool) {
		r, err := p.reader()
		if err != nil {
			yield(PlanRow{}, err)
			return
		}
		for {
			row, _, err := r.row()
			if err == errNoRow {
				break
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
		if err := r.end(p); err != nil {
			yield(PlanRow{}, err)
		}
	}
}

// totals adds up amounts by unit.
type totals []Total

// add reports whether the sum fits into 64 bits.
func (t *totals) add(a api.Amount) bool {
	for i := range *t {
		if sum := &(*t)[i]; sum.Amount.Kind == a.Kind && sum.Amount.Code == a.Code {
			if a.Minor > math.MaxInt64-sum.Amount.Minor {
				return false
			}
			sum.Amount.Minor += a.Minor
			sum.Rows++
			return true
		}
	}
	*t = append(*t, Total{a, 1})
	return true
}

// decimals are those of units.
type decimals map[string]int

func (d decimals) of(a api.Amount) int {
	if n, known := d[unit(a.Kind, a.Code)]; known {
		return n
	}
	return money.Unknown
}

// format writes an amount as money.Registry.Format does.
func (d decimals) format(a api.Amount) string {
	n := d.of(a)
	if n == money.Unknown {
		return fmt.Sprintf("%d minor %s", a.Minor, a.Code)
	}
	return api.FormatDecimal(a.Minor, n) + " " + a.Code
}

// learn takes the decimals from an amount as it is written for the reader of a plan, and reports whether that is the amount,
// in the same decimals as those before it.
func (d decimals) learn(a api.Amount, pays string) bool {
	n := money.Unknown
	if number, _, _ := strings.Cut(pays, " "); pays != fmt.Sprintf("%d minor %s", a.Minor, a.Code) {
		_, fraction, _ := strings.Cut(number, ".")
		n = len(fraction)
	}
	u := unit(a.Kind, a.Code)
	if _, known := d[u]; !known {
		d[u] = n
	}
	return d[u] == n && n <= api.MaxDecimals && d.format(a) == pays
}
