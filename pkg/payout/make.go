package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"example.com/till/internal/journal"
	"example.com/till/internal/money"
)

// PlanInput is the input of MakePlan.
type PlanInput struct {
	Path       string    // of the plan
	Input      io.Reader // the rows
	Name       string    // of the input, for messages
	Format     string    // CSV or JSONL
	Delimiter  string    // field separator of CSV: ",", ";" or a tab; empty: guessed from the header
	Currencies Currencies
	Limits     Limits
	Now        time.Time     // zero: the current time
	Expires    time.Duration // how long after Now its run can begin; 0: 72 hours

	Batch         string // the order ids are derived from it; empty: the rows have order ids
	BatchChanged  bool   // the rows may differ from the batch's newest run
	AllowEmpty    bool   // make a plan even if there are no rows
	FailOnWarning bool   // if there are warnings, write nothing: the error is an *Error of the kind Refused
}

const defaultExpires = 72 * time.Hour

// Made is the result of MakePlan.
type Made struct {
	*Plan              // closed: open it with OpenPlan to read its rows
	Accepted int       // how many of its orders were accepted before
	Found    int       // how many of these are known from the service's list alone
	First    time.Time // when the first of the other accepted orders was sent
	Last     time.Time // when the last of them was sent
	Unknown  int       // how many orders are unknown or being sent
	Conflict int       // how many are in conflict
	Warned   []Warning // the warnings
	Details  []Detail  // the warnings without order ids
}

// maxDetails is the most errors that are reported for a file. maxWarnings is the most warnings of one kind.
const (
	maxDetails  = 10_000
	maxWarnings = 10
)

// details collects the errors of a file.
type details struct {
	list []Detail
	more int
}

func (d *details) add(more ...Detail) {
	for _, m := range more {
		if len(d.list) == maxDetails {
			d.more++
			continue
		}
		d.list = append(d.list, m)
	}
}

func (d *details) empty() bool { return len(d.list) == 0 }

// err returns e with all details.
func (d *details) err(e Error) error {
	slices.SortStableFunc(d.list, func(a, b Detail) int { return cmp.Compare(a.Line, b.Line) })
	if d.more > 0 {
		d.list = append(d.list, Detail{Message: fmt.Sprintf("and %d more", d.more)})
	}
	e.Details = d.list
	return &e
}

// maker is the state of one MakePlan.
type maker struct {
	PlanInput
	ledger *journal.Ledger
	ctx    context.Context
	spool  *spool
	order  []uint32 // indexes of marks, sorted by one key after the other
	made   Made
	warn   warnings

	doubts     []doubt
	moreDoubts int
}

// MakePlan reads an input, checks every row of it, and writes a plan. If the input is wrong, the error is an
// *Error of the kind Invalid, with all errors of the input as details. If a check refuses the plan, its kind
// is Refused. In both cases, no plan is written. MakePlan does not call the service. With an error, it
// returns what it has found so far, including the warnings.
func (l *Ledger) MakePlan(ctx context.Context, m PlanInput) (made Made, err error) {
	defer toError(&err)
	if m.Input == nil {
		return made, &Error{Kind: Invalid, Msg: "MakePlan: the input is nil",
			Hint: NewHint("open the file of the rows")}
	}
	if m.Now.IsZero() {
		m.Now = time.Now()
	}
	m.Expires = cmp.Or(m.Expires, defaultExpires)
	m.Input = stopped{ctx, m.Input}
	mk := &maker{PlanInput: m, ledger: l.ledger, ctx: ctx}
	mk.made.Plan = &Plan{Path: m.Path, Account: l.Account(), Made: m.Now.UTC().Truncate(time.Second), Batch: m.Batch,
		Limits: m.Limits}
	mk.made.Plan.Expires = mk.made.Plan.Made.Add(m.Expires)
	if err := checkPlace(m.Path); err != nil {
		return made, err
	}
	if mk.spool, err = newSpool(filepath.Dir(m.Path)); err != nil {
		return made, noPlace(m.Path, "cannot be written: "+cause(err), err)
	}
	defer func() {
		if e := mk.spool.close(); err == nil && e != nil {
			err = noPlace(m.Path, "cannot be written: "+cause(e), e)
		}
	}()
	for _, step := range []func() error{mk.read, mk.derive, mk.sameIDs, mk.journal, mk.batch, mk.warnings, mk.write} {
		if err := step(); err != nil {
			return mk.made, err
		}
	}
	return mk.made, nil
}

