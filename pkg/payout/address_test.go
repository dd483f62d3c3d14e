package payout

import (
	"fmt"
	"strings"
	"testing"

	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"github.com/go-json-experiment/json"
)

// Addresses of the standards: BIP 173, EIP-55 and a well-known contract.
const (
	segwit   = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
	mistyped = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5"
	checked  = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
	oneCase  = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"
	tron     = "TAcPMhqYruDSCUTy4CE2a3qByHuohVpMsb"
)

func withFormat(format string) []Currency {
	return []Currency{{Code: "Btc", Kind: api.Crypto, Decimals: 8, AddressFormat: format}}
}

// TestMakeRefusesWhatASpreadsheetDamaged checks that a cell that a spreadsheet has damaged is refused as a
// memo, address or order id. In another notation it may be what was meant.
func TestMakeRefusesWhatASpreadsheetDamaged(t *testing.T) {
	p := newPlanner(t)
	for _, text := range []string{"1.23457E+12", "1,23457E+12", "1E+05", "-2.5E-07", "1.23457e+12", "123.4E+09", "#N/A",
		"#REF!", "#VALUE!", "#NAME?", "#DIV/0!", "#ref!", "########"} {
		got := p.refused(fmt.Sprint("kind ", Invalid), header+",memo,note", `"`+text+`",Btc,0.5,a,m,`,
			`2,Btc,0.5,"`+text+`",m,`, `3,Btc,0.5,a,"`+text+`",`, `4,Btc,0.5,a,m,"`+text+`"`)
		ok := len(got) == 3
		for i, field := range []string{"order_id", "address", "memo"} {
			ok = ok && strings.HasPrefix(got[i],
				fmt.Sprintf("line %d: %s: %q was changed by a spreadsheet", i+2, field, text)) &&
				strings.Contains(got[i], "format the column as text")
		}
		if !ok {
			t.Errorf("%s: %q", text, got)
		}
	}
	for _, memo := range []string{"1234567890123", "E+12", "1E12", "1.2E+1", "#", "#17", "A1E+12", "12345.0E+12E",
		"Tour#N/A", "1234.5E+12", "+1E+12"} {
		if _, rows := p.must(header+",memo", `1,Btc,0.5,a,"`+memo+`"`); rows[0].Memo != memo {
			t.Errorf("%s: %v", memo, rows)
		}
	}
	p.JSONLines = true
	if _, rows := p.must(`{"order_id":"1","currency":"Btc","amount":"0.5","address":"a",` +
		`"memo":"1.23457E+12"}`); rows[0].Memo != "1.23457E+12" {
		t.Errorf("%v", rows)
	}
}

// TestMakeComparesAddressesInAnySpelling checks that two spellings of an address are the same address,
// wherever rows are compared.
func TestMakeComparesAddressesInAnySpelling(t *testing.T) {
	for _, same := range [][2]string{{checked, oneCase}, {oneCase, checked}, {segwit, strings.ToUpper(segwit)},
		{strings.ToUpper(segwit), segwit}} {
		p := newPlanner(t)
		p.bring(under("100", same[0]), outAccepted("w1"))
		p.bring(under("101", same[0]), outUnknown)
		made, rows := p.must(header, "100,Btc,0.5,"+same[1], "101,Btc,0.5,"+same[1])
		if made.Known.Before != 1 || made.Known.States[StateUnknown] != 1 || rows[0].Address != same[1] {
			t.Errorf("%s: %+v, %v", same[1], made, rows)
		}
		made, _ = p.must(header, "1,Btc,0.5,"+same[1], "2,Btc,0.5,"+same[0], "3,Btc,0.6,"+same[1])
		said := strings.Join(made.Warnings, "\n")
		if len(made.Warnings) != 3 || !strings.Contains(said,
			"line 3: order 2 pays the same amount to the same address as order 1") ||
			strings.Count(said, "pays the same as order 101") != 2 || strings.Contains(said, "nothing was paid before") {
			t.Errorf("%s: %q", same[1], made.Warnings)
		}
		p.Limits = Limits{AllowAddresses: []string{same[0]}}
		p.must(header, "1,Btc,0.5,"+same[1])
		p.Limits = Limits{}

		// The same payroll, exported in another spelling, has the same order ids.
		p.Batch = "may"
		_, one := p.must("currency,amount,address", "Btc,0.5,"+same[0], "Btc,0.5,"+same[1])
		_, other := p.must("currency,amount,address", "Btc,0.5,"+same[1], "Btc,0.5,"+same[1])
		for i := range one {
			if one[i].ExternalOrderID != other[i].ExternalOrderID {
				t.Errorf("%s: %s and %s", same[0], one[i].ExternalOrderID, other[i].ExternalOrderID)
			}
		}
	}
	other := Content{Currency: api.CryptoCurrency("Btc"), Amount: api.CryptoAmount("Btc", 1), Address: "Alice"}
	lower := other
	lower.Address = "alice"
	if lower.Key() == other.Key() {
		t.Error("an address of no known shape is compared without regard to case")
	}
}

