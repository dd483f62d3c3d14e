package wire

import (
	"encoding/json"
	"slices"
	"strconv"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// WithdrawalView is the withdrawal of section 2.2. The fields of type any are a value, a JSON null or left
// out, depending on the settings. Address has a different shape in each view; the handlers set it.
type WithdrawalView struct {
	ID              string       `json:"id"`
	ExternalID      any          `json:"external_id,omitempty"`
	MerchantID      string       `json:"merchant_id"`
	Currency        currencyView `json:"currency"`
	Amount          AmountView   `json:"amount"`
	Statuses        []statusView `json:"statuses"`
	Current         string       `json:"current"`
	Address         any          `json:"address"`
	IsTestnet       bool         `json:"is_testnet"`
	Callback        any          `json:"callback,omitempty"`
	ExternalOrderID any          `json:"external_order_id,omitempty"`
	Memo            string       `json:"memo,omitempty"`
}

type statusView struct {
	Status string `json:"status"`
	At     string `json:"at"`
}

type addressIn struct {
	Currency string `json:"currency"`
	Address  string `json:"address"`
}

// ListAddress returns the address in the form of a list.
func (s *Rules) ListAddress(w *store.Withdrawal) any {
	kind := money.Crypto
	if s.FiatAddress == "fiat" {
		kind = money.ByCode[w.Currency].Kind
	}
	return viewUnion(kind, &addressIn{w.Currency, w.Address})
}

// ViewWithdrawal returns a withdrawal without its address.
func (s *Rules) ViewWithdrawal(w *store.Withdrawal, merchant string) WithdrawalView {
	v := WithdrawalView{
		ID:              w.ID,
		ExternalID:      s.absent(),
		MerchantID:      s.shownMerchant(w.Account, merchant),
		Currency:        ViewCurrency(money.ByCode[w.Currency]),
		Amount:          ViewAmount(w.Amount),
		Statuses:        make([]statusView, len(w.Statuses)),
		Current:         w.Current(),
		IsTestnet:       s.IsTestnet == "true",
		Callback:        s.absent(),
		ExternalOrderID: s.absent(),
	}
	for i, r := range w.Statuses {
		v.Statuses[i] = statusView{r.Status, r.At.Format(s.TimeLayout)}
	}
	if s.HistoryOrder == "newest" {
		slices.Reverse(v.Statuses)
	}
	if w.OrderID != "" {
		v.ExternalOrderID = w.OrderID
	}
	if n, ok := OrderNumber(w.OrderID); ok {
		v.ExternalID = n
	}
	if w.Callback != "" {
		v.Callback = w.Callback
	}
	if s.AmountShown == "converted" {
		v.Amount = ViewAmount(money.Amount{Code: w.Currency, Minor: w.Debit})
	}
	if s.MemoShown == "yes" {
		v.Memo = w.Memo
	}
	return v
}

// shownMerchant returns the merchant_id for the records of an account.
func (s *Rules) shownMerchant(account, merchant string) string {
	if s.MerchantIDOf == "merchant" {
		account = merchant
	}
	if s.MerchantIDFormat == "digits" {
		n, _ := strconv.ParseUint(account[:8], 16, 64) // the first group of a UUID
		return strconv.FormatUint(1e9+n, 10)
	}
	return account
}

// absent returns the value of a field without a value: a JSON null, or nil, which leaves the field out.
func (s *Rules) absent() any {
	if s.AbsentFields == "null" {
		return json.RawMessage("null")
	}
	return nil
}

// OrderNumber returns the number in an external_order_id, if it is one.
func OrderNumber(text string) (int64, bool) {
	n, ok := money.ParseInteger(text)
	return n, ok && n >= 0
}
