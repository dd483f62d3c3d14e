package money

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/till/pkg/api"
)

// limited has payments within limits, and what is refused: a rule, and parts of what is said.
// A payment is in a currency, of a number of minor units, and goes to the address a, unless it says another address,
// and with it a memo. The limits are those of TestLimits.
const limited = `
none: Btc 9223372036854775807 Btc =>
all: Btc 50 Btc =>
all: Btc 51 Btc => limit max_per_withdrawal|0.00000051 Btc is more than the 0.00000050 Btc
all: Btc 51 BTC => limit one withdrawal
all: Btc 50 Btc, Btc 51 Btc => limit one withdrawal
all: Btc 1000 USD =>
all: Btc 1001 USD => limit 10.01 USD is more than the 10.00 USD
all: Btc 1 EUR => limit max_per_withdrawal limits Btc but not EUR, so this amount cannot be checked
withdrawal: Xlr 1 Xlr => limit max_per_withdrawal of the profile has no limit in Xlr|name it in unlimited
withdrawal: Eur 1 EUR => limit no limit in EUR
run of Btc: Xlr 1 USD => limit max_per_run of the profile has no limit in Xlr
run, not Usd: Xlr 1 Xlr => limit no limit in Xlr
run of Btc, not Btc: Btc 1 USD => limit limits Btc but not USD
all: Xlr 9223372036854775807 Xlr =>
all: Xlr 9223372036854775807 EUR =>
all: Xlr 1001 USD => limit one withdrawal
all: Btc 700 USD, Usd 800 USD =>
all: Btc 700 USD, Usd 801 Usd => limit 15.01 USD is more than the 15.00 USD
all: Btc 1000 USD, Btc 50 Btc, Btc 50 Btc =>
run of a cent: Usd 1 USD, Usd 1 USD => limit 0.02 USD is more than
run: Usd 1 EUR => limit max_per_run
run: Btc 9223372036854775807 USD, Btc 9223372036854775807 USD => limit 184467440737095516.14 USD is more
all: Btc 900 USD, Btc -900 USD, Btc 900 USD => limit 18.00 USD
a and b: Btc 1 Btc b =>
a and b: Btc 1 Btc a, Btc 1 Btc B => allow_list the address "B" is not
segwit and ethereum: Btc 1 Btc SEGWIT, Btc 1 Btc ethereum =>
SEGWIT: Btc 1 Btc segwit =>
SEGWIT: Btc 1 Btc a => allow_list the address "a" is not
none: Btc 1 Btc, Btc 1 Btc mistyped => address Bitcoin address, but its checksum is wrong|add --allow-bad-address
none: Btc 1 Btc mistyped => address its checksum is wrong|[currency set Btc --address-format none]
bad addresses: Btc 1 Btc mistyped =>
none: Btc 1 Btc a 1234567890123450 => address memo: the memo "1234567890123450" has only zeros after its 15th|--allow-bad-address
none: Btc 1 Btc a 1234567890123451, Btc 1 Btc a 100000000000000 =>
`

func TestLimits(t *testing.T) {
	withdrawal, run := []api.Amount{crypt("Btc", 50), fia("USD", 1000)}, []api.Amount{fia("USD", 1500), crypt("Btc", 1000)}
	oneBtc := []api.Amount{crypt("Btc", 1)}
	limits := map[string]Limits{
		"none": {}, "withdrawal": {MaxPerWithdrawal: withdrawal}, "run": {MaxPerRun: run}, "run of Btc": {MaxPerRun: oneBtc},
		"all": {MaxPerWithdrawal: withdrawal, MaxPerRun: run,
			Unlimited: []api.Currency{{Kind: api.Crypto, Code: "XLR"}}},
		"run, not Usd":        {MaxPerRun: run, Unlimited: []api.Currency{usd}},
		"run of Btc, not Btc": {MaxPerRun: oneBtc, Unlimited: []api.Currency{btc}},
		"run of a cent":       {MaxPerRun: []api.Amount{fia("USD", 1)}},
		"a and b":             {AllowAddresses: []string{"a", "b"}},
		"segwit and ethereum": {AllowAddresses: []string{segwit, ethereum}},
		"SEGWIT":              {AllowAddresses: []string{strings.ToUpper(segwit)}},
		"bad addresses":       {AllowBadAddress: true},
	}
	kinds := map[string]api.Kind{"usd": api.Fiat, "eur": api.Fiat, "btc": api.Crypto, "xlr": api.Crypto}
	addresses := map[string]string{"segwit": segwit, "SEGWIT": strings.ToUpper(segwit),
		"ethereum": strings.ToLower(ethereum), "mistyped": segwit[:41], "": "a"}
	for line := range strings.SplitSeq(strings.Trim(limited, "\n"), "\n") {
		given, want, _ := strings.Cut(line, " =>")
		name, list, _ := strings.Cut(given, ": ")
		var payments []api.CreateWithdrawal
		for text := range strings.SplitSeq(list, ", ") {
			var p api.CreateWithdrawal
			fmt.Sscan(text, &p.Currency.Code, &p.Amount.Minor, &p.Amount.Code, &p.Address, &p.Memo)
			p.Currency.Kind, p.Amount.Kind = kinds[strings.ToLower(p.Currency.Code)], kinds[strings.ToLower(p.Amount.Code)]
			p.Address = cmp.Or(addresses[p.Address], p.Address)
			payments = append(payments, p)
		}
		l, found := limits[name]
		err := l.Check(known(), payments...)
		if !found || want == "" && err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if want == "" {
			continue
		}
		e, refused := errors.AsType[*LimitError](err)
		if !refused || !strings.HasPrefix(want, " "+e.Rule+" ") || e.Advice == "" {
			t.Errorf("%s: %v", line, err)
			continue
		}
		for part := range strings.SplitSeq(strings.SplitN(want, " ", 3)[2], "|") {
			if !strings.Contains(fmt.Sprint(e.Field+": "+e.What, e.Advice, e.Command), part) {
				t.Errorf("%s: %q does not say %q", line, e.What, part)
			}
		}
	}
	if err := limits["a and b"].Check(known()); err != nil {
		t.Errorf("no payment: %v", err)
	}
}

// TestTallyReportsEveryBrokenLimit checks that a tally continues after a broken rule and reports every total
// that is too large.
func TestTallyReportsEveryBrokenLimit(t *testing.T) {
	l := Limits{MaxPerWithdrawal: []api.Amount{fia("USD", 1000)},
		MaxPerRun: []api.Amount{fia("USD", 1500), crypt("Btc", 7), fia("EUR", 10)}, Unlimited: []api.Currency{btc}}
	tally := l.Tally(known())
	var broken []int
	for i, amount := range []api.Amount{fia("USD", 1001), fia("USD", 500), fia("USD", 1002), crypt("Btc", 8)} {
		if err := tally.Add(api.CreateWithdrawal{Currency: btc, Amount: amount, Address: "a"}); err != nil {
			broken = append(broken, i)
		}
	}
	if len(broken) != 2 || broken[0] != 0 || broken[1] != 2 {
		t.Errorf("%v", broken)
	}
	all := tally.Done()
	if len(all) != 2 || !strings.Contains(all[0].What, "25.03 USD") || !strings.Contains(all[1].What, "Btc") {
		t.Errorf("%v", all)
	}
}