// TestAppendLine checks that a line of a plan is what encoding/json's successor writes, because OpenPlan
// compares it byte by byte.
func TestAppendLine(t *testing.T) {
	odd := PlanRow{CreateWithdrawal: api.CreateWithdrawal{
		Currency: testBtc, Amount: api.FiatAmount("USD", 1<<63-1),
		Address: "<a&b>\"\\\u2028\u00e9\U0001F600", Memo: "\t\x7f", Callback: "https://x.example/?a=1&b=2",
		ExternalOrderID: "1",
	}, Note: "\u0001 \ufeff", Reference: "<&>", Line: 7}
	bare := PlanRow{CreateWithdrawal: api.CreateWithdrawal{Currency: testDoge,
		Amount: api.CryptoAmount("Doge", -7), Address: "a"}}
	for _, r := range append(testRows(), odd, bare) {
		want, err := json.Marshal(lineOf(r, "9 minor"))
		ok(t, err)
		if got, err := lineOf(r, "9 minor").Append([]byte("x")); err != nil || string(got) != "x"+string(want) {
			t.Errorf("%s, %v\nwant x%s", got, err, want)
		}
	}
	if _, err := lineOf(PlanRow{Note: "\xff"}, "").Append(nil); err == nil {
		t.Error("a text that is no UTF-8 is written")
	}
}

func TestCheckDecimals(t *testing.T) {
	row := PlanRow{CreateWithdrawal: api.CreateWithdrawal{Currency: testDoge,
		Amount: api.CryptoAmount("Doge", 1_000_000), Address: "a", ExternalOrderID: "1"}}
	with := func(decimals int) []Currency { return []Currency{{Code: "DOGE", Kind: api.Crypto, Decimals: decimals}} }
	for name, c := range map[string]struct {
		then, now []Currency
		says      string // empty: it is accepted
	}{
		"the same": {with(8), with(8), ""},
		"others": {with(10), with(8),
			"was made with 10 decimals of Doge, and the profile has 8 decimals now: 0.0001000000 Doge in the plan is " +
				"0.01000000 DOGE today"},
		"no longer known":   {with(8), nil, "was made with 8 decimals of Doge, and the profile has no decimals known now"},
		"none, and now one": {with(0), with(1), "was made with 0 decimals of Doge, and the profile has 1 decimal now"},
		"known since": {nil, with(8),
			"was made with no decimals known of Doge, and the profile has 8 decimals now: 1000000 minor Doge in the plan is " +
				"0.01000000 DOGE today"},
		"never known":       {nil, nil, ""},
		"another of a name": {with(8), []Currency{{Code: "Doge", Kind: api.Fiat, Decimals: 8}}, "no decimals known now"},
	} {
		p := testPlan(t)
		ok(t, writePlan(p, registryOf(c.then), []PlanRow{row}))
		err := open(t, p.Path).CheckDecimals(c.now)
		if c.says == "" && err != nil || c.says != "" &&
			(ruleOf(err) != RuleDecimals || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSenderRefusesMistypedAddresses checks that a Sender pays to a mistyped address only if its limits, or
// those of the plan, say so, and never to one that is not of its currency's format.
func TestSenderRefusesMistypedAddresses(t *testing.T) {
	bad := asked("1")
	bad.request.Address = mistyped
	rows := PlanRow{CreateWithdrawal: bad.request}
	rows.ExternalOrderID = "2"

	d := newDesk(t)
	wantKind(t, errorOf(d.send(bad)), Refused, money.RuleAddress)
	wantKind(t, errorOf(d.apply(d.plan(nil, rows), ApplyOptions{})), Refused, money.RuleAddress)
	d.s.wantCreates(0)
	d.mustApply(d.plan(func(p *Plan) { p.Limits.AllowBadAddress = true }, rows), ApplyOptions{})
	d.options.Limits.AllowBadAddress = true
	d.mustSendAs(bad)
	d.s.wantCreates(2)

	d.money = registryOf(withFormat("bitcoin"))
	bad.request.ExternalOrderID = "3"
	wantKind(t, errorOf(d.send(bad)), Invalid, "")
	d.s.wantCreates(2)
}
