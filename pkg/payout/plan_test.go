package payout

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/till/internal/money"
	"example.com/till/internal/planfile"
	"example.com/till/pkg/api"
	"example.com/till/pkg/payout/sheet"
	"github.com/google/go-cmp/cmp"
)

var (
	testBtc        = api.CryptoCurrency("Btc")
	testDoge       = api.CryptoCurrency("Doge")
	testCurrencies = []Currency{{Code: "Btc", Kind: api.Crypto, Decimals: 8},
		{Code: "Xrp", Kind: api.Crypto, AddressFormat: "ripple"}}
	testMoney  = registryOf(testCurrencies)
	testLimits = Limits{MaxPerRun: []api.Amount{api.FiatAmount("USD", 1_000_000)},
		AllowAddresses: []string{"a", "b", "D6"}}
)

func testRows() []PlanRow {
	return []PlanRow{
		{CreateWithdrawal: api.CreateWithdrawal{Currency: testBtc,
			Amount: api.CryptoAmount("Btc", 1_500_000), Address: "a", ExternalOrderID: "4711"},
			Kept: sheet.Kept{Note: `"salary" of Zoë`, Reference: "INV-2026/118"}, Line: 2},
		{CreateWithdrawal: api.CreateWithdrawal{Currency: testBtc,
			Amount: api.FiatAmount("USD", 2500), Address: "b", ExternalOrderID: "9007199254740991",
			Memo: "rent, 7", Callback: "https://shop.example.com/paid"}},
		{CreateWithdrawal: api.CreateWithdrawal{Currency: testDoge,
			Amount: api.CryptoAmount("Doge", 5), Address: "D6", ExternalOrderID: "1"}},
		{CreateWithdrawal: api.CreateWithdrawal{Currency: testBtc,
			Amount: api.CryptoAmount("Btc", 1), Address: "a", ExternalOrderID: "2"}},
	}
}

// writePlan writes a plan of the rows.
func writePlan(p *Plan, m money.Registry, rows []PlanRow) error {
	p.OneCase, p.Totals, p.decimals = 0, nil, decimals{}
	for _, r := range rows {
		p.count(r, m.DecimalsOf(r.Amount.Kind, r.Amount.Code))
	}
	return p.save(slices.Values(rows))
}

func testPlan(t testing.TB, rows ...PlanRow) *Plan {
	t.Helper()
	made := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	p := &Plan{
		Path: filepath.Join(t.TempDir(), "staff.plan"), Account: Account{Address: "https://pay.example.com", Name: "acme"},
		Made: made, Expires: made.Add(72 * time.Hour),
		Batch: "2026-05", Since: "0a1b2c3d", Limits: testLimits, Warnings: []string{"line 3: it is much"},
		Layout: &sheet.Layout{Columns: map[string]string{"order_id": "No", "currency": "C", "amount": "Sum",
			"address": "IBAN", "memo": "M",
			"note": "Name", "reference": "Invoice", "callback": ""}, Decimal: ","}, // a map has no order
	}
	ok(t, writePlan(p, testMoney, rows))
	return p
}

func open(t testing.TB, path string) *Plan {
	t.Helper()
	p, err := OpenPlan(path)
	ok(t, err)
	return p
}

// TestPlanKeepsWhatItIsGiven checks that a plan is read as it was written, and written again.
func TestPlanKeepsWhatItIsGiven(t *testing.T) {
	odd := PlanRow{CreateWithdrawal: api.CreateWithdrawal{Currency: testBtc, Amount: api.FiatAmount("USD", 1<<62),
		Address: "<a&b>\"\\\u00e9\U0001F600", Memo: "<&>", Callback: "https://x.example/?a=1&b=2", ExternalOrderID: "3"},
		Kept: sheet.Kept{Note: "\u0001 \ufeff\u2028\t\x7f", Reference: "<&>"}, Line: 7, Warned: true}
	for i, text := range odd.Texts(&odd.Address, &odd.Memo, &odd.Callback) {
		*text += fmt.Sprint(i)
	}
	rows := append(testRows(), odd)
	written := testPlan(t, rows...)
	info, err := os.Stat(written.Path)
	ok(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", info.Mode())
	}
	p := open(t, written.Path)
	if p.Digest != written.Digest || p.Name() != strings.TrimPrefix(p.Digest, "sha256:")[:8] ||
		p.Account != written.Account || !p.Made.Equal(written.Made) || !p.Expires.Equal(written.Expires) ||
		p.Batch != "2026-05" || p.Since != "0a1b2c3d" || !slices.Equal(p.Rows, rows) {
		t.Errorf("%+v", p)
	}
	want := []Total{
		{api.Big(api.CryptoAmount("Btc", 1_500_001)), 2},
		{api.Big(api.FiatAmount("USD", 1<<62+2500)), 2},
		{api.Big(api.CryptoAmount("Doge", 5)), 1},
	}
	if !slices.Equal(p.Totals, want) {
		t.Errorf("the totals are %v", p.Totals)
	}
	if d := cmp.Diff(testLimits, p.Limits) + cmp.Diff([]string{"line 3: it is much"}, p.Warnings); d != "" {
		t.Error(d)
	}
	if got := p.Pays(p.Totals[0].Amount) + ", " + p.Pays(p.Totals[2].Amount); got != "0.01500001 Btc, 5 minor Doge" {
		t.Error(got)
	}
	left, err := os.ReadDir(filepath.Dir(p.Path))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the plan there is something: %v, %v", left, err)
	}
	empty := open(t, testPlan(t).Path)
	if len(empty.Rows) != 0 || len(empty.Totals) != 0 {
		t.Errorf("of an empty plan: %+v", empty)
	}
}

