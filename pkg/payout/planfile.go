package payout

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/till/internal/address"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A plan file is JSON with one thing on each line. A person can read it, and sed can empty the digest, which
// is the digest of the file with an empty digest. There is only one way to write a plan. A file with any
// other byte is not a plan, so a repeated or unknown member, a null or another spelling of a number needs no
// check of its own.
const (
	digestKind = "sha256:"
	begins     = "{\n  \"account\": "
	beforeRows = "  \"rows\": ["
	afterRows  = "  ],"
	tailFormat = "  \"digest\": \"%s\"\n}\n"
	maxHead    = 16 << 20 // bytes before the rows; nearly all of them are the addresses that the profile allows
)

var tailSize = int64(len(tail(digestKind + strings.Repeat("0", 64))))

func tail(digest string) string { return fmt.Sprintf(tailFormat, digest) }

// PlanFile is the JSON of a plan's file. A plan may have more rows than fit into memory, so no value of this type
// is made: the file is written and read piece by piece.
type PlanFile struct {
	planHead
	Rows   []planLine `json:"rows"`
	Digest string     `json:"digest" schema:"digest"`
}

// planHead is the part before the rows.
type planHead struct {
	Account  string      `json:"account"`
	BaseURL  string      `json:"base_url"`
	Made     time.Time   `json:"made"`
	Expires  time.Time   `json:"expires"`
	Batch    string      `json:"batch,omitzero"`
	Since    string      `json:"since,omitzero"`
	Limits   Limits      `json:"limits"`
	Totals   []planTotal `json:"totals"`
	Warnings []string    `json:"warnings"`
}

type planTotal struct {
	Amount BigAmount `json:"amount"`
	Rows   int       `json:"rows"`
	Pays   string    `json:"pays"`
}

// planLine is a row in the form that a plan has.
type planLine struct {
	OrderID  string       `json:"order_id" schema:"order-id"`
	Currency api.Currency `json:"currency"`
	Amount   api.Amount   `json:"amount"`
	Pays     string       `json:"pays"` // the amount for the reader
	Address  string       `json:"address"`
	Memo     string       `json:"memo,omitzero"`
	Callback string       `json:"callback,omitzero"`
	Note     string       `json:"note,omitzero"`
}

// noOrderID is the beginning of the line of a row that has no order id yet.
const noOrderID = `{"order_id":""`

// appendLine writes a row in the same form as json.Marshal writes its planLine. It is much faster, and a plan
// has many rows.
func appendLine(b []byte, r PlanRow, pays string) ([]byte, error) {
	var err error
	text := func(before, value string) {
		b = append(b, before...)
		if err == nil {
			b, err = jsontext.AppendQuote(b, value)
		}
	}
	text(`{"order_id":`, r.ExternalOrderID)
	text(`,"currency":{`, string(r.Currency.Kind))
	text(`:`, r.Currency.Code)
	text(`},"amount":{`, string(r.Amount.Kind))
	text(`:{`, r.Amount.Code)
	b = strconv.AppendInt(append(b, ':'), r.Amount.Minor, 10)
	text(`}},"pays":`, pays)
	text(`,"address":`, r.Address)
	for _, member := range [...]struct{ name, value string }{{`,"memo":`, r.Memo}, {`,"callback":`, r.Callback},
		{`,"note":`, r.Note}} {
		if member.value != "" {
			text(member.name, member.value)
		}
	}
	return append(b, '}'), err
}

func (l planLine) row() PlanRow {
	return PlanRow{api.CreateWithdrawal{Currency: l.Currency, Amount: l.Amount, Address: l.Address,
		Callback: l.Callback, ExternalOrderID: l.OrderID, Memo: l.Memo}, l.Note}
}

