package address

import (
	"errors"
	"fmt"
	"strings"
)

// ibanLengths lists the countries of the IBAN registry (ISO 13616) and the lengths of their IBANs.
const ibanLengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 " +
	"FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 " +
	"LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 " +
	"SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30 "

const ibanAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

var iban = form{nil, 14, 35, ibanAlphabet, isIBANShape, checkIBAN}

// ibanLength returns the length of a country's IBANs, or 0 if the country is not in the list.
func ibanLength(country string) int {
	i := strings.Index(ibanLengths, country)
	if i < 0 || i%5 != 0 { // not two letters
		return 0
	}
	return int(ibanLengths[i+2]-'0')*10 + int(ibanLengths[i+3]-'0')
}

func isIBANShape(text string) bool {
	if len(text) < 14 || len(text) > 35 || !mostly(text, ibanAlphabet) ||
		!strings.ContainsAny(text[2:4], "0123456789") { // one of the two check digits may be missing
		return false
	}
	want := ibanLength(text[:2])
	return want > 0 && len(text) >= want-1 && len(text) <= want+1
}

// checkIBAN follows ISO 13616: an IBAN has a country, two check digits and up to 30 characters. As a number,
// it leaves the remainder 1 when divided by 97 (ISO 7064). If the country is not in the list, as after a
// change of the registry, only the checksum is checked.
func checkIBAN(text string) error {
	if err := misplaced(text, ibanAlphabet, "capital letters and digits only"); err != nil {
		return err
	}
	if len(text) < 5 || strings.Trim(text[:2], ibanAlphabet[10:]) != "" || strings.Trim(text[2:4], "0123456789") != "" {
		return errors.New("it begins otherwise than an IBAN, which begins with two letters and two digits")
	}
	if want := ibanLength(text[:2]); want > 0 && len(text) != want {
		return fmt.Errorf("it has %d characters, and an IBAN of %s has %d: copy it again from where it came from",
			len(text), text[:2], want)
	}
	if len(text) > 34 {
		return errLong
	}
	remainder := 0
	for _, c := range []byte(text[4:] + text[:4]) {
		if c >= 'A' {
			remainder = (remainder*100 + int(c-'A') + 10) % 97
		} else {
			remainder = (remainder*10 + int(c-'0')) % 97
		}
	}
	if digits := text[2:4]; remainder != 1 || digits < "02" || digits > "98" {
		return errChecksum
	}
	return nil
}

// looksLikeIBAN reports whether a text has two letters, two digits and 11 to 30 letters and digits, as an
// IBAN of any country has. In small letters, which no bank writes, the country and the length must be those
// of one.
func looksLikeIBAN(text string) bool {
	if written := strings.ToUpper(text); text != written {
		return isIBANShape(written)
	}
	return len(text) >= 15 && len(text) <= 34 && strings.Trim(text, ibanAlphabet) == "" &&
		strings.Trim(text[:2], ibanAlphabet[10:]) == "" && strings.Trim(text[2:4], ibanAlphabet[:10]) == ""
}

// Joined returns an IBAN without the blanks that people put between its groups, and any other text as it is.
// If the IBAN is valid, it takes out hyphens too, and writes small letters as capitals.
func Joined(text string) string {
	joined := unspaced(text)
	if len(joined) < 14 || strings.Trim(joined[2:4], "-0123456789") != "" { // as most addresses are
		return text
	}
	if written := strings.ToUpper(strings.ReplaceAll(joined, "-", "")); isIBANShape(written) && checkIBAN(written) == nil {
		return written
	}
	if isIBANShape(joined) {
		return joined
	}
	return text
}

// unspaced takes out the blanks between the groups of an IBAN.
func unspaced(text string) string {
	if strings.IndexByte(text, ' ') < 0 && !strings.Contains(text, "\u00a0") && !strings.Contains(text, "\u202f") {
		return text
	}
	return strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "").Replace(text)
}
