package sheet

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// read returns the rows of a text, and everything that is wrong with them.
func read(t *testing.T, rows Rows) (all []Cells, wrong []string) {
	t.Helper()
	for row, err := range rows {
		for _, d := range row.Wrong {
			wrong = append(wrong, d.String())
		}
		if err != nil && !errors.Is(err, ErrInput) && !errors.Is(err, ErrEncoding) {
			t.Fatal(err)
		}
		if row.Wrong == nil && !row.Below {
			all = append(all, row.Cells)
		}
	}
	return all, wrong
}

// TestAmount checks what an amount of a file means under a layout, and that what can mean two things is
// refused.
func TestAmount(t *testing.T) {
	german, french, swiss := Layout{Decimal: ",", Group: "."}, Layout{Decimal: ",", Group: "space"}, Layout{Group: "'"}
	for _, c := range []struct {
		layout     Layout
		text, want string // empty: refused
	}{
		{Layout{}, "1980.50", "1980.50"}, {Layout{}, "25.00 USD", "25.00 USD"}, {Layout{}, "€1980.5", "1980.5 €"},
		{Layout{}, "1980.5 €", "1980.5 €"}, {Layout{}, "1,980.50", ""}, {Layout{}, "1 980", ""}, {Layout{}, "1,5", ""},
		{Layout{}, "EUR 5.00", "5.00 EUR"}, {Layout{}, "EUR 5,00", ""},
		{german, "1.980,50", "1980.50"}, {german, "1.980,50 €", "1980.50 €"}, {german, "€ 1.980", "1980 €"},
		{german, "EUR 1.980", "1980 EUR"}, {german, "2400", "2400"}, {german, "12,75", "12.75"},
		{german, "\u00a01.980,50 ", "1980.50"}, {german, "1,980,50", ""},
		{german, "1980.5", ""}, {german, "1.98", ""}, {german, "19.80,50", ""}, {german, "1.980.50", ""},
		{german, "1.980,", ""}, {german, "0.980", ""}, {german, ".980,50", ""}, {german, ",5", ""}, {german, "-5", ""},
		{german, "1980.500", ""}, {german, "1..980", ""}, {german, "1.9800", ""}, {german, "05", ""},
		{german, "0,5", "0.5"}, {german, "9,5", "9.5"}, {german, "R 5", "5 R"}, {german, "25EUR", ""},
		{Layout{Decimal: ","}, "1.980", ""}, {Layout{Decimal: ","}, "1980,5", "1980.5"},
		{french, "1 980,50", "1980.50"}, {french, "1\u202f980,50\u00a0€", "1980.50 €"}, {french, "1  980", ""},
		{french, "1 980 50", ""}, {french, "250 UsdtTrc20", "250 UsdtTrc20"}, {french, "UsdtTrc20 250", "250 UsdtTrc20"},
		{french, "EUR1 980", "980 EUR1"}, // an unknown code, and never 1980
		{swiss, "1'980.50", "1980.50"}, {swiss, "1’980.50", "1980.50"}, {Layout{Group: ","}, "1,980.50", "1980.50"},
	} {
		got, wrong := c.layout.amount(c.text)
		if got != c.want || (wrong == "") != (c.want != "") {
			t.Errorf("%+v: %q is %q, %q; want %q", c.layout, c.text, got, wrong, c.want)
		}
	}
	// for money to refuse
	for _, text := range []string{"-5", "1e3", "0x10", "5-", "(5)", "25EUR", "five", "five hundred", "", "+5", "-1,5"} {
		if got, wrong := (Layout{}).amount(text); got != text || wrong != "" {
			t.Errorf("%q is %q, %q", text, got, wrong)
		}
	}
	for text, want := range map[string]bool{"semicolon 1.980": true, "tab 198.500": true, "tab 980": false,
		" 1.980": true, "comma 1.980": false, "tab 1.98": false, "tab 1980.500": false, "tab 0.980": false,
		"tab 1.9,8": false} {
		between, amount, _ := strings.Cut(text, " ")
		for mark, l := range map[string]Layout{"": {}, "decimal": {Decimal: "."}, "group": swiss} {
			table := Table{layout: l, between: between, header: []Column{Amount}}
			if got := table.Row(1, []string{amount}).Grouped; got != (want && mark == "") {
				t.Errorf("the point in %s, with a %s mark, may separate thousands: %v", text, mark, got)
			}
		}
	}
}

