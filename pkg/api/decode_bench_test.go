package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func samplePage(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"page_content":[`)
	for i := range n {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"id":"%032x","external_id":%d,"merchant_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","currency":{"Crypto":"Btc"},"amount":{"Crypto":{"Btc":%d}},"statuses":[{"status":"New","at":"2026-05-01T10:00:00"},{"status":"Processing","at":"2026-05-01T10:01:00"}],"current":"Processing","address":{"Crypto":{"currency":"Btc","address":"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"}},"is_testnet":false,"callback":"https://shop.example.com/withdrawn","external_order_id":"%d"}`, i, i+1, 1000+i, i+1)
	}
	fmt.Fprintf(&b, `],"page_count":1,"total":%d}`, n)
	return []byte(b.String())
}

func BenchmarkDecodePage(b *testing.B) {
	body := samplePage(1000)
	b.Run("till", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			var p WithdrawalPage
			if err := decode(body, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("v1", func(b *testing.B) {
		type w struct {
			ID         string                      `json:"id"`
			ExternalID int64                       `json:"external_id"`
			MerchantID string                      `json:"merchant_id"`
			Currency   map[string]string           `json:"currency"`
			Amount     map[string]map[string]int64 `json:"amount"`
			Statuses   []Status                    `json:"statuses"`
			Current    string                      `json:"current"`
			Address    struct {
				Crypto struct{ Currency, Address string }
			} `json:"address"`
			IsTestnet       bool   `json:"is_testnet"`
			Callback        string `json:"callback"`
			ExternalOrderID string `json:"external_order_id"`
		}
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			var p struct {
				Content   []w   `json:"page_content"`
				PageCount int64 `json:"page_count"`
				Total     int64 `json:"total"`
			}
			if err := json.Unmarshal(body, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("v1structs", func(b *testing.B) {
		type w struct {
			ID         string                                          `json:"id"`
			ExternalID int64                                           `json:"external_id"`
			MerchantID string                                          `json:"merchant_id"`
			Currency   struct{ Crypto, Fiat string }                   `json:"currency"`
			Amount     struct{ Crypto, Fiat struct{ Btc, USD int64 } } `json:"amount"`
			Statuses   []Status                                        `json:"statuses"`
			Current    string                                          `json:"current"`
			Address    struct {
				Crypto struct{ Currency, Address string }
			} `json:"address"`
			IsTestnet       bool   `json:"is_testnet"`
			Callback        string `json:"callback"`
			ExternalOrderID string `json:"external_order_id"`
		}
		b.ReportAllocs()
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			var p struct {
				Content   []w   `json:"page_content"`
				PageCount int64 `json:"page_count"`
				Total     int64 `json:"total"`
			}
			if err := json.Unmarshal(body, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
}
