package config

import (
	"fmt"
	"strings"

	"example.com/till/internal/address"
)

// SettingsTopic describes the settings of profiles and currencies.
func SettingsTopic() string {
	return `Settings of a profile, which till profile set writes:
` + keyTable() + `

Write a list with commas between its values, as in "1000.00 USD, 0.5 Btc", and
the key command with spaces; or write both in brackets, as in the file.

Settings of a currency, which till currency set writes:
  kind                crypto or fiat; may be left out if the code is known
  decimals            how many decimals the service counts
  memo                required, if a withdrawal needs a memo
  address_format      how its addresses look: see below

Address formats
` + fillWords(address.Formats()) + `
  An address that is not valid in the format is refused before anything is
  sent: a mistyped character, another network, a letter of another script. none
  accepts anything and warns of nothing. Without a format, till payout plan and
  till withdraw create warn of addresses that look mistyped.
`
}

// fillWords lists words with commas between, in indented lines of at most 79 columns.
func fillWords(words []string) string {
	var b strings.Builder
	line := " "
	for i, word := range words {
		end := ","
		if i == len(words)-1 {
			end = "."
		}
		if len(line)+1+len(word)+len(end) > 79 {
			fmt.Fprintln(&b, line)
			line = " "
		}
		line += " " + word + end
	}
	return b.String() + line
}
