package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"time"

	"example.com/till/pkg/api"
	gojson "github.com/go-json-experiment/json"
)

// plain is a withdrawal without the strictness of the SDK.
type plain struct {
	ID         string                        `json:"id"`
	ExternalID int64                         `json:"external_id"`
	MerchantID string                        `json:"merchant_id"`
	Currency   struct{ Crypto, Fiat string } `json:"currency"`
	Amount     map[string]map[string]int64   `json:"amount"`
	Statuses   []struct {
		Status string `json:"status"`
		At     string `json:"at"`
	} `json:"statuses"`
	Current         string          `json:"current"`
	Address         json.RawMessage `json:"address"`
	IsTestnet       bool            `json:"is_testnet"`
	Callback        string          `json:"callback"`
	ExternalOrderID string          `json:"external_order_id"`
}

const (
	calls    = 1024 // divisible by every width
	sdkPairs = 81
)

// sdk compares the client's calls with net/http.
func sdk(b *bench) []row {
	server := b.helper("-serve", "1000")
	defer server.stop()
	url := server.url
	client := must(api.New(url, api.WithAPIKey(sandboxKey)))
	bare := poster()
	ctx := context.Background()
	request := api.CreateWithdrawal{
		Currency: api.Currency{Kind: api.Crypto, Code: "Btc"},
		Amount:   api.Amount{Kind: api.Crypto, Code: "Btc", Minor: 1500000},
		Address:  "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", ExternalOrderID: "4711",
	}
	operations := []struct {
		name      string
		sdk, bare func() error
	}{
		{"read", func() error {
			_, err := client.Withdrawals.Get(ctx, "7c9e6679-7425-40de-944b-e07fc1f90ae7")
			return err
		}, func() error {
			var value api.Withdrawal
			return exchange(ctx, bare, http.MethodGet, url+getPath+"?id=7c9e6679-7425-40de-944b-e07fc1f90ae7",
				nil, &value)
		}},
		{"create", func() error {
			_, err := client.Withdrawals.Create(ctx, request)
			return err
		}, func() error {
			body, err := gojson.Marshal(request)
			if err != nil {
				return err
			}
			var value string
			return exchange(ctx, bare, http.MethodPost, url+createPath, body, &value)
		}},
	}
	var rows []row
	for _, op := range operations {
		for _, width := range []int{1, 32} {
			var mine, base uint64
			ratio := pairs(sdkPairs, func() (took time.Duration) {
				took, mine = repeat(width, op.sdk)
				return took
			}, func() (took time.Duration) {
				took, base = repeat(width, op.bare)
				return took
			})
			name := fmt.Sprintf("SDK %s / net/http, %d at a time", op.name, width)
			rows = append(rows,
				row{what: name + ", time", got: ratio, unit: "x", limit: 1.10, atMost: true,
					detail: fmt.Sprintf("median of %d pairs of %d calls", sdkPairs, calls)},
				row{what: name + ", more allocations", got: float64(mine)/calls - float64(base)/calls, limit: 25,
					atMost: true, detail: "per call"})
		}
	}
	return rows
}

// exchange is the baseline: a request with the key; the answer is read whole and decoded.
func exchange(ctx context.Context, client *http.Client, method, url string, body []byte, value any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+sandboxKey)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "bench")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return gojson.Unmarshal(text, value)
}

// repeat makes all calls, width at a time, and returns how long they took and the number of their
// allocations.
func repeat(width int, call func() error) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	took := together(width, calls, func(int, int) error { return call() })
	runtime.ReadMemStats(&after)
	return took, after.Mallocs - before.Mallocs
}

// canned answers every request with the same page.
type canned []byte

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(c)),
		ContentLength: int64(len(c)), Request: req}, nil
}

// decode compares the decoding of a page, strict and with the JSON kept, with encoding/json and plain
// structs.
func decode(*bench) []row {
	page, _ := template(pageSize)
	client := must(api.New("http://127.0.0.1", api.WithTransport(canned(page))))
	const times = 40
	ratio := pairs(41, func() time.Duration {
		begin := time.Now()
		for range times {
			var value struct {
				Content   []plain `json:"page_content"`
				PageCount int64   `json:"page_count"`
				Total     int64   `json:"total"`
			}
			check(json.Unmarshal(page, &value))
		}
		return time.Since(begin)
	}, func() time.Duration {
		begin := time.Now()
		for range times {
			must(client.Withdrawals.List(context.Background(), api.WithdrawalFilter{}, 0, pageSize))
		}
		return time.Since(begin)
	})
	return []row{{what: "encoding/json v1 into plain structs / till, a page of 1,000 withdrawals", got: ratio,
		unit: "x", limit: 2, detail: fmt.Sprintf("median of 41 pairs of %d pages", times)}}
}
