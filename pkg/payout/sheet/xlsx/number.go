package xlsx

import (
	"archive/zip"
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// maxDigits is how many digits a spreadsheet keeps of a number. What a person typed has no more.
const maxDigits = 15

// exact writes out a number of a workbook, such as 1.5E-2. It reports whether it is one that a person can
// have typed: a sum such as 0.1+0.2 is stored with more digits than that.
func exact(text string) (string, bool) {
	digits, exponent, scientific := strings.Cut(strings.ToUpper(text), "E")
	sign := ""
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	power := 0
	if scientific {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil || power < -30 || power > 30 {
			return "", false
		}
	}
	all := whole + fraction
	if all == "" || strings.Trim(all, "0123456789") != "" {
		return "", false
	}
	point := len(whole) + power
	if point < 0 {
		all, point = strings.Repeat("0", -point)+all, 0
	}
	if missing := point - len(all); missing > 0 {
		all += strings.Repeat("0", missing)
	}
	if whole = strings.TrimLeft(all[:point], "0"); whole == "" {
		whole = "0"
	}
	fraction = strings.TrimRight(all[point:], "0")
	if len(strings.Trim(strings.TrimLeft(all, "0"), "0")) > maxDigits {
		return "", false
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction, true
}

// checkSize refuses a workbook that would fill the memory.
func checkSize(workbook []byte) error {
	if len(workbook) > MaxFile {
		return errors.New("the workbook is larger than 32 MiB: save its sheet as CSV")
	}
	files, err := zip.NewReader(bytes.NewReader(workbook), int64(len(workbook)))
	if err != nil {
		return errors.New("it is no workbook (.xlsx), or a password protects it: save it again without one, or as CSV")
	}
	var all uint64
	for _, f := range files.File {
		if all += f.UncompressedSize64; f.UncompressedSize64 > maxUnpacked || all > maxUnpacked {
			return errors.New("the workbook is larger than 128 MiB: save its sheet as CSV")
		}
	}
	return nil
}
