package address

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of memos: a text of Stellar in bytes, and the reference of a SEPA transfer in characters.
const (
	stellarMemo = 28
	ibanMemo    = 140
)

// CheckMemo returns an error if a memo cannot be sent with an address of a format. The address is valid.
func CheckMemo(format, text, memo string) error {
	if memo == "" {
		return nil
	}
	own, holds := held(format, text)
	switch tag, err := strconv.ParseUint(memo, 10, 32); {
	case format == "ripple" && (err != nil || strconv.FormatUint(tag, 10) != memo):
		return fmt.Errorf("%q is no destination tag, which is a whole number from 0 to %d without a leading zero", memo, uint32(1<<32-1))
	case format == "stellar" && len(memo) > stellarMemo:
		return fmt.Errorf("it has %d bytes, and a memo of Stellar has at most %d", len(memo), stellarMemo)
	case format == "iban" && utf8.RuneCountInString(memo) > ibanMemo:
		return fmt.Errorf("it has %d characters, and the reference of a transfer has at most %d", utf8.RuneCountInString(memo), ibanMemo)
	case holds && own == "":
		return fmt.Errorf("the address says that there is no destination tag, and not %s: leave it out, or ask the receiver", memo)
	case holds && own != memo && format == "ripple":
		return fmt.Errorf("the address holds the destination tag %s, and not %s: write that one, or ask the receiver", own, memo)
	case holds && own != memo:
		return fmt.Errorf("the address holds the id %s, and not %q: write that one, or ask the receiver", own, memo)
	}
	return nil
}

// NeedsNoMemo reports whether an address says itself that there is no memo: an X-address without a tag.
func NeedsNoMemo(format, text string) bool {
	own, holds := held(format, text)
	return holds && own == ""
}

// held returns the memo that an address holds. An X-address of Ripple holds its tag, or says that there is none: then it
// is empty. A muxed address of Stellar holds an id.
func held(format, text string) (memo string, holds bool) {
	switch {
	case format == "ripple" && strings.HasPrefix(text, "X"):
		bytes, err := decodeRipple(text, 35)
		if err == nil && bytes[22] != 0 {
			memo = strconv.FormatUint(uint64(binary.LittleEndian.Uint32(bytes[23:])), 10)
		}
		return memo, err == nil
	case format == "stellar" && strings.HasPrefix(text, "M"):
		bytes, err := strkeyEncoding.DecodeString(text)
		if err != nil || len(bytes) != 43 {
			return "", false // the address is refused
		}
		return strconv.FormatUint(binary.BigEndian.Uint64(bytes[33:]), 10), true
	}
	return "", false
}
