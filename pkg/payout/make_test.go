package payout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/e2e/pgtest"
	"example.com/till/internal/journal"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
)

// A planner makes plans for the journal of a desk.
type planner struct {
	*desk
	PlanInput
	Input     io.Reader
	JSONLines bool
}

// input returns the input of MakePlan, with the rows of p.Input.
func (p *planner) input() PlanInput {
	l := p.Layout
	l.NoOrderIDs = p.Batch != ""
	if p.Rows = sheet.CSV(p.Input, l); p.JSONLines {
		p.Rows = sheet.JSONLines(p.Input)
	}
	return p.PlanInput
}

func newPlanner(t testing.TB) *planner { return plannerAt(t, newDesk(t)) }

func plannerAt(t testing.TB, d *desk) *planner {
	return &planner{desk: d, PlanInput: PlanInput{
		Path: filepath.Join(t.TempDir(), "staff.plan"), Name: "staff.csv", Currencies: testCurrencies,
		Now: d.clock.Now(), Expires: 72 * time.Hour, IdenticalWithin: -math.MaxInt64, // none
	}}
}

func (p *planner) make(lines ...string) (Made, error) {
	p.Input = strings.NewReader(strings.Join(lines, "\n") + "\n")
	return p.desk.MakePlan(context.Background(), p.input())
}

// must makes a plan from valid rows, and returns its rows too.
func (p *planner) must(lines ...string) (Made, []PlanRow) {
	p.t.Helper()
	made, err := p.make(lines...)
	if err != nil {
		p.t.Fatal(err, detailsOf(err))
	}
	rows := open(p.t, p.Path).Rows
	for i := range rows { // TestPlanKeepsWhatItIsGiven reads the lines
		rows[i].Line = 0
	}
	return made, rows
}

// refused checks that a rule refuses a plan and that nothing is written.
func (p *planner) refused(rule string, lines ...string) []string {
	p.t.Helper()
	_, err := p.make(lines...)
	if ruleOf(err) != rule {
		p.t.Fatalf("%v, want a refusal by %s", err, rule)
	}
	left, err2 := os.ReadDir(filepath.Dir(p.Path))
	if err2 != nil || len(left) != 0 {
		p.t.Fatalf("something is left behind: %v, %v", left, err2)
	}
	return detailsOf(err)
}

func detailsOf(err error) (texts []string) {
	if e, ok := errors.AsType[*Error](err); ok {
		for _, d := range e.Details {
			texts = append(texts, d.String())
		}
	}
	return texts
}

const header = "order_id,currency,amount,address"

func TestMakeReadsEveryColumn(t *testing.T) {
	p := newPlanner(t)
	row := func(orderID, address string, currency api.Currency, amount api.Amount) PlanRow {
		return PlanRow{CreateWithdrawal: api.CreateWithdrawal{Currency: currency, Amount: amount, Address: address,
			ExternalOrderID: orderID}}
	}
	want := []PlanRow{row("1", "a", testBtc, api.CryptoAmount("Btc", 1_500_000)), row("2", "b", testBtc, api.FiatAmount("USD", 2500)),
		row("3", "c", testBtc, api.CryptoAmount("Btc", 7)), row("4", "d", testDoge, api.FiatAmount("USD", 8))}
	want[0].Note, want[1].Memo, want[1].Callback = `Zoë, "May"`, "m", "https://shop.example.com/paid"
	check := func(what string, rows []PlanRow) {
		t.Helper()
		if !slices.Equal(rows, want) {
			t.Errorf("%s: %+v", what, rows)
		}
	}
	// A byte order mark, Windows line ends, quotes, an empty line, and no line end at the end.
	_, rows := p.must("\ufefforder_id,currency,amount,amount_minor,address,memo,callback,note\r",
		`1,btc,0.015,,a,,,"Zoë, ""May"""`+"\r", `"2",Btc,25.00 USD,,b,m,https://shop.example.com/paid,`, "",
		`3,crypto:Btc,,7,c,,,`, `4,crypto:Doge,,8 usd,d,,,`)
	check("CSV", rows)
	// As in an export: the amount in both columns, and its code in another.
	_, rows = p.must("order_id,currency,amount,amount_minor,amount_currency,address,memo,callback,note",
		`1,Btc,0.01500000,1500000,Btc,a,,,"Zoë, ""May"""`, `2,Btc,25.00,2500,USD,b,m,https://shop.example.com/paid,`,
		`3,Btc,,7,Btc,c,,,`, `4,crypto:Doge,0.08,8,USD,d,,,`)
	check("an export", rows)
	p.JSONLines = true
	_, rows = p.must("\ufeff"+`{"order_id":"1","currency":"btc","amount":"0.015","address":"a","note":"Zo\u00eb, `+
		`\"May\""}`+"\r",
		` {"note":"","currency":"Btc","amount":"25.00 `+
			`USD","address":"b","memo":"m","callback":"https://shop.example.com/paid","order_id":"2"} `, "",
		`{"order_id":"3","currency":"Btc","amount_minor":7,"address":"c"}`,
		`{"order_id":"4","currency":"crypto:Doge","amount_minor":"8 USD","address":"d"}`)
	check("JSON lines", rows)
}

