package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/money"
)

// Cell is a typed value in a row. The zero Cell is empty. Cells are small, because a long table has many of
// them.
type Cell struct {
	text     string   // of a text; the code of an amount; the label and the id of a Label; what is Said
	n        int64    // a number: the minor units of an amount, the tenths of a percent; the length of a label
	large    *big.Int // replaces n if the number does not fit into it
	steps    []Step   // History, Sums
	decimals int32    // of a number; below zero: unknown
	kind     kind
	form     form
	own      bool // text that CSV has unchanged
	signed   bool // Percent: whether to show a plus
	bare     bool // Amount: whether its code is shown elsewhere
	grouped  bool // amounts: whether their digits are grouped
}

type kind uint8

const (
	kindEmpty kind = iota
	kindText
	kindInt
	kindAmount
	kindHistory
	kindJSON
	kindPercent
	kindLabel
)

// form is what a table knows about a text besides.
type form uint8

const (
	formPlain form = iota
	formID         // its beginning is enough to tell it from others
	formTime       // its minute may be enough
	formNote       // it may be cut
	formWord       // it is never cut
	formBool       // a word that is true or false
	formCount      // it is as good as empty if it is 0
	formSums       // amounts in several currencies
)

// Step is one entry of a History.
type Step struct{ Status, At string }

// Text returns a cell of text that the service wrote. The text is escaped in tables. In CSV it is neutralised
// if a spreadsheet would run it as a formula.
func Text(s string) Cell { return Cell{kind: kindText, text: s} }

// Own returns a cell of text that the merchant wrote, or of a code or number that has been checked. The text
// is escaped in tables, and unchanged in CSV.
func Own(s string) Cell { return Cell{kind: kindText, text: s, own: true} }

// Word returns a cell of a text that is one word of few, such as a status, or a number that names something.
// It is on one line, whole.
func Word(s string) Cell { return Cell{kind: kindText, text: s, form: formWord} }

// ID returns a cell of an id or a digest. A narrow table shows the beginning of a UUID or of a digest only.
func ID(s string) Cell { return Cell{kind: kindText, text: s, form: formID} }

// Time returns a cell of a date and time. A narrow table leaves out its seconds.
func Time(s string) Cell { return Cell{kind: kindText, text: s, form: formTime} }

// Note returns a cell of a text of the merchant that a narrow table may cut.
func Note(s string) Cell { return Cell{kind: kindText, text: s, own: true, form: formNote} }

// Title returns a cell of a text of the service that a narrow table may cut.
func Title(s string) Cell { return Cell{kind: kindText, text: s, form: formNote} }

// Label returns a cell of the label of the thing with that id. A table shows the beginning of the id too if
// several things have the label, or if it is empty. The other formats show the label only.
func Label(id, label string) Cell {
	return Cell{kind: kindLabel, text: label + id, n: int64(len(label))}
}

// label returns the id and the label of a Label.
func (c Cell) label() (id, label string) { return c.text[c.n:], c.text[:c.n] }

// Int returns a cell with a number.
func Int(n int64) Cell { return Cell{kind: kindInt, n: n} }

// Count returns a cell with a number of things. On a terminal, a column is left out if all its counts are 0.
func Count(n int) Cell { return Cell{kind: kindInt, n: int64(n), form: formCount} }

// Sums returns a cell of amounts (At), each with what it is for (Status) if that is not empty, as text.
func Sums(sums []Step) Cell {
	return Cell{kind: kindText, text: joined(sums, ", ", strings.Clone), form: formSums, steps: sums}
}

// joined returns steps as a text, after a change to what each has At.
func joined(steps []Step, separator string, change func(string) string) string {
	texts := make([]string, len(steps))
	for i, s := range steps {
		texts[i] = Step{s.Status, change(s.At)}.String()
	}
	return strings.Join(texts, separator)
}

// Bool returns a cell with true or false.
func Bool(b bool) Cell { return Cell{kind: kindText, text: strconv.FormatBool(b), form: formBool} }

// Amount returns a cell with an amount of money, in the minor unit of the currency with that code. Decimals
// below zero mean that the decimals are unknown.
func Amount(minor int64, code string, decimals int) Cell {
	return Cell{kind: kindAmount, n: minor, text: code, decimals: int32(max(decimals, -1))}
}

// BigAmount is Amount for an amount of any size.
func BigAmount(minor *big.Int, code string, decimals int) Cell {
	return Amount(0, code, decimals).of(minor)
}

// of returns the cell with n as its number.
func (c Cell) of(n *big.Int) Cell {
	if n.IsInt64() {
		c.n = n.Int64()
	} else {
		c.large = n
	}
	return c
}

// number returns the number of a cell.
func (c Cell) number() *big.Int {
	if c.large != nil {
		return c.large
	}
	return big.NewInt(c.n)
}

// Percent returns a cell with a number of tenths of a percent: 425 is shown as 42.5%, and is 42.5 in CSV. Nil
// returns an empty cell.
func Percent(tenths *big.Int) Cell {
	if tenths == nil {
		return Cell{}
	}
	return Cell{kind: kindPercent, decimals: 1}.of(tenths)
}

// Change is Percent for the growth of something. It is shown with its sign.
func Change(tenths *big.Int) Cell {
	c := Percent(tenths)
	c.signed = true
	return c
}

// Said returns the cell of a number with a text in its place, where people read it.
func (c Cell) Said(text string) Cell {
	c.kind, c.text = kindPercent, text
	return c
}

// History returns a cell with the steps of a history, the oldest first. A list shows the last step. One shows
// all of them, one a line.
func History(steps []Step) Cell { return Cell{kind: kindHistory, steps: steps} }

// JSONText returns a cell with a record of unknown shape. It is shown as JSON on one line.
func JSONText(text []byte) Cell { return Cell{kind: kindJSON, text: string(text)} }

