package wire

import (
	"slices"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// InviteView is the invite of section 2.6. URL is shown only when the invite is
// made.
type InviteView struct {
	Invite string `json:"invite"`
	Label  string `json:"label"`
	URL    string `json:"url,omitempty"`
}

// ResellerView is the reseller of section 2.7.
type ResellerView struct {
	ID         string                `json:"id"`
	InviteInfo InviteView            `json:"invite_info"`
	Rebates    map[string]AmountView `json:"rebates"`
}

// ViewInviteOf returns the invite of a reseller, without its URL.
func ViewInviteOf(r *store.Reseller) InviteView { return InviteView{Invite: r.Invite, Label: r.Label} }

// ViewReseller returns a reseller with its rebates.
func (s *Rules) ViewReseller(r *store.Reseller, a *store.Account) ResellerView {
	view := ResellerView{r.ID, ViewInviteOf(r), map[string]AmountView{}}
	for _, m := range s.Held(a, store.Rebates) {
		view.Rebates[s.RebateCode(m.Code)] = ViewAmount(m)
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

// StatsView is the statistics of section 2.8.
type StatsView struct {
	ID             string                      `json:"id"`
	Label          string                      `json:"label"`
	InvoiceStats   map[string]int64            `json:"invoice_stats"`
	InvoiceRebates map[string]RebateView       `json:"invoice_rebates"`
	TotalVolume    map[string]map[string]int64 `json:"total_volume"`
	TotalRebates   map[string]map[string]int64 `json:"total_rebates"`
}

// RebateView is one paid invoice in the statistics.
type RebateView struct {
	ID         string           `json:"id"`
	PaidAmount map[string]int64 `json:"paid_amount"`
	Rebate     map[string]int64 `json:"rebate"`
	Created    string           `json:"created"`
}

// Held lists one book of an account in the order of the registry.
func (s *Rules) Held(a *store.Account, b store.Book) []money.Amount {
	all := []money.Amount{}
	for _, c := range money.Registry {
		minor := a.Books[store.Line{Book: b, Code: c.Code}]
		if minor != 0 || s.ZeroAmounts == "show" && slices.Contains(s.Currencies, c) {
			all = append(all, money.Amount{Code: c.Code, Minor: minor})
		}
	}
	return all
}

// Totals returns one book in the shape of the statistics: each code is a key of an
// object whose only key is that code again.
func (s *Rules) Totals(a *store.Account, b store.Book) map[string]map[string]int64 {
	totals := map[string]map[string]int64{}
	for _, m := range s.Held(a, b) {
		code := s.StatsCode(money.ByCode[m.Code])
		totals[code] = map[string]int64{code: m.Minor}
	}
	return totals
}

// StatsCode returns the code of a currency as a key in the statistics.
func (s *Rules) StatsCode(c money.Currency) string {
	if s.StatsCodes == "currency" {
		return c.Code
	}
	return c.AmountCode()
}

// balanceView is the record for one currency. Fiat is set if include_fiat asks for
// it.
type balanceView struct {
	Currency currencyView `json:"currency"`
	Balance  AmountView   `json:"balance"`
	Fiat     *AmountView  `json:"fiat,omitempty"`
}

// ViewBalanceIn returns the record for the balance in one currency.
func ViewBalanceIn(m money.Amount) balanceView {
	return balanceView{Currency: ViewCurrency(money.ByCode[m.Code]), Balance: ViewAmount(m)}
}

// ViewBalance returns the balance in one currency, and its fiat equivalent if there
// is one, in the shape of the setting currency_balance.
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

// GroupedView is all balances, by kind.
type GroupedView struct {
	Crypto map[string]int64 `json:"Crypto"`
	Fiat   map[string]int64 `json:"Fiat"`
}