// TestMakeTellsEverythingThatIsWrong checks that all errors of a file are reported at once, with line and
// column.
func TestMakeTellsEverythingThatIsWrong(t *testing.T) {
	type file struct {
		jsonLines   bool
		batch, text string
		says        []string // the beginnings of the details; the parts of one are separated by |
	}
	csv := func(text string, says ...string) file { return file{text: text, says: says} }
	rows := func(lines ...[]string) (f file) { // each with its details
		for i, line := range lines {
			f.text += line[0] + "\n"
			for _, says := range line[1:] {
				f.says = append(f.says, fmt.Sprint("line ", i+1, ": ", says))
			}
		}
		f.jsonLines = strings.HasPrefix(f.text, "{")
		return f
	}
	const noHeader = "this is not a header: begin with order_id,currency,amount,address"
	for what, c := range map[string]file{
		"rows of all kinds": rows([]string{header + ",memo,note"}, []string{"1,Btc,0.5,a,,"},
			[]string{"1,Btc,1e3,a b,,", "amount: |exponent", "address: |space", "order_id: 1 is on line 2 already"},
			[]string{"x,Eur,1,,,", "order_id: |\"x\"", "address: it is missing"},
			[]string{"5,Doge,1,a,,", "currency: the currency \"Doge\" is not known|till currency set Doge"},
			[]string{"6,Xlr,5,G,,", "amount: |till currency set Xlr --decimals 7", "memo: a withdrawal in Xlr needs one"},
			[]string{"7,Btc,1,a", "it has 4 fields, and the header has 6: an empty field still needs its comma"},
			[]string{"8,Btc,1,a,,,", "it has 7 fields, and the header has 6: a text with a comma"},
			[]string{`9,Btc,1,"a`, "field 4 begins with a double quote, and none ends it"},
			[]string{`10,Btc,1,a"b,,`, "field 4 has a double quote"}, []string{`11,Btc,1,"a"b,,`, "field 4 goes on"},
			[]string{"12,Btc,1,a,,x\u0007", "note: |control character"}, []string{"13,Btc,1,a\u200bb,,", "address: |cannot be seen"},
			[]string{"14,Btc,1e3,a,,", "amount: |exponent"}, []string{"15,,,,,", "currency: it is missing", "address: it is missing"},
			[]string{"1,Btc,2,a,,", "order_id: 1 is on line 2 already"}, []string{"17,Btc,0,a,,", "amount: |zero"},
			[]string{"18,Btc,-1,a,,", "amount: |negative"}, []string{"19,Btc,92233720368.54775808,a,,", "amount: |too large"},
			[]string{`20,Btc,"1,5",a,,`, "amount: |separator"}, []string{"total", "it has one field, and the header has 6: an empty field"},
			[]string{"21,Btc,5 €,a,,", `amount: "5 €" has the sign of EUR, and Btc is withdrawn`},
			[]string{",Btc,1,a,,", "order_id: it is missing|--auto-order-id"},
			[]string{"01,Btc,1,a,,", "order_id: |without a leading zero"}, []string{"9007199254740992,Btc,1,a,,", "order_id: |9007199254740991"}),
		"the header": csv("Order ID,currency,sum,currency\n1,2,3,4\n", "line 1: Order ID: |write order_id",
			"line 1: sum: there is no column", "line 1: currency: the column is there twice",
			"line 1: address: the column is missing", "line 1: amount: the column is missing"),
		"a misspelt header": csv("Order ID, currency,amount,adress\n1,Btc,0.1,a\n2,Btc,1e3,a\n",
			`line 1: Order ID: there is no column "Order ID": write order_id`,
			`line 1: adress: there is no column "adress"; did you mean address?`, "line 3: amount: |exponent"),
		"a column and its slip": csv("order_id,currency,amount,adress,address\n1,Btc,0.1,a,b\n",
			`line 1: adress: there is no column "adress"; did you mean address?`),
		"no header": rows([]string{"1,Btc,0.1,a", noHeader}, []string{"2,Btc,0.2,b"}),
		"a text of two lines": rows([]string{header + ",note"}, []string{`1,Btc,0.1,a,"one`, "field 5 begins with a double quote"},
			[]string{`two"`}, []string{"2,Btc,1e3,a,x", "amount: |exponent"}),
		"columns too many": rows([]string{header + ",foo,amount", "foo: there is no column", "amount: the column is there twice"},
			[]string{"1,Btc,1e3,a,x,2", "amount: |exponent"}, []string{"2,Btc,1,,x,2", "address: it is missing"},
			[]string{"3,Btc,1,a,x,y"}),
		"an empty file":    csv("", "line 1: the file is empty"),
		"blank rows":       rows([]string{",,"}, []string{header}, []string{","}, []string{`1,Btc,"1,5",a`, "amount: "}),
		"another encoding": csv(header+"\n1,Btc,x,a\n2,Btc,1,Zo\xeb\n", "line 3: byte 11 (0xeb) is not UTF-8"),
		"JSON as CSV":      csv(`{"order_id":"1"}`+"\n", "line 1: it is an object|--format jsonl"),
		"a long line": rows([]string{header}, []string{"1,Btc,1," + strings.Repeat("a", 66000), "it is longer than 65536 bytes"},
			[]string{"1,Btc,1," + strings.Repeat("a", 128<<10), "it is longer than 65536 bytes"}, []string{"2,Btc,x,a", "amount: "}),
		"a long reference": rows([]string{header + ",reference"}, []string{"1,Btc,0.1,a," + strings.Repeat("é", 140)},
			[]string{"2,Btc,0.1,b," + strings.Repeat("é", 141), "reference: it has 141 characters, and at most 140 are kept"}),
		"a sign beside a code": rows([]string{"order_id,currency,amount,amount_currency,address"},
			[]string{"1,Eur,5 €,USD,a", "amount: |has a code, and amount_currency has one too"},
			[]string{"2,Btc,0.5 Btc,Btc,a", "amount: \"0.5 Btc\" has a code"}),
		"two amounts": rows([]string{"order_id,currency,amount,amount_minor,address,memo,callback"},
			[]string{"1,Btc,0.5,5,a,,", "amount_minor: \"5\" is not the amount \"0.5\", which is 50000000"},
			[]string{"2,Btc,,0.5,a,,", "amount_minor: |decimal point"},
			[]string{"3,Xlr,,5,G,7 ,", "memo: |ends with white space"}, []string{"4,Btc,1,,a,,shop", "callback: |http"}),
		"an order id too many": {batch: "b", text: header + "\n1,Btc,1,a\n,Btc,1,a\n",
			says: []string{"line 2: order_id: \"1\" is given"}},
		"JSON": rows([]string{`{"order_id":4711,"currency":"Btc","amount":1,"address":"a"}`,
			"order_id: it is a number|in quotes: \"4711\"", "amount: it is a number"},
			[]string{`{"order_id":"1","order_id":"2","currency":"Btc","amount":"1","address":"a","priority":1}`,
				"order_id: it is there twice", "priority: there is no column"},
			[]string{`{"order_id":"3","currency":null,"amount_minor":1.0,"address":["a"],"memo":{"a":1},"note":true}`,
				"currency: it is null", "amount_minor: it is a number with a point", "address: it is a list",
				"memo: it is an object", "note: it is true or false"},
			[]string{`["4"]`, "it is a list"}, []string{`{"order_id":"5"`, "it is not JSON: it is cut off"},
			[]string{`{"order_id":"6","currency":"Btc","amount":"1","address":"a"} {}`, "there is more behind its object"},
			[]string{`{"order_id":"7","currency":"Btc","amount":"1","address":"a\n"}`, "address: |control character"},
			[]string{`{"order_id":"8","currency":"Btc","amount_minor":1e3,"address":"a"}`,
				"amount_minor: it is a number with a point or an exponent"},
			[]string{`{"order_id":"9","currency":"Btc","amount":"1","address":"\ud800"}`, "it is not JSON: "}),
	} {
		p := newPlanner(t)
		p.Batch = c.batch
		p.JSONLines = c.jsonLines
		p.Input = strings.NewReader(c.text)
		_, err := p.desk.MakePlan(context.Background(), p.input())
		if ruleOf(err) != fmt.Sprint("kind ", Invalid) {
			t.Errorf("%s: %v", what, err)
			continue
		}
		got := detailsOf(err)
		for i, says := range c.says {
			begin, more, _ := strings.Cut(says, "|")
			if i >= len(got) || !strings.HasPrefix(got[i], begin) || !strings.Contains(got[i], more) {
				t.Errorf("%s: it should say %q:\n%s", what, says, strings.Join(got, "\n"))
				break
			}
		}
		if len(got) != len(c.says) {
			t.Errorf("%s: it says %d things, not %d:\n%s", what, len(got), len(c.says), strings.Join(got, "\n"))
		}
		if left, err := os.ReadDir(filepath.Dir(p.Path)); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left behind, %v", what, left, err)
		}
	}
}

