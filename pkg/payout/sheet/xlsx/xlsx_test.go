package xlsx

import (
	"archive/zip"
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/payout/sheet"
)

const header = `<row r="1"><c r="A1" t="inlineStr"><is><t>order_id</t></is></c><c r="B1" t="inlineStr"><is><t>currency</t></is></c>` +
	`<c r="C1" t="inlineStr"><is><t>amount</t></is></c><c r="D1" t="inlineStr"><is><t>address</t></is></c>` +
	`<c r="E1" t="inlineStr"><is><t>memo</t></is></c><c r="F1" t="inlineStr"><is><t>Cost centre</t></is></c></row>`

// parts are the texts of a workbook's parts, by their names; empty: there is none.
type parts map[string]string

// made returns a workbook whose sheet May has these rows below its header, and what is behind them.
func made(t *testing.T, rows, behind string, others parts) []byte {
	t.Helper()
	all := parts{}
	for _, p := range fixedParts {
		all[p.name] = p.text
	}
	all["xl/sheet.xml"] = `<worksheet><sheetData>` + header + rows + `</sheetData>` + behind + `</worksheet>`
	all["xl/workbook.xml"] = `<workbook xmlns:r="r"><sheets><sheet name="May" r:id="rId1"/></sheets></workbook>`
	maps.Copy(all, others)
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for name, text := range all {
		f, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(text))
	}
	archive.Close()
	return b.Bytes()
}

