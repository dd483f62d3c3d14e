// Payouts pays every row of a CSV file with the SDK, each at most once, and can be run again when it has stopped:
//
//	go run ./examples/payouts payouts.csv                shows the totals and the digest of the file, and sends nothing
//	go run ./examples/payouts payouts.csv sha256:...     pays it, if it is the file that somebody has approved
//
// It finds the service in TILL_BASE_URL and the key in TILL_API_KEY. A row is order_id,code,minor,address; the amount is
// an integer in minor units of the crypto currency with that code.
//
// The SDK keeps no record of what it has sent, so this program does: payouts.csv.record gets a line before a row is
// sent and another when its outcome is known, both forced to the disk. It ends with 20 when an outcome is unknown.
//
// It is the payroll of examples/payroll.sh as far as a program gets with the SDK alone. What it does not have, and
// till payout apply does:
//
//   - The record is of one file on one machine. An order id that another file or program has used is noticed only where the
//     service's list shows it, and two machines that run this at the same moment pay twice.
//   - The list is read once and believed. That a page was missing, or that a row was hidden, is not noticed.
//   - After a crash a person has to remove the lock, and after an unknown outcome that the list does not explain, to decide
//     and to edit the record. Nothing keeps the person from being wrong, or says later who it was.
//   - There are no limits, no expiry, no look at the plan before, no pace, and one call at a time.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"

	"example.com/till/pkg/api"
)

// errUnknown is the one failure after which nothing may be sent again.
var errUnknown = errors.New("the outcome is unknown")

func main() {
	if len(os.Args) != 2 && len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: payouts FILE.csv [DIGEST]")
		os.Exit(10)
	}
	switch err := run(os.Args[1], os.Args[2:]); {
	case errors.Is(err, errUnknown):
		fmt.Fprintln(os.Stderr, "payouts: stop:", err)
		os.Exit(20)
	case err != nil:
		fmt.Fprintln(os.Stderr, "payouts:", err)
		os.Exit(1)
	}
}

func run(file string, approved []string) error {
	text, err := os.ReadFile(file) // once: what was checked is what is paid
	if err != nil {
		return err
	}
	rows, err := readRows(text)
	if err != nil {
		return err
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(text))
	if len(approved) == 0 {
		return show(rows, digest)
	}
	if approved[0] != digest {
		return fmt.Errorf("the digest of %s is %s, and %s was approved", file, digest, approved[0])
	}
	client, err := api.New(os.Getenv("TILL_BASE_URL"), api.WithAPIKey(os.Getenv("TILL_API_KEY")))
	if err != nil {
		return err
	}
	release, err := lock(file + ".lock")
	if err != nil {
		return err
	}
	defer release()
	rec, err := openRecord(file + ".record")
	if err != nil {
		return err
	}
	defer rec.file.Close()
	listed, err := listOrders(context.Background(), client)
	if err != nil {
		return err // a read that failed: nothing was sent
	}

	// Ctrl-C ends the loop between two rows. A call that is on its way is waited for: without its answer the outcome is unknown.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, row := range rows {
		order := row.ExternalOrderID
		state, found := rec.states[order], listed[order]
		switch {
		case state == "accepted":
			continue
		case found.ID != "" && differs(found, row):
			return fmt.Errorf("%w: what the service has as order %s, withdrawal %s, is not what the file has", errUnknown, order, found.ID)
		case found.ID != "": // by an earlier run whose record did not get that far, or from elsewhere
			if err := rec.note(order, "accepted", found.ID); err != nil {
				return err
			}
			fmt.Println(order, "accepted", found.ID)
			continue
		case state != "" && state != "not-sent":
			return fmt.Errorf("%w: order %s was being sent when an earlier run ended; the list does not show it, which proves nothing", errUnknown, order)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if err := pay(client, rec, row); err != nil {
			return err
		}
	}
	return nil
}

// show prints what somebody has to approve.
func show(rows []api.CreateWithdrawal, digest string) error {
	totals := map[string]int64{}
	for _, row := range rows {
		sum := totals[row.Amount.Code] + row.Amount.Minor
		if sum < 0 {
			return fmt.Errorf("the total in %s does not fit into 64 bits", row.Amount.Code)
		}
		totals[row.Amount.Code] = sum
	}
	for _, code := range slices.Sorted(maps.Keys(totals)) {
		fmt.Printf("total %d minor units of %s\n", totals[code], code)
	}
	fmt.Println("digest", digest)
	return nil
}