// write writes the head, including the line that begins the rows.
func (h planHead) write(w io.Writer) error {
	var err error
	member := func(name string, value any) {
		var text []byte
		if err == nil {
			text, err = json.Marshal(value)
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "  %q: %s,\n", name, text)
		}
	}
	list := func(name string, n int, element func(int) any) {
		if err == nil {
			_, err = fmt.Fprintf(w, "  %q: [", name)
		}
		for i := range n {
			var text []byte
			if err == nil {
				text, err = json.Marshal(element(i))
			}
			if err == nil {
				_, err = fmt.Fprintf(w, "%s\n    %s", comma(i), text)
			}
		}
		if err == nil && n > 0 {
			_, err = io.WriteString(w, "\n  ")
		}
		if err == nil {
			_, err = io.WriteString(w, "],\n")
		}
	}
	if _, err := io.WriteString(w, "{\n"); err != nil {
		return err
	}
	member("account", h.Account)
	member("base_url", h.BaseURL)
	member("made", h.Made)
	member("expires", h.Expires)
	if h.Batch != "" {
		member("batch", h.Batch)
	}
	if h.Since != "" {
		member("since", h.Since)
	}
	member("limits", h.Limits)
	list("totals", len(h.Totals), func(i int) any { return h.Totals[i] })
	list("warnings", len(h.Warnings), func(i int) any { return h.Warnings[i] })
	if err == nil {
		_, err = io.WriteString(w, beforeRows+"\n")
	}
	return err
}

// comma returns the text before element i of a list.
func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// OpenPlan opens a plan and checks all of it. If the file is not a plan, the error is an *Error of the kind
// Invalid. If the plan has been changed, its kind is Refused, with RulePlanChanged.
func OpenPlan(path string) (p *Plan, err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe may block forever
		return nil, noPlan(path, "is not a regular file", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, noPlan(path, "cannot be opened: "+cause(err), err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, noPlan(path, "cannot be read: "+cause(err), err)
	}
	start := make([]byte, mostBefore)
	n, err := f.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return nil, noPlan(path, "cannot be read: "+cause(err), err)
	}
	p = &Plan{Path: path, file: f, size: info.Size(), decimals: decimals{}}
	switch start = start[:n]; {
	case bytes.HasPrefix(start, []byte(begins)):
	case wasPlan(start):
		return nil, p.changed("its line ends, its indentation or its first bytes are others, as an editor, git or a formatter may change them")
	default:
		return nil, noPlan(path, "is not a plan", nil)
	}
	if p.Digest, err = p.readDigest(); err != nil {
		return nil, err
	}
	return p, p.check()
}

// mostBefore is the number of bytes in which a plan that was reformatted can still be recognised.
const mostBefore = 64

// wasPlan reports whether a text begins as a plan does, apart from white space and a byte order mark.
func wasPlan(start []byte) bool {
	squeeze := func(text []byte) []byte { return bytes.Join(bytes.Fields(text), nil) }
	return bytes.HasPrefix(squeeze(bytes.TrimPrefix(start, []byte("\ufeff"))), squeeze([]byte(begins)))
}

