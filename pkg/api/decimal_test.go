package api

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseDecimal(t *testing.T) {
	for _, tt := range []struct {
		text     string
		decimals int
		want     int64
	}{
		{"25.00", 2, 2500}, {"25", 2, 2500}, {"25.1", 2, 2510}, {"0.01", 2, 1}, {"0", 2, 0}, {"0.00", 2, 0}, {"0", 0, 0},
		{"7", 0, 7},
		{"0.015", 8, 1_500_000}, {"92233720368547758.07", 2, math.MaxInt64}, {"9223372036854775807", 0, math.MaxInt64},
		{"9.223372036854775807", 18, math.MaxInt64}, {"0.000000000000000001", 18, 1},
		{"10", 18 - 1, 1_000_000_000_000_000_000},
	} {
		if got, err := ParseDecimal(tt.text, tt.decimals); got != tt.want || err != nil {
			t.Errorf("ParseDecimal(%q, %d) = %d, %v, want %d", tt.text, tt.decimals, got, err, tt.want)
		}
	}
}

func TestParseDecimalRefuses(t *testing.T) {
	for _, tt := range []struct {
		text     string
		decimals int
		says     string
	}{
		{"", 2, "empty"}, {"-1", 2, "negative"}, {"-", 2, "negative"}, {"-0", 2, "negative"}, {"+5", 2, "sign"},
		{".5", 2, "write 0.5"}, {".", 2, "write 0."}, {"5.", 2, "write 5"}, {"1.2.3", 2, "two decimal points"},
		{"1..2", 2, "two decimal points"},
		{"1,000", 2, "separator"}, {"1_000", 2, "separator"}, {"1'000", 2, "separator"}, {"1e3", 2, "exponent"},
		{"1E3", 2, "exponent"}, {"1.5e1", 2, "exponent"},
		{"007", 2, "write 7"}, {"00", 2, "write 0"}, {"00.5", 2, "write 0.5"}, {"01.50", 2, "write 1.50"},
		{"25.000", 2, "3 decimals, and the currency has 2"}, {"1.0", 0, "1 decimal, and the currency has 0"},
		{"0x10", 2, "not a number"}, {" 1", 2, "not a number"}, {"1 ", 2, "not a number"}, {"1 000", 2, "not a number"},
		{"abc", 2, "not a number"}, {"NaN", 2, "not a number"},
		{"Inf", 2, "not a number"}, {"١٢", 2, "not a number"}, {"1\u00a0000", 2, "not a number"}, {"１", 2, "not a number"},
		{"1\x00", 2, "not a number"}, {"½", 2, "not a number"},
		{"1-1", 2, "not a number"}, {"1+1", 2, "not a number"}, {"\xff", 2, "not a number"},
		{"92233720368547758.08", 2, "at most 92233720368547758.07 fits"}, {"9223372036854775808", 0, "too large"},
		{"9.223372036854775808", 18, "too large"},
		{strings.Repeat("9", 400), 2, "too large"}, {"10", 18, "too large"}, {"1", -1, "0 to 18"}, {"1", 19, "0 to 18"},
	} {
		if got, err := ParseDecimal(tt.text, tt.decimals); err == nil || got != 0 || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("ParseDecimal(%q, %d) = %d, %v, want an error that says %q", tt.text, tt.decimals, got, err, tt.says)
		}
	}
}

