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
	"syscall"
	"time"

	"example.com/till/internal/address"
	"example.com/till/internal/atomicfile"
	"example.com/till/internal/money"
)

// writePlan writes a plan to a temporary file in the same directory, syncs it and renames it, so that the
// plan is complete or missing. It sets the digest, the number of rows and the totals of p, and takes
// everything else from p. It iterates over the rows twice. The registry has the decimals of the amounts that
// the plan shows.
func writePlan(p *Plan, m money.Registry, rows iter.Seq2[PlanRow, error]) error {
	p.clear()
	for row, err := range rows {
		if err != nil {
			return err
		}
		p.count(m, &row)
	}
	return p.save(func(yield func([]byte, error) bool) {
		var line []byte
		for row, err := range rows {
			if err == nil {
				line, err = appendLine(line[:0], row, p.Pays(money.Big(row.Amount)))
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	})
}

// clear resets the fields that count sets.
func (p *Plan) clear() { p.Rows, p.OneCase, p.Totals, p.decimals = 0, 0, nil, decimals{} }

// count adds one more row to the fields that follow from the rows.
func (p *Plan) count(m money.Registry, row *PlanRow) {
	kind, code := row.Amount.Kind, row.Amount.Code
	p.Totals = addTotal(p.Totals, Total{money.Big(row.Amount), 1})
	p.decimals[unitOf(kind, code)] = m.DecimalsOf(kind, code)
	p.Rows++
	if address.OneCase(row.Address) {
		p.OneCase++
	}
}

// save writes the file of a plan whose rows were counted. lines are the lines of the rows.
func (p *Plan) save(lines iter.Seq2[[]byte, error]) error {
	f, err := planPlace(p.Path)
	if err != nil {
		return err
	}
	var broken error // an error of lines, rather than of the file
	err = p.writeTo(f.File, func(yield func([]byte, error) bool) {
		for line, err := range lines {
			broken = err
			if !yield(line, err) {
				return
			}
		}
	})
	if err == nil {
		err = f.Commit()
	} else {
		err = errors.Join(err, f.Discard())
	}
	var unsynced *atomicfile.UnsyncedError
	switch {
	case broken != nil:
		return broken
	case errors.As(err, &unsynced):
		return noPlace(p.Path, "is written, but may not outlast a power cut: "+cause(err), err)
	case err != nil:
		return noPlace(p.Path, "cannot be written: "+cause(err), err)
	}
	return nil
}

// writeTo writes the whole file and syncs it.
func (p *Plan) writeTo(f *os.File, lines iter.Seq2[[]byte, error]) error {
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(f, sum), 64<<10)
	if err := p.write(out, lines); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	p.Digest = digestOf(sum)
	if _, err := io.WriteString(f, tail(p.Digest)); err != nil {
		return err
	}
	return f.Sync()
}

// noPlace returns the error for a plan that cannot be written to its path.
func noPlace(path, why string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return &Error{Kind: NoRoom, Msg: fmt.Sprintf("the plan %s %s", path, why),
			Hint: NewHint("free some space in " + filepath.Dir(path) + ", and plan it again"), Err: err}
	}
	return &Error{Kind: Invalid, Msg: fmt.Sprintf("the plan %s %s", path, why),
		Hint: NewHint("name a file in a directory that you may write to"), Err: err}
}

// planPlace makes the file that is to become a plan. It does not replace anything that is not a plan.
func planPlace(path string) (*atomicfile.File, error) {
	if err := checkPlace(path); err != nil {
		return nil, err
	}
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return nil, noPlace(path, "cannot be written: "+cause(err), err)
	}
	return f, nil
}

// checkPlace returns an error if the path of a plan has anything other than a plan.
func checkPlace(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if dir, err := os.Stat(filepath.Dir(path)); err != nil || !dir.IsDir() {
			return &Error{Kind: Invalid, Err: err,
				Msg:  fmt.Sprintf("the directory of the plan %s does not exist", path),
				Hint: NewHint("make it, or name a file in another one")}
		}
		return nil
	}
	if err != nil {
		return noPlace(path, "cannot be replaced: "+cause(err), err)
	}
	other := &Error{Kind: Invalid,
		Msg:  fmt.Sprintf("%s exists and is not a plan", path),
		Hint: NewHint("name another file")}
	if !info.Mode().IsRegular() { // opening a pipe may block forever
		return other
	}
	f, err := os.Open(path)
	if err != nil {
		return noPlace(path, "cannot be replaced: "+cause(err), err)
	}
	defer f.Close()
	start := make([]byte, len(begins))
	if n, err := io.ReadFull(f, start); n > 0 && (err != nil || string(start) != begins) { // an empty file may be from mktemp
		return other
	}
	return nil
}

func (p *Plan) write(w *bufio.Writer, lines iter.Seq2[[]byte, error]) error {
	h := planHead{
		Account: p.Account.Name, BaseURL: p.Account.Address, Made: p.Made.UTC().Truncate(time.Second),
		Expires: p.Expires.UTC().Truncate(time.Second),
		Batch:   p.Batch, Since: p.Since, Limits: p.Limits, Warnings: p.Warnings,
	}
	for _, t := range p.Totals {
		h.Totals = append(h.Totals, planTotal{t.Amount, t.Rows, p.Pays(t.Amount)})
	}
	if err := h.write(w); err != nil {
		return err
	}
	end := ""
	for line, err := range lines {
		if err != nil {
			return err
		}
		w.WriteString(end)
		w.WriteString("    ")
		if _, err := w.Write(line); err != nil { // w keeps its first error
			return err
		}
		end = ",\n"
	}
	if end != "" {
		end = "\n"
	}
	_, err := io.WriteString(w, end+afterRows+"\n")
	return err
}