// TestMakeCountsTotalsExactly checks that spellings of a code have one total, which may exceed 64 bits.
func TestMakeCountsTotalsExactly(t *testing.T) {
	p := newPlanner(t)
	made, _ := p.must("order_id,currency,amount_minor,address", "1,crypto:Foo,9000000000000000000,a",
		"2,crypto:foo,9000000000000000000,b", "3,crypto:FOO,9000000000000000000,c")
	for _, totals := range [][]Total{made.Totals, open(t, p.Path).Totals} {
		if len(totals) != 1 || totals[0].Rows != 3 || made.Pays(totals[0].Amount) != "27000000000000000000 minor Foo" {
			t.Errorf("the totals are %v", totals)
		}
	}
}

// TestDeriveOrderID has vectors that were computed with Python from the description of deriveOrderID.
func TestDeriveOrderID(t *testing.T) {
	c := Content{Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", 1500000),
		Address: "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"}
	xlr := Content{Currency: api.CryptoCurrency("Xlr"), Amount: api.FiatAmount("USD", 2500), Address: "GEXAMPLE",
		Memo: "rent, 7"}
	for _, v := range []struct {
		batch, reference string
		content          Content
		count            int
		want             string
	}{{"salaries-2026-05", "", c, 1, "568807764901700"}, {"salaries-2026-05", "", c, 2, "338167646874044"},
		{"salaries-2026-05", "INV-2026/118", c, 1, "863298622807298"}, {"Löhne", "", xlr, 1, "476438089328483"}} {
		if got := deriveOrderID(v.batch, v.reference, v.content, v.count); got != v.want || api.CheckOrderID(got) != nil {
			t.Errorf("%+v: %s", v, got)
		}
	}
	shouting := c
	shouting.Currency.Code, shouting.Amount.Code = "BTC", "BTC" // as another machine's configuration may spell it
	if deriveOrderID("b", "", c, 1) != deriveOrderID("b", "", shouting, 1) {
		t.Error("the spelling of a code matters")
	}
	capitals := c
	capitals.Address = strings.ToUpper(c.Address) // as a list of payees may spell it
	if deriveOrderID("b", "", c, 1) != deriveOrderID("b", "", capitals, 1) {
		t.Error("the spelling of an address matters")
	}
	for _, name := range []string{"", " x", "x ", "a\nb", "a\u200bb", strings.Repeat("x", 65)} {
		if (PlanInput{Batch: name}).CheckBatch() == nil {
			t.Errorf("%q is taken for a batch", name)
		}
	}
	ok(t, (PlanInput{Batch: "Löhne 2026-05"}).CheckBatch())
}