// stopped is an input that ends when the context does. Otherwise a line without an end could block forever.
type stopped struct {
	ctx context.Context
	in  io.Reader
}

func (s stopped) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.in.Read(p)
}

// read reads the input to its end.
func (m *maker) read() error {
	tally := money.Limits(m.Limits).Tally(m.Currencies.registry)
	var wrong, over details
	m.made.clear()
	var first *money.LimitError
	count, bad := 0, 0
	for r := range m.parsed() {
		row, line, ill, err := &r.row, r.line, r.wrong, r.err
		if err == io.EOF {
			break
		}
		if e := m.ctx.Err(); e != nil { // the context may be why it ended
			return e
		}
		if err == errEncoding { // the wrong encoding may cause the other errors
			return (&details{list: ill}).
				err(Error{Kind: Invalid, Msg: m.Name + " cannot be read as text, and nothing is planned",
					Hint: NewHint("save it as UTF-8, and plan it again")})
		}
		if err != nil && err != errInput {
			return m.invalid(fmt.Sprintf("cannot be read: %s", cause(err)), "", err)
		}
		count++
		unit := 0
		if ill == nil && err == nil {
			m.made.Plan.count(m.Currencies.registry, row)
			unit = slices.IndexFunc(m.made.Totals, func(t Total) bool { return t.Amount.SameUnit(money.Big(row.Amount)) })
		}
		wrong.add(ill...)
		if err == errInput {
			break
		}
		if ill != nil {
			bad++
			if id := parseID(row.ExternalOrderID); id != 0 { // another row may have the same order id
				m.spool.marks.add(mark{id: id, line: uint32(line)})
			}
			continue
		}
		payment := money.Payment{Currency: row.Currency, Amount: row.Amount, Address: row.Address}
		if limit, broken := errors.AsType[*money.LimitError](tally.Add(payment)); broken {
			field := "amount"
			if limit.Rule == money.RuleAllowList {
				field = "address"
			}
			over.add(Detail{line, field, shortened(limit)})
			if first == nil {
				first = limit
			}
		}
		if err := m.keep(r, unit, wrong.empty()); err != nil {
			return err
		}
	}
	if err := m.ctx.Err(); err != nil {
		return err
	}
	wrong.add(m.doubled()...)
	switch {
	case !wrong.empty():
		what := "is wrong in one place, and nothing is planned"
		if n := len(wrong.list) + wrong.more; n > 1 {
			what = fmt.Sprintf("is wrong in %d places, and nothing is planned", n)
		}
		return wrong.err(Error{Kind: Invalid, Msg: m.Name + " " + what,
			Hint: NewHint("correct these errors, and run the command again")})
	case count == 0 && !m.AllowEmpty:
		return m.invalid("has no rows", "if that is right, add --allow-empty", nil)
	}
	for _, limit := range tally.Done() {
		over.add(Detail{Message: limit.Error()})
		if first == nil {
			first = limit
		}
	}
	if !over.empty() {
		return over.err(Error{Kind: Refused, Rule: first.Rule, Msg: m.Name + " is not within the limits of the profile",
			Hint: NewHint(first.Hint())})
	}
	return nil
}

func (m *maker) invalid(why, advice string, err error) error {
	return &Error{Kind: Invalid, Msg: m.Name + " " + why, Hint: NewHint(advice), Err: err}
}