// styled returns the parts of a workbook whose cells of the style 1 have a number format.
func styled(id, code string) parts {
	return parts{"xl/styles.xml": fmt.Sprintf(`<styleSheet><numFmts><numFmt numFmtId="164" formatCode=%q/></numFmts>`+
		`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="%s"/></cellXfs></styleSheet>`,
		strings.ReplaceAll(code, `"`, "&quot;"), id),
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="sheet.xml"/>` +
			`<Relationship Id="rId2" Type="x/styles" Target="/xl/styles.xml"/>` +
			`<Relationship Id="rId3" Type="x/sharedStrings" Target="strings.xml"/></Relationships>`,
		"xl/strings.xml": `<sst><si><r><t>D</t></r><r><rPr/><t>E1</t></r><rPh sb="0" eb="1"><t>de</t></rPh></si></sst>`}
}

// readAll returns rows, everything that is wrong with them, and the sheets that are not read.
func readAll(rows sheet.Rows) (all []sheet.Cells, wrong []string) {
	for row := range rows {
		for _, d := range row.Wrong {
			wrong = append(wrong, d.String())
		}
		wrong = append(wrong, row.Sheets[min(1, len(row.Sheets)):]...)
		if row.Wrong == nil && !row.Below {
			all = append(all, row.Cells)
		}
	}
	return all, wrong
}

// rowOf returns a row whose amount and memo are these cells.
func rowOf(amount, memo string) string {
	return `<row r="2"><c r="A2"><v>6001</v></c><c r="B2" t="str"><v>Eur</v></c>` + amount +
		`<c r="D2" t="inlineStr"><is><t>DE1</t></is></c>` + memo + `</row>`
}

const number = `<c r="C2"><v>1980.5</v></c>`

// TestWorkbook checks what cells mean: their value counts, in the column of their header, whatever marks the
// layout has for text.
func TestWorkbook(t *testing.T) {
	want := sheet.Cells{sheet.OrderID: "6001", sheet.Currency: "Eur", sheet.Amount: "1980.5", sheet.Address: "DE1"}
	german := sheet.Layout{Decimal: ",", Group: "."}
	const at = "line 2: amount: the cell C2 "
	for name, c := range map[string]struct {
		layout       sheet.Layout
		rows, behind string
		parts        parts
		says         string // empty: read
	}{
		"plain": {rows: rowOf(number, "")}, "marks": {layout: german, rows: rowOf(number, "")},
		"text":                   {layout: german, rows: rowOf(`<c r="C2" t="str"><v>1.980,5</v></c>`, "")},
		"an escape":              {rows: strings.NewReplacer("Eur", "E_x0075_r", "DE1", "_x0044_E1").Replace(rowOf(number, ""))},
		"an exponent":            {rows: rowOf(`<c r="C2"><v>1.9805E+3</v></c>`, "")},
		"as Excel stores it":     {rows: rowOf(`<c r="C2"><v>1980.5000000000001</v></c>`, "")},
		"a result":               {rows: rowOf(`<c r="C2"><f>A1*2</f><v>1980.5</v></c>`, "")},
		"without places":         {rows: `<row><c><v>6001</v></c><c t="str"><v>Eur</v></c><c><v>1980.5</v></c><c t="str"><v>DE1</v></c></row>`},
		"another cell is a date": {rows: rowOf(number, `<c r="F2" s="1"><v>45000</v></c>`), parts: styled("14", "")},
		"an amount with a sign": {rows: rowOf(`<c r="C2" s="1"><v>1980.5</v></c>`, ""), parts: styled("164",
			`#,##0.00\ [$€-407];[RED]-0.00E+00 "EUR"`)},
		"formatted text": {rows: strings.Replace(rowOf(number, ""),
			`<c r="D2" t="inlineStr"><is><t>DE1</t></is></c>`, `<c r="D2" t="s"><v>0</v></c>`, 1), parts: styled("0", "")},
		"a named sheet": {layout: sheet.Layout{Sheet: "May"}, rows: rowOf(number, "")},
		"a sum below": {layout: sheet.Layout{UntilBlank: true}, rows: rowOf(number, "") +
			`<row r="4"><c r="A4" t="str"><v>Sum</v></c><c r="C4" t="e"><v>#REF!</v></c></row>`},
		"cells merged elsewhere": {rows: rowOf(number, ""),
			behind: `<mergeCells><mergeCell ref="F2:H2"/><mergeCell ref="A5:D9"/></mergeCells>`},
		"rows without a cell": {rows: rowOf(number, "") + `<row r="1048576"/>`},

		"a date":    {rows: rowOf(`<c r="C2" t="d"><v>2026-05-01</v></c>`, ""), says: at + "is a date"},
		"true":      {rows: rowOf(`<c r="C2" t="b"><v>1</v></c>`, ""), says: at + "is true or false"},
		"no result": {rows: rowOf(`<c r="C2"><f>A1*2</f></c>`, ""), says: at + "has a formula"},
		"a sum":     {rows: rowOf(`<c r="C2"><v>0.30000000000000004</v></c>`, ""), says: at + "has the number"},
		"a percentage": {rows: rowOf(`<c r="C2" s="1"><v>0.5</v></c>`, ""), parts: styled("10", ""),
			says: "line 2: amount: the cell C2 is a percentage"},
		"lost zeros": {rows: rowOf(number, `<c r="E2" s="1"><v>7</v></c>`), parts: styled("164", "00000"),
			says: "line 2: memo: the cell E2 is a number that is shown otherwise"},
		"signs": {rows: rowOf(number, `<c r="E2" s="1"><v>7</v></c>`), parts: styled("164", "0-00"),
			says: "line 2: memo: the cell E2 is a number that is shown otherwise"},
		"merged": {rows: rowOf(number, ""), behind: `<mergeCells><mergeCell ref="$D$3:$D$2"/></mergeCells>`,
			says: "line 2: address: the cell D2 is merged"},
		"flat":                {rows: strings.Replace(rowOf(number, ""), `r="2"`, `r="2" ht="0"`, 1), says: "line 2: the row is hidden"},
		"a row twice":         {rows: rowOf(number, "") + rowOf(number, ""), says: "the row 2 stands below the row 2"},
		"a cell twice":        {rows: rowOf(number+number, ""), says: `the cell "C2" stands in row 2 where D2 belongs`},
		"a cell of elsewhere": {rows: rowOf(`<c r="C3"><v>5</v></c>`, ""), says: `the cell "C3" stands in row 2`},
		"a cell of nowhere":   {rows: rowOf(`<c r="ZZZZ2"><v>5</v></c>`, ""), says: `the cell "ZZZZ2" stands in row 2`},
		"a far cell":          {rows: rowOf(number, `<c r="KN2"><v>5</v></c>`), says: "the cell KN2 is beyond column 256"},
		"a text that lacks":   {rows: rowOf(`<c r="C2" t="s"><v>9</v></c>`, ""), says: "a text of the workbook is missing"},
		"no sheet":            {layout: sheet.Layout{Sheet: "June"}, says: `there is no sheet "June": it has "May"`},
		"a hidden sheet": {parts: parts{
			"xl/workbook.xml": `<workbook xmlns:r="r"><sheets><sheet name="May" state="hidden" r:id="rId1"/></sheets></workbook>`,
		}, says: `its first sheet "May" is hidden`},
		"another sheet": {rows: rowOf(number, ""), parts: parts{
			"xl/workbook.xml": `<workbook xmlns:r="r"><sheets><sheet name="A" r:id="rId1"/><sheet name="B"/><sheet state="hidden"/></sheets></workbook>`,
		}, says: `"B"`},
		"no header":            {parts: parts{"xl/sheet.xml": `<worksheet/>`}, says: "the sheet has no header"},
		"a column that is not": {layout: sheet.Layout{Other: "refuse"}, rows: rowOf(number, ""), says: "line 1: Cost "},
		"an endless text": {rows: rowOf(`<c r="C2" t="str"><v>`+strings.Repeat("1", 2*maxToken)+`</v></c>`, ""),
			says: "the workbook is too large"},
		"a deep one":        {rows: strings.Repeat("<a>", 2*maxDepth), says: "the workbook is too large"},
		"not XML":           {rows: `<row r="2"><c></row>`, says: "it is no workbook"},
		"a part that lacks": {parts: parts{"xl/_rels/workbook.xml.rels": ""}, says: "it is no workbook"},
	} {
		l := c.layout
		if l.Other == "" {
			l.Other = sheet.Ignore
		}
		got, wrong := readAll(Rows(made(t, c.rows, c.behind, c.parts), l))
		switch {
		case c.says == "" && (wrong != nil || !slices.Equal(got, []sheet.Cells{want})):
			t.Errorf("%s: %q, %q", name, got, wrong)
		case c.says != "" && (len(wrong) != 1 || !strings.HasPrefix(wrong[0], c.says)):
			t.Errorf("%s: %q, want %q", name, wrong, c.says)
		}
	}
	for _, text := range []string{"", "order_id", "PK\x03\x04", string(made(t, rowOf(number, ""), "", nil)[:900]),
		strings.Repeat("x", MaxFile+1)} {
		if got, wrong := readAll(Rows([]byte(text), sheet.Layout{})); got != nil || len(wrong) != 1 {
			t.Errorf("%.20q: %q, %q", text, got, wrong)
		}
	}
	if l, err := Look(made(t, rowOf(`<c r="C2" t="e"><v>#REF!</v></c>`, ""), "", nil), "May"); err != nil ||
		l.Sheet != "May" || l.Other != sheet.Ignore {
		t.Errorf("%+v, %v", l, err)
	}
	// Only in a text has a person typed the point.
	for cell, typed := range map[string]bool{number: false, `<c r="C2" t="str"><v>1.250</v></c>`: true} {
		book := made(t, rowOf(cell, ""), "", nil)
		l, _ := Look(book, "")
		for row := range Rows(book, sheet.Layout{Other: sheet.Ignore}) {
			if row.Grouped != typed || row.Plain || l.Decimal != "" {
				t.Errorf("%s: %+v, %+v", cell, row, l)
			}
		}
	}
}