// numeric reports whether the cell is aligned to the right, like a number.
func (c Cell) numeric() bool {
	return c.kind == kindInt || c.kind == kindAmount || c.kind == kindPercent
}

// elastic reports whether the cell may be cut or broken. A number may not: a part of it is a different number.
func (c Cell) elastic() bool { return !c.numeric() && c.form != formBool }

// brief returns the cell on one line. With formID, of an id only the beginning; with formTime, also of a time
// nothing below the minute.
func (c Cell) brief(what form) string {
	text := c.short()
	switch {
	case c.form == formID && what >= formID:
		if begin, ok := beginning(c.text); ok {
			return begin
		}
	case c.form == formTime && what >= formTime && len(text) > len(minutes):
		if at, err := time.Parse(minutes, strings.Replace(text[:len(minutes)], "T", " ", 1)); err == nil {
			return at.Format(minutes)
		}
	}
	return text
}

const minutes = "2006-01-02 15:04"

// beginning returns the first eight characters of a UUID or of a digest. The beginnings of other ids may be
// equal, such as those of numbers.
func beginning(id string) (string, bool) {
	const begin, least = 8, 32
	id = strings.TrimPrefix(id, "sha256:")
	if len(id) < least || strings.Trim(id, "0123456789abcdefABCDEF-") != "" {
		return "", false
	}
	return id[:begin], true
}

// short returns the cell on one line, escaped. An amount is not aligned.
func (c Cell) short() string {
	switch {
	case c.kind == kindLabel:
		_, label := c.label()
		return Safe(label)
	case c.kind == kindAmount:
		number, unit := c.amount()
		return strings.TrimSuffix(number+" "+unit, " ")
	case c.kind == kindHistory:
		return Safe(c.last().String())
	case c.kind == kindJSON:
		return compactJSON(c.text)
	case c.kind == kindInt:
		return c.digits()
	case c.kind == kindPercent && c.text == "" && c.signed && c.number().Sign() > 0:
		return "+" + c.digits() + "%"
	case c.kind == kindPercent && c.text == "":
		return c.digits() + "%"
	case c.form == formSums && c.grouped:
		return Safe(joined(c.steps, ", ", Group))
	}
	return Safe(c.text)
}

// part returns the minor units or the code of an amount, by the suffix of their columns.
func (c Cell) part(suffix string) Cell {
	switch {
	case c.kind != kindAmount:
		return Cell{}
	case suffix == codeSuffix:
		return Text(c.text)
	}
	return Cell{kind: kindInt, n: c.n, large: c.large}
}

// digits returns the number of a cell in decimal, or in minor units if the decimals are unknown.
func (c Cell) digits() string { return money.Decimal(c.number(), max(int(c.decimals), 0)) }

func (s Step) String() string {
	if s.Status == "" || s.At == "" {
		return s.Status + s.At
	}
	return s.Status + " " + s.At
}

// minorWord separates an integer of minor units from its code if the decimals are unknown, so that a reader
// does not take the integer for the amount.
const minorWord = "minor"

// amount returns the number of an amount, and the text after it.
func (c Cell) amount() (number, unit string) {
	if !c.bare {
		unit = Safe(c.text)
	}
	if number = c.digits(); c.decimals < 0 {
		unit = strings.TrimSuffix(minorWord+" "+unit, " ")
	}
	if c.grouped {
		number = Group(number)
	}
	return number, unit
}

// Group puts a space between each three digits before the decimal point of a number, for a person who reads
// it. What follows the number stays as it is.
func Group(number string) string { return grouped(number, " ", "") }

// compactJSON returns JSON text on one line. It escapes invisible characters in strings in the JSON way, so
// that the result is JSON. It returns text that is not JSON as escaped text.
func compactJSON(raw string) string {
	var line bytes.Buffer
	if json.Compact(&line, []byte(raw)) != nil {
		return Safe(raw)
	}
	return escapeJSON(line.String(), hidden)
}

// compare orders cells of one column: numbers by value, amounts by code and then by value, histories by their
// last step, text by its bytes.
func compare(a, b Cell) int {
	if a.kind != b.kind {
		return cmp.Compare(a.kind, b.kind) // empty cells first
	}
	switch a.kind {
	case kindInt, kindPercent:
		return compareNumbers(a, b)
	case kindAmount:
		return cmp.Or(strings.Compare(strings.ToUpper(a.text), strings.ToUpper(b.text)), compareNumbers(a, b))
	case kindHistory:
		x, y := a.last(), b.last()
		return cmp.Or(strings.Compare(x.At, y.At), strings.Compare(x.Status, y.Status))
	case kindLabel:
		_, x := a.label()
		_, y := b.label()
		return cmp.Or(strings.Compare(x, y), strings.Compare(a.text, b.text))
	}
	return strings.Compare(a.text, b.text)
}

func (c Cell) last() Step {
	if len(c.steps) == 0 {
		return Step{}
	}
	return c.steps[len(c.steps)-1]
}

// compareNumbers compares two amounts of one code, or two other numbers. If the decimals of one are unknown,
// there is no common unit: amounts with unknown decimals come first.
func compareNumbers(a, b Cell) int {
	switch {
	case a.decimals == b.decimals && a.large == nil && b.large == nil:
		return cmp.Compare(a.n, b.n)
	case a.decimals != b.decimals && (a.decimals < 0 || b.decimals < 0):
		return cmp.Compare(a.decimals, b.decimals)
	}
	scaled := func(c Cell) *big.Int { // to as many decimals as the other has
		factor := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(a.decimals, b.decimals)-c.decimals)), nil)
		return factor.Mul(factor, c.number())
	}
	return scaled(a).Cmp(scaled(b))
}
