package api

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

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
