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

// TestAcceptanceEnds checks that what was accepted of a list, that it counts too much or is not shown, hides nothing
// once any reading has found it well.
func TestAcceptanceEnds(t *testing.T) {
	wrong := map[string]func(s *service){
		"it counts too much": func(s *service) {
			s.onList = func(page, size int) ([]row, int, int) {
				items, pages, total := s.cut(page, size)
				return items, pages, total + 1
			}
		},
		"it is not shown": func(s *service) { s.listFail = func() (int, string) { return 404, envelope } },
	}
	for name, fail := range wrong {
		for by, read := range map[string]func(d *desk){
			"a comparison": func(d *desk) { d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{}) },
			"a look-up":    func(d *desk) { d.mustReconcile("10") },
			"half a look-up": func(d *desk) {
				n := 0
				d.s.set(func() {
					d.s.onFirst = func() {
						if n++; n == 2 {
							d.s.listFail = func() (int, string) { return 404, envelope }
						}
					}
				})
				wantKind(t, errorOf(d.Reconcile(t.Context(), "10")), Unknown, "")
				d.s.set(func() { d.s.listFail = nil })
			},
		} {
			t.Run(name+", until "+by, func(t *testing.T) {
				d := deskInDoubt(t, "10")
				d.s.set(func() { fail(d.s) })
				compared, err := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})
				if err != nil || compared.Clean() {
					t.Fatalf("got %+v, %v", compared, err)
				}
				ok(t, d.Accept(t.Context(), compared, "the provider knows"))
				well := func() { d.s.onList, d.s.listFail = nil, nil }
				d.s.set(well)
				_, err = d.Compare(t.Context(), api.WithdrawalFilter{From: "2026-01-01"}, Filter{}) // a part of the list
				ok(t, err)
				d.s.set(func() { fail(d.s) })
				d.mustReconcile("10")
				d.s.set(well)
				read(d)
				d.s.set(func() { fail(d.s) })
				wantKind(t, errorOf(d.Reconcile(t.Context(), "10")), Unknown, "")
			})
		}
	}
}

// TestRefusedHalfWay checks that a list of which a part was shown, and the rest refused, is not taken for one that is
// never shown. With a time, the part is what the time is checked with.
func TestRefusedHalfWay(t *testing.T) {
	for _, since := range []string{"", "since"} {
		d := deskInDoubt(t, "10")
		n := 0
		d.options.Since = since
		d.s.set(func() {
			d.s.listFail = func() (int, string) { return map[bool]int{true: -1, false: 404}[n == 1], envelope }
			d.s.onList = func(page, size int) ([]row, int, int) {
				items, pages, total := d.s.cut(page, size)
				return items, pages, total + 1
			}
		})
		compared, err := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})
		ok(t, err)
		ok(t, d.Accept(t.Context(), compared, "the provider knows"))
		d.s.set(func() { d.s.onFirst = func() { n++ } })
		wantKind(t, errorOf(d.Reconcile(t.Context(), "10")), Unknown, "")
	}
}

// TestWholeListIsCompared checks that only a comparison of the whole list ends the protection of a restored journal.
func TestWholeListIsCompared(t *testing.T) {
	d := usedDesk(t)
	d.restored()
	part, _ := d.Compare(t.Context(), api.WithdrawalFilter{From: "2026-01-01"}, Filter{})
	d.s.set(func() { d.s.listFail = func() (int, string) { return 500, envelope } })
	failed, _ := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})
	for _, c := range []Comparison{{}, failed, part} {
		wantKind(t, d.Accept(t.Context(), c, "x"), Invalid, "")
	}
	d.s.set(func() { d.s.listFail = nil })
	lost, err := d.Restored(t.Context())
	whole, wrong := d.Compare(t.Context(), api.WithdrawalFilter{}, Filter{})
	still, _ := d.Restored(t.Context())
	if err != nil || wrong != nil || !part.Clean() || failed.Clean() || !lost || still {
		t.Error(part, failed, lost, still, err, wrong)
	}
	wantKind(t, d.Accept(t.Context(), whole, " "), Invalid, "", "reason")
}
