package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// samplePage returns a page of n withdrawals in the format of a list.
func samplePage(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"page_content":[`)
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b,
			`{"id":"%032x","external_id":%d,"merchant_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","currency":{"Crypto":"Btc"},`+
				`"amount":{"Crypto":{"Btc":%d}},"statuses":[{"status":"New","at":"2026-05-01T10:00:00"},{"status":"Processing",`+
				`"at":"2026-05-01T10:01:00"}],`+
				`"current":"Processing","address":{"Crypto":{"currency":"Btc",`+
				`"address":"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"}},"is_testnet":false,`+
				`"callback":"https://shop.example.com/withdrawn","external_order_id":"%d"}`, i, i+1, 1000+i, i+1)
	}
	fmt.Fprintf(&b, `],"page_count":1,"total":%d}`, n)
	return []byte(b.String())
}

// BenchmarkDecodePage decodes a page of 1,000 withdrawals, and compares this with encoding/json into plain
// structs. The struct with maps decodes any code, as this package must. The other knows two codes beforehand,
// and is as fast as encoding/json gets.
func BenchmarkDecodePage(b *testing.B) {
	body := samplePage(1000)
	b.Run("till", func(b *testing.B) {
		benchDecode(b, body, func(p *WithdrawalPage) error { return decode(body, p) })
	})
	type withdrawal[Currency, Amount any] struct {
		ID         string                        `json:"id"`
		ExternalID int64                         `json:"external_id"`
		MerchantID string                        `json:"merchant_id"`
		Currency   Currency                      `json:"currency"`
		Amount     Amount                        `json:"amount"`
		Statuses   []struct{ Status, At string } `json:"statuses"`
		Current    string                        `json:"current"`
		Address    struct {
			Crypto struct{ Currency, Address string }
		} `json:"address"`
		IsTestnet       bool   `json:"is_testnet"`
		Callback        string `json:"callback"`
		ExternalOrderID string `json:"external_order_id"`
	}
	type page[W any] struct {
		Content   []W   `json:"page_content"`
		PageCount int64 `json:"page_count"`
		Total     int64 `json:"total"`
	}
	b.Run("encoding-json", func(b *testing.B) {
		benchDecode(b, body, func(p *page[withdrawal[map[string]string, map[string]map[string]int64]]) error {
			return json.Unmarshal(body, p)
		})
	})
	b.Run("encoding-json-two-codes", func(b *testing.B) {
		type currency = struct{ Crypto, Fiat string }
		type amount = struct{ Crypto, Fiat struct{ Btc, USD int64 } }
		benchDecode(b, body, func(p *page[withdrawal[currency, amount]]) error { return json.Unmarshal(body, p) })
	})
}

func benchDecode[T any](b *testing.B, body []byte, read func(*T) error) {
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		var value T
		if err := read(&value); err != nil {
			b.Fatal(err)
		}
	}
}
