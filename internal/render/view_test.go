package render

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"example.com/till/internal/usage"
	"pgregory.net/rapid"
)

// payment is a row for the tests: plain fields, and their JSON.
type payment struct {
	id, to, title string
	order         int64
	amount        Cell
	done          bool
	steps         []Step
	memo, json    string
}

var payments = View[payment]{
	Columns: []Column[payment]{
		{Name: "id", Cell: func(p payment) Cell { return Text(p.id) }},
		{Name: "order_id", Cell: func(p payment) Cell { return Int(p.order) }},
		{Name: "to", Cell: func(p payment) Cell { return Title(p.to) }},
		{Name: "amount", Amount: true, Cell: func(p payment) Cell { return p.amount }},
		{Name: "title", Cell: func(p payment) Cell { return Title(p.title) }},
		{Name: "done", Cell: func(p payment) Cell { return Bool(p.done) }},
		{Name: "history", Extra: true, Detail: true, Cell: func(p payment) Cell { return History(p.steps) }},
		{Name: "memo", Extra: true, Cell: func(p payment) Cell { return Own(p.memo) }},
	},
	ID:   func(p payment) string { return p.id },
	JSON: Received[payment](func(p payment) []byte { return []byte(p.json) }),
}

var (
	first = payment{id: "wd_1", order: 4711, to: "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
		amount: Amount(2500, "USD", 2), title: "Shoes", done: true,
		steps: []Step{{"created", "2026-05-01T10:00:00Z"},
			{"sent", "2026-05-02T11:30:00Z"}}, memo: "=7", json: `{"id":"wd_1","n":1.50}`}
	second = payment{id: "wd_2", order: 9, to: "rXYZ", amount: Amount(1500000, "Btc", -1), title: "Hüte",
		json: `{"id":"wd_2","n":12345678901234567890}`}
	both = []payment{first, second}
)

// show returns what is printed of rows, and showOne what is printed of one.
func show[T any](t rapid.TB, v View[T], o Options, rows ...T) string {
	t.Helper()
	var b strings.Builder
	if err := v.List(&b, o, each(rows)); err != nil {
		t.Fatalf("List: %v", err)
	}
	return b.String()
}

func showOne[T any](t rapid.TB, v View[T], o Options, row T) string {
	t.Helper()
	var b strings.Builder
	if err := v.One(&b, o, row); err != nil {
		t.Fatalf("One: %v", err)
	}
	return b.String()
}

func list(t *testing.T, o Options, rows ...payment) string {
	t.Helper()
	return show(t, payments, o, rows...)
}

func one(t *testing.T, o Options, row payment) string {
	t.Helper()
	return showOne(t, payments, o, row)
}

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s\ngot  %q\nwant %q", got, want, got, want)
	}
}

func TestCheckRefusesBadOptions(t *testing.T) {
	jq := func(any, io.Writer) error { return nil }
	for want, o := range map[string]Options{ // by what is in the message
		`"name": use id, order_id, to, amount, amount_minor, amount_currency, title, done, history, memo`: {
			Columns: []string{"id", "name"}},
		`"name" in --sort: use id, order_id`:      {Sort: "-name"},
		"--quiet prints ids only: leave out --jq": {Quiet: true, Filter: jq},
		"--sort is for table and csv":             {Filter: jq, Sort: "id"},
		"--columns is for table and csv":          {Format: JSON, Columns: []string{"id"}},
		"--quiet prints ids only: leave out":      {Quiet: true, Columns: []string{"id"}},
	} {
		// Check, List and One refuse the same options, and write nothing.
		var b strings.Builder
		items := func(func(payment, error) bool) { t.Errorf("%v: rows were asked for", o) }
		for _, err := range []error{payments.Check(o), payments.List(&b, o, items), payments.One(&b, o, first)} {
			if typed := new(usage.Error); !errors.As(err, &typed) || !strings.Contains(err.Error(), want) || b.Len() > 0 {
				t.Errorf("%v, want a *usage.Error with %q; wrote %q", err, want, b.String())
			}
		}
	}
	plain := View[string]{Columns: []Column[string]{{Name: "a", Cell: Text}}}
	if plain.Check(Options{Format: JSON}) == nil || plain.Check(Options{Quiet: true}) == nil ||
		plain.Check(Options{Format: CSV}) != nil {
		t.Error("a view without JSON and ids has table and csv, and nothing else")
	}
}

