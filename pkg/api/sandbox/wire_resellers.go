package sandbox

import (
	"slices"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// inviteView is section 2.6; URL is shown once, when the invite is made.
type inviteView struct {
	Invite string `json:"invite"`
	Label  string `json:"label"`
	URL    string `json:"url,omitempty"`
}

// resellerView is section 2.7.
type resellerView struct {
	ID         string                `json:"id"`
	InviteInfo inviteView            `json:"invite_info"`
	Rebates    map[string]amountView `json:"rebates"`
}

func viewInviteOf(r *store.Reseller) inviteView { return inviteView{Invite: r.Invite, Label: r.Label} }

func (s *rules) viewReseller(r *store.Reseller, a *store.Account) resellerView {
	view := resellerView{r.ID, viewInviteOf(r), map[string]amountView{}}
	for _, m := range s.held(a, store.Rebates) {
		view.Rebates[s.rebateCode(m.Code)] = viewAmount(m)
	}
	return view
}

// rebateCode is a code as a key of rebates.
func (s *rules) rebateCode(code string) string {
	if s.rebateCodes == "amount" {
		return money.ByCode[code].AmountCode()
	}
	return code
}

// statsView is section 2.8.
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

// held lists one book of an account in the order of the registry.
func (s *rules) held(a *store.Account, b store.Book) []money.Amount {
	all := []money.Amount{}
	for _, c := range money.Registry {
		minor := a.Books[store.Line{Book: b, Code: c.Code}]
		if minor != 0 || s.zeroAmounts == "show" && slices.Contains(s.Currencies, c.Currency) {
			all = append(all, money.Amount{Code: c.Code, Minor: minor})
		}
	}
	return all
}

// totals is one book in the shape of the statistics: each code over an object
// with that code.
func (s *rules) totals(a *store.Account, b store.Book) map[string]map[string]int64 {
	totals := map[string]map[string]int64{}
	for _, m := range s.held(a, b) {
		code := s.statsCode(money.ByCode[m.Code])
		totals[code] = map[string]int64{code: m.Minor}
	}
	return totals
}

func (s *rules) statsCode(c money.Currency) string {
	if s.statsCodes == "currency" {
		return c.Code
	}
	return c.AmountCode()
}

// balanceView is the record for one currency. Fiat is there when include_fiat
// asks for it.
type balanceView struct {
	Currency currencyView `json:"currency"`
	Balance  amountView   `json:"balance"`
	Fiat     *amountView  `json:"fiat,omitempty"`
}

func viewBalanceIn(m money.Amount) balanceView {
	return balanceView{Currency: viewCurrency(money.ByCode[m.Code]), Balance: viewAmount(m)}
}

// viewBalance is the balance in one currency, and its fiat equivalent where that
// was asked for, in the shape that the setting currency_balance gives them.
func (s *rules) viewBalance(m money.Amount, equivalent *money.Amount) any {
	both := []money.Amount{m}
	if equivalent != nil {
		both = append(both, *equivalent)
	}
	switch s.currencyBalance {
	case "amounts":
		views := make([]amountView, len(both))
		for i := range both {
			views[i] = viewAmount(both[i])
		}
		return views
	case "map":
		view := map[string]int64{}
		for _, m := range both {
			view[money.ByCode[m.Code].AmountCode()] = m.Minor
		}
		return view
	}
	view := viewBalanceIn(m)
	if equivalent != nil {
		amount := viewAmount(*equivalent)
		view.Fiat = &amount
	}
	return view
}

// groupedView is all balances, by kind.
type groupedView struct {
	Crypto map[string]int64 `json:"Crypto"`
	Fiat   map[string]int64 `json:"Fiat"`
}
