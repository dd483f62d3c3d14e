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
			[]string{"2,Btc,0.1,b," + strings.Repeat("é", 141), "reference: it has 141 characters, and at most 140 are kept"},
			[]string{"1234567890123450,Btc,0.1,c,", "order_id: the order id 1234567890123450 has only zeros|--allow-bad-address"}),
		"a sign beside a code": rows([]string{"order_id,currency,amount,amount_currency,address"},
			[]string{"1,Eur,5 €,USD,a", "amount: |has a code, and amount_currency has one too"},
			[]string{"2,Btc,0.5 Btc,Btc,a", "amount: \"0.5 Btc\" has a code"}),
		"two amounts": rows([]string{"order_id,currency,amount,amount_minor,address,memo,callback"},
			[]string{"5,Btc,0.5,0.5,a,,", "amount_minor: |decimal point"},
			[]string{"1,Btc,0.5,5,a,,", "amount_minor: \"5\" is not the amount \"0.5\", which is 50000000"},
			[]string{"2,Btc,,0.5,a,,", "amount_minor: |decimal point"},
			[]string{"6,Xrp,,5,rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh,07,", "memo: |no destination tag"},
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

// TestDeriveOrderID has vectors that were computed with Python from the description of deriveOrderID.
func TestDeriveOrderID(t *testing.T) {
	c := Content{Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", 1500000),
		Address: "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"}
	xlr := Content{Currency: api.CryptoCurrency("Xlr"), Amount: api.FiatAmount("USD", 2500), Address: "GEXAMPLE",
		Memo: "rent, 7"}
	shouting, capitals := c, c // as another machine's configuration may spell a code, and a list of payees an address
	shouting.Currency.Code, shouting.Amount.Code, capitals.Address = "BTC", "BTC", strings.ToUpper(c.Address)
	for _, v := range []struct {
		batch, reference string
		content          Content
		count            int
		want             string
	}{{"salaries-2026-05", "", c, 1, "568807764901700"}, {"salaries-2026-05", "", c, 2, "338167646874044"},
		{"salaries-2026-05", "", shouting, 1, "568807764901700"}, {"salaries-2026-05", "", capitals, 1, "568807764901700"},
		{"salaries-2026-05", "INV-2026/118", c, 1, "863298622807298"}, {"Löhne", "", xlr, 1, "476438089328483"}} {
		if got := deriveOrderID(v.batch, v.reference, v.content, v.count); got != v.want || api.CheckOrderID(got) != nil {
			t.Errorf("%+v: %s", v, got)
		}
	}
	for _, name := range []string{"", " x", "x ", "a\nb", "a\u200bb", strings.Repeat("x", 65)} {
		if (PlanInput{Batch: name}).CheckBatch() == nil {
			t.Errorf("%q is taken for a batch", name)
		}
	}
	ok(t, (PlanInput{Batch: "Löhne 2026-05"}).CheckBatch())
}

// TestMakeDerivesOrderIDs checks that equal rows get order ids of their own, and that a row with a reference
// changes the order id of no other.
func TestMakeDerivesOrderIDs(t *testing.T) {
	p := newPlanner(t)
	p.Batch = "may"
	want := func(reference string, count int) string {
		return deriveOrderID("may", reference, contentOf(under("", "a").request), count)
	}
	check := func(want []string, lines ...string) {
		t.Helper()
		var got []string
		_, rows := p.must(append([]string{"currency,amount,address,note"}, lines...)...)
		for _, r := range rows {
			got = append(got, r.ExternalOrderID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	check([]string{want("", 1), want("", 2)}, "Btc,0.5,a,x", "BTC,0.5 Btc,a,y")
	p.Layout.Columns = map[string]string{"reference": "note"}
	check([]string{want("1", 1), want("2", 1), want("", 1), want("2", 2)},
		"Btc,0.5,a,1", "Btc,0.5,a,2", "Btc,0.5,a,", "Btc,0.5,a, 2 ")
}

// TestMakeComparesABatchWithItsNewestRun checks that rows that vanished or are new since the batch's newest
// run are reported, and accepted only with BatchChanged.
func TestMakeComparesABatchWithItsNewestRun(t *testing.T) { onBoth(t, makeHoldsABatchAgainstItsRun) }

func makeHoldsABatchAgainstItsRun(t *testing.T, p *planner) {
	p.Batch = "may"
	const head, a, b = "currency,amount,address", "Btc,0.5,a", "Btc,0.5,b"
	newest := map[string]string{}
	begin := func(name, batch string) {
		t.Helper()
		r := journal.Run{Name: name, Digest: "sha256:" + strings.Repeat("0", 64-8) + name, Plan: "x", Batch: batch,
			Since: newest[batch]}
		newest[batch] = name
		ok(t, errorOf(p.ledger.BeginRun(context.Background(), r, recorded(open(t, p.Path).Rows))))
	}
	plans := func(since string, rows ...string) (warnings string) {
		t.Helper()
		made, _ := p.must(append([]string{head}, rows...)...)
		if made.Since != since || open(t, p.Path).Since != since {
			t.Errorf("since %q, want %q", made.Since, since)
		}
		return strings.Join(made.Warnings, "; ")
	}
	plans("", a, "Btc,0.5,gone")
	begin("aaaaaaaa", "may")
	plans("aaaaaaaa", "Btc,0.5,gone", a)
	os.Remove(p.Path)
	got := p.refused(RuleBatchChanged, head, a, b, a)
	if len(got) != 3 || !strings.Contains(got[0], "vanished since run aaaaaaaa") ||
		!strings.Contains(got[0], "0.50000000 Btc to gone, which is") || !strings.HasPrefix(got[1], "line 3: new since run") ||
		!strings.HasPrefix(got[2], "line 4: new since run") {
		t.Errorf("%q", got)
	}
	p.BatchChanged = true
	for _, run := range []string{"12345678", "aaaaaaaa"} { // the first one is of another batch
		applying := p.open()
		ok(t, applying.Alone(t.Context(), run, true))
		got := plans("aaaaaaaa", a, b)
		if strings.Contains(got, "run aaaaaaaa of the batch is being applied (ann on till1): ") != (run == "aaaaaaaa") {
			t.Errorf("while run %s is being applied: %s", run, got)
		}
		applying.Journal().Close()
	}
	begin("dddddddd", "MAY") // another program let that happen: the batch's own name is never refused
	plans("aaaaaaaa", a, b)
	begin("bbbbbbbb", "may") // from now on, this run is the newest
	begin("cccccccc", "june")
	p.BatchChanged = false
	plans("bbbbbbbb", a, b)
	ok(t, p.ledger.Show(t.Context(), map[string]string{open(t, p.Path).Rows[1].ExternalOrderID: "w9"})) // so it is unknown
	p.BatchChanged = true
	plans("bbbbbbbb", b)
	os.Remove(p.Path)
	p.refused(RuleBatchChanged, head, a) // as b may be paid
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

// TestMakeWarns checks that amounts are far from the usual one from ten times on, that an order is not compared
// with itself, and what else rows are warned about.
func TestMakeWarns(t *testing.T) {
	p := newPlanner(t)
	p.bring(under("100", "a"), outAccepted("w1"))
	p.bring(under("101", "b"), outUnknown)
	check := func(want []string, lines ...string) {
		t.Helper()
		made, _ := p.must(append([]string{header}, lines...)...)
		if !slices.Equal(made.Warnings, want) || !slices.Equal(open(t, p.Path).Warnings, want) {
			t.Errorf("got %q, want %q", made.Warnings, want)
		}
	}
	check([]string{"line 2: order 101 pays to b, to which nothing was paid before"}, "101,Btc,0.5,b", "2,Btc,0.6,a")
	check([]string{"line 3: order 4 pays 5.00000000 Btc, 10 times the usual 0.50000000 Btc",
		"line 4: order 5 pays 0.04000000 Btc, far less than the usual 0.50000000 Btc"},
		"1,Btc,0.5,a", "4,Btc,5,a", "5,Btc,0.04,a", "6,Btc,0.05000001,a", "7,Btc,4.99999999,a", "8,Btc,900.00 USD,a",
		"9,Btc,1.00 USD,a")
	check([]string{"line 8: order 7 pays 14.00000000 Btc, 20 times the usual 0.70000000 Btc",
		"line 5: order 4 pays 30.00 USD, 10 times the usual 3.00 USD"}, "1,Btc,1.00 USD,a", "2,Btc,2.00 USD,a",
		"3,Btc,4.00 USD,a", "4,Btc,30.00 USD,a", "5,Btc,0.6,a", "6,Btc,0.7,a", "7,Btc,14,a")
	p.IdenticalWithin, p.Limits.AllowBadAddress = time.Hour, true
	long, zeros, burnt := "1234567890123450", " has only zeros after its 15th digit", "0x"+strings.Repeat("0", 40)
	doubtful, _ := p.must(header, long+",Btc,0.6,a", "2,Btc,0.7,"+burnt, "3,Btc,0.8,"+long)
	alike, _ := p.must(header, "101,Btc,0.5,b", "5,Btc,0.5,b", "100,Btc,0.5,a", "6,Btc,0.5,a", "7,Btc,0.5,a")
	points, _ := p.must(strings.ReplaceAll(header, ",", ";"), "1;Btc;7;a", "2;Btc;1.250;a", "3;Btc;10.000;a")
	got := slices.Concat(doubtful.Warnings[:3], alike.Warnings[:4], points.Warnings[:1])
	for i, says := range []string{"line 2: the order id " + long + zeros, "line 3: order 2 pays to " + burnt + ": it belongs to",
		"line 4: the address of order 3, " + long + "," + zeros,
		"line 3: order 5 pays the same as order 101, whose outcome is unknown: till withdraw reconcile 101",
		"line 3: order 5 pays the same amount to the same address as order 101 on line 2",
		"line 5: order 6 pays the same amount to the same address as order 100 on line 4",
		"line 6: order 7 pays the same amount to the same address as order 100 on line 4", `line 3: "1.250" is taken for a number`} {
		if !strings.HasPrefix(got[i], says) {
			t.Errorf("got %q, want %q", got[i], says)
		}
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
			line = fmt.Sprintf("line %d: order %d pays to %s, which is not ", i+2, i+1, address)
		}
		made, _ := p.must(lines...)
		if told := strings.Contains(strings.Join(made.Warnings, "\n"), line); told != test.told ||
			strings.Count(strings.Join(made.Warnings, "\n"), "which is not ") > 1 {
			t.Errorf("%s: %q", test.rows, made.Warnings)
		}
	}
}

// TestMakeRefusesWhatASpreadsheetDamaged checks that a cell that a spreadsheet has damaged is refused, except for a
// note. In another notation it may be what was meant.
func TestMakeRefusesWhatASpreadsheetDamaged(t *testing.T) {
	p := newPlanner(t)
	rows := func(memos []string) (lines []string) {
		lines = []string{header + ",memo,note"}
		for i, text := range memos {
			lines = append(lines, fmt.Sprintf(`%d,Btc,0.5,a,"%s","%s"`, i+1, text, text))
		}
		return lines
	}
	damaged := []string{"1.23457E+12", "1,23457E+12", "1E+05", "-2.5E-07", "1.23457e+12", "123.4E+09", "#N/A", "#REF!",
		"#VALUE!", "#NAME?", "#DIV/0!", "#ref!", "########"}
	got := p.refused(fmt.Sprint("kind ", Invalid), rows(damaged)...)
	if len(got) != len(damaged) {
		t.Fatalf("%q", got)
	}
	for i, text := range damaged {
		want := fmt.Sprintf("line %d: memo: %q was changed by a spreadsheet: format", i+2, text)
		if !strings.HasPrefix(got[i], want) {
			t.Errorf("got %q, want %q", got[i], want)
		}
	}
	right := []string{"1234567890123", "E+12", "1E12", "1.2E+1", "#", "#17", "A1E+12", "12345.0E+12E", "Tour#N/A",
		"1234.5E+12", "+1E+12"}
	_, kept := p.must(rows(right)...)
	for i, r := range kept {
		if r.Memo != right[i] {
			t.Errorf("got %q, want %q", r.Memo, right[i])
		}
	}
	p.JSONLines = true
	p.must(`{"order_id":"1","currency":"Btc","amount":"0.5","address":"a","memo":"1.23457E+12"}`)
}

// TestMakeStops checks that an input that cannot be read is told, and one that was interrupted is no error of the
// file.
func TestMakeStops(t *testing.T) {
	p := newPlanner(t)
	ctx, cancel := context.WithCancel(context.Background())
	p.Input = readerFunc(func([]byte) (int, error) { cancel(); return 0, ctx.Err() })
	if _, err := p.desk.MakePlan(ctx, p.input()); err != context.Canceled {
		t.Error(err)
	}
	p.Input = readerFunc(func([]byte) (int, error) { return 0, errors.New("the disk is broken") })
	_, err := p.desk.MakePlan(context.Background(), p.input())
	wantKind(t, err, Invalid, "", "staff.csv cannot be read: the disk is broken")
	p.Input = io.MultiReader(strings.NewReader(header+"\n1,Btc,1,a\n"), readerFunc(func([]byte) (int, error) {
		ok(t, os.WriteFile(p.Path, []byte("a file that came meanwhile"), 0o600))
		return 0, io.EOF
	}))
	wantKind(t, errorOf(p.desk.MakePlan(context.Background(), p.input())), Invalid, "", "exists and is not a plan")
	p.Expires = -1
	wantKind(t, errorOf(p.make()), Invalid, "", "before it is made")
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// FuzzRows checks that any input either has errors in its lines or becomes a plan that can be opened.
func FuzzRows(f *testing.F) {
	for _, text := range []string{
		header + "\n1,Btc,0.5,a\n", "\ufeff" + header + ",note\r\n1,Btc,0.5,a,\"x,\"\"y\"\n", "currency;x", "\xff\xfe",
		header + "\n1,Btc,\"", `{"order_id":"1","currency":"Btc","amount":"1","address":"a"}`,
		`{"order_id":"1","currency":"Btc","amount_minor":7,"address":"a"}` + "\n[]\n{", `{"a":`, "",
		",currency" + strings.Repeat("\x0e", 2000) + ",amount",
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
