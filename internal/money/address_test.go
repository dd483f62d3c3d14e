package money

import (
	"strings"
	"testing"

	"example.com/till/pkg/api"
)

const (
	ethereum = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed" // EIP-55
	segwit   = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4" // BIP 173
	tron     = "TAcPMhqYruDSCUTy4CE2a3qByHuohVpMsb"
)

func withFormats() Registry {
	return NewRegistry().With(
		Entry{Code: "Btc", Kind: api.Crypto, Decimals: 8, AddressFormat: "bitcoin"},
		Entry{Code: "UsdtErc20", Kind: api.Crypto, Decimals: 6, AddressFormat: "ethereum"},
	)
}

func TestCheckAddress(t *testing.T) {
	anything := withFormats().With(Entry{Code: "Btc", Kind: api.Crypto, Decimals: 8, AddressFormat: "none"})
	for _, c := range []struct {
		r          Registry
		currency   api.Currency
		text       string
		says, warn string
	}{
		{withFormats(), btc, segwit, "", ""},
		{withFormats(), btc, segwit[:41] + "5", "its checksum is wrong", ""},
		{withFormats(), usdt, tron, "this is a TRON address, and UsdtErc20 takes Ethereum addresses", ""},
		{withFormats(), api.Currency{Kind: api.Crypto, Code: "BTC"}, tron, "and BTC takes Bitcoin addresses", ""},
		// Another currency of that name.
		{withFormats(), api.Currency{Kind: api.Fiat, Code: "Btc"}, tron, "", ""},
		{anything, btc, "\u0410" + tron, "", ""},
		{NewRegistry(), btc, tron, "", ""},
		{NewRegistry(), btc, tron[:33] + "u", "", "shape of a TRON address"},
		{NewRegistry(), btc, "\u0410" + tron, "", "character 1 is"},
	} {
		err := c.r.CheckAddress(c.currency, c.text)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("CheckAddress(%v, %s): %v; want %q", c.currency, c.text, err, c.says)
		}
		got := c.r.AddressWarning(c.currency, c.text) + c.r.AddressMistake(c.currency, c.text)
		if (got == "") != (c.warn == "") || !strings.Contains(got, c.warn) {
			t.Errorf("%v, %s: doubted with %q; want %q", c.currency, c.text, got, c.warn)
		}
	}
	stellar := NewRegistry().With(Entry{Code: "Xlr", Kind: api.Crypto, AddressFormat: "stellar"})
	if err := stellar.CheckMemo(api.Currency{Kind: api.Crypto, Code: "Xlr"}, "", strings.Repeat("x", 29)); err == nil {
		t.Error("a memo of Stellar has 29 bytes")
	}
}

// TestCheckAllowed checks that an entry of allow_addresses must fit a format only if every currency of the
// configuration has one.
func TestCheckAllowed(t *testing.T) {
	partly := withFormats().With(Entry{Code: "Doge", Kind: api.Crypto, Decimals: 8})
	anything := withFormats().With(Entry{Code: "Doge", Kind: api.Crypto, Decimals: 8, AddressFormat: "none"})
	only := NewRegistry().With(Entry{Code: "Btc", Kind: api.Crypto, AddressFormat: "bitcoin"})
	for name, c := range map[string]struct {
		r    Registry
		text string
		says string
	}{
		"of one of the formats": {withFormats(), segwit, ""},
		"mistyped":              {withFormats(), segwit[:41] + "5", "shape of a Bitcoin address, but its checksum is wrong"},
		"of another network": {withFormats(), tron,
			"it is a TRON address: remove it, or say which currency has such addresses"},
		"a look-alike":           {withFormats(), "bc1qw508d6qejxtdg4y5r3z\u0430rvary0c5xw7kv8f3t4", "U+0430"},
		"of no shape":            {withFormats(), "alice", "it fits none of bitcoin, ethereum"},
		"of no shape of one":     {only, "alice", "it fits none of bitcoin: copy it again"},
		"a currency without one": {partly, "alice", ""},
		"a currency with none":   {anything, "alice", ""},
		"no currency":            {NewRegistry(), "alice", ""},
	} {
		err := c.r.CheckAllowed(c.text)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q", name, err, c.says)
		}
	}
}