// TestMakeDerivesOrderIDs checks that a row keeps its derived order id when the file is sorted, edited and
// extended, and that two equal rows get two order ids.
func TestMakeDerivesOrderIDs(t *testing.T) {
	p := newPlanner(t)
	p.Batch = "may"
	ids := func(lines ...string) map[string][]string {
		_, rows := p.must(append([]string{"currency,amount,address,note"}, lines...)...)
		byAddress := map[string][]string{}
		for _, r := range rows {
			byAddress[r.Address] = append(byAddress[r.Address], r.ExternalOrderID)
		}
		return byAddress
	}
	first := ids("Btc,0.5,a,x", "Btc,0.5,b,", "Btc,0.5,a,y")
	if len(first["a"]) != 2 || first["a"][0] == first["a"][1] {
		t.Fatal(first)
	}
	if want := deriveOrderID("may", "", contentOf(under("", "a").request), 2); first["a"][1] != want {
		t.Errorf("%v, want %s", first, want)
	}
	second := ids("btc,0.50000000,c,", "Btc,0.5,b,new note", "Btc,0.5,a,", "BTC,0.5 Btc,a,", "Btc,0.5,a,")
	if !slices.Equal(second["a"][:2], first["a"]) || len(second["a"]) != 3 || second["b"][0] != first["b"][0] {
		t.Errorf("%v and %v", first, second)
	}
	// a row with a reference has an order id of its own, and changes that of no other
	p.Layout.Columns = map[string]string{"reference": "note"}
	invoices := ids("Btc,0.5,a,1", "Btc,0.5,a,2", "Btc,0.5,a,", "Btc,0.5,a, 2 ")
	if invoices["a"][2] != first["a"][0] || slices.Contains(first["a"], invoices["a"][0]) ||
		invoices["a"][0] == invoices["a"][1] ||
		invoices["a"][3] != deriveOrderID("may", "2", Content{Currency: api.CryptoCurrency("Btc"),
			Amount: api.CryptoAmount("Btc", 50000000), Address: "a"}, 2) {
		t.Errorf("%v and %v", first, invoices)
	}
	p.Layout.Columns = nil
	p.Batch = "june"
	if third := ids("Btc,0.5,b,"); third["b"][0] == first["b"][0] {
		t.Error("another batch has the same order ids")
	}
}