// TestDates checks that no number that is shown as a date is read as an amount, in any format.
func TestDates(t *testing.T) {
	for _, code := range []string{"dd.mm.yyyy", "DD.MM.YY hh:mm", `dd\.mm\.yyyy`, "[$-407]d. mmmm yyyy",
		`[$-407]d\.\ mmmm\ yyyy;@`, "TT.MM.JJJJ",
		"ge.m.d", "[h]:mm", "mm:ss.0", "h:mm AM/PM", `"am "d`, "[Red]yyyy"} {
		if !isDate(code) {
			t.Errorf("%q is no date", code)
		}
	}
	for _, code := range []string{"General", "general", "", "@", "0", "#,##0.00", `#,##0.00 "EUR"`,
		`#,##0.00\ [$€-407]`, "0.00E+00", "[Red]-0",
		`_-* #,##0.00\ "€"_-`, "[$EUR] 0.00", `0\d`, "GENERAL"} {
		if isDate(code) {
			t.Errorf("%q is a date", code)
		}
	}
	for id, want := range map[string]bool{"14": true, "22": true, "27": true, "36": true, "45": true, "50": true,
		"58": true, "0": false, "4": false,
		"49": false, "x": false} {
		if isDate(builtIn(id)) != want {
			t.Errorf("the built-in format %s", id)
		}
	}
}

