package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"example.com/till/pkg/api"
)

// The baseline of these benchmarks is what a careful program writes with net/http alone: one tuned transport,
// requests built by hand, and the whole body read and decoded by encoding/json into plain structs. `make
// bench` compares the SDK with it; these benchmarks are for finding the cause of a difference.

const benchWithdrawal = `{"id":"4b6c1e9a-0f0e-4a57-9d53-0d6ad8a0a1c7","external_id":4711,` +
	`"merchant_id":"7c9e6679-7425-40de-944b-e07fc1f90ae7","currency":{"Crypto":"Btc"},` +
	`"amount":{"Crypto":{"Btc":1500000}},` +
	`"statuses":[{"status":"New","at":"2026-05-01T10:00:00"}],` +
	`"current":"New","address":"bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq","is_testnet":false,` +
	`"callback":"https://shop.example.com/withdrawn","external_order_id":"4711"}`

type plainWithdrawal struct {
	ID              string                                  `json:"id"`
	ExternalID      int64                                   `json:"external_id"`
	MerchantID      string                                  `json:"merchant_id"`
	Currency        struct{ Crypto, Fiat string }           `json:"currency"`
	Amount          struct{ Crypto, Fiat map[string]int64 } `json:"amount"`
	Statuses        []struct{ Status, At string }           `json:"statuses"`
	Current         string                                  `json:"current"`
	Address         string                                  `json:"address"`
	IsTestnet       bool                                    `json:"is_testnet"`
	Callback        string                                  `json:"callback"`
	ExternalOrderID string                                  `json:"external_order_id"`
}

func benchServer(b *testing.B) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodPost {
			io.WriteString(w, `"4b6c1e9a-0f0e-4a57-9d53-0d6ad8a0a1c7"`)
			return
		}
		io.WriteString(w, benchWithdrawal)
	}))
	b.Cleanup(server.Close)
	return server
}

// baseline is the client that the SDK is compared with.
type baseline struct {
	client *http.Client
	base   string
	key    string
}

func newBaseline(base string) baseline {
	return baseline{&http.Client{Transport: &http.Transport{MaxIdleConns: 128, MaxIdleConnsPerHost: 128}}, base, "key"}
}

func (c baseline) call(ctx context.Context, method, target string, body []byte, value any) error {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+target, reader)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return json.Unmarshal(text, value)
}

// pair is one call, made by the SDK and by the baseline.
type pair struct{ till, plain func() error }

const benchID = "4b6c1e9a-0f0e-4a57-9d53-0d6ad8a0a1c7"

func benchPairs(b *testing.B) map[string]pair {
	server := benchServer(b)
	client, err := api.New(server.URL, api.WithAPIKey("key"))
	if err != nil {
		b.Fatal(err)
	}
	plain := newBaseline(server.URL)
	ctx := context.Background()
	create := api.CreateWithdrawal{
		Currency: api.Currency{Kind: api.Crypto, Code: "Btc"},
		Amount:   api.Amount{Kind: api.Crypto, Code: "Btc", Minor: 1500000},
		Address:  "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", ExternalOrderID: "4711",
	}
	type plainCreate struct {
		Currency        map[string]string           `json:"currency"`
		Amount          map[string]map[string]int64 `json:"amount"`
		Address         string                      `json:"address"`
		ExternalOrderID string                      `json:"external_order_id"`
	}
	same := plainCreate{
		Currency: map[string]string{"Crypto": "Btc"},
		Amount:   map[string]map[string]int64{"Crypto": {"Btc": 1500000}},
		Address:  create.Address, ExternalOrderID: create.ExternalOrderID,
	}
	return map[string]pair{
		"get": {
			func() error { _, err := client.Withdrawals.Get(ctx, benchID); return err },
			func() error {
				ctx, cancel := context.WithTimeout(ctx, api.DefaultReadTimeout)
				defer cancel()
				var w plainWithdrawal
				return plain.call(ctx, http.MethodGet, "/api/merchant_withdrawal?id="+url.QueryEscape(benchID), nil, &w)
			},
		},
		"create": {
			func() error { _, err := client.Withdrawals.Create(ctx, create); return err },
			func() error {
				ctx, cancel := context.WithTimeout(ctx, api.DefaultCreateTimeout)
				defer cancel()
				body, err := json.Marshal(same)
				if err != nil {
					return err
				}
				var id string
				return plain.call(ctx, http.MethodPost, "/api/merchant_withdrawal/create", body, &id)
			},
		},
	}
}

// BenchmarkCall measures time and allocations of each call, including those of the server.
func BenchmarkCall(b *testing.B) {
	for name, p := range benchPairs(b) {
		for who, call := range map[string]func() error{"till": p.till, "net-http": p.plain} {
			b.Run(name+"/"+who, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := call(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRatio makes the calls in turns, so that other load on the machine affects both alike. It reports
// the ratio of the SDK's median to the baseline's. The goal is at most 1.10.
func BenchmarkRatio(b *testing.B) {
	for name, p := range benchPairs(b) {
		b.Run(name, func(b *testing.B) {
			var till, plain []time.Duration
			timed := func(call func() error) time.Duration {
				start := time.Now()
				if err := call(); err != nil {
					b.Fatal(err)
				}
				return time.Since(start)
			}
			for b.Loop() {
				till = append(till, timed(p.till))
				plain = append(plain, timed(p.plain))
			}
			slices.Sort(till)
			slices.Sort(plain)
			b.ReportMetric(float64(till[len(till)/2])/float64(plain[len(plain)/2]), "x-net/http")
		})
	}
}