const kept = "Freelancers;;;;\n\nName;Pay to ;Total;Cost centre;\nAnn Müller;DE1;1.980,50;4711;\nBo;DE2;12,75;;\n\nSum;;1.993,25;;\n\"x\n"

var layout = Layout{Columns: map[string]string{"address": "pay TO", "amount": "Total", "note": "Name"},
	Other: Ignore, SkipLines: 2,
	UntilBlank: true, Decimal: ",", Group: ".", Currency: "Eur", NoOrderIDs: true}

// TestKeptFile checks that a file as a person keeps it is read alike in every encoding, and with its lines.
func TestKeptFile(t *testing.T) {
	want := []Cells{{Currency: "Eur", Amount: "1980.50", Address: "DE1", Note: "Ann Müller"},
		{Currency: "Eur", Amount: "12.75", Address: "DE2", Note: "Bo"}}
	latin, err := charmap.Windows1252.NewEncoder().String(kept)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(kept)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ encoding, text string }{
		"UTF-8": {"", kept}, "a mark": {Windows1252, "\ufeff" + kept}, "windows-1252": {Windows1252, latin},
		"UTF-16": {"", wide}, "Windows line ends": {UTF8, strings.ReplaceAll(kept, "\n", "\r\n")},
	} {
		l := layout
		l.Encoding = c.encoding
		if got, wrong := read(t, CSV(strings.NewReader(c.text), l)); !slices.Equal(got, want) || wrong != nil {
			t.Errorf("%s: %q, %q", name, got, wrong)
		}
	}
	said := layout
	said.Encoding = Windows1252
	if _, wrong := read(t, CSV(strings.NewReader(kept), said)); len(wrong) != 1 ||
		!strings.HasPrefix(wrong[0], "line 4: it is UTF-8, and not windows-1252") ||
		!strings.HasSuffix(wrong[0], "say --encoding utf-8") {
		t.Errorf("UTF-8 that is said to be windows-1252: %q", wrong)
	}
	// "Ã¼" in windows-1252 is a valid text of UTF-8, and a line before it shows that the file is none.
	odd := strings.Replace(latin, "Bo", "\xc3\xbc", 1)
	if got, wrong := read(t, CSV(strings.NewReader(odd), said)); wrong != nil || len(got) != 2 ||
		got[1][Note] != "\u00c3\u00bc" {
		t.Errorf("windows-1252 like UTF-8: %q, %q", got, wrong)
	}
	without := layout
	without.Columns = map[string]string{"address": "pay TO", "amount": "Total", "note": "Name", "memo": ""}
	if got, wrong := read(t, CSV(strings.NewReader(strings.Replace(kept, "Cost centre", "Memos", 1)),
		without)); len(got) != 2 || wrong != nil || got[0][Memo] != "" {
		t.Errorf("without the column: %q, %q", got, wrong)
	}
	var lines, below []int
	for row := range CSV(strings.NewReader(kept), layout) {
		if row.Below {
			below = append(below, row.Line)
		} else {
			lines = append(lines, row.Line)
		}
	}
	if !slices.Equal(lines, []int{4, 5}) || !slices.Equal(below, []int{7, 8}) {
		t.Errorf("the rows are on the lines %v, and below them %v", lines, below)
	}
}

