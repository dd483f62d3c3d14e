package payout

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"unicode"

	"example.com/till/internal/address"
	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
)

// deriveOrderID returns the order id of a row that has none in the file. It depends only on the name of the
// batch, the content of the row, and the count of the row among the rows with the same content, from 1. So
// the same row has the same order id on every machine, wherever it is in the file and whatever rows surround
// it.
//
// The order id is made from the SHA-256 of these lines, each ended by a line feed: the batch, the currency
// and the amount's unit as kind:code in lower case, the minor units, the address in the form of
// address.Canonical, the memo and the count. The first eight bytes are a big-endian number. Its remainder
// modulo 2^53-1, plus 1, is the order id.
func deriveOrderID(batch string, c journal.Content, count int) string {
	text := append(appendContent([]byte(batch+"\n"), c), strconv.Itoa(count)+"\n"...)
	sum := sha256.Sum256(text)
	return strconv.FormatUint(binary.BigEndian.Uint64(sum[:8])%api.MaxOrderID+1, 10)
}

// appendContent appends the lines of a content. None of its texts can contain a line feed.
func appendContent(b []byte, c journal.Content) []byte {
	b = append(appendLower(b, c.Currency), '\n')
	b = append(appendLower(b, c.Unit), '\n')
	b = append(strconv.AppendInt(b, c.Minor, 10), '\n')
	b = append(append(b, address.Canonical(c.Address)...), '\n')
	return append(append(b, c.Memo...), '\n')
}

// appendLower appends a code, which has only ASCII letters, in lower case.
func appendLower(b []byte, code string) []byte {
	for _, c := range []byte(code) {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// contentHash returns equal hashes for equal contents. The hashes differ in every process, so no file can be
// made whose rows collide.
func contentHash(c journal.Content) hash128 {
	var room [256]byte
	text := appendContent(room[:0], c)
	return hash128{maphash.Bytes(hashSeeds[0], text), maphash.Bytes(hashSeeds[1], text)}
}

var hashSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// hash128 is two independent hashes of 64 bits.
type hash128 [2]uint64

const maxBatch = 64 // bytes

// CheckBatch refuses a name of a batch that two people could read or type differently.
func CheckBatch(name string) error {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || len(name) > maxBatch || strings.TrimSpace(name) != name || strings.ContainsFunc(name, hidden) {
		return fmt.Errorf("%s is no name for a batch: write one such as salaries-2026-05, of at most %d bytes, without spaces at its ends", shorten(name), maxBatch)
	}
	return nil
}