// TestMakeComparesABatchWithItsNewestRun checks that rows that vanished or are new since the batch's newest
// run are reported, and accepted only with BatchChanged.
func TestMakeComparesABatchWithItsNewestRun(t *testing.T) { onBoth(t, makeHoldsABatchAgainstItsRun) }

func makeHoldsABatchAgainstItsRun(t *testing.T, p *planner) {
	p.Batch = "may"
	const head = "currency,amount,address"
	newest := map[string]string{}
	begin := func(name, batch string) {
		t.Helper()
		r := journal.Run{Name: name, Digest: "sha256:" + strings.Repeat("0", 64-8) + name, Plan: "x", Batch: batch,
			Since: newest[batch]}
		newest[batch] = name
		ok(t, errorOf(p.ledger.BeginRun(context.Background(), r, recorded(open(t, p.Path).Rows))))
	}
	if made, _ := p.must(head, "Btc,0.5,a", "Btc,0.5,gone"); made.Since != "" {
		t.Errorf("since %q, and nothing has begun", made.Since)
	}
	begin("aaaaaaaa", "may")
	for other, why := range map[string]string{"May": `has nearly the name of "may", of run aaaaaaaa`, "m.ay": ""} {
		p.Batch = other
		made, err := p.make(head, "Btc,0.5,a")
		if (why == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("batch %s: %v", other, err)
		}
		os.Remove(made.Path)
	}
	p.Batch = "may"
	if made, _ := p.must(head, "Btc,0.5,gone", "Btc,0.5,a"); made.Since != "aaaaaaaa" ||
		open(t, p.Path).Since != "aaaaaaaa" {
		t.Errorf("since %q", made.Since)
	}
	os.Remove(p.Path)
	got := p.refused(RuleBatchChanged, head, "Btc,0.5,a", "Btc,0.5,b", "Btc,0.5,a")
	if len(got) != 3 || !strings.Contains(got[0], "vanished since run aaaaaaaa") ||
		!strings.Contains(got[0], "0.50000000 Btc to gone") || !strings.HasPrefix(got[1], "line 3: new since run") ||
		!strings.HasPrefix(got[2], "line 4: new since run") {
		t.Errorf("%q", got)
	}
	p.BatchChanged = true
	if made, _ := p.must(head, "Btc,0.5,a", "Btc,0.5,b"); made.Since != "aaaaaaaa" || made.Count != 2 {
		t.Errorf("%+v", made)
	}
	applies := func(run string) (ends func()) {
		j := p.open()
		ok(t, j.Alone(t.Context(), run, true))
		return func() {
			j.Journal().Close()
			for range 500 { // PostgreSQL takes a moment to notice
				if living, err := p.ledger.Journal().Appliers(t.Context()); err != nil || len(living) == 0 {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Fatal("a process that has ended still counts as alive")
		}
	}
	warned := func() string {
		t.Helper()
		made, _ := p.must(head, "Btc,0.5,a", "Btc,0.5,b")
		return strings.Join(made.Warnings, "; ")
	}
	ends := applies("12345678") // of another batch
	if got := warned(); strings.Contains(got, "is being applied") {
		t.Error(got)
	}
	ends()
	ends = applies("aaaaaaaa")
	if got := warned(); !strings.Contains(got, "run aaaaaaaa of the batch is being applied (ann on till1): ") {
		t.Errorf("nobody is warned of the run: %s", got)
	}
	ends()
	if got := warned(); strings.Contains(got, "is being applied") {
		t.Error(got)
	}
	begin("dddddddd", "MAY") // another program let that happen: the batch's own name is never refused
	p.must(head, "Btc,0.5,a", "Btc,0.5,b")
	begin("bbbbbbbb", "may") // from now on, this run is the newest
	begin("cccccccc", "june")
	p.BatchChanged = false
	if made, _ := p.must(head, "Btc,0.5,a", "Btc,0.5,b"); made.Since != "bbbbbbbb" {
		t.Errorf("since %q", made.Since)
	}
}

// onBoth runs a test with each kind of journal.
func onBoth(t *testing.T, run func(*testing.T, *planner)) {
	t.Run("sqlite", func(t *testing.T) { run(t, newPlanner(t)) })
	t.Run("postgres", func(t *testing.T) { run(t, plannerAt(t, deskAt(t, pgtest.Shared(t).Database(t)))) })
}

// under returns a withdrawal of half a Btc.
func under(orderID, address string) withdrawal {
	return withdrawal{request: api.CreateWithdrawal{Currency: testBtc,
		Amount: api.CryptoAmount("Btc", 50_000_000), Address: address, ExternalOrderID: orderID}}
}

// TestMakeComparesOrderIDsWithTheJournal checks that order ids that the journal has are counted by state, and
// that those with other content are refused, all at once.
func TestMakeComparesOrderIDsWithTheJournal(t *testing.T) {
	onBoth(t, makeHoldsOrderIDsAgainstTheJournal)
}

func makeHoldsOrderIDsAgainstTheJournal(t *testing.T, p *planner) {
	p.bring(under("1", "a"), outAccepted("w1"))
	p.clock.move(48 * time.Hour)
	p.bring(under("2", "a"), outAccepted("w2"))
	p.bring(under("3", "a"), outUnknown)
	p.bring(under("4", "a"), outRejected)
	p.dies(under("5", "a"))
	made, rows := p.must(header, "1,Btc,0.5,a", "2,Btc,0.5,a", "3,Btc,0.5,a", "4,Btc,0.5,a", "5,Btc,0.5,a", "6,Btc,0.5,a")
	if made.Known.Before != 2 || made.Known.States[StateUnknown]+made.Known.States[StateSending] != 2 ||
		made.Known.States[StateConflict] != 0 || len(rows) != 6 {
		t.Errorf("%+v", made)
	}
	day := func(d time.Time) string { return d.Format(time.DateOnly) }
	first, last := p.wantState("1", StateAccepted).Sent, p.wantState("2", StateAccepted).Sent
	if day(made.Known.First) != day(first) || day(made.Known.Last) != day(last) {
		t.Errorf("from %v to %v", made.Known.First, made.Known.Last)
	}
	os.Remove(p.Path)
	got := p.refused(RuleOrderID, header, "1,Btc,0.5,b", "7,Btc,0.5,a", "4,Btc,0.6,a", "2,Btc,0.5,a")
	if len(got) != 2 || !strings.HasPrefix(got[0],
		"line 2: order_id: 1 is 0.50000000 Btc to a in the journal, and is accepted") ||
		!strings.HasPrefix(got[1], "line 4: order_id: 4 is ") {
		t.Errorf("%q", got)
	}
	other := *p
	other.Ledger = &Ledger{p.ledger.Journal().Ledger(Account{Address: p.Ledger.Account().Address, Name: "another"})}
	if made, _ := other.must(header, "1,Btc,0.5,b"); made.Known.Before != 0 {
		t.Error("another account's orders count")
	}
}

func TestMakeWarns(t *testing.T) { onBoth(t, makeWarns) }

func makeWarns(t *testing.T, p *planner) {
	has := func(made Made, parts ...string) bool {
		return slices.ContainsFunc(made.Warnings, func(text string) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
		})
	}
	made, _ := p.must(header, "1,Btc,0.5,a")
	if len(made.Warnings) != 1 || !has(made, "nothing accepted for this account") {
		t.Errorf("%q", made.Warnings)
	}
	p.bring(under("100", "a"), outAccepted("w1"))
	p.bring(under("101", "b"), outUnknown)
	if made, _ = p.must(header, "1,Btc,0.5,a", "2,Btc,0.6,a"); len(made.Warnings) != 0 || len(made.Warned) != 0 {
		t.Errorf("of nothing unusual: %q", made.Warnings)
	}
	// The same order id is the same order, and causes no warning.
	if made, _ = p.must(header, "101,Btc,0.5,b", "2,Btc,0.6,a"); !has(made,
		"line 2: order 101 pays to b, to which nothing was paid") || len(made.Warnings) != 1 {
		t.Errorf("%q", made.Warnings)
	}
	made, _ = p.must(header+",note", "1,Btc,0.5,a,x", "2,Btc,0.5,b,", "3,Btc,0.5,a,y", "4,Btc,5,a,", "5,Btc,0.05,a,",
		"6,Btc,0.05000001,a,", "7,Btc,4.99999999,a,", "8,Btc,900.00 USD,a,", "9,Btc,1.00 USD,a,")
	for _, parts := range [][]string{
		{"line 4: order 3 pays the same amount to the same address as order 1 on line 2"},
		{"line 3: order 2 pays the same as order 101", "till withdraw reconcile 101"},
		{"line 5: order 4 pays 5.00000000 Btc", "usual 0.50000000 Btc"}, {"line 6: order 5 pays 0.05000000 Btc"},
		{"line 3: order 2 pays to b"},
	} {
		if !has(made, parts...) {
			t.Errorf("%q does not say %q", made.Warnings, parts)
		}
	}
	if len(made.Warnings) != 5 || !slices.Equal(open(t, p.Path).Warnings, made.Warnings) {
		t.Errorf("%q", made.Warnings)
	}
	os.Remove(p.Path)
	p.FailOnWarning = true
	if got := p.refused(RuleWarning, header, "1,Btc,0.5,a", "2,Btc,0.5,a"); len(got) != 1 {
		t.Errorf("%q", got)
	}
	p.FailOnWarning = false
	lines := []string{header}
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("%d,Btc,0.5,a", i+1))
	}
	if made, _ = p.must(lines...); len(made.Warnings) != maxWarnings+1 ||
		!has(made, "29 more rows are identical to an earlier one") || !strings.HasPrefix(made.Warnings[0], "line 3: ") {
		t.Errorf("%q", made.Warnings)
	}
}