// pay sends one row, once.
func pay(client *api.Client, rec *record, row api.CreateWithdrawal) error {
	order := row.ExternalOrderID
	if err := rec.note(order, "sending", ""); err != nil {
		return err // not recorded, so not sent
	}
	id, err := client.Withdrawals.Create(context.Background(), row)
	if err == nil {
		fmt.Println(order, "accepted", id)
		return rec.note(order, "accepted", id)
	}
	var (
		call    *api.Error
		invalid *api.InvalidError
	)
	switch {
	case errors.As(err, &invalid): // refused before anything was sent
	case errors.As(err, &call) && (call.Outcome == api.Rejected || call.Outcome == api.NotSent):
	default: // Unknown, or something that this program does not know: the record goes on saying "sending"
		return fmt.Errorf("order %s: %w: %w", order, errUnknown, err)
	}
	return errors.Join(fmt.Errorf("order %s was not paid: %w", order, err), rec.note(order, "not-sent", ""))
}

// listOrders reads the service's whole list and returns the withdrawal under each order id.
func listOrders(ctx context.Context, client *api.Client) (map[string]api.Withdrawal, error) {
	found := map[string]api.Withdrawal{}
	for w, err := range client.Withdrawals.All(ctx, api.WithdrawalFilter{}, api.ListOptions{}) {
		if err != nil {
			return nil, err
		}
		if w.ExternalOrderID != "" {
			found[w.ExternalOrderID] = w
		}
	}
	return found, nil
}

// differs holds a withdrawal against a row. An amount that is shown in another unit cannot be compared.
func differs(w api.Withdrawal, row api.CreateWithdrawal) bool {
	sameUnit := w.Amount.Kind == row.Amount.Kind && w.Amount.Code == row.Amount.Code
	return w.Currency != row.Currency || w.Address.Text != row.Address || sameUnit && w.Amount.Minor != row.Amount.Minor
}

// lock keeps a second run out. After a crash a person removes the file, once no run is under way.
func lock(name string) (release func(), err error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("another run is under way, or has crashed: %w", err)
	}
	return func() { file.Close(); os.Remove(name) }, nil
}

// readRows reads and checks the whole file before anything is sent.
func readRows(text []byte) ([]api.CreateWithdrawal, error) {
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord = 4
	lines, err := reader.ReadAll()
	if err != nil {
		return nil, err
	}
	var rows []api.CreateWithdrawal
	seen := map[string]bool{}
	for _, line := range lines {
		minor, err := strconv.ParseInt(line[2], 10, 64)
		if err != nil {
			return nil, err
		}
		row := api.CreateWithdrawal{
			Currency:        api.Currency{Kind: api.Crypto, Code: line[1]},
			Amount:          api.Amount{Kind: api.Crypto, Code: line[1], Minor: minor},
			Address:         line[3],
			ExternalOrderID: line[0],
		}
		if err := cmp.Or(api.CheckOrderID(line[0]), row.Validate()); err != nil {
			return nil, fmt.Errorf("order %s: %w", line[0], err)
		}
		if seen[line[0]] {
			return nil, fmt.Errorf("order %s stands there twice", line[0])
		}
		seen[line[0]] = true
		rows = append(rows, row)
	}
	return rows, nil
}

// A record is a file with a line for each change: order id, state, id. The last line of an order counts.
type record struct {
	file   *os.File
	states map[string]string
}

// openRecord reads the record, and refuses one whose last line was torn off by a crash: a person has to look at it.
func openRecord(name string) (*record, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	rec := &record{file, map[string]string{}}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if !strings.HasSuffix(line, "\n") || len(fields) < 2 {
			return nil, fmt.Errorf("%w: the record %s has a damaged line: %q", errUnknown, name, line)
		}
		rec.states[fields[0]] = fields[1]
	}
	return rec, nil
}

// note adds a line, and returns when it is on the disk.
func (r *record) note(order, state, id string) error {
	if _, err := fmt.Fprintln(r.file, order, state, id); err != nil {
		return err
	}
	r.states[order] = state
	return r.file.Sync()
}
