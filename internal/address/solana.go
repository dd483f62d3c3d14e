package address

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/btcsuite/btcd/btcutil/base58"
)

// checkSolana checks for 32 bytes in base58. There is no checksum, so a mistyped character is rarely found.
func checkSolana(text string) error {
	if len(text) < 32 || len(text) > 44 {
		return fmt.Errorf("it has %d characters, and a Solana address has 32 to 44: copy it again from where it came from", len(text))
	}
	if err := misplaced(text, base58Alphabet, "no digit 0, and no letters O, I and l"); err != nil {
		return err
	}
	switch n := len(base58.Decode(text)); {
	case inOneCase(text) && strings.ContainsFunc(text, unicode.IsLetter):
		// a mistyped address in bech32 can have 32 bytes too
		return errors.New("its letters are in one case, and a Solana address has both: copy it again from where it came from")
	case n < 32:
		return errShort
	case n > 32:
		return errLong
	}
	return nil
}