func TestExact(t *testing.T) {
	for text, want := range map[string]string{"1980.5": "1980.5", "1.5E-2": "0.015", "1.5e+3": "1500", "-7": "-7",
		"0": "0", "0.10": "0.1",
		"0.10000000000000001": "0.1", "2.2999999999999998": "2.3", "123456789012345": "123456789012345",
		"1E15":             "1000000000000000",
		"9007199254740991": "", "0.30000000000000004": "", "1E31": "", "1E": "", ".": "", "x": "", "1E1.5": "", "NaN": "",
		"Inf":   "",
		"0x1p4": "", "1_000": ""} {
		if got, ok := exact(text); got != want || ok != (want != "") {
			t.Errorf("%q is %q", text, got)
		}
	}
}

// TestWrite checks that a workbook that is written has its numbers as numbers, and is recognised and read.
func TestWrite(t *testing.T) {
	rows := [][]string{{"order_id", "amount", "address"}, {"6001", "1980.50", "<DE1> "}, {"6002", "0.30000000000000004",
		"=1_x000D_"}}
	var all iter.Seq2[[]string, error] = func(yield func([]string, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
	var b bytes.Buffer
	if err := Write(&b, all, "amount"); err != nil {
		t.Fatal(err)
	}
	for got := range Texts(b.Bytes()) {
		if !slices.Equal(got, rows[0]) {
			t.Errorf("%q", got)
		}
		break
	}
	var got [][]cell
	for row := range open(b.Bytes(), "results").rows() {
		got = append(got, row.cells)
	}
	if len(got) != 3 || !slices.Equal(got[1], []cell{{text: "6001"}, {text: "1980.5", number: true},
		{text: "<DE1> "}}) ||
		!slices.Equal(got[2], []cell{{text: "6002"}, {text: "0.30000000000000004"}, {text: "=1_x000D_"}}) {
		t.Errorf("%+v", got)
	}
}

// FuzzRows checks that anything is read to its end, or has an error.
func FuzzRows(f *testing.F) {
	f.Add(`<row r="2"><c r="A2" s="1" t="s"><f/><v>0</v></c></row>`, "dd.mm.yyyy", "$A$1:B2")
	f.Fuzz(func(t *testing.T, rows, format, merged string) {
		workbook := made(t, rows, `<mergeCells><mergeCell ref="`+merged+`"/></mergeCells>`, styled("164", format))
		for _, b := range [][]byte{workbook, []byte(rows)} {
			readAll(Rows(b, sheet.Layout{Other: sheet.Ignore, UntilBlank: true}))
			Look(b, "")
			for range Texts(b) {
			}
		}
	})
}
