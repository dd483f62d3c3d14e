package payout

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"example.com/till/internal/money"
	"example.com/till/pkg/payout/order"
	"example.com/till/pkg/payout/sheet"
)

// PlanInput is the input of MakePlan.
type PlanInput struct {
	Path       string       // of the plan
	Rows       sheet.Rows   // of the input: sheet.CSV, sheet.JSONLines or a function of your own
	Name       string       // of the input, for messages
	Layout     sheet.Layout // with which the rows are read, to be recorded
	Currencies []Currency   // see Options.Currencies
	Limits     Limits
	Now        time.Time     // zero: the current time
	Expires    time.Duration // how long after Now its run can begin; 0: 72 hours, at most 30 days

	IdenticalWithin time.Duration // rows like an order that was accepted so recently are warned about; 0: three days

	Batch         string // the order ids are derived from it, see Layout.NoOrderIDs; empty: the rows have them
	BatchChanged  bool   // the rows may differ from the batch's newest run
	AllowEmpty    bool   // make a plan even if there are no rows
	FailOnWarning bool   // if there are warnings, write nothing: the error is an *Error of the kind Refused
}

const (
	defaultExpires   = 72 * time.Hour
	defaultIdentical = 72 * time.Hour
)

// Made is the result of MakePlan.
type Made struct {
	*Plan           // without its rows: open it with OpenPlan to read them
	Count  int      // how many rows it has
	Known  Tally    // of those of its orders that the journal has; Before counts the accepted ones
	Warned []Detail // the warnings
	Below  []int    // the lines below the table of the input, which were not read
	Unread []string // the columns of the input that were not read
	Sheets []string // of a workbook of which nobody has chosen a sheet: the one that was read, and the others
}

// MakePlan reads an input, checks every row of it, and writes a plan. If the input is wrong, the error is an
// *Error of the kind Invalid, with all errors of the input as details. If a check refuses the plan, its kind
// is Refused. In both cases, no plan is written. MakePlan does not call the service. With an error, it
// returns what it has found so far, including the warnings.
func (l *Ledger) MakePlan(ctx context.Context, m PlanInput) (made Made, err error) {
	defer toError(&err)
	switch err := m.CheckBatch(); {
	case m.Rows == nil:
		return made, failed(Invalid, "MakePlan: there are no Rows").hint("read them from a file with package sheet")
	case m.Batch != "" && err != nil:
		return made, failed(Invalid, "MakePlan: %v", err)
	case m.Expires < 0:
		return made, failed(Invalid, "the plan would expire before it is made").hint("let it expire later")
	case m.Expires > maxLife:
		return made, failed(Invalid, "the plan would expire in more than 30 days").hint("give it at most --expires 720h")
	}
	m.Now = cmp.Or(m.Now, time.Now())
	if err := cmp.Or(checkCurrencies(m.Currencies), checkPlace(m.Path)); err != nil {
		return made, err
	}
	now, known := m.Now.UTC().Truncate(time.Second), registryOf(m.Currencies)
	plan := &Plan{Path: m.Path, Account: l.Account(), Made: now, Expires: now.Add(cmp.Or(m.Expires, defaultExpires)),
		Batch: m.Batch, Limits: m.Limits, decimals: decimals{}}
	m.Layout.NoOrderIDs = false // the batch says it
	if !reflect.ValueOf(m.Layout).IsZero() {
		plan.Layout = &m.Layout
	}
	mk := &maker{PlanInput: m, ledger: l.ledger, ctx: ctx, tally: money.Limits(m.Limits).Tally(known), money: known,
		made: Made{Plan: plan, Known: newTally()}}
	write := func() error {
		return plan.save(func(yield func(PlanRow) bool) {
			for i := 0; i < len(mk.rows) && yield(mk.planRow(i)); i++ {
			}
		})
	}
	for _, step := range []func() error{mk.read, mk.derive, mk.changes, mk.compareWithJournal, mk.batch, mk.warnings, write} {
		if err = ctx.Err(); err == nil {
			err = step()
		}
		if err != nil {
			break
		}
	}
	return mk.made, err
}

// rowsAtOnce is how many rows are parsed at once.
const rowsAtOnce = 1024

