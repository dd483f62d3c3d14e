package address

import (
	"encoding/base32"
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
	switch {
	case memo == "":
	case format == "ripple":
		return checkTag(text, memo)
	case format == "stellar" && len(memo) > stellarMemo:
		return fmt.Errorf("it has %d bytes, and a memo of Stellar has at most %d", len(memo), stellarMemo)
	case format == "stellar" && strings.HasPrefix(text, "M"):
		return checkMuxedID(text, memo)
	case format == "iban" && utf8.RuneCountInString(memo) > ibanMemo:
		return fmt.Errorf("it has %d characters, and the reference of a transfer has at most %d", utf8.RuneCountInString(memo), ibanMemo)
	}
	return nil
}

// NeedsNoMemo reports whether an address says itself that there is no memo: an X-address without a tag.
func NeedsNoMemo(format, text string) bool {
	if format != "ripple" || !strings.HasPrefix(text, "X") {
		return false
	}
	bytes, err := decodeRipple(text, 35)
	return err == nil && bytes[22] == 0
}

// checkTag checks a destination tag. An X-address holds its own, or says that there is none.
func checkTag(text, memo string) error {
	tag, err := strconv.ParseUint(memo, 10, 32)
	if err != nil || strconv.FormatUint(tag, 10) != memo {
		return fmt.Errorf("%q is no destination tag, which is a whole number from 0 to %d without a leading zero", memo, uint32(1<<32-1))
	}
	if !strings.HasPrefix(text, "X") {
		return nil
	}
	bytes, err := decodeRipple(text, 35)
	if err != nil {
		return nil // the address is refused
	}
	switch own := uint64(binary.LittleEndian.Uint32(bytes[23:])); {
	case bytes[22] == 0:
		return fmt.Errorf("the address says that there is no destination tag, and not %s: leave it out, or ask the receiver", memo)
	case own != tag:
		return fmt.Errorf("the address holds the destination tag %d, and not %s: write that one, or ask the receiver", own, memo)
	}
	return nil
}

// checkMuxedID checks the memo beside a muxed address of Stellar, which holds an id in place of a memo.
func checkMuxedID(text, memo string) error {
	bytes, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	if err != nil || len(bytes) != 43 {
		return nil // the address is refused
	}
	if id := binary.BigEndian.Uint64(bytes[33:]); strconv.FormatUint(id, 10) != memo {
		return fmt.Errorf("the address holds the id %d, and not %q: write that one, or ask the receiver", id, memo)
	}
	return nil
}