// keep keeps a valid row. unit is the index of its total. If all is false, some row was invalid, and only the
// row's mark is needed.
func (m *maker) keep(r *parsedRow, unit int, all bool) error {
	row := &r.row
	mk := mark{id: parseID(row.ExternalOrderID), minor: row.Amount.Minor, same: r.same, line: uint32(r.line),
		unit: uint32(unit)}
	if !all {
		m.spool.marks.add(mk)
		return nil
	}
	if err := m.spool.add(*row, m.made.Pays(money.Big(row.Amount)), mk); err != nil {
		return noPlace(m.Path, "cannot be written: "+cause(err), err)
	}
	m.noteDoubt(r)
	return nil
}

func parseID(text string) int64 {
	id, _ := strconv.ParseInt(text, 10, 64) // checked by parse
	return id
}

func formatID(id int64) string { return strconv.FormatInt(id, 10) }

// sorted returns the indexes of the marks, sorted by compare. Equal marks are in the order of the file.
func (m *maker) sorted(compare func(a, b *mark) int) []uint32 {
	marks := &m.spool.marks
	m.order = slices.Grow(m.order[:0], marks.len())[:marks.len()]
	for i := range m.order {
		m.order[i] = uint32(i)
	}
	slices.SortFunc(m.order, func(a, b uint32) int {
		if c := compare(marks.at(int(a)), marks.at(int(b))); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	return m.order
}

func byID(a, b *mark) int { return cmp.Compare(a.id, b.id) }

func bySame(a, b *mark) int {
	return cmp.Or(cmp.Compare(a.same[0], b.same[0]), cmp.Compare(a.same[1], b.same[1]))
}

// doubled returns an error for each row with the order id of an earlier row.
func (m *maker) doubled() (wrong []Detail) {
	var before *mark
	for _, i := range m.sorted(byID) {
		mk := m.spool.marks.at(int(i))
		if mk.id == 0 {
			continue
		}
		if before != nil && before.id == mk.id {
			wrong = append(wrong, wrongf(int(mk.line), "order_id", "%d is on line %d already", mk.id, before.line)...)
			continue
		}
		before = mk
	}
	return wrong
}

// derive derives the order ids of the rows if they belong to a batch.
func (m *maker) derive() error {
	if m.Batch == "" {
		return nil
	}
	marks := &m.spool.marks
	count := 0
	for n, i := range m.sorted(bySame) {
		if n > 0 && marks.at(int(m.order[n-1])).same != marks.at(int(i)).same {
			count = 0
		}
		count++
		marks.at(int(i)).id = int64(count) // a placeholder until the row is read again
	}
	n := 0
	for row, err := range m.rows() {
		if err != nil {
			return err
		}
		mk := marks.at(n)
		mk.id = parseID(deriveOrderID(m.Batch, contentOf(row.CreateWithdrawal), int(mk.id)))
		n++
	}
	return nil
}

// sameIDs checks the derived order ids. It is unlikely, but possible, that two of them are equal.
func (m *maker) sameIDs() error {
	if m.Batch == "" {
		return nil
	}
	if wrong := m.doubled(); wrong != nil {
		return (&details{list: wrong}).
			err(Error{Kind: Invalid, Msg: "two rows of " + m.Name + " get the same order id by chance",
				Hint: NewHint("give the batch another name")})
	}
	return nil
}

// rows returns the rows of the spool. An error of the spool is reported for the plan, because the spool is in
// its directory.
func (m *maker) rows() iter.Seq2[PlanRow, error] {
	return func(yield func(PlanRow, error) bool) {
		for row, err := range m.spool.rows() {
			if err != nil {
				err = noPlace(m.Path, "cannot be written: "+cause(err), err)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func (m *maker) write() error {
	return m.made.save(func(yield func([]byte, error) bool) {
		for line, err := range m.spool.lines() {
			if err != nil {
				err = noPlace(m.Path, "cannot be written: "+cause(err), err)
			} else {
				err = m.ctx.Err()
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	})
}