// TestMakeWarnsOfOtherAddresses checks that an address is told that is not of the kind of nearly all others.
func TestMakeWarnsOfOtherAddresses(t *testing.T) {
	const iban, coin = "DE89370400440532013000", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"
	for _, test := range []struct {
		rows string // the addresses of Eur
		told bool   // that the last one is another
	}{
		{iban + " " + iban + " " + iban + " INV-7", true},
		{iban + " " + iban + " " + iban + " " + coin, true},
		{coin + " " + coin + " " + coin + " " + iban, true},
		{iban + " " + iban + " INV-7", false},                                              // too few
		{iban + " " + iban + " " + iban + " a b", false},                                   // three of five
		{iban + " " + iban + " " + iban + " " + iban, false},                               // all alike
		{"a b c " + coin, false},                                                           // the others are no known kind
		{iban + " " + iban + " " + iban + " Btc:" + coin, false},                           // in another currency
		{"none:" + iban + " none:a none:" + iban + " none:" + iban + " none:INV-7", false}, // a format is set
	} {
		p := newPlanner(t)
		p.Currencies = append(slices.Clone(p.Currencies), Currency{Code: "None", Kind: api.Crypto, AddressFormat: "none"})
		lines, line := []string{header}, ""
		for i, to := range strings.Fields(test.rows) {
			currency, address, other := strings.Cut(to, ":")
			if !other {
				currency, address = "Eur", to
			}
			lines = append(lines, fmt.Sprintf("%d,%s,%d,%s", i+1, currency, i+1, address))
			line = fmt.Sprintf("line %d: order %d pays to %s, which is not a", i+2, i+1, address)
		}
		made, _ := p.must(lines...)
		if told := strings.Contains(strings.Join(made.Warnings, "\n"), line); told != test.told ||
			strings.Count(strings.Join(made.Warnings, "\n"), "which is not a") > 1 {
			t.Errorf("%s: %q", test.rows, made.Warnings)
		}
	}
}

