package render

import (
	"strings"
	"testing"
)

func TestMap(t *testing.T) {
	type wrapped struct{ inner payment }
	view := Map(payments, func(w wrapped) payment { return w.inner })
	for _, o := range []Options{{}, {Format: JSON}, {Format: CSV}, {Quiet: true}} {
		var b strings.Builder
		if err := view.List(&b, o, each([]wrapped{{first}, {second}})); err != nil {
			t.Fatal(err)
		}
		equal(t, b.String(), list(t, o, both...))
	}
	if without := Map(View[payment]{}, func(w wrapped) payment { return w.inner }); without.ID != nil || without.JSON.Text != nil {
		t.Error("a view without ids or JSON has got them")
	}
}
