package xlsx

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/payout/sheet"
)

// TestFilesOfPeople reads files that LibreOffice Calc wrote: see tools/sheets/make.sh.
func TestFilesOfPeople(t *testing.T) {
	person := func(name, address, invoice, amount string) sheet.Cells {
		return sheet.Cells{sheet.Currency: "Eur", sheet.Amount: amount, sheet.Address: address, sheet.Note: name,
			sheet.Reference: invoice}
	}
	ann := person("Ann Müller", "DE89 3704 0044 0532 0130 00", "INV-2026/118", "1980.50")
	bo := person("Bo Élan", "FR14 2004 1010 0505 0001 3M02 606", "INV-2026/119", "2400.00")
	cy := person("Cy", "GB29NWBK60161331926819", "INV-2026/120", "12.75")
	cell := func(c sheet.Cells, amount string) sheet.Cells {
		c[sheet.Amount] = amount
		return c
	}
	plain := []sheet.Cells{ann, bo, cy}
	book := []sheet.Cells{cell(ann, "1980.5"), cell(bo, "2400"), cy} // the values, not what is shown
	for file, c := range map[string]struct {
		decimal, group, encoding, sheet string
		rows                            []sheet.Cells
		says                            string
	}{
		"de.csv": {decimal: ",", group: ".", rows: plain}, "en.csv": {decimal: ".", group: ",", rows: plain},
		"fr.csv": {decimal: ",", group: "space", encoding: sheet.Windows1252, rows: plain}, "ja.csv": {decimal: ".",
			group: ",", rows: plain},
		"plain.xlsx": {decimal: ",", group: ".", rows: book}, "textnumber.xlsx": {decimal: ",", group: ".",
			rows: []sheet.Cells{book[0], cy}},
		"formula.xlsx": {rows: []sheet.Cells{book[0], cell(cy, "3961")}}, "twosheets.xlsx": {sheet: "May", rows: book[:1]},
		"float.xlsx": {rows: []sheet.Cells{book[0], cell(cy, "0.123456789012346")}},
		// rounded by Calc; no Eur has so many decimals
		"hidden.xlsx": {says: "line 5: the row is hidden"}, "filtered.xlsx": {says: "line 5: the row is hidden"},
		"merged.xlsx":     {says: "line 5: address: the cell B5 is merged with others: split it"},
		"date.xlsx":       {says: "line 5: amount: the cell D5 is a date"},
		"error.xlsx":      {says: `line 5: amount: the cell D5 has the error "#DIV/0!"`},
		"scientific.xlsx": {says: `line 5: address: "1.23457E+12" was changed by a spreadsheet`},
	} {
		data, err := os.ReadFile(filepath.Join("..", "testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		l := sheet.Layout{Columns: map[string]string{"address": "IBAN/address", "note": "Name", "reference": "Invoice no"},
			Other:     sheet.Ignore,
			SkipLines: 2, UntilBlank: true, Decimal: c.decimal, Group: c.group, Encoding: c.encoding, Sheet: c.sheet,
			Currency: "Eur", NoOrderIDs: true}
		rows := sheet.CSV(bytes.NewReader(data), l)
		looked, err := sheet.LookCSV(bytes.NewReader(data))
		if strings.HasSuffix(file, ".xlsx") {
			rows = Rows(data, l)
			looked, err = Look(data, c.sheet)
		}
		got, wrong := readAll(rows)
		if c.says == "" && (wrong != nil || !slices.Equal(got, c.rows)) || c.says != "" && (len(wrong) != 1 ||
			!strings.HasPrefix(wrong[0], c.says)) {
			t.Errorf("%s: %q, %q", file, got, wrong)
		}
		if c.says == "" && c.sheet == "" && (err != nil || looked.SkipLines != 2 ||
			looked.Columns["address"] != "IBAN/address" ||
			strings.HasSuffix(file, ".csv") && (looked.Decimal != c.decimal || looked.Group != c.group ||
				looked.Encoding != c.encoding || !looked.UntilBlank)) {
			t.Errorf("%s: %+v, %v", file, looked, err)
		}
	}
}