func TestMakeStops(t *testing.T) {
	p := newPlanner(t)
	if _, err := p.make(header, ",,,"); err == nil || !strings.Contains(err.Error(), "has no rows") {
		t.Error(err)
	}
	p.Input = strings.NewReader(header + "\n1,Btc,0.5,a\n")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.desk.MakePlan(ctx, p.input()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// A pipe that sends nothing until a signal comes: that is not an error of the file.
	ctx, cancel = context.WithCancel(context.Background())
	p.Input = readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, ctx.Err()
	})
	if _, err := p.desk.MakePlan(ctx, p.input()); err != context.Canceled {
		t.Error(err)
	}
	p.Input = readerFunc(func(b []byte) (int, error) { return len(b), nil }) // a line without an end
	if _, err := p.desk.MakePlan(context.Background(), p.input()); ruleOf(err) != fmt.Sprint("kind ", Invalid) {
		t.Error(err)
	}
	p.Input = readerFunc(func([]byte) (int, error) { return 0, errors.New("the disk is broken") })
	if _, err := p.desk.MakePlan(context.Background(), p.input()); ruleOf(err) != fmt.Sprint("kind ", Invalid) ||
		!strings.Contains(err.Error(), "the disk is broken") {
		t.Error(err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// FuzzRows checks that any input either has errors in its lines or becomes a plan that can be opened.
func FuzzRows(f *testing.F) {
	for _, text := range []string{
		header + "\n1,Btc,0.5,a\n", "\ufeff" + header + ",note\r\n1,Btc,0.5,a,\"x,\"\"y\"\n", "currency;x", "\xff\xfe",
		header + "\n1,Btc,\"", `{"order_id":"1","currency":"Btc","amount":"1","address":"a"}`,
		`{"order_id":"1","currency":"Btc","amount_minor":7,"address":"a"}` + "\n[]\n{", `{"a":`, "",
		"order_id,currency,amount,amount_minor,amount_currency,address,memo,callback,note\n1,Btc,0.01500000,1500000,Btc," +
			"a,m,https://a.b/c,n",
	} {
		f.Add(text, true, "")
		f.Add(text, false, "may")
	}
	p := newPlanner(f)
	f.Fuzz(func(t *testing.T, text string, csv bool, batch string) {
		p.Batch, p.JSONLines, p.Input = batch, !csv, strings.NewReader(text)
		if batch != "" && p.CheckBatch() != nil {
			return
		}
		_, err := p.desk.MakePlan(context.Background(), p.input())
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Kind != Invalid || strings.Contains(e.Msg, "\n") {
				t.Fatal(err)
			}
			for _, d := range e.Details {
				if d.Line < 0 || d.Message == "" || len(d.String()) > 2000 {
					t.Fatalf("%+v", d)
				}
			}
			return
		}
		open(t, p.Path)
	})
}
