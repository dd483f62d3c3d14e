//go:build unix

package torture

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// view is how the ledger shows the payments of one merchant. The zero value lists the newest first,
// unchanged.
type view struct {
	Seed uint64
	// Order of the list: "" (the newest first), "oldest", "scattered" or "changed" (the last change first).
	Order string
	// Restless has payments change while the list is read: they move to its beginning or its end, and total
	// stays right.
	Restless bool
	Shuffle  bool // the payments of a page are in another order at each read
	Spelling spelling

	rng     *rand.Rand
	changed map[string]int // by id: the time of the change; 0: unchanged
	changes int
}

// drawView draws the view of a merchant.
func drawView(seed uint64, n int) view {
	rng := rand.New(rand.NewPCG(seed, 1<<43+uint64(n)))
	v := view{Seed: rng.Uint64(), Order: []string{"", "changed", "scattered", "oldest"}[n%4], Shuffle: rng.IntN(2) == 0}
	v.Restless = v.Order == "changed"
	v.Spelling = spelling{pick(rng, []string{"", "upper", "lower"}), []string{"", "external_id", "external_order_id"}[n%3]}
	return v
}

// spelling is how the records of a view differ from what was sent although they mean the same.
type spelling struct {
	Case string // of addresses and codes: "", "upper" or "lower"
	// Only is the field with the order id if there is only one: "", "external_id" or "external_order_id".
	Only string
}

// view returns the view of a merchant. The caller holds the lock.
func (l *ledger) view(key string) *view {
	if l.views[key] == nil {
		l.views[key] = &view{rng: rand.New(rand.NewPCG(1, 3))}
	}
	return l.views[key]
}

// list returns the whole list as it is when one of its pages is read.
func (v *view) list(all []payment, key string, steady bool) (own []payment) {
	for _, p := range slices.Backward(all) {
		if p.Key == key {
			own = append(own, p)
		}
	}
	switch v.Order {
	case "oldest":
		slices.Reverse(own)
	case "scattered":
		slices.SortFunc(own, func(a, b payment) int { return cmp.Compare(scatter(a.ID), scatter(b.ID)) })
	case "changed":
		slices.SortStableFunc(own, func(a, b payment) int { return cmp.Compare(v.changed[b.ID], v.changed[a.ID]) })
	}
	if v.Restless && !steady && len(own) > 0 && v.rng.IntN(8) == 0 {
		// Only the next page uses the new order.
		if v.changed == nil {
			v.changed = map[string]int{}
		}
		v.changes++
		when := v.changes
		if v.rng.IntN(2) == 0 {
			when = -when
		}
		v.changed[own[v.rng.IntN(len(own))].ID] = when
	}
	return own
}

func scatter(id string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(id))
	return h.Sum64()
}

// record returns a payment as the service shows it, alone or in a list.
func (v *view) record(p payment, listed bool) map[string]any {
	address := v.Spelling.address(p.Address)
	r := map[string]any{
		"id": p.ID, "external_order_id": p.OrderID, "merchant_id": "m-" + p.Key, "currency": v.Spelling.codes(p.Currency),
		"amount":   v.Spelling.codes(p.Amount),
		"statuses": []any{map[string]string{"status": "New", "at": "2026-01-02T03:04:05Z"}}, "current": "New",
		"address": address, "is_testnet": true,
		"callback": p.Callback, "memo": p.Memo,
	}
	r["external_id"], _ = strconv.ParseInt(p.OrderID, 10, 64)
	if listed {
		r["address"] = map[string]any{"Crypto": map[string]string{"currency": v.Spelling.inCase("Btc"), "address": address}}
	}
	switch v.Spelling.Only {
	case "external_id":
		delete(r, "external_order_id")
	case "external_order_id":
		delete(r, "external_id")
	}
	return r
}

func (s spelling) inCase(text string) string {
	switch s.Case {
	case "upper":
		return strings.ToUpper(text)
	case "lower":
		return strings.ToLower(text)
	}
	return text
}

// address changes the case of an address if it stays the same address.
func (s spelling) address(text string) string {
	switch {
	case strings.HasPrefix(text, "0x"):
		return "0x" + s.inCase(text[2:])
	case strings.HasPrefix(strings.ToLower(text), "bc1"):
		return s.inCase(text)
	}
	return text
}

var aCode = regexp.MustCompile(`"[A-Za-z]{3}"`)

// codes changes the case of the codes in a currency or an amount: Btc, Xlr and USD.
func (s spelling) codes(text json.RawMessage) json.RawMessage {
	return aCode.ReplaceAllFunc(text, func(code []byte) []byte { return []byte(s.inCase(string(code))) })
}