// TestRefuses checks what is refused unless a layout says it, and that a wrong delimiter or encoding is explained in
// one sentence.
func TestRefuses(t *testing.T) {
	const head, semicolons = "order_id,currency,amount,address\n", "order_id;currency;amount;address\n"
	const other = " is not UTF-8: save the file as UTF-8, or say --encoding windows-1252"
	const ods = "mimetypeapplication/vnd.oasis.opendocument.spreadsheet"
	top, whole, far, strict, iban := layout, layout, layout, layout, layout
	top.SkipLines, whole.UntilBlank, far.SkipLines, strict.Other = 0, false, 9, ""
	iban.Columns = map[string]string{"address": "IBAN", "amount": "Total"}
	changed := func(old, text string) string { return strings.Replace(kept, old, text, 1) }
	for _, c := range []struct {
		layout Layout
		text   string
		says   string
	}{
		{strict, kept, `line 3: Cost centre: there is no column "Cost centre": --map 'COLUMN=Cost centre' says which one ` +
			"it is, and --other-columns ignore leaves it out"},
		{Layout{NoOrderIDs: true}, "IBAN/address,amount,currency,address\n",
			`line 1: IBAN/address: there is no column "IBAN/address": --map 'address=IBAN/address' says`},
		{iban, kept, `line 3: address: the file has no column "IBAN": its header is "Name, Pay to , Total, Cost centre, "`},
		{layout, changed("Cost centre", "Total"), "line 3: Total: the column is there twice"},
		{top, "Name;Pay to;Total;currency\nA;DE1;5;Usd\n",
			"line 1: currency: the file has this column: leave --currency out"},
		{whole, changed("\"x", "x;y"), "line 8: it has 2 fields"},
		{Layout{}, "order_id,,currency,amount,address,,\n1,x,Btc,1,a,y,z\n2,x,Btc,1,a,y,z\n", // once
			`line 2: "x" stands in a column without a name: name it`},
		{Layout{}, "order_id,currency,amount,address\n1,Btc,1,a,,\n",
			"line 2: it has 6 fields, and the header has 4: a text with a comma in it belongs between double quotes, and if " +
				"the last column is empty, the header needs its comma too"},
		{far, kept, "line 8: the file ends here, and nothing is below the lines that are skipped (9): look at --skip-lines"},
		{Layout{SkipLines: 1}, "T\rIBAN;Amount\rDE1;1,00\r", "line 1: the file ends here, and nothing is below"},
		{Layout{}, "{\n  \"account\": \"\"}\n", "line 1: it is JSON on several lines, as a plan is: till payout show shows"},
		{Layout{Other: Ignore}, "order_id,currency,amount,Amount Currency,address\n1,Btc,100,Usd,a\n",
			"line 1: Amount Currency: it looks like amount_currency: --map 'amount_currency=Amount Currency' takes it, and " +
				"--map amount_currency= says"},
		{Layout{Other: Ignore}, "order_id,currency,amount,address,Memos\n1,Btc,1,a,7\n", "line 1: Memos: it looks like memo"},
		{Layout{Columns: map[string]string{"amount": "Net"}}, "order_id,currency,amount,Net,address\n",
			"line 1: amount: the layout takes another column for it: --other-columns ignore leaves it out"},
		{layout, changed("1.980,50", "19.80,50"),
			`line 4: amount: "19.80,50" is no number with the decimal mark "," and groups of three digits between "."`},
		{layout, changed("12,75", "12,75 USD"), `line 5: amount: "12.75 USD" is in USD, and all rows are in Eur`},
		{Layout{}, "currency,amount,address\n", "line 1: order_id: the column is missing: number the rows"},
		{Layout{}, "order_id,amount,address\n", "line 1: currency: the column is missing: name it"},
		{Layout{Delimiter: ","}, "order_id,\"currency\n", "line 1: field 2 begins with a double quote"},
		{Layout{}, head + "1,Btc,\"1\n2\",\"b\"\n", "line 2: field 3 begins with a double quote"},
		{layout, changed("Bo;", "Bo\r;"), "line 5: it has a carriage return within it"},
		{layout, changed("DE2", "1.23E+12"), `line 5: address: "1.23E+12" was changed by a spreadsheet`},

		{Layout{}, "PK\x03\x04" + strings.Repeat("x", 200), "it is a workbook, and no text: call it .xlsx"},
		{Layout{}, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1xx", "it is a workbook in the old format (.xls)"},
		{Layout{}, "PK\x03\x04" + strings.Repeat("\x00", 26) + ods, "it is an OpenDocument file (.ods): save it as .xlsx"},

		{Layout{Delimiter: ","}, semicolons,
			"line 1: the columns are separated by semicolons, and not by commas: leave --delimiter out"},
		{Layout{Delimiter: ","}, "sep=;\n" + semicolons,
			"line 1: it says that fields are separated by semicolons, and --delimiter says by commas: leave --delimiter out"},
		{Layout{}, "sep=|\norder_id|currency\n",
			`line 1: fields cannot be separated by "|": save the file with commas, semicolons or tabs between them`},
		{Layout{}, "sep=;\n", "line 1: the file is empty: a header belongs on its first line, such as " + head[:len(head)-1]},
		{Layout{}, semicolons + "1,Btc,1,a\n",
			"line 2: it has one field, and the header has 4: an empty field still needs its semicolon"},

		{Layout{Encoding: UTF16, SkipLines: 1}, "\x00\xd8\n\x00", "line 1: it has bytes that are no characters"},
		{Layout{}, "\xff\xfeo\x00r\x00\x00\xd8\n\x00",
			"line 1: it has bytes that are no characters: say another --encoding, or save the file as UTF-8"},
		{Layout{}, head + "1,Btc,1,b\n2,Btc,1,Zo\xeb\n3,Btc,1,Zo\xeb\n", "line 3: byte 11 (0xeb)" + other},
		{Layout{}, "\ufefforder_id,w\xe4hrung\n", "line 1: byte 14 (0xe4)" + other},
		{Layout{}, head + "1,Btc,1,\xc3", "line 2: byte 9 (0xc3)" + other},
		{Layout{}, head + "\n,,\xa0,\n", "line 3: byte 3 (0xa0)" + other},
	} {
		_, wrong := read(t, CSV(strings.NewReader(c.text), c.layout))
		if len(wrong) != 1 || !strings.HasPrefix(wrong[0], c.says) {
			t.Errorf("%q: %q", c.text, wrong)
		}
	}
	mapped := Layout{Columns: map[string]string{"amount": "Foo"}}
	if _, wrong := read(t, CSV(strings.NewReader(head), mapped)); len(wrong) != 2 || !strings.Contains(wrong[1], `no column "Foo"`) {
		t.Errorf("%q", wrong)
	}
	below := head + "1,Btc,1,\"a\n2,Btc,1,b\n"
	if got, wrong := read(t, CSV(strings.NewReader(below), Layout{})); len(got) != 1 || len(wrong) != 1 {
		t.Errorf("a row below an open quote: %q, %q", got, wrong)
	}
	for row := range JSONLines(strings.NewReader(`{"order_id":4,"amount":4,"adress":"a","me":"b"}` + "\n{}\n")) {
		if says := fmt.Sprint(row.Wrong); row.Cells[Address] != "a" || !strings.Contains(says, "many programs round") ||
			!strings.Contains(says, "amount: it is a number:") || !strings.Contains(says, `"me": they are order_id`) {
			t.Errorf("JSON: %q, %s", row.Cells, says)
		}
		break
	}
	_, wrong := read(t, JSONLines(strings.NewReader("{}\n"+`{"order_id":"`+"\xe4\"}\n")))
	if !slices.Equal(wrong, []string{"line 2: byte 14 (0xe4) is not UTF-8: save the file as UTF-8"}) {
		t.Errorf("JSON: %q", wrong)
	}
}

// TestAcceptedAsItIsSaved checks what spreadsheets and people write around the cells and between them.
func TestAcceptedAsItIsSaved(t *testing.T) {
	const head, row = "order_id,currency,amount,address,note\n", "1,Btc,0.1,a,\"x,y\"\n"
	between := func(char string) string { return strings.ReplaceAll(head+row, ",", char) }
	for name, c := range map[string]struct{ delimiter, text string }{
		"empty columns at the end": {"", "order_id,currency,amount,address,note,,\n1,Btc,0.1,a,\"x,y\",,\n"},
		"another case":             {"", strings.ToUpper(head) + row},
		"blanks":                   {"", " order_id , currency ,amount, address\u00a0,note\n 1 ,\u00a0Btc , 0.1 ,a,\"x,y\"\n"},
		"blank rows":               {"", ",,,\n" + head + ",\n,,,,,,,,\n , ,\u00a0,\n  \t\n\"\",\"\",,\n\n" + row + ",,\n"},
		"semicolons":               {"", between(";")},
		"tabs":                     {"", between("\t")},
		"quoted names":             {"", strings.ReplaceAll("\"order_id\",\"currency\",amount,address,note\n"+row, ",", ";")},
		"a delimiter":              {";", between(";")},
		"a line":                   {"", "sep=;\n" + between(";")},
		"a line in capitals":       {"", "SEP=,\r\n" + head + row},
		"a line after a mark":      {"", "\ufeffsep=;\n" + between(";")},
		"a quoted line":            {"", "\"sep=;\"\r\n" + between(";")},
		"a line and a delimiter":   {";", "sep=;\n" + between(";")},
	} {
		rows, wrong := read(t, CSV(strings.NewReader(c.text), Layout{Delimiter: c.delimiter}))
		want := Cells{OrderID: "1", Currency: "Btc", Amount: "0.1", Address: "a", Note: "x,y"}
		if len(rows) == 1 {
			rows[0][Note] = strings.NewReplacer(";", ",", "\t", ",").Replace(rows[0][Note])
		}
		if len(wrong) > 0 || len(rows) != 1 || rows[0] != want {
			t.Errorf("%s: %+v, %q", name, rows, wrong)
		}
	}
}

func TestLayoutCheck(t *testing.T) {
	for says, l := range map[string]Layout{
		"": layout, `other_columns: there is no "drop"`: {Other: "drop"}, `delimiter: there is no "|"`: {Delimiter: "|"},
		`encoding: there is no "latin"`: {Encoding: "latin"}, `decimal: there is no "'"`: {Decimal: "'"},
		`group: there is no "_"`: {Group: "_"}, `group: "." is the decimal mark already`: {Group: "."},
		"skip_lines: -1": {SkipLines: -1}, `columns: there is no column "iban"`: {Columns: map[string]string{"iban": "x"}},
		`columns: "A" is both address and`: {Columns: map[string]string{"address": "a ", "note": "A"}},
	} {
		if err := l.Check(); (err == nil) != (says == "") || err != nil && !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}

// TestLook checks what is proposed for a file, and that the proposal reads it.
func TestLook(t *testing.T) {
	text := strings.NewReplacer("DE1", "DE89 3704 0044 0532 0130 00", "DE2", "GB29NWBK60161331926819").Replace(kept)
	got, err := LookCSV(strings.NewReader(text))
	want := Layout{Columns: map[string]string{"address": "Pay to", "amount": "Total"}, Other: Ignore, SkipLines: 2,
		UntilBlank: true,
		Delimiter:  ";", Decimal: ",", Group: "."}
	if err != nil || got.Check() != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	got.Currency, got.NoOrderIDs = "Eur", true
	if rows, wrong := read(t, CSV(strings.NewReader(text), got)); len(rows) != 2 || wrong != nil ||
		rows[0][Amount] != "1980.50" {
		t.Errorf("%q, %q", rows, wrong)
	}
	// a mark before three digits can be either, so that nothing is proposed
	for _, values := range [][]string{{"1.980"}, {"1,980", "2,400"}, {"1.980.50"}} {
		if decimal, group := marksOf(values); decimal+group != "" {
			t.Errorf("%q: %q, %q", values, decimal, group)
		}
	}
	if decimal, _ := marksOf([]string{"€.50"}); decimal != "." {
		t.Errorf("the decimal mark of €.50 is %q", decimal)
	}
	for values, want := range map[string]Column{"Btc Ltc Btc Ltc": Currency, "Usdterc20abc Usdterc20abc": Currency,
		"05.06.2026 5,6,26": noColumn, "1.234.567 8,50": Amount, "Btc Ltc": noColumn, "Bt Bt": noColumn,
		"thirteensigns thirteensigns": noColumn, "B-c B-c": noColumn, "123 123": noColumn} {
		if got := likelyColumn("", strings.Fields(values)); got != want {
			t.Errorf("a column with %s is taken for %d, want %d", values, got, want)
		}
	}
	two := Layout{Columns: map[string]string{"address": "To"}, Other: Ignore, Delimiter: ";"}
	for text, want := range map[string]Layout{ // a header that means a column, and one whose values look like it
		"Name;IBAN;Account;Net;Order ID\nColleague number 1;DE893704004405;4711;8,5;7\n;;DE89 370400440532;;\n;;x;;": {
			Columns: map[string]string{"address": "IBAN", "amount": "Net", "order_id": "Order ID"}, Other: Ignore,
			Delimiter: ";", Decimal: ","},
		"Hours;Rate;Adress;Old\n8,50;20,00;n/a;": {Columns: map[string]string{"address": "Adress"}, Other: Ignore,
			Unsure: []string{"amount: one of Hours, Rate"}, Delimiter: ";"}, // no mark is stated of a column that is not chosen
		"Hours;amount_minor;Amounts;To\n8,50;2000;20,5;abcdefghijklm1": two,
	} {
		if got, err := LookCSV(strings.NewReader(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, says := range map[string]string{"x": "no table", "PK\x03\x04\x00": "is a workbook"} {
		if got, err := LookCSV(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	head, row := "To;By", "\nabcdefghijklm1;é"
	for _, text := range []string{head + row, head + strings.Repeat(row, 60_000), // 1 MiB ends within an é
		head + row + "\nx\ry" + row, head + row + ";", "Of;" + head + "\n;" + row[1:]} {
		if got, err := LookCSV(strings.NewReader(text)); err != nil || !reflect.DeepEqual(got, two) {
			t.Errorf("%.40q: %+v, %v", text, got, err)
		}
	}
}

// TestNamesAndCells checks short names of columns, and cells right of the header.
func TestNamesAndCells(t *testing.T) {
	table := Table{header: []Column{Note}}
	if row := table.Row(1, []string{"1", "x"}); len(row.Wrong) != 1 {
		t.Errorf("a cell right of the header: %v", row.Wrong)
	}
	if meantColumn("me") != noColumn || meantColumn("mem") != Memo || IsSpoiled("#") || !IsSpoiled("##") ||
		!sameCode("fiat:EUR", "Eur") || sameCode("Eur", "Uur") || len(Shorten(strings.Repeat("x", 200))) != 200 ||
		mayBeHeader([]string{"Salaries", "", ""}, 3) {
		t.Error("a short name, a sign, a code, a long text or a title is taken for another")
	}
}

// FuzzCSV checks that any file is read to its end, or has an error, under any layout, and is looked at.
func FuzzCSV(f *testing.F) {
	f.Add(kept, ",", ".", "", 2, true)
	f.Add("sep=;\norder_id;amount\n1;€5\n", ".", "space", "windows-1252", 0, false)
	f.Fuzz(func(t *testing.T, text, decimal, group, encoding string, skip int, blank bool) {
		l := Layout{Decimal: decimal, Group: group, Encoding: encoding, SkipLines: skip, UntilBlank: blank, Other: Ignore,
			NoOrderIDs: true}
		if l.Check() != nil {
			return
		}
		for row, err := range CSV(strings.NewReader(text), l) {
			if err != nil && row.Wrong == nil && err != io.EOF {
				t.Fatal(err)
			}
			if amount := row.Cells[Amount]; row.Wrong == nil && l.Decimal != "" &&
				strings.ContainsAny(strings.Fields(amount + " x")[0], ",'") &&
				isDigits(strings.NewReplacer(",", "", ".", "", "'", "").Replace(amount)) {
				t.Fatalf("%q", amount)
			}
		}
		LookCSV(strings.NewReader(text))
	})
}
