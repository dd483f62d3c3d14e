package payout

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"example.com/till/internal/money"
	"example.com/till/pkg/payout/order"
	"example.com/till/pkg/payout/sheet"
)

// deriveOrderID returns the order id of a row that has none in the file. It depends only on the name of the
// batch, the content of the row, its reference if it has one, and the count of the row among those that are
// alike in both, from 1. So the same row has the same order id on every machine, wherever it is in the file and
// whatever rows surround it.
//
// The order id is made from the SHA-256 of these lines, each ended by a line feed: the batch, the currency
// and the amount's unit as kind:code in lower case, the minor units, the address in the form of
// address.Canonical, the memo, the count and, if there is one, the reference. None of these can contain a line
// feed. The first eight bytes are
// a big-endian number. Its remainder modulo 10^15-1, plus 1, is the order id: a spreadsheet keeps its digits.
func deriveOrderID(batch, reference string, c Content, count int) string {
	c = c.Canonical()
	text := make([]byte, 0, 512)
	for _, line := range []string{batch, order.UnitText(c.Currency), order.UnitText(c.Amount.Unit()),
		strconv.FormatInt(c.Amount.Minor, 10), c.Address, c.Memo, strconv.Itoa(count)} {
		text = append(append(text, line...), '\n')
	}
	if reference != "" {
		text = append(append(text, reference...), '\n')
	}
	sum := sha256.Sum256(text)
	return strconv.FormatUint(binary.BigEndian.Uint64(sum[:8])%money.MaxExact+1, 10)
}

const maxBatch = 64 // bytes

// CheckBatch refuses a name of the batch that two people could read or type differently.
func (m PlanInput) CheckBatch() error {
	name := m.Batch
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || len(name) > maxBatch || strings.TrimSpace(name) != name || strings.ContainsFunc(name, hidden) {
		return fmt.Errorf("%s is no name for a batch: write one such as salaries-2026-05, of at most %d bytes, without spaces at its ends", sheet.Quote(name), maxBatch)
	}
	return nil
}