// read reads the input to its end.
func (m *maker) read() error {
	group := make([]parsedRow, 0, rowsAtOnce)
	var parts [][]inputRow // appending to one slice would copy it many times
	var end error          // of the input
	var why []Detail
	for r, err := range m.Rows {
		if end = err; err != nil || m.ctx.Err() != nil {
			why = r.Wrong
			break
		}
		if r.Unread != nil {
			m.made.Unread = r.Unread
		}
		if r.Sheets != nil {
			m.made.Sheets = r.Sheets
		}
		if r.Below {
			m.leaveOut(&r)
			continue
		}
		if r.Grouped && m.grouped == nil {
			first := r
			m.grouped = &first
		}
		m.plainPoint = m.plainPoint || r.Plain
		if group = append(group, parsedRow{cells: r.Cells, line: r.Line, wrong: r.Wrong}); len(group) == cap(group) {
			parts, group = append(parts, m.parse(group)), group[:0]
		}
	}
	m.rows = slices.Concat(append(parts, m.parse(group))...)
	if err := m.ctx.Err(); err != nil { // it may be why the input ended
		return err
	}
	switch end {
	case sheet.ErrEncoding: // it may cause the other errors
		return (&details{list: why}).of(failed(Invalid, "%s cannot be read as text, and nothing is planned", m.Name).
			hint("save it as UTF-8 or say its --encoding, and plan it again"))
	case sheet.ErrInput, nil:
		m.wrong.add(why...)
	default:
		return failed(Invalid, "%s cannot be read: %s", m.Name, cause(end)).because(end)
	}
	if m.Batch == "" {
		m.wrong.add(m.doubled()...)
	}
	if err := m.rounded(m.Limits.AllowBadAddress); err != nil {
		return err
	}
	return m.refusal()
}

// leaveOut notes a row below the table, which is wrong if it may be a payment.
func (m *maker) leaveOut(r *sheet.Row) {
	m.made.Below = append(m.made.Below, r.Line)
	// A label such as Sum has no digit. An address without one has small and capital letters.
	to := r.Cells[sheet.Address]
	mixed := len(to) >= 14 && !strings.Contains(to, " ") && strings.ToLower(to[1:]) != to[1:] && strings.ToUpper(to) != to
	if (mixed || strings.ContainsAny(to, "0123456789")) && r.Cells[sheet.Amount]+r.Cells[sheet.AmountMinor] != "" {
		m.wrong.add(sheet.Wrongf(r.Line, "", "it stands below a blank row, where the table ends, and has an address and an amount: take it out or, if it is a payment, the blank row")...)
	}
}

// refusal returns the error for rows that are wrong or not within the limits.
func (m *maker) refusal() error {
	if n := len(m.wrong.list) + m.wrong.more; n > 0 {
		places, them := "one place", "this error"
		if n > 1 {
			places, them = fmt.Sprintf("%d places", n), "these errors"
		}
		advice := "correct " + them + ", and run the command again"
		if m.mayGroup() {
			advice += "; if the point in " + sheet.Quote(m.grouped.Cells[sheet.Amount]) + " separates thousands, with --decimal , --group ."
		}
		return m.wrong.of(failed(Invalid, "%s is wrong in %s, and nothing is planned", m.Name, places).hint(advice))
	}
	if len(m.rows) == 0 && !m.AllowEmpty {
		return failed(Invalid, "%s has no rows", m.Name).hint("if that is right, add --allow-empty")
	}
	for _, limit := range m.tally.Done() {
		m.exceeds(limit, Detail{Message: limit.Error()})
	}
	if m.first == nil {
		m.made.Count = len(m.rows)
		return nil
	}
	what := "is not within the limits of the profile"
	if m.first.Rule == RuleAddress {
		what = map[string]string{"address": "has addresses", "memo": "has memos"}[m.first.Field] + " that look mistyped, and nothing is planned"
	}
	return m.over.of(refused(m.first.Rule, "%s %s", m.Name, what).hint(m.first.Advice, m.first.Command...))
}

