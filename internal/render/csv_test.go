package render

import (
	"encoding/csv"
	"strings"
	"testing"
)

func TestCSVWritesHeaderAndRows(t *testing.T) {
	equal(t, list(t, Options{Format: CSV}, both...), `id,order_id,to,amount,amount_minor,amount_currency,title,done,history,memo
wd_1,4711,bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq,25.00,2500,USD,Shoes,true,"created 2026-05-01T10:00:00Z; sent 2026-05-02T11:30:00Z",=7
wd_2,9,rXYZ,,1500000,Btc,Hüte,false,,
`)
	equal(t, list(t, Options{Format: CSV, NoHeaders: true}), "")
	equal(t, list(t, Options{Format: CSV, Columns: []string{"amount", "id"}, NoHeaders: true}, both...),
		"25.00,2500,USD,wd_1\n,1500000,Btc,wd_2\n")
	// A reader would not take an empty line for a row.
	equal(t, list(t, Options{Format: CSV, Columns: []string{"title"}}, payment{}, first), "title\n\"\"\nShoes\n")
}

func TestCSVDisarmsFormulas(t *testing.T) {
	for _, test := range []struct {
		cell Cell
		want string // the field as a reader gets it
	}{
		{Text("plain"), "plain"},
		{Text("=1+1"), "'=1+1"},
		{Text("-5"), "'-5"},
		{Text("\t=1"), "'\t'=1"},
		{Text("\n=1"), "'\n'=1"},
		{Text("\u200b=1"), "'\u200b=1"},
		{Text("\ufeff@a"), "'\ufeff@a"},
		{Text("＝1"), "'＝1"},
		{Text("'=1"), "'=1"},
		{Text("می\u200cخواهم"), "می\u200cخواهم"},
		{Text("a,\"b\"\nc\td"), "a,\"b\"\nc\td"},
		{Text("a;=1"), "a;'=1"},
		{Text("=a;-1\t+2\n＠x"), "'=a;'-1\t'+2\n'＠x"},
		{JSONText([]byte(`["a;=1","b;c"]`)), `["a;\u003d1","b;c"]`},
		{Text("a\x1b[31m\x00\u0085\x7f\xff"), `a\x1b[31m\x00\u0085\x7f\xff`},
		{Own("=1+1"), "=1+1"},
		{Own("a\x01\u202e"), "a\x01\u202e"},
		{History([]Step{{"=sent", "now"}, {"done", ""}}), "'=sent now; done"},
		{JSONText([]byte("{\n \"a\": 1.0 }")), `{"a":1.0}`},
		{JSONText([]byte("=1")), "'=1"},
	} {
		view := View[Cell]{Columns: []Column[Cell]{{Name: "a", Cell: func(c Cell) Cell { return c }}}}
		got := showOne(t, view, Options{Format: CSV, NoHeaders: true}, test.cell)
		record, err := csv.NewReader(strings.NewReader(got)).Read()
		if err != nil || len(record) != 1 || record[0] != test.want {
			t.Errorf("%+v: %q, read as %q, %v; want %q", test.cell, got, record, err, test.want)
		}
	}
}

// A column that promises amounts has three columns in CSV, even without a row.
func TestCSVAmountColumns(t *testing.T) {
	fee := Column[Cell]{Name: "fee", Cell: func(c Cell) Cell { return c }}
	promised := fee
	promised.Amount = true
	print := func(c Column[Cell], rows ...Cell) string {
		return show(t, View[Cell]{Columns: []Column[Cell]{c}}, Options{Format: CSV}, rows...)
	}
	equal(t, print(promised), "fee,fee_minor,fee_currency\n")
	equal(t, print(promised, Amount(5, "USD", 2), Cell{}), "fee,fee_minor,fee_currency\n0.05,5,USD\n,,\n")
	// An unexpected amount is not lost.
	equal(t, print(fee, Text("none"), Amount(5, "USD", 2)), "fee\nnone\n0.05 USD\n")
}

// TestCSVQuotes checks what is in quotes although the delimiter is a comma: a spreadsheet may take another one.
func TestCSVQuotes(t *testing.T) {
	for field, want := range map[string]string{"a": `a`, "": ``, "a;b": `"a;b"`, "a\tb": "\"a\tb\"", "a\nb": "\"a\nb\"",
		"a,b": `"a,b"`, `a"b`: `"a""b"`, " a": `" a"`, "a b": `a b`} {
		if got := string(CSVLine(nil, ',', []string{"x", field})); got != "x,"+want+"\n" {
			t.Errorf("%q is written as %q", field, got)
		}
	}
}
