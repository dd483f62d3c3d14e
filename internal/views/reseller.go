package views

import (
	"example.com/till/internal/money"
	"example.com/till/internal/render"
	"example.com/till/pkg/api"
)

// Resellers is the view of a reseller.
func Resellers(m money.Registry) render.View[api.Reseller] {
	type row = api.Reseller
	return render.View[row]{
		ID:   func(r row) string { return r.ID },
		JSON: render.Received[row](row.RawJSON),
		Columns: []render.Column[row]{
			{Name: "label", About: "label of the invite that the reseller came by",
				Cell: func(r row) render.Cell { return render.Label(r.ID, r.InviteInfo.Label) }},
			render.Field("invite", "id of that invite", render.ID, func(r row) string { return r.InviteInfo.Invite }),
			render.Field("rebates", "rebates of the reseller in each currency", render.Sums,
				func(r row) []string { return rebateTexts(m, r.Rebates) }),
			render.Field("id", "the service's id of the reseller", render.ID, func(r row) string { return r.ID }),
		},
	}.Default("label", "rebates", "id").Whole("rebates")
}

func rebateTexts(m money.Registry, rebates api.Rebates) []string {
	amounts := make([]string, len(rebates))
	for i, r := range rebates {
		amounts[i] = m.Format(r.Amount)
	}
	return amounts
}
