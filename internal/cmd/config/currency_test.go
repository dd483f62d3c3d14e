package config

import (
	"testing"

	"example.com/till/internal/cmdutil"
	"example.com/till/internal/money"
	"example.com/till/pkg/api"
	"github.com/google/go-cmp/cmp"
)

func TestCurrencyEntry(t *testing.T) {
	for _, test := range []struct {
		code, kind, memo, format string
		want                     money.Entry
		wrong                    bool
	}{
		// spelled as the service spells it
		{code: "btc", want: money.Entry{Code: "Btc", Decimals: money.Unknown}},
		{code: "usd", kind: "fiat", want: money.Entry{Code: "USD", Kind: api.Fiat, Decimals: money.Unknown}},
		{code: "doge", kind: "crypto", memo: "required",
			want: money.Entry{Code: "doge", Kind: api.Crypto, Decimals: money.Unknown, MemoRequired: true}},
		{code: "btc", format: "bitcoin", want: money.Entry{Code: "Btc", Decimals: money.Unknown, AddressFormat: "bitcoin"}},
		{code: "btc", format: "Bitcoin", wrong: true},
		{code: "Doge", kind: "Crypto", wrong: true},
		{code: "Doge", kind: "token", wrong: true},
		{code: "Doge", memo: "optional", wrong: true},
	} {
		got, err := currencyEntry(test.code, test.kind, test.memo, test.format)
		if test.wrong {
			if r := cmdutil.Explain(err); err == nil || r.Code != cmdutil.ExitUsage || r.Hint.IsZero() {
				t.Errorf("%+v: %v", test, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%+v: %v", test, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%+v: %s", test, diff)
		}
	}
}
