package money

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/till/pkg/api"
)

// pay returns payments to the address a: of each pair of a currency and an amount.
func pay(pairs ...any) (payments []Payment) {
	for pair := range slices.Chunk(pairs, 2) {
		payments = append(payments, Payment{pair[0].(api.Currency), pair[1].(api.Amount), "a", ""})
	}
	return payments
}

func TestLimits(t *testing.T) {
	xlr := api.Currency{Kind: api.Crypto, Code: "Xlr"}
	l := Limits{
		MaxPerWithdrawal: []api.Amount{crypt("Btc", 50), fia("USD", 1000)},
		MaxPerRun:        []api.Amount{fia("USD", 1500), crypt("Btc", 1000)},
		Unlimited:        []api.Currency{{Kind: api.Crypto, Code: "XLR"}},
	}
	bounded := Limits{MaxPerWithdrawal: l.MaxPerWithdrawal}
	allow := Limits{AllowAddresses: []string{"a", "b"}}
	for name, c := range map[string]struct {
		l        Limits
		payments []Payment
		rule     string // empty: allowed
		index    int
		says     string
	}{
		"nothing is limited": {Limits{}, pay(btc, crypt("Btc", math.MaxInt64)), "", 0, ""},
		"just the limit":     {l, pay(btc, crypt("Btc", 50)), "", 0, ""},
		"one more than the limit": {l, pay(btc, crypt("Btc", 51)), RuleLimit, 0,
			"max_per_withdrawal|0.00000051 Btc is more than the 0.00000050 Btc"},
		"in another case":             {l, pay(btc, crypt("BTC", 51)), RuleLimit, 0, "one withdrawal"},
		"the second of two":           {l, pay(btc, crypt("Btc", 50), btc, crypt("Btc", 51)), RuleLimit, 1, "one withdrawal"},
		"equivalent within its limit": {l, pay(btc, fia("USD", 1000)), "", 0, ""},
		"equivalent above its limit": {l, pay(btc, fia("USD", 1001)), RuleLimit, 0,
			"10.01 USD is more than the 10.00 USD"},
		"equivalent without a limit": {l, pay(btc, fia("EUR", 1)), RuleLimit, 0,
			"max_per_withdrawal limits Btc but not EUR, so this amount cannot be checked"},
		"a currency without a limit": {bounded, pay(xlr, crypt("Xlr", 1)), RuleLimit, 0,
			"max_per_withdrawal of the profile has no limit in Xlr|name it in unlimited"},
		"a fiat currency without a limit": {bounded, pay(api.Currency{Kind: api.Fiat, Code: "Eur"}, fia("EUR", 1)),
			RuleLimit, 0, "no limit in EUR"},
		"and its equivalent": {Limits{MaxPerRun: []api.Amount{crypt("Btc", 1)}}, pay(xlr, fia("USD", 1)), RuleLimit,
			0, "max_per_run of the profile has no limit in Xlr"},
		"another unlimited": {Limits{MaxPerRun: l.MaxPerRun, Unlimited: []api.Currency{usd}},
			pay(xlr, crypt("Xlr", 1)), RuleLimit, 0, "no limit in Xlr"},
		"unlimited, but not in another unit": {Limits{MaxPerRun: []api.Amount{crypt("Btc", 1)}, Unlimited: []api.Currency{btc}},
			pay(btc, fia("USD", 1)), RuleLimit, 0, "limits Btc but not USD"},
		"an unlimited currency":        {l, pay(xlr, crypt("Xlr", math.MaxInt64)), "", 0, ""},
		"and its unlimited equivalent": {l, pay(xlr, fia("EUR", math.MaxInt64)), "", 0, ""},
		"and its limited equivalent":   {l, pay(xlr, fia("USD", 1001)), RuleLimit, 0, "one withdrawal"},
		"a run just at the limit":      {l, pay(btc, fia("USD", 700), usd, fia("USD", 800)), "", 0, ""},
		"a run above the limit": {l, pay(btc, fia("USD", 700), usd, fia("Usd", 801)), RuleLimit,
			-1, "15.01 USD is more than the 15.00 USD"},
		"other units do not count": {l,
			pay(btc, fia("USD", 1000), btc, crypt("Btc", 50), btc, crypt("Btc", 50)), "", 0, ""},
		"the smallest amounts add up": {Limits{MaxPerRun: []api.Amount{fia("USD", 1)}},
			pay(usd, fia("USD", 1), usd, fia("USD", 1)), RuleLimit, -1, "0.02 USD is more than"},
		"no way round a run's limit": {Limits{MaxPerRun: l.MaxPerRun}, pay(usd, fia("EUR", 1)),
			RuleLimit, 0, "max_per_run"},
		"a run beyond 64 bits": {Limits{MaxPerRun: l.MaxPerRun},
			pay(btc, fia("USD", math.MaxInt64), btc, fia("USD", math.MaxInt64)), RuleLimit, -1,
			"184467440737095516.14 USD is more"},
		"a negative makes no room": {l,
			pay(btc, fia("USD", 900), btc, fia("USD", -900), btc, fia("USD", 900)),
			RuleLimit, -1, "18.00 USD"},
		"an allowed address": {allow, []Payment{{btc, crypt("Btc", 1), "b", ""}}, "", 0, ""},
		"another address": {allow, []Payment{{btc, crypt("Btc", 1), "a", ""}, {btc, crypt("Btc", 1), "B", ""}},
			RuleAllowList, 1, `the address "B" is not`},
		"allowed in another case": {Limits{AllowAddresses: []string{segwit, ethereum}},
			[]Payment{{btc, crypt("Btc", 1), strings.ToUpper(segwit), ""},
				{btc, crypt("Btc", 1), strings.ToLower(ethereum), ""}}, "", 0, ""},
		"allowed in capitals": {Limits{AllowAddresses: []string{strings.ToUpper(segwit)}},
			[]Payment{{btc, crypt("Btc", 1), segwit, ""}}, "", 0, ""},
		"an address that is mistyped": {Limits{},
			[]Payment{{btc, crypt("Btc", 1), "a", ""}, {btc, crypt("Btc", 1), segwit[:41], ""}}, RuleAddress, 1,
			"it has the shape of a Bitcoin address, but its checksum is wrong|add --allow-bad-address"},
		"and its way out": {Limits{}, []Payment{{btc, crypt("Btc", 1), segwit[:41], ""}}, RuleAddress, 0,
			"its checksum is wrong|till currency set Btc --address-format none"},
		"allowed although it is": {Limits{AllowBadAddress: true}, []Payment{{btc, crypt("Btc", 1), segwit[:41], ""}}, "", 0, ""},
		"no payment":             {allow, nil, "", 0, ""},
		"a memo that is rounded": {Limits{}, []Payment{{btc, crypt("Btc", 1), "a", "1234567890123450"}}, RuleAddress, 0,
			"the memo \"1234567890123450\" has only zeros after its 15th digit|--allow-bad-address"},
		"and its neighbours": {Limits{}, []Payment{{btc, crypt("Btc", 1), "a", "1234567890123451"},
			{btc, crypt("Btc", 1), "a", "100000000000000"}}, "", 0, ""},
	} {
		err := c.l.Check(known(), c.payments...)
		var e *LimitError
		switch {
		case c.rule == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.rule == "":
		case !errors.As(err, &e):
			t.Errorf("%s: %v, want a refusal", name, err)
		case e.Rule != c.rule || e.Index != c.index || e.Hint() == "":
			t.Errorf("%s: %+v", name, e)
		default:
			for part := range strings.SplitSeq(c.says, "|") {
				if !strings.Contains(e.What+e.Hint(), part) {
					t.Errorf("%s: %q does not say %q", name, e.What, part)
				}
			}
		}
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
		if err := tally.Add(Payment{btc, amount, "a", ""}); err != nil {
			broken = append(broken, i)
			if e := (*LimitError)(nil); !errors.As(err, &e) || e.Index != i {
				t.Errorf("%d: %v", i, err)
			}
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