func rewrite(t testing.TB, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(change(string(text))), 0o600)
	}
	ok(t, err)
}

func ruleOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		if e.Kind == Refused {
			return e.Rule
		}
		return fmt.Sprint("kind ", e.Kind)
	}
	return fmt.Sprint(err)
}

// TestPlanNoticesEveryByte checks that a plan is refused if any byte is changed, removed or added.
func TestPlanNoticesEveryByte(t *testing.T) {
	path := testPlan(t, testRows()...).Path
	text, err := os.ReadFile(path)
	ok(t, err)
	try := func(what string, text []byte) {
		ok(t, os.WriteFile(path, text, 0o600))
		if _, err := OpenPlan(path); err == nil {
			t.Errorf("%s is not noticed", what)
		}
	}
	for i := range text {
		other := slices.Clone(text)
		other[i] ^= 1
		try(fmt.Sprintf("byte %d changed", i), other)
		if i%9 == 0 {
			try(fmt.Sprintf("byte %d left out", i), slices.Delete(slices.Clone(text), i, i+1))
			try(fmt.Sprintf("a space at byte %d", i), slices.Insert(slices.Clone(text), i, ' '))
			try(fmt.Sprintf("the end after byte %d", i), text[:i])
		}
	}
	try("a line more", append(slices.Clone(text), '\n'))
}

// TestPlanWithARightDigestIsReadStrictly checks that a plan that was edited is refused even if it has a new,
// correct digest.
func TestPlanWithARightDigestIsReadStrictly(t *testing.T) {
	for what, change := range map[string][2]string{
		"an unknown member":         {`"order_id":"2"`, `"order_id":"2","priority":1`},
		"a doubled member":          {`"order_id":"2"`, `"order_id":"2","order_id":"2"`},
		"a doubled order id":        {`"order_id":"2"`, `"order_id":"4711"`},
		"no order id":               {`"order_id":"2"`, `"order_id":""`},
		"a negative amount":         {`{"Btc":1}},"pays":"0.00000001 Btc"`, `{"Btc":-1}},"pays":"-0.00000001 Btc"`},
		"a float":                   {`{"Btc":1}`, `{"Btc":1.0}`},
		"another amount than shown": {`"pays":"0.00000001 Btc"`, `"pays":"0.00000002 Btc"`},
		"shown in other decimals":   {`"pays":"0.00000001 Btc"`, `"pays":"0.1 Btc"`},
		"a null":                    {`"memo":"rent, 7"`, `"memo":null`},
		"another spelling":          {`"address":"D6"`, `"address":"\u00446"`},
		"an empty address":          {`"address":"D6"`, `"address":""`},
		"a control character":       {`"address":"D6"`, `"address":"D6\u0007"`},
		"a space too many":          {`"address":"D6"`, `"address": "D6"`},
		"two rows on a line":        {`"address":"D6"},` + "\n    ", `"address":"D6"},`},
		"a comma too many":          {`"address":"a"}` + "\n", `"address":"a"},` + "\n"},
		"a total that is not":       {`1500001`, `1500002`},
		"a count that is not":       {`"rows":2`, `"rows":3`},
		"a total shown otherwise":   {`0.01500001 Btc`, `0.01500000 Btc`},
		"no account":                {`"acme"`, `""`},
		"an end before it begins":   {`2026-05-04T10`, `2026-04-04T10`},
		"a deep nest":               {`"limits": {`, `"limits": ` + strings.Repeat("[", 20000) + `{`},
		"a long line":               {`"address":"D6"`, `"address":"` + strings.Repeat("D", maxRow+1) + `"`},
	} {
		path := testPlan(t, testRows()...).Path
		rewrite(t, path, func(text string) string {
			text = strings.Replace(text, change[0], change[1], 1)
			return resigned(text)
		})
		_, err := OpenPlan(path)
		if ruleOf(err) != RulePlanChanged || strings.ContainsAny(err.Error(), "\nG") || len(err.Error()) > 1000 { // of a Go type
			t.Errorf("%s: %v", what, err)
		}
	}
	path := testPlan(t, testRows()...).Path
	rewrite(t, path, resigned)
	open(t, path) // so that the digest is not why the others are refused
}