// cause returns the text of a system error without the path, which the surrounding sentence has.
func cause(err error) string {
	if e := (*os.PathError)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	if e := (*os.LinkError)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

func noPlan(path, why string, err error) error {
	return &Error{Kind: Invalid, Msg: fmt.Sprintf("the plan %s %s", path, why),
		Hint: NewHint("make one", "payout", "plan", "FILE", "--out", "PLAN"), Err: err}
}

// changed returns the error for a plan that has been changed.
func (p *Plan) changed(format string, args ...any) error {
	return refused(RulePlanChanged,
		fmt.Sprintf("the plan %s is not as it was written: ", p.Path)+shortenText(fmt.Sprintf(format, args...)),
		"make a new plan", "payout", "plan", "FILE", "--out", "PLAN")
}

// readDigest reads the digest at the end of the file and compares it with the digest of the rest.
func (p *Plan) readDigest() (string, error) {
	end := make([]byte, tailSize)
	if p.size < tailSize {
		return "", p.changed("it is cut off")
	}
	if _, err := p.file.ReadAt(end, p.size-tailSize); err != nil {
		return "", p.unreadable(err)
	}
	before, after, _ := strings.Cut(tailFormat, "%s")
	digest := strings.TrimSuffix(strings.TrimPrefix(string(end), before), after)
	if !isDigest(digest) || tail(digest) != string(end) {
		return "", p.changed("it does not end with its digest, so that it is cut off or was edited")
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(p.file, 0, p.size-tailSize)); err != nil {
		return "", p.unreadable(err)
	}
	if digestOf(sum) != digest {
		return "", p.changed("its digest is another one")
	}
	return digest, nil
}

func (p *Plan) unreadable(err error) error {
	return noPlan(p.Path, "cannot be read: "+cause(err), err)
}

func isDigest(text string) bool {
	hexDigits, ok := strings.CutPrefix(text, digestKind)
	return ok && len(hexDigits) == 64 && strings.Trim(hexDigits, "0123456789abcdef") == ""
}

// digestOf returns the digest of a plan, after everything before the digest has been hashed.
func digestOf(sum hash.Hash) string {
	io.WriteString(sum, tail(""))
	return digestKind + hex.EncodeToString(sum.Sum(nil))
}

// check reads the whole plan, and stores what comes before the rows. A person who edits a plan can also make
// a new digest, so check refuses a plan that is inconsistent even if its digest is right.
func (p *Plan) check() error {
	r := p.lines(0, 0)
	r.first = true
	if err := p.readHead(r); err != nil {
		return err
	}
	p.from, p.head = r.at, r.line
	var sums []Total
	var ids []int64
	for {
		row, pays, err := r.row()
		if err == errNoRow {
			break
		}
		if err != nil {
			return err
		}
		if err := row.Validate(); err != nil {
			return p.changed("line %d: %v", r.line, err)
		}
		id, err := strconv.ParseInt(row.ExternalOrderID, 10, 64)
		if err != nil {
			return p.changed("line %d: it has no order id", r.line)
		}
		ids = append(ids, id)
		if address.OneCase(row.Address) {
			p.OneCase++
		}
		if !p.decimals.learn(money.Big(row.Amount), pays) {
			return p.changed("line %d: it says that it pays %q, and that is not the amount", r.line, pays)
		}
		sums = addTotal(sums, Total{money.Big(row.Amount), 1})
	}
	p.Rows = len(ids)
	if slices.Sort(ids); len(slices.Compact(ids)) != p.Rows {
		return p.changed("an order id is in it twice")
	}
	if !slices.Equal(sums, p.Totals) {
		return p.changed("its totals are not those of its rows")
	}
	return r.end(p)
}

// readHead reads the part before the rows.
func (p *Plan) readHead(r *planReader) error {
	var text []byte
	for {
		line, err := r.took(r.in.nextOf(maxHead))
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
		if string(line) == beforeRows {
			break
		}
		if len(text) > maxHead {
			return p.changed("its head is larger than %d bytes", maxHead)
		}
	}
	var h planHead
	if err := json.Unmarshal(append(text[:len(text):len(text)], "]}"...), &h); err != nil {
		return p.changed("its head cannot be read: %s", jsonCause(err))
	}
	var again bytes.Buffer
	if err := h.write(&again); err != nil || !bytes.Equal(again.Bytes(), text) {
		return p.changed("its head is not as till writes it")
	}
	if h.Account == "" || h.BaseURL == "" || h.Expires.Before(h.Made) {
		return p.changed("its account, address or times are missing or wrong")
	}
	p.Account = Account{Address: h.BaseURL, Name: h.Account}
	p.Made, p.Expires = h.Made.UTC(), h.Expires.UTC()
	p.Batch, p.Since, p.Limits, p.Warnings = h.Batch, h.Since, h.Limits, h.Warnings
	for _, t := range h.Totals {
		if !p.decimals.learn(t.Amount, t.Pays) {
			return p.changed("it says of a total that it is %q, and that is not the amount", t.Pays)
		}
		p.Totals = append(p.Totals, Total{t.Amount, t.Rows})
	}
	return nil
}

// jsonCause returns the reason of a decoder's error, without the names of Go types.
func jsonCause(err error) string {
	if e := (*json.SemanticError)(nil); errors.As(err, &e) {
		if e.Err != nil {
			return fmt.Sprintf("at %q: %v", string(e.JSONPointer), e.Err)
		}
		return fmt.Sprintf("at %q there is something else than belongs there", string(e.JSONPointer))
	}
	if e := (*jsontext.SyntacticError)(nil); errors.As(err, &e) {
		return fmt.Sprintf("at byte %d: %v", e.ByteOffset, e.Err)
	}
	return err.Error()
}

// planReader reads a plan and hashes what it reads.
type planReader struct {
	plan *Plan
	sum  hash.Hash
	in   *lines
	line int   // the number of the last line read
	at   int64 // offset of the next line
	rows int

	comma bool // the last row ended with a comma
	first bool // the plan is read for the first time; later the digest is enough
}

func (p *Plan) lines(from int64, line int) *planReader {
	return &planReader{plan: p, sum: sha256.New(),
		in: readLines(io.NewSectionReader(p.file, from, p.size-tailSize-from), maxLine), line: line, at: from}
}

// reader returns a reader at the first row.
func (p *Plan) reader() (*planReader, error) {
	r := p.lines(p.from, p.head)
	if _, err := io.Copy(r.sum, io.NewSectionReader(p.file, 0, p.from)); err != nil {
		return nil, p.unreadable(err)
	}
	return r, nil
}

// took hashes and counts a line that was read.
func (r *planReader) took(line []byte, ended bool, err error) ([]byte, error) {
	r.line++
	switch {
	case err == io.EOF || err == nil && !ended:
		return nil, r.plan.changed("line %d: it ends too early", r.line)
	case err == errLong:
		return nil, r.plan.changed("line %d is too long", r.line)
	case err != nil:
		return nil, r.plan.unreadable(err)
	}
	r.at += int64(len(line)) + 1
	r.sum.Write(line)
	r.sum.Write([]byte{'\n'})
	return line, nil
}

// errNoRow says that there are no more rows.
var errNoRow = errors.New("there is no further row")

// row reads the next row. It also returns the row's amount as the plan shows it.
func (r *planReader) row() (PlanRow, string, error) {
	line, err := r.took(r.in.next())
	if err != nil {
		return PlanRow{}, "", err
	}
	last := string(line) == afterRows
	if r.rows > 0 && r.comma == last {
		return PlanRow{}, "", r.plan.changed("line %d: a comma is missing or too many before it", r.line)
	}
	if last {
		return PlanRow{}, "", errNoRow
	}
	var l planLine
	var text []byte
	text, r.comma = bytes.CutSuffix(bytes.TrimPrefix(line, []byte("    ")), []byte(","))
	if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
		return PlanRow{}, "", r.plan.changed("line %d cannot be read: %s", r.line, jsonCause(err))
	}
	if r.first {
		again, err := json.Marshal(l)
		if err != nil || !bytes.Equal(again, text) || !bytes.HasPrefix(line, []byte("    ")) {
			return PlanRow{}, "", r.plan.changed("line %d is not as till writes it", r.line)
		}
	}
	r.rows++
	return l.row(), l.Pays, nil
}

// end checks that the file ends after the rows, and compares the digest of all that was read.
func (r *planReader) end(p *Plan) error {
	switch _, _, err := r.in.next(); {
	case err == nil:
		return p.changed("line %d: there is more behind the rows", r.line+1)
	case err != io.EOF:
		return p.unreadable(err)
	}
	info, err := p.file.Stat()
	if err != nil {
		return p.unreadable(err)
	}
	if info.Size() != p.size || digestOf(r.sum) != p.Digest {
		return p.changed("it was changed while it was read")
	}
	return nil
}
