package payout

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"example.com/till/internal/address"
	"example.com/till/internal/atomicfile"
	"example.com/till/internal/journal"
	"example.com/till/internal/money"
	"example.com/till/internal/planfile"
	"example.com/till/pkg/api"
)

// count adds one more row to the fields that follow from the rows. The registry has the decimals of its
// amount.
func (p *Plan) count(m money.Registry, row PlanRow) {
	p.Totals = addTotal(p.Totals, Total{api.Big(row.Amount), 1})
	p.decimals[journal.LowerCase(row.Amount.Unit())] = m.DecimalsOf(row.Amount.Kind, row.Amount.Code)
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
		Batch:   p.Batch, Since: p.Since, Layout: p.Layout, Limits: money.Limits(p.Limits), Warnings: p.Warnings,
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
		if line, err = lineOf(row, p.Pays(api.Big(row.Amount))).Append(append(line[:0], end+"    "...)); err != nil {
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