func TestQuietPrintsOnlyIDs(t *testing.T) {
	equal(t, list(t, Options{Quiet: true, Sort: "-id", Format: JSON}, both...), "wd_2\nwd_1\n")
	equal(t, one(t, Options{Quiet: true}, payment{id: "a\nb\x1b"}), `a\nb\x1b`+"\n")
}

func TestCompare(t *testing.T) {
	// Each column is in ascending order. Equal cells are in the same group.
	for _, column := range [][][]Cell{
		{{{}}, {Text("")}, {Text("10"), Own("10")}, {Text("9")}, {Text("Z")}, {Text("a")}, {Text("é")}},
		{{{}}, {Int(math.MinInt64)}, {Int(-1)}, {Int(9)}, {Int(10)}},
		{{Bool(false)}, {Bool(true)}},
		{{History(nil)}, {History([]Step{{"z", "2026-06"}, {"b", "2026-01"}})}, {History([]Step{{"a", "2026-02"}})},
			{History([]Step{{"b", "2026-02"}}), History([]Step{{"x", "2027"}, {"b", "2026-02"}})}},
		{{JSONText([]byte("1"))}, {JSONText([]byte("{}"))}},
		{{Amount(7, "Btc", -1)}, {Amount(-1, "Btc", 0)},
			{Amount(1, "Btc", 0), Amount(10, "BTC", 1), Amount(1_000_000_000_000_000_000, "btc", 18)},
			{Amount(math.MaxInt64, "Btc", 18)} /* 9.2 */, {Amount(10, "Btc", 0)}, {Amount(0, "Eth", 0)}},
	} {
		for i, a := range column {
			for j, b := range column {
				for _, x := range a {
					for _, y := range b {
						if got := compare(x, y); got != cmp.Compare(i, j) {
							t.Errorf("compare(%+v, %+v) = %d", x, y, got)
						}
					}
				}
			}
		}
	}
}

var errBroken = errors.New("page 2 does not come")

// breaking yields the rows and then an error. It fails the test if it is asked for more.
func breaking(t *testing.T, rows ...payment) iter.Seq2[payment, error] {
	return func(yield func(payment, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if yield(payment{}, errBroken) {
			t.Error("asked for more after the error")
		}
	}
}

func TestListKeepsRowsBeforeAnError(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Format: JSON}, "[\n  {\n    \"id\": \"wd_1\",\n    \"n\": 1.50\n  }\n"},
		{Options{Format: JSONL}, first.json + "\n"},
		{Options{Format: CSV, Columns: []string{"id"}}, "id\nwd_1\n"},
		{Options{Format: CSV, Columns: []string{"id"}, Excel: Excel{';', ","}}, "\ufeffid\nwd_1\n"},
		{Options{Format: YAML}, "- id: wd_1\n  \"n\": 1.50\n"},
		{Options{Columns: []string{"id"}, Sort: "id"}, "ID\nwd_1\n"},
		{Options{Quiet: true}, "wd_1\n"},
		{Options{Filter: func(any, io.Writer) error { t.Error("filtered a part"); return nil }}, ""},
	} {
		for want, items := range map[string]iter.Seq2[payment, error]{"": breaking(t), test.want: breaking(t, first)} {
			var b strings.Builder
			if err := payments.List(&b, test.o, items); err != errBroken {
				t.Errorf("%+v: %v, want the iterator's error as it was", test.o, err)
			}
			equal(t, b.String(), want)
		}
	}
}

var errFull = errors.New("no space left")

// full takes room bytes and no more.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.room {
		return f.room, errFull
	}
	f.room -= len(p)
	return len(p), nil
}

