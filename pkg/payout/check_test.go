package payout

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/till/pkg/api"
)

// TestCompareTellsWhatDiffers changes fields of an accepted order's record, see TestDiffers too.
func TestCompareTellsWhatDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]any // fields of the record; nil: the field is not there
		why    string         // part of the reason; empty: there is no difference
	}{
		"nothing":                    {},
		"one of two order ids, gone": {change: map[string]any{"external_id": nil}},
		"a backslash":                {change: map[string]any{"callback": "https://x.example.com/\\"}},
		"the memo":                   {change: map[string]any{"memo": "m 8"}, why: `its memo is "m 8"`},
		"one of two order ids":       {change: map[string]any{"external_id": json.Number("8")}, why: "its external_id is 8"},
		"both order ids": {change: map[string]any{"external_id": json.Number("8"), "external_order_id": "8"},
			why: `its order id is "8"`},
		"both order ids, gone": {change: map[string]any{"external_id": nil, "external_order_id": nil},
			why: `its order id is ""`},
		"the id, to one of nobody's": {change: map[string]any{"id": "w99"},
			why: "order 7 is accepted in the journal, and the service has it as w99"},
		"the id and both order ids": {change: map[string]any{"id": "w99", "external_id": nil, "external_order_id": nil},
			why: "the journal does not have it"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			order := asked("7")
			order.request.Memo = "m 7"
			d.mustSendAs(order)
			d.s.set(func() {
				for field, value := range c.change {
					if d.s.rows[0][field] = value; value == nil {
						delete(d.s.rows[0], field)
					}
				}
			})
			compared, err := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})
			ok(t, err)
			found := compared.Differences
			if (len(found) == 0) != (c.why == "") || len(found) > 0 && !strings.Contains(found[0].Why, c.why) {
				t.Errorf("got %+v, want a reason with %q", found, c.why)
			}
		})
	}
}

// TestAcceptedSurplusEnds checks that a total that was accepted as too large hides nothing once it is right
// again.
func TestAcceptedSurplusEnds(t *testing.T) {
	d := usedDesk(t)
	d.bring(asked("10"), outNotLeft)
	more := 1
	d.s.onList = func(page, size int) ([]row, int, int) {
		items, pages, total := d.s.cut(page, size)
		return items, pages, total + more
	}
	compared, err := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})
	if err != nil || compared.Surplus != 1 {
		t.Fatalf("got %+v, %v", compared, err)
	}
	ok(t, d.Accept(t.Context(), compared, "the provider counts one that is gone"))
	if compared, err = d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{}); err != nil || !compared.Clean() {
		t.Fatalf("got %+v, %v", compared, err)
	}
	d.s.set(func() { more = 0 })
	if compared, err = d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{}); err != nil || !compared.Clean() {
		t.Fatalf("got %+v, %v", compared, err)
	}
	ok(t, d.Agree(t.Context(), compared))
	d.s.set(func() { more = 1 })
	wantKind(t, errorOf(d.send(asked("10"))), Refused, RuleList)
}