func TestFormatDecimal(t *testing.T) {
	for _, tt := range []struct {
		minor    int64
		decimals int
		want     string
	}{
		{2500, 2, "25.00"}, {1, 2, "0.01"}, {0, 2, "0.00"}, {0, 0, "0"}, {5, 0, "5"}, {-5, 0, "-5"}, {-1, 2, "-0.01"},
		{-2500, 2, "-25.00"}, {1_500_000, 8, "0.01500000"},
		{math.MaxInt64, 2, "92233720368547758.07"}, {math.MinInt64, 2, "-92233720368547758.08"},
		{math.MinInt64, 0, "-9223372036854775808"},
		{math.MinInt64, 19, "-0.9223372036854775808"}, {1, 18, "0.000000000000000001"},
		{1, 25, "0.0000000000000000000000001"},
	} {
		if got := FormatDecimal(tt.minor, tt.decimals); got != tt.want {
			t.Errorf("FormatDecimal(%d, %d) = %q, want %q", tt.minor, tt.decimals, got, tt.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("negative decimals do not panic")
		}
	}()
	FormatDecimal(1, -1)
}

// FuzzDecimal checks that a decimal is formatted as it was parsed, and that math/big agrees.
func FuzzDecimal(f *testing.F) {
	for _, text := range []string{"25.00", "0", "0.015", "007", "1e3", ".5", "-1", "92233720368547758.07"} {
		f.Add(text, 2, int64(2500))
	}
	f.Add("9.223372036854775807", 18, int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, text string, decimals int, minor int64) {
		if got, err := ParseDecimal(text, decimals); err == nil {
			want, ok := new(big.Rat).SetString(text)
			scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil))
			if !ok || new(big.Rat).Mul(want, scale).Cmp(new(big.Rat).SetInt64(got)) != 0 || got < 0 {
				t.Errorf("ParseDecimal(%q, %d) = %d, where it is %v", text, decimals, got, want)
			}
			if back, err := ParseDecimal(FormatDecimal(got, decimals), decimals); back != got || err != nil {
				t.Errorf("%q with %d decimals came back as %d, %v", text, decimals, back, err)
			}
		} else if got != 0 {
			t.Errorf("ParseDecimal(%q, %d) = %d with an error", text, decimals, got)
		}
		if decimals < 0 || decimals > MaxDecimals {
			return
		}
		written := FormatDecimal(minor, decimals)
		back, err := ParseDecimal(strings.TrimPrefix(written, "-"), decimals)
		switch {
		case minor == math.MinInt64: // its magnitude does not fit
		case err != nil || back != max(minor, -minor) || (minor < 0) != (written[0] == '-'):
			t.Errorf("FormatDecimal(%d, %d) = %q, which reads %d, %v", minor, decimals, written, back, err)
		}
	})
}

func TestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got, other Sum
		want := new(big.Int)
		for _, n := range rapid.SliceOf(rapid.OneOf(rapid.Int64(),
			rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, -1, 0}))).Draw(t, "terms") {
			got.Add(n)
			want.Add(want, big.NewInt(n))
		}
		other.Plus(got)
		if other.Big().Cmp(want) != 0 {
			t.Fatalf("%d, want %d", other.Big(), want)
		}
		high, low := rapid.Int64().Draw(t, "high"), rapid.Int64().Draw(t, "low")
		want.Lsh(big.NewInt(high), 32)
		if got := SumOfHalves(high, low).Big(); got.Cmp(want.Add(want, big.NewInt(low))) != 0 {
			t.Fatalf("of two halves: %d, want %d", got, want)
		}
		amount := BigAmount{Crypto, "Btc", Sum{uint64(high), uint64(low)}}
		var read BigAmount
		if text, err := json.Marshal(amount); err != nil || json.Unmarshal(text, &read) != nil || read != amount {
			t.Fatalf("%s, %v: read as %v", text, err, read)
		}
	})
}

func TestBigAmountIsReadStrictly(t *testing.T) {
	for _, text := range []string{`{}`, `{"Crypto":{}}`, `{"Other":{"Btc":1}}`, `{"Crypto":{"":1}}`,
		`{"Crypto":{"Btc":null}}`, `{"Crypto":{"Btc":1.5}}`, `{"Crypto":{"Btc":1,"Btc":2}}`, "{\"Crypto\":{\"\xff\":1}}",
		`{"Crypto":{"Btc":1},"Crypto":{"Btc":2}}`, `{"Crypto":{"Btc":-170141183460469231731687303715884105729}}`,
		`{"Crypto":{"Btc":1,"Doge":2}}`, `{"Crypto":{"Btc":1},"Fiat":{"USD":1}}`,
		`{"Crypto":{"Btc":170141183460469231731687303715884105728}}`} {
		var a BigAmount
		if json.Unmarshal([]byte(text), &a) == nil {
			t.Errorf("%s is read as %v", text, a)
		}
	}
}
