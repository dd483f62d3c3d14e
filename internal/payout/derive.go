package payout

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"example.com/till/internal/address"
	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// DeriveOrderID is the order id of a row that was given none: it follows from the name of the batch, from what the row is,
// and from its count among those rows of the file that are the same, from 1. Nothing else goes into it, so that the same row
// has the same order id on every machine, in whatever place it stands and whatever stands around it.
//
// It is made from the SHA-256 of these lines, each ended by a line feed: the batch, the currency and the amount's unit as
// kind:code in lower case, the minor units, the address in the form of address.Canonical, the memo and the count. The first eight bytes of it are a number, the
// first byte the highest; its remainder by 2^53-1, plus 1, is the order id.
func DeriveOrderID(batch string, c journal.Content, count int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s%d\n", batch, contentText(c), count))
	return strconv.FormatUint(binary.BigEndian.Uint64(sum[:8])%api.MaxOrderID+1, 10)
}

// contentText is the lines of a content. None of its texts can have a line feed in it.
func contentText(c journal.Content) string {
	return strings.ToLower(c.Currency) + "\n" + strings.ToLower(c.Unit) + "\n" + strconv.FormatInt(c.Minor, 10) + "\n" + address.Canonical(c.Address) + "\n" + c.Memo + "\n"
}

// contentHash tells contents apart.
func contentHash(c journal.Content) [16]byte {
	sum := sha256.Sum256([]byte(contentText(c)))
	return [16]byte(sum[:16])
}

const maxBatch = 64 // bytes

// CheckBatch refuses a name for a batch that two people could read and type differently.
func CheckBatch(name string) error {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || len(name) > maxBatch || strings.TrimSpace(name) != name || strings.ContainsFunc(name, hidden) {
		return fmt.Errorf("%s is no name for a batch: write one such as salaries-2026-05, of at most %d bytes, without spaces at its ends", shorten(name), maxBatch)
	}
	return nil
}