func TestWriteError(t *testing.T) {
	filter := func(value any, w io.Writer) error {
		_, err := w.Write(Encode(value))
		return err
	}
	for name, o := range map[string]Options{
		"table": {}, "upright": {Width: 30}, "json": {Format: JSON}, "jsonl": {Format: JSONL}, "csv": {Format: CSV},
		"yaml": {Format: YAML}, "quiet": {Quiet: true}, "jq": {Filter: filter},
	} {
		for _, room := range []int{0, 4} {
			read := 0
			endless := func(yield func(payment, error) bool) { // a full output ends the reading
				for ; read < 20_000 && yield(first, nil); read++ {
				}
			}
			var failed *WriteError
			err := payments.List(&full{room}, o, endless)
			if !errors.As(err, &failed) || !errors.Is(err, errFull) ||
				read == 20_000 && !strings.Contains("table upright jq", name) {
				t.Errorf("List, %s, room for %d bytes: %v after %d rows", name, room, err, read)
			}
			err = payments.One(&full{room}, o, first)
			if !errors.As(err, &failed) || !errors.Is(err, errFull) {
				t.Errorf("One, %s, room for %d bytes: %v", name, room, err)
			}
		}
	}
	// An error of the service takes precedence over one of the output.
	if err := payments.List(&full{}, Options{Format: JSONL}, breaking(t, first)); err != errBroken {
		t.Errorf("both failed: %v", err)
	}
}

func TestInvalidJSONIsAWriteError(t *testing.T) {
	for _, text := range []string{"", "{", `{"a":01}`, "{\n"} {
		for _, o := range []Options{{Format: JSON}, {Format: YAML}, {Filter: func(any, io.Writer) error { return nil }}} {
			var failed *WriteError
			if err := payments.One(io.Discard, o, payment{json: text}); !errors.As(err, &failed) {
				t.Errorf("%q as %q: %v", text, o.Format, err)
			}
		}
	}
}

func TestLinesAllocateNothing(t *testing.T) {
	text := []byte(first.json)
	view := payments
	view.JSON = Received[payment](func(payment) []byte { return text })
	cost := func(rows int) float64 {
		all := slices.Repeat(both, rows/2)
		return testing.AllocsPerRun(5, func() {
			if err := view.List(io.Discard, Options{Format: JSONL}, each(all)); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := cost(10), cost(10_000); many > few {
		t.Errorf("%v allocations for 10 rows, %v for 10,000", few, many)
	}
}

// The parts of an amount in CSV are columns too: in a table, and to sort by.
func TestPartsOfAmounts(t *testing.T) {
	large, _ := new(big.Int).SetString("-184467440737095516150", 10)
	rows := []payment{{amount: BigAmount(large, "X", -1)}, {amount: Amount(5, "USD", 2)}, {amount: Amount(-5, "=A", 2)}}
	o := Options{Columns: []string{"amount_minor", "amount_currency"}, Sort: "-amount_minor"}
	equal(t, list(t, o, rows...), "          AMOUNT MINOR  AMOUNT CURRENCY\n"+
		"                     5  USD\n                    -5  =A\n-184467440737095516150  X\n")
	o.Format = CSV
	equal(t, list(t, o, rows...), "amount_minor,amount_currency\n5,USD\n-5,'=A\n-184467440737095516150,X\n")
	for _, name := range []string{"title_minor", "amount_", "amount_minor_minor"} {
		if err := payments.Check(Options{Columns: []string{name}}); err == nil {
			t.Errorf("there is a column %s", name)
		}
	}
}

// The columns of a struct have the names of its JSON, and what its tags say.
func TestStruct(t *testing.T) {
	type row struct {
		Plan  string `json:"plan,omitempty" column:"own whole: file"`
		Key   string `json:"key"`
		Left  *int   `json:"left" column:"value detail: rows"`
		Done  bool   `json:"done" column:"value extra: whether it is done"`
		Lost  int    `json:"lost" column:"count: lost rows"`
		Since string `json:"since" column:"time: when"`
	}
	view, r := Struct[row]("key"), row{"=a", "k", new(7), true, 0, "2026-11-23T11:54:32Z"}
	equal(t, show(t, view, Options{}, r), "PLAN  LOST  SINCE\n=a       0  2026-11-23T11:54:32Z\n")
	equal(t, showOne(t, view, Options{}, row{Since: "x"}), "plan\nleft\nlost   0\nsince  x\n")
	equal(t, show(t, view.Select("done", "plan", "left"), Options{Format: CSV}, r), "done,plan,left\ntrue,=a,7\n")
	equal(t, show(t, view, Options{Quiet: true}, r), "k\n")
	equal(t, fmt.Sprint(view.Meanings()[0], view.Columns[0].Whole, view.Columns[2].Detail), "{plan file} true false")
}