// doubled returns an error for each row with the order id of an earlier row.
func (m *maker) doubled() (wrong []Detail) {
	lines := make(map[int64]uint32, len(m.rows)) // by order id
	for i := range m.rows {
		r := &m.rows[i]
		if first, found := lines[r.id]; found && r.id != 0 {
			wrong = append(wrong, sheet.Wrongf(int(r.line), "order_id", "%d is on line %d already", r.id, first)...)
		} else {
			lines[r.id] = r.line
		}
	}
	return wrong
}

// rounded adds an error for each order id that a spreadsheet may have rounded or, if a person lets them pass, a
// warning.
func (m *maker) rounded(allowed bool) error {
	rows, err := m.roundedRows()
	for _, i := range rows {
		if why := money.RoundedID(formatID(m.rows[i].id)); allowed {
			m.about(doubtful, i, "%s", why)
		} else {
			m.wrong.add(sheet.Wrongf(int(m.rows[i].line), "order_id", "%s: %s", why, money.RoundedHint)...)
		}
	}
	return err
}

// roundedRows returns the rows whose order ids a spreadsheet may have rounded. One that is in the journal is
// as it was, and in a file with a long order id that is not rounded, none was.
func (m *maker) roundedRows() (rows []int, err error) {
	var ids []string
	for i, r := range m.rows {
		id := formatID(r.id)
		if money.Rounded(id) {
			ids, rows = append(ids, id), append(rows, i)
		} else if r.id > money.MaxExact {
			return nil, nil
		}
	}
	if m.ledger == nil || rows == nil {
		return rows, nil
	}
	held, err := m.ledger.Held(m.ctx, ids)
	return slices.DeleteFunc(rows, func(i int) bool { _, found := held[formatID(m.rows[i].id)]; return found }), err
}

const maxBatch = 64 // bytes

// CheckBatch refuses a name of the batch that two people could read or type differently.
func (m PlanInput) CheckBatch() error {
	name, hidden := m.Batch, func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || len(name) > maxBatch || strings.TrimSpace(name) != name || strings.ContainsFunc(name, hidden) {
		return fmt.Errorf("%s is no name for a batch: write one such as salaries-2026-05, of at most %d bytes, without spaces at its ends", sheet.Quote(name), maxBatch)
	}
	return nil
}

// derive derives the order ids of the rows if they belong to a batch. It is unlikely, but possible, that two
// of them are equal.
func (m *maker) derive() error {
	if m.Batch == "" {
		return nil
	}
	type alike struct {
		key       order.Key
		reference string
	}
	counts := make(map[alike]int, len(m.rows))
	for i := range m.rows {
		r, row := &m.rows[i], m.planRow(i)
		same := alike{r.key, row.Reference}
		counts[same]++
		r.id = parseID(deriveOrderID(m.Batch, row.Reference, contentOf(row.CreateWithdrawal), counts[same]))
	}
	if wrong := m.doubled(); wrong != nil {
		return (&details{list: wrong}).of(failed(Invalid, "two rows of %s get the same order id by chance", m.Name).
			hint("give the batch another name"))
	}
	return nil
}

// deriveOrderID returns the order id of a row that has none in the file. It depends only on the name of the
// batch, the content of the row, its reference if it has one, and the count of the row among those that are
// alike in both, from 1. So the same row has the same order id on every machine, wherever it is in the file
// and whatever rows surround it.
//
// The order id is made from the SHA-256 of these lines, each ended by a line feed: the batch, the currency
// and the amount's unit as kind:code in lower case, the minor units, the address in the form of
// address.Canonical, the memo, the count and, if there is one, the reference. None of these can contain a
// line feed. The first eight bytes are a big-endian number. Its remainder modulo 10^15-1, plus 1, is the
// order id: a spreadsheet keeps its digits.
func deriveOrderID(batch, reference string, c Content, count int) string {
	c = c.Canonical()
	lines := fmt.Appendf(make([]byte, 0, 512), "%s\n%s\n%s\n%d\n%s\n%s\n%d\n", batch, order.UnitText(c.Currency),
		order.UnitText(c.Amount.Unit()), c.Amount.Minor, c.Address, c.Memo, count)
	if reference != "" {
		lines = append(lines, reference+"\n"...)
	}
	sum := sha256.Sum256(lines)
	return strconv.FormatUint(binary.BigEndian.Uint64(sum[:8])%money.MaxExact+1, 10)
}
