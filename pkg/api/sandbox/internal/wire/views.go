package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/store"
)

// WriteError writes a status and the envelope of an error.
func WriteError(w http.ResponseWriter, status, code int, reason, description string) {
	type envelope struct {
		Code        int    `json:"code"`
		Reason      string `json:"reason"`
		Description string `json:"description"`
	}
	WriteJSON(w, status, map[string]envelope{"error": {code, reason, description}})
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// WriteJSON writes a status and a body in JSON. It encodes the body first, so that it can set Content-Length.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false) // so that a URL stays readable
	if err := enc.Encode(body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError) // not reached: every answer is plain data
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(buf.Len()))
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(buf.Bytes())
}

// WithdrawalView is the withdrawal of section 2.2. The fields of type any are a value, a JSON null or left
// out, depending on the settings. Address has a different shape in each view.
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

func (s *Rules) ListAddress(w *store.Withdrawal) any {
	kind := money.Crypto
	if s.FiatAddress == "fiat" {
		kind = money.ByCode[w.Currency].Kind
	}
	return viewUnion(kind, &addressIn{w.Currency, w.Address})
}

func (s *Rules) ViewWithdrawal(w *store.Withdrawal, merchant string, address any) WithdrawalView {
	n, isNumber := OrderNumber(w.OrderID)
	v := WithdrawalView{
		ID:              w.ID,
		ExternalID:      s.given(isNumber, n),
		MerchantID:      s.shownMerchant(w.Account, merchant),
		Currency:        ViewCurrency(money.ByCode[w.Currency]),
		Amount:          ViewAmount(w.Amount),
		Statuses:        make([]statusView, len(w.Statuses)),
		Current:         w.Current(),
		Address:         address,
		IsTestnet:       s.IsTestnet == "true",
		Callback:        s.given(w.Callback != "", w.Callback),
		ExternalOrderID: s.given(w.OrderID != "", w.OrderID),
	}
	for i, r := range w.Statuses {
		v.Statuses[i] = statusView{r.Status, r.At.Format(s.TimeLayout)}
	}
	if s.HistoryOrder == "newest" {
		slices.Reverse(v.Statuses)
	}
	if s.AmountShown == "converted" {
		v.Amount = ViewAmount(money.Amount{Code: w.Currency, Minor: w.Debit})
	}
	if s.MemoShown == "yes" {
		v.Memo = w.Memo
	}
	return v
}

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

// given returns the value of a field or, if it was not given, a JSON null, or nil, which leaves the field out.
func (s *Rules) given(is bool, value any) any {
	switch {
	case is:
		return value
	case s.AbsentFields == "null":
		return json.RawMessage("null")
	}
	return nil
}

// OrderNumber returns the number in an external_order_id, if it is one.
func OrderNumber(text string) (int64, bool) {
	n, ok := money.ParseInteger(text)
	return n, ok && n >= 0
}

// invoiceView is the Invoice of section 2.5. The spellings tittle and choosen are from there.
type invoiceView struct {
	ID              string       `json:"id"`
	ExternalOrderID any          `json:"external_order_id,omitempty"`
	ExternalNumber  any          `json:"external_number,omitempty"`
	Title           string       `json:"tittle"`
	Currency        currencyView `json:"currency"`
	Items           []store.Item `json:"items"`
	CreatedDate     string       `json:"created_date"`
	DueDate         string       `json:"due_date"`
	Choosen         any          `json:"choosen,omitempty"`
	Status          string       `json:"status"`
	State           string       `json:"state"`
}

type choosenView struct {
	Currency currencyView `json:"currency"`
	Amount   AmountView   `json:"amount"`
	At       string       `json:"at"`
}

func (s *Rules) ViewInvoice(v *store.Invoice) any {
	c := money.ByCode[v.Currency]
	view := invoiceView{
		ID:              v.ID,
		ExternalOrderID: s.given(v.OrderID != nil, v.OrderID),
		ExternalNumber:  s.given(v.Number != nil, v.Number),
		Title:           v.Title,
		Currency:        ViewCurrency(c),
		Items:           v.Items,
		CreatedDate:     v.Created.Format(s.CreatedLayout),
		DueDate:         s.DueDateText,
		Status:          s.InvoiceStatuses[v.Phase],
		State:           s.InvoiceStates[v.Phase],
	}
	switch {
	case v.Phase == store.Paid:
		view.Choosen = s.viewChoosen(v)
	case s.ChoosenUnpaid == "null":
		view.Choosen = json.RawMessage("null")
	case s.ChoosenUnpaid == "empty":
		view.Choosen = struct{}{}
	}
	return view
}

func (s *Rules) ViewFinished(v *store.Invoice) any {
	return v.Phase == store.Paid || v.Phase == store.Expired && s.InvoiceFinished == "closed"
}

func (s *Rules) viewChoosen(v *store.Invoice) any {
	got := v.Payment()
	switch s.ChoosenPaid {
	case "currency":
		return ViewCurrency(money.ByCode[got.Code])
	case "null":
		return json.RawMessage("null")
	case "omit":
		return nil
	}
	return choosenView{ViewCurrency(money.ByCode[got.Code]), ViewAmount(got), v.PaidAt.Format(s.CreatedLayout)}
}

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
		view.Rebates[Spelled(m.Code, s.RebateCodes)] = ViewAmount(m)
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
	byKind := map[money.Kind]map[string]int64{money.Crypto: {}, money.Fiat: {}}
	list := []any{}
	for _, m := range s.held(a, store.Balance) {
		c := money.ByCode[m.Code]
		byKind[c.Kind][c.AmountCode()] = m.Minor
		list = append(list, s.ViewBalance(m, nil))
	}
	if s.BalanceRecord == "list" {
		return list
	}
	return byKind
}

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
		code := Spelled(got.Code, s.StatsCodes)
		view.InvoiceRebates[v.ID] = rebateView{v.ID, map[string]int64{code: got.Minor}, map[string]int64{code: v.Rebate},
			at.Format(s.CreatedLayout)}
	}
	return view
}

// Spelled returns a code as a key of an object: as in an "amount" or as in a "currency".
func Spelled(code, as string) string {
	if as == "amount" {
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
		code := Spelled(m.Code, s.StatsCodes)
		totals[code] = map[string]int64{code: m.Minor}
	}
	return totals
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
	amounts, byCode := []AmountView{}, map[string]int64{}
	for _, m := range both {
		amounts = append(amounts, ViewAmount(m))
		byCode[money.ByCode[m.Code].AmountCode()] = m.Minor
	}
	switch s.CurrencyBalance {
	case "amounts":
		return amounts
	case "map":
		return byCode
	}
	view := ViewBalanceIn(m)
	if equivalent != nil {
		view.Fiat = &amounts[1]
	}
	return view
}
