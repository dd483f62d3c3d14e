package wire

import (
	"slices"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// InviteView is the invite of section 2.6. URL is shown only when the invite is made.
type InviteView struct {
	Invite string `json:"invite"`
	Label  string `json:"label"`
	URL    string `json:"url,omitempty"`
}

type resellerView struct {
	ID         string                `json:"id"`
	InviteInfo InviteView            `json:"invite_info"`
	Rebates    map[string]AmountView `json:"rebates"`
}

// The views of a reseller have one signature, for the routes that answer with one.

func (s *Rules) ViewInviteOf(r *store.Reseller, _ *store.Account) any {
	return InviteView{Invite: r.Invite, Label: r.Label}
}

func (s *Rules) ViewReseller(r *store.Reseller, a *store.Account) any {
	view := resellerView{r.ID, InviteView{Invite: r.Invite, Label: r.Label}, map[string]AmountView{}}
	for _, m := range s.held(a, store.Rebates) {
		view.Rebates[s.RebateCode(m.Code)] = ViewAmount(m)
	}
	return view
}

func (s *Rules) ViewRebates(_ *store.Reseller, a *store.Account) any {
	amounts := []AmountView{}
	for _, m := range s.held(a, store.Rebates) {
		amounts = append(amounts, ViewAmount(m))
	}
	return amounts
}

func (s *Rules) ViewBalances(_ *store.Reseller, a *store.Account) any {
	var grouped struct { // by kind
		Crypto, Fiat map[string]int64
	}
	grouped.Crypto, grouped.Fiat = map[string]int64{}, map[string]int64{}
	list := []any{}
	for _, m := range s.held(a, store.Balance) {
		group := grouped.Crypto
		if money.ByCode[m.Code].Kind == money.Fiat {
			group = grouped.Fiat
		}
		group[money.ByCode[m.Code].AmountCode()] = m.Minor
		list = append(list, s.ViewBalance(m, nil))
	}
	if s.BalanceRecord == "list" {
		return list
	}
	return grouped
}

// statsView is the statistics of section 2.8.
type statsView struct {
	ID             string                      `json:"id"`
	Label          string                      `json:"label"`
	InvoiceStats   map[string]int64            `json:"invoice_stats"`
	InvoiceRebates map[string]rebateView       `json:"invoice_rebates"`
	TotalVolume    map[string]map[string]int64 `json:"total_volume"`
	TotalRebates   map[string]map[string]int64 `json:"total_rebates"`
}

type rebateView struct {
	ID         string           `json:"id"`
	PaidAmount map[string]int64 `json:"paid_amount"`
	Rebate     map[string]int64 `json:"rebate"`
	Created    string           `json:"created"`
}

// ViewStats counts the invoices and lists the paid ones. The totals come from the books, which each payment
// updates in the same change as the invoice.
func (s *Rules) ViewStats(r *store.Reseller, a *store.Account) any {
	view := statsView{r.ID, r.Label, map[string]int64{}, map[string]rebateView{}, s.totals(a, store.Volume),
		s.totals(a, store.Rebates)}
	if s.StatsZeros == "show" {
		for _, status := range s.InvoiceStatuses {
			view.InvoiceStats[status] = 0
		}
	}
	for _, v := range a.Invoices {
		view.InvoiceStats[s.InvoiceStatuses[v.Phase]]++
		if v.Phase != store.Paid {
			continue
		}
		got, at := v.Payment(), v.Created
		if s.RebateCreated == "payment" {
			at = v.PaidAt
		}
		code := s.statsCode(got.Code)
		view.InvoiceRebates[v.ID] = rebateView{v.ID, map[string]int64{code: got.Minor}, map[string]int64{code: v.Rebate},
			at.Format(s.CreatedLayout)}
	}
	return view
}

// RebateCode returns a code as a key of rebates.
func (s *Rules) RebateCode(code string) string {
	if s.RebateCodes == "amount" {
		return money.ByCode[code].AmountCode()
	}
	return code
}

// held lists one book of an account in the order of the registry.
func (s *Rules) held(a *store.Account, b store.Book) []money.Amount {
	all := []money.Amount{}
	for _, c := range money.Registry {
		minor := a.Books[store.Line{Book: b, Code: c.Code}]
		if minor != 0 || s.ZeroAmounts == "show" && slices.Contains(s.Currencies, c) {
			all = append(all, money.Amount{Code: c.Code, Minor: minor})
		}
	}
	return all
}

// totals returns one book in the shape of the statistics: each code is a key of an object whose only key is
// that code again.
func (s *Rules) totals(a *store.Account, b store.Book) map[string]map[string]int64 {
	totals := map[string]map[string]int64{}
	for _, m := range s.held(a, b) {
		code := s.statsCode(m.Code)
		totals[code] = map[string]int64{code: m.Minor}
	}
	return totals
}

// statsCode returns a code as a key in the statistics.
func (s *Rules) statsCode(code string) string {
	if s.StatsCodes == "currency" {
		return code
	}
	return money.ByCode[code].AmountCode()
}

// balanceView is the record for one currency. Fiat is set if include_fiat asks for it.
type balanceView struct {
	Currency currencyView `json:"currency"`
	Balance  AmountView   `json:"balance"`
	Fiat     *AmountView  `json:"fiat,omitempty"`
}

func ViewBalanceIn(m money.Amount) balanceView {
	return balanceView{Currency: ViewCurrency(money.ByCode[m.Code]), Balance: ViewAmount(m)}
}

// ViewBalance returns the balance in one currency, and its fiat equivalent if there is one, in the shape of
// the setting currency_balance.
func (s *Rules) ViewBalance(m money.Amount, equivalent *money.Amount) any {
	both := []money.Amount{m}
	if equivalent != nil {
		both = append(both, *equivalent)
	}
	switch s.CurrencyBalance {
	case "amounts":
		views := make([]AmountView, len(both))
		for i := range both {
			views[i] = ViewAmount(both[i])
		}
		return views
	case "map":
		view := map[string]int64{}
		for _, m := range both {
			view[money.ByCode[m.Code].AmountCode()] = m.Minor
		}
		return view
	}
	view := ViewBalanceIn(m)
	if equivalent != nil {
		amount := ViewAmount(*equivalent)
		view.Fiat = &amount
	}
	return view
}