// resigned returns a plan with the correct digest.
func resigned(text string) string {
	before := text[:len(text)-tailSize]
	sum := sha256.New()
	sum.Write([]byte(before))
	return before + tail(digestOf(sum))
}

// TestPlanThatIsNone checks that a plan that was only reformatted is refused as a changed plan, and that another
// file is no plan.
func TestPlanThatIsNone(t *testing.T) {
	is := func(text string) func(string) string { return func(string) string { return text } }
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	none := fmt.Sprint("kind ", Invalid)
	for name, c := range map[string]struct {
		change func(string) string
		rule   string
	}{
		"empty":               {is(""), none},
		"CSV":                 {is("order_id,currency\n"), none},
		"JSON":                {is("{}"), none},
		"only a mark":         {is("\ufeff"), none},
		"cut off":             {is("{\n  \"acco"), none},
		"other line ends":     {crlf, RulePlanChanged},
		"a byte order mark":   {func(s string) string { return "\ufeff" + crlf(s) }, RulePlanChanged},
		"a line above":        {func(s string) string { return "\n" + s }, RulePlanChanged},
		"another indentation": {func(s string) string { return strings.ReplaceAll(s, "\n  ", "\n\t") }, RulePlanChanged},
		"all on one line":     {func(s string) string { return strings.ReplaceAll(s, "\n", "") }, RulePlanChanged},
	} {
		path := testPlan(t, testRows()...).Path
		rewrite(t, path, c.change)
		if _, err := OpenPlan(path); ruleOf(err) != c.rule || c.rule == RulePlanChanged &&
			!strings.Contains(err.Error(), "is not as it was written: its line ends") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for path, says := range map[string]string{"gone.plan": "cannot be opened", t.TempDir(): "is not a regular file"} {
		if _, err := OpenPlan(path); ruleOf(err) != none || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestPlanInMemory checks that no change of the file matters once it was opened, and that a change of the
// rows in memory does not get the digest of the plan.
func TestPlanInMemory(t *testing.T) {
	p := open(t, testPlan(t, testRows()...).Path)
	text, err := os.ReadFile(p.Path)
	ok(t, err)
	rewrite(t, p.Path, func(string) string { return "other" })
	var again strings.Builder
	if n, err := p.WriteTo(&again); err != nil || again.String() != string(text) || n != int64(len(text)) {
		t.Errorf("%d bytes, %v: %s", n, err, again.String())
	}
	p.Rows[1].Address = "a"
	if _, err := p.WriteTo(&again); ruleOf(err) != RulePlanChanged {
		t.Error(err)
	}
}

func FuzzPlan(f *testing.F) {
	text, err := os.ReadFile(testPlan(f, testRows()...).Path)
	if err != nil {
		f.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), `  "digest"`)
	for _, seed := range []string{head, "", begins, "{}",
		begins + "\"a\",\n" + planfile.BeforeRows + "\n" + afterRows + "\n",
		strings.Replace(head, `"Btc":1}`, `"Btc":-1}`, 1)} {
		f.Add(seed)
	}
	path := filepath.Join(f.TempDir(), "fuzz.plan")
	// The digest is always right: if it is wrong, nothing of the plan is read.
	f.Fuzz(func(t *testing.T, before string) {
		sum := sha256.New()
		sum.Write([]byte(before))
		ok(t, os.WriteFile(path, []byte(before+tail(digestOf(sum))), 0o600))
		p, err := OpenPlan(path)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != Refused && e.Kind != Invalid ||
				strings.Contains(err.Error(), "\n") {
				t.Fatal(err)
			}
			return
		}
		var sums []Total
		seen := map[string]bool{}
		for _, r := range p.Rows {
			sums = addTotal(sums, Total{api.Big(r.Amount), 1})
			if err := r.Validate(); err != nil || seen[r.ExternalOrderID] || r.ExternalOrderID == "" {
				t.Fatalf("%+v: %v", r, err)
			}
			seen[r.ExternalOrderID] = true
		}
		if !slices.Equal(sums, p.Totals) {
			t.Fatalf("%+v", p.Totals)
		}
	})
}
