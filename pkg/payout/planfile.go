package payout

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/till/internal/atomicfile"
	"example.com/till/internal/money"
	"example.com/till/internal/planfile"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
	"github.com/go-json-experiment/json"
)

// A plan file is JSON with one thing on each line. A person can read it, and sed can empty the digest, which
// is the digest of the file with an empty digest. There is only one way to write a plan. A file with any
// other byte is not a plan, so a repeated or unknown member, a null or another spelling of a number needs no
// check of its own: check writes what it has read again, and compares the digests.
const (
	digestKind = "sha256:"
	begins     = "{\n  \"account\": "
	afterRows  = "  ],"
	tailFormat = "  \"digest\": \"%s\"\n}\n"
)

var tailSize = len(tail(digestKind + strings.Repeat("0", 64)))

func tail(digest string) string { return fmt.Sprintf(tailFormat, digest) }

// OpenPlan reads a plan and checks all of it. If the file is not a plan, the error is an *Error of the kind
// Invalid. If the plan has been changed, its kind is Refused, with RulePlanChanged. Later changes to the file
// have no effect.
func OpenPlan(path string) (*Plan, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // opening a pipe may block forever
		return nil, noPlan(path, "is not a regular file", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, noPlan(path, "cannot be opened: "+cause(err), err)
	}
	defer f.Close()
	p := &Plan{Path: path, decimals: decimals{}}
	if err = p.read(f); err == nil {
		return p, nil
	}
	if _, said := errors.AsType[*Error](err); !said {
		err = noPlan(path, "cannot be read: "+cause(err), err)
	}
	return nil, err
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
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err.Error()
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

func noPlan(path, why string, err error) error {
	return failed(Invalid, "the plan %s %s", path, why).because(err).
		hint("make one", "payout", "plan", "FILE", "--out", "PLAN")
}

// read reads a plan's file. It may have a million rows, so its text is not kept.
func (p *Plan) read(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	start, end, size := make([]byte, mostBefore), make([]byte, tailSize), info.Size()-int64(tailSize)
	n, err := f.ReadAt(start, 0)
	switch start = start[:n]; {
	case err != nil && err != io.EOF:
		return err
	case wasPlan(start) && !bytes.HasPrefix(start, []byte(begins)):
		return p.changed("its line ends, its indentation or its first bytes are others, as an editor, git or a formatter may change them")
	case !wasPlan(start):
		return noPlan(p.Path, "is not a plan", nil)
	case size < 0:
		return p.changed("it is cut off")
	}
	if _, err := f.ReadAt(end, size); err != nil {
		return err
	}
	before, after, _ := strings.Cut(tailFormat, "%s")
	p.Digest = strings.TrimSuffix(strings.TrimPrefix(string(end), before), after)
	digits, ok := strings.CutPrefix(p.Digest, digestKind)
	if !ok || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "" || tail(p.Digest) != string(end) {
		return p.changed("it does not end with its digest, so that it is cut off or was edited")
	}
	sum := sha256.New()
	text := bufio.NewReader(io.TeeReader(io.NewSectionReader(f, 0, size), sum))
	wrong := p.check(text, int(size/leastRow))
	if _, err := io.Copy(io.Discard, text); err != nil {
		return err
	}
	if digestOf(sum) != p.Digest {
		return p.changed("its digest is another one")
	}
	return wrong
}

// leastRow is less than the bytes of any row in the file.
const leastRow = 64

// digestOf returns the digest of a plan, after everything before the digest has been hashed.
func digestOf(sum hash.Hash) string {
	io.WriteString(sum, tail(""))
	return digestKind + hex.EncodeToString(sum.Sum(nil))
}

// check takes the fields of the plan from its text, except for the digest. A person who edits a plan can also
// make a new digest, so check writes what it has read again. Totals, and amounts as a person reads them,
// follow from the rows, of which there are at most so many.
func (p *Plan) check(text *bufio.Reader, most int) error {
	var head []byte
	line := 0
	for !bytes.HasSuffix(head, []byte("\n"+planfile.BeforeRows+"\n")) {
		next, err := text.ReadBytes('\n')
		if err != nil {
			return p.changed("it has no rows")
		}
		head = append(head, next...)
		line++
	}
	var h planfile.Head
	if err := json.Unmarshal(append(head, "]}"...), &h); err != nil {
		return p.changed("its head cannot be read: %s", sheet.Cause(err))
	}
	if h.Account == "" || h.BaseURL == "" || h.Expires.Before(h.Made) {
		return p.changed("its account, address or times are missing or wrong")
	}
	p.Account = Account{Address: h.BaseURL, Name: h.Account}
	p.Made, p.Expires = h.Made.UTC(), h.Expires.UTC()
	p.Batch, p.Since, p.Gone, p.Limits, p.Warnings, p.Layout = h.Batch, h.Since, h.Gone, Limits(h.Limits), h.Warnings, h.Layout
	rows := 0
	for _, t := range h.Totals {
		rows += t.Rows
	}
	p.Rows = make([]PlanRow, 0, max(0, min(rows, most))) // growing it would take twice the memory
	ids := map[int64]bool{}
	for {
		next, err := text.ReadBytes('\n')
		if line++; err != nil || string(next) == afterRows+"\n" { // what is missing or follows differs below
			break
		}
		row, pays, err := readRow(bytes.TrimRight(next, ",\n"))
		id := parseID(row.ExternalOrderID)
		if err == nil && ids[id] {
			err = errors.New("its order id is in the plan twice")
		}
		if err != nil {
			return p.changed("line %d: %s", line, sheet.Cause(err))
		}
		ids[id] = true
		p.count(row, decimalsIn(pays, api.Big(row.Amount)))
		p.Rows = append(p.Rows, row)
	}
	if again, err := p.write(io.Discard, slices.Values(p.Rows)); err != nil || again != p.Digest {
		return p.changed("its totals or shown amounts do not fit its rows, or it is not as till writes it")
	}
	return nil
}

// readRow reads a row, and the amount for the reader in it.
func readRow(text []byte) (row PlanRow, pays string, err error) {
	var l planfile.Row
	if err := json.Unmarshal(text, &l); err != nil {
		return row, "", err
	}
	row = PlanRow{CreateWithdrawal: api.CreateWithdrawal{Currency: l.Currency, Amount: l.Amount, Address: l.Address,
		Callback: l.Callback, ExternalOrderID: l.OrderID, Memo: l.Memo}, Kept: sheet.Kept(l.KeptIfAny), Line: l.Line, Warned: l.Warned}
	switch err := row.Validate(); {
	case err != nil:
		return row, "", err
	case row.ExternalOrderID == "":
		return row, "", errors.New("it has no order id")
	case new(inputRow).pack(&row) > maxRow:
		return row, "", errors.New("it is too long")
	}
	return row, l.Pays, nil
}

// decimalsIn returns the number of decimals with which a text shows an amount.
func decimalsIn(text string, a api.BigAmount) int {
	number, _, _ := strings.Cut(text, " ")
	_, fraction, _ := strings.Cut(number, ".")
	if n := len(fraction); n <= api.MaxDecimals && text != money.FormatBig(a, money.Unknown) {
		return n
	}
	return money.Unknown
}

// Name returns the name of the plan's run: the first eight hexadecimal digits of its digest.
func (p *Plan) Name() string { return strings.TrimPrefix(p.Digest, digestKind)[:8] }

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
