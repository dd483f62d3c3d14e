package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/till/e2e/described"
	"example.com/till/pkg/api/sandbox"
)

// choices are other values than the default to test the client with, which differ as much as possible, of each setting
// that does not list its values. Where the interface is silent, the client must work with all of them.
var choices = map[string][]string{
	"default_page_size":   {"1"},
	"max_page_size":       {"3"},
	"time_layout":         {"Mon, 02 Jan 2006 15:04:05 MST", "20060102 150405"},
	"created_layout":      {"2006-01-02 15:04:05.000"},
	"withdrawal_flow":     {"New>sent_out", "created>1>2>3*"},
	"withdrawal_pace":     {"New>Processing=1s,Processing>Completed=1s"},
	"min_amount":          {"2"},
	"max_amount":          {"10000000"},
	"invoice_statuses":    {"open,settled,gone"},
	"invoice_expiry":      {"15m"},
	"invoice_states":      {"1,1,1"},
	"max_items":           {"2"},
	"paid_in":             {"Eth"},
	"due_date_text":       {""},
	"invite_label":        {"", "\"{invite}\" — ☕"},
	"invite_url":          {"http://{host}/{invite}", "other"},
	"rebate_percent":      {"0", "100"},
	"fiat_currency":       {"Jpy"},
	"currencies":          {"Eur,Usd,Xlr,Ltc,Btc"},
	"max_text":            {"40"},
	"requests_per_second": {"1"},
	"max_body":            {"400"},
	"errors":              {"not_found=410:9"},
	"rates":               {"Btc=0.000000001", "Btc=999999999"},
}

// withoutEffect are the settings that a client cannot notice, each with the reason. A setting that changes an
// answer or its timing belongs in choices.
var withoutEffect = map[string]string{
	"callback_on_create": "it decides what is posted to a callback, which is no answer to a client",
	"callback_targets":   "likewise",
	"callback_attempts":  "likewise",
	"callback_backoff":   "likewise",
	"callback_timeout":   "likewise",
	"payment_fails":      "it is about the button on an invoice's page, which is not for a client",
}

// beside are further settings, for choices that have an effect or are allowed only with another one.
// TestClientWorksWithEverySetting runs a tour with each.
var beside = map[string][]string{
	"max_page_size=3":           {"default_page_size=2"},
	"page_size_too_large=clamp": {"", "max_page_size=2 default_page_size=1"},
	"page_out_of_range=reject":  {"", "first_page=0", "empty_page_count=1"},
	"page_out_of_range=clamp":   {"", "first_page=0", "list_order=oldest"},
	"merchant_sees=all":         {"", "list_order=oldest", "first_page=0"},
	"currency_balance=record":   {"", "balance_record=list"},
	"currency_balance=map":      {"", "balance_record=list"},
	"include_fiat=required":     {"", "include_fiat_is=currency"},
}

// valuesToTry returns the values of each setting that a client can notice, without the default.
func valuesToTry(t *testing.T) map[string][]string {
	try := maps.Clone(choices)
	for _, s := range sandbox.Settings() {
		listed := strings.Split(strings.Replace(s.Values, "0 to 1", "0|1", 1), "|")
		switch values := try[s.Name]; {
		case withoutEffect[s.Name] != "":
		case values == nil && !slices.Contains(listed, s.Default) || slices.Contains(values, s.Default):
			t.Errorf("%s needs a value besides its default: add it to choices, or say in withoutEffect why no client can tell", s.Name)
		case values == nil:
			try[s.Name] = slices.DeleteFunc(listed, func(value string) bool { return value == s.Default })
		}
	}
	return try
}

// TestClientWorksWithEverySetting runs one tour through the whole client for every value of every setting.
func TestClientWorksWithEverySetting(t *testing.T) {
	t.Run("defaults", func(t *testing.T) {
		j := newTour(t)
		j.run()
		for _, name := range must[*described.API](t)(described.Load()).Operations() {
			called := func(sent string) bool { path, _, _ := strings.Cut(sent, "?"); return path == name }
			if strings.Contains(name, " /api/") && !slices.ContainsFunc(j.sent, called) {
				t.Errorf("%s was not called", name)
			}
		}
	})
	for name, values := range valuesToTry(t) {
		for _, value := range values {
			setting := name + "=" + value
			t.Run(setting, func(t *testing.T) {
				t.Parallel()
				more := beside[setting]
				if more == nil {
					more = []string{""}
				}
				for _, others := range more {
					newTour(t, append(strings.Fields(others), setting)...).run()
				}
			})
		}
	}
}

// A tour is a bench whose clock advances by a second with each request.
type tour struct {
	*bench
	testing.TB
	ctx      context.Context
	settings map[string]string
}

func newTour(t testing.TB, settings ...string) *tour {
	t.Helper()
	j := &tour{bench: newBench(t, settings...), TB: t, ctx: t.Context(), settings: map[string]string{}}
	j.pace = 1
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		j.settings[name] = value
	}
	return j
}

// raw sends a request that the client does not send, and returns the status and the answer.
func (j *tour) raw(method, path, body string) (int, []byte) {
	j.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+j.Key())
	r.Header.Set("Content-Type", "application/json")
	w := must[*http.Response](j)(j.RoundTrip(r))
	return w.StatusCode, j.last
}

// refused expects an *Error with the outcome that its status and its body prove.
func (j *tour) refused(what string, err error, create bool) *Error {
	j.Helper()
	var e *Error
	if !errors.As(err, &e) {
		j.Fatalf("%s: got %v, which is no *Error", what, err)
	}
	said := e.Reason != "" && e.Description != ""
	want := Failed
	switch {
	case create && said && slices.Contains([]int{400, 401, 403, 404, 405, 413, 415, 422, 429}, e.Status):
		want = Rejected
	case create:
		want = Unknown
	case said && e.Status/100 == 4, e.Status == 401, e.Status == 403, e.Status == 429:
		want = Rejected
	}
	if e.Outcome != want || e.Status < 400 || e.Error() == "" {
		j.Errorf("%s: got %+v, want the outcome %s", what, e, want)
	}
	if !said && j.settings["envelope"] != "as_shown" {
		j.Errorf("%s: the envelope is lost: %+v", what, e)
	}
	return e
}

// either accepts a result that one setting allows and another refuses.
func (j *tour) either(what string, err error, create bool) (allowed bool) {
	j.Helper()
	if err != nil {
		j.refused(what, err, create)
	}
	return err == nil
}

// gather reads a whole list and checks that no id comes twice.
func (j *tour) gather(items iter.Seq2[Withdrawal, error]) (all []Withdrawal, err error) {
	j.Helper()
	seen := map[string]bool{}
	for w, err := range items {
		if err != nil {
			return all, err
		}
		if seen[w.ID] {
			j.Errorf("%s is there twice", w.ID)
		}
		seen[w.ID] = true
		all = append(all, w)
	}
	return all, nil
}

func ids(all []Withdrawal) []string {
	list := make([]string, len(all))
	for i, w := range all {
		list[i] = w.ID
	}
	return slices.Sorted(slices.Values(list))
}

var (
	btc, ltc, xlr = CryptoCurrency("Btc"), CryptoCurrency("Ltc"), CryptoCurrency("Xlr")
	usd, eur      = FiatCurrency("Usd"), FiatCurrency("Eur")
	none          = someID // nothing has this id
)

func (j *tour) run() {
	made, created := j.withdraw()
	j.list(made, created)
	j.refusals()
	j.byHand()
	id, reseller := j.invite()
	j.sell(id, reseller)
	j.theirWithdrawals(id, reseller)
}

// withdraw creates withdrawals of every kind and gets each. It returns the requests and the creation times,
// as the service writes them, by id.
func (j *tour) withdraw() (requests map[string]CreateWithdrawal, created map[string]string) {
	requests, created = map[string]CreateWithdrawal{}, map[string]string{}
	flow := cmp.Or(j.settings["withdrawal_flow"], "New>Processing")
	names := strings.FieldsFunc(flow, func(r rune) bool { return r == '>' || r == ',' })
	for n, r := range []CreateWithdrawal{
		{Currency: btc, Amount: CryptoAmount("Btc", 1501), Address: "bc1q-1"},
		{Currency: ltc, Amount: FiatAmount("USD", 2500), Address: "ltc1-2", Callback: "https://shop.example.com/w?n=2"},
		{Currency: usd, Amount: FiatAmount("USD", 999), Address: "DE00-3"},
		{Currency: xlr, Amount: CryptoAmount("Xlr", 77), Address: "GA7Q-4", Memo: "tea ☕"},
		{Currency: btc, Amount: CryptoAmount("Btc", 1502), Address: "bc1q-5"},
		{Currency: ltc, Amount: CryptoAmount("Ltc", 1503), Address: "ltc1-6"},
		{Currency: btc, Amount: FiatAmount("USD", 4000), Address: "bc1q-7"},
	} {
		if n != 4 {
			r.ExternalOrderID = strconv.Itoa(4711 + n)
		}
		id := must[string](j)(j.client.Withdrawals.Create(j.ctx, r))
		if _, twice := requests[id]; twice || id == "" {
			j.Fatalf("the id %q is one of another", id)
		}
		requests[id] = r
		if n < 2 {
			check(j, j.AdvanceWithdrawal(id, strings.TrimSuffix(names[1], "*")))
		}
		got := must[Withdrawal](j)(j.client.Withdrawals.Get(j.ctx, id))
		if !bytes.Equal(got.RawJSON(), j.last) {
			j.Errorf("the text %s is kept of %s", got.RawJSON(), j.last)
		}
		if got.Address != (Address{Text: r.Address}) {
			j.Errorf("the address %+v was %q", got.Address, r.Address)
		}
		j.matches(got, r)
		for _, s := range got.Statuses {
			if s.Status == names[0] {
				created[id] = s.At
			}
		}
	}
	return requests, created
}

// matches checks that a withdrawal has what its request asked for.
func (j *tour) matches(got Withdrawal, r CreateWithdrawal) {
	j.Helper()
	number, _ := strconv.ParseInt("0"+r.ExternalOrderID, 10, 64)
	if got.ID == "" || got.MerchantID == "" || got.Currency != r.Currency || got.Callback != r.Callback ||
		got.ExternalOrderID != r.ExternalOrderID || got.ExternalID != number || got.Address.Text != r.Address ||
		got.IsTestnet != (j.settings["is_testnet"] != "false") {
		j.Errorf("got %+v of %+v", got, r)
	}
	if got.Amount != r.Amount &&
		(got.Amount.Code != r.Currency.Code || got.Amount.Kind != r.Currency.Kind || got.Amount.Minor <= 0 ||
			j.settings["amount_shown"] != "converted") {
		j.Errorf("the amount %+v was %+v", got.Amount, r.Amount)
	}
	if !slices.ContainsFunc(got.Statuses, func(s Status) bool { return s.Status == got.Current && s.At != "" }) {
		j.Errorf("the status %q is not in the history %+v", got.Current, got.Statuses)
	}
}

// list reads the withdrawals in every way.
func (j *tour) list(made map[string]CreateWithdrawal, created map[string]string) {
	all := slices.Sorted(maps.Keys(made))
	got := must[[]Withdrawal](j)(j.gather(j.client.Withdrawals.All(j.ctx, WithdrawalFilter{},
		ListOptions{PageSize: 3})))
	if !slices.Equal(ids(got), all) {
		j.Fatalf("got %v, want %v", ids(got), all)
	}
	for _, w := range got {
		j.matches(w, made[w.ID])
		if w.Address.Currency != w.Currency.Code || w.Address.Kind == "" || !json.Valid(w.RawJSON()) {
			j.Errorf("got %+v from %s", w, w.RawJSON())
		}
	}
	for _, size := range []int{1, 2, 7, 100} { // the last may exceed the largest page
		items, err := j.gather(j.client.Withdrawals.All(j.ctx, WithdrawalFilter{}, ListOptions{PageSize: size}))
		if j.either("a large page", err, false) && !slices.Equal(ids(items), all) {
			j.Errorf("by %d: got %v, want %v", size, ids(items), all)
		}
	}
	var paged []Withdrawal
	for number := range 5 {
		page, err := j.client.Withdrawals.List(j.ctx, WithdrawalFilter{}, number, 3)
		if j.either("a page", err, false) && (page.Total != int64(len(all)) || page.PageCount < 3) {
			j.Errorf("page %d: %d on %d pages", number, page.Total, page.PageCount)
		}
		paged = append(paged, page.Items...)
	}
	if pages := slices.Compact(ids(paged)); !slices.Equal(pages, all) {
		j.Errorf("the pages 0 to 4 hold %v, want %v", pages, all)
	}

	slices.SortFunc(got, func(a, b Withdrawal) int { // by their time: the addresses are numbered
		return strings.Compare(made[a.ID].Address[5:], made[b.ID].Address[5:])
	})
	of := func(code string) []Withdrawal {
		return slices.DeleteFunc(slices.Clone(got), func(w Withdrawal) bool { return w.Currency.Code != code })
	}
	first, third, sixth := created[got[0].ID], created[got[2].ID], created[got[5].ID]
	for what, want := range map[string]struct {
		filter WithdrawalFilter
		items  []Withdrawal // nil: none, or a refusal
	}{
		"Btc":                 {WithdrawalFilter{Currencies: []Currency{btc}}, of("Btc")},
		"Ltc and Usd":         {WithdrawalFilter{Currencies: []Currency{ltc, usd}}, append(of("Ltc"), of("Usd")...)},
		"Eur":                 {WithdrawalFilter{Currencies: []Currency{eur}}, nil},
		"since":               {WithdrawalFilter{From: third}, got[2:]},
		"an unknown status":   {WithdrawalFilter{Tags: []string{"Unheard"}}, nil},
		"an unknown currency": {WithdrawalFilter{Currencies: []Currency{{Kind: Crypto, Code: "Doge"}}}, nil},
		"a reversed period":   {WithdrawalFilter{From: sixth, To: first}, nil},
	} {
		items, err := j.gather(j.client.Withdrawals.All(j.ctx, want.filter, ListOptions{PageSize: 3}))
		if !j.either(what, err, false) && want.items != nil || err == nil && !slices.Equal(ids(items), ids(want.items)) {
			j.Errorf("%s: got %v, %v, want %v", what, ids(items), err, ids(want.items))
		}
	}
	tagged, err := j.gather(j.client.Withdrawals.All(j.ctx, WithdrawalFilter{Tags: []string{got[6].Current}},
		ListOptions{PageSize: 3}))
	if err != nil || !slices.Contains(ids(tagged), got[6].ID) {
		j.Errorf("%s: got %v, %v", got[6].Current, ids(tagged), err)
	}
}

// refusals makes requests that no setting allows, and requests that only some allow.
func (j *tour) refusals() {
	w, v := j.client.Withdrawals, j.client.Invoices
	pay := func(c Currency, a Amount, order, memo string) error {
		return err2(w.Create(j.ctx, CreateWithdrawal{Currency: c, Amount: a, Address: "a", ExternalOrderID: order,
			Memo: memo}))
	}
	bill := func(title string, c Currency, items int) error {
		return err2(v.Create(j.ctx, CreateInvoice{Title: title, Currency: c,
			Items: slices.Repeat([]InvoiceItem{{Name: "x", Amount: 5}}, items)}))
	}
	stranger := j.as(SandboxKeyPrefix + "wrong")
	j.refused("no such withdrawal", err2(w.Get(j.ctx, none)), false)
	j.refused("no such invoice", err2(v.Get(j.ctx, none)), false)
	j.refused("no such invite", err2(j.client.Invites.Get(j.ctx, none)), false)
	j.refused("no such reseller", err2(j.client.Resellers.Stats(j.ctx, none)), false)
	j.refused("no funds", pay(usd, FiatAmount("USD", 1<<62), "", ""), true)
	j.refused("no such currency", bill("t", CryptoCurrency("Doge"), 1), true)
	j.refused("a wrong key", err2(stranger.Invoices.Get(j.ctx, none)), false)
	j.refused("a wrong key, a create", err2(stranger.Withdrawals.Create(j.ctx,
		CreateWithdrawal{Currency: btc, Amount: CryptoAmount("Btc", 5), Address: "a"})), true)
	j.either("no key", err2(j.as(j.Key(), WithoutResellerAuth()).Invites.List(j.ctx)), false)
	for what, err := range map[string]error{
		"a needless memo":        pay(btc, CryptoAmount("Btc", 5), "", "m"),
		"an order id again":      pay(btc, CryptoAmount("Btc", 5), "4711", ""),
		"a small amount":         pay(btc, CryptoAmount("Btc", 1), "", ""),
		"a large amount":         pay(btc, CryptoAmount("Btc", 10_000_001), "", ""),
		"a long text":            bill(strings.Repeat("x", 100), usd, 1),
		"many items":             bill("t", usd, 20),
		"a code in another case": bill("t", CryptoCurrency("btc"), 1),
		"a code as in an amount": bill("t", FiatCurrency("USD"), 1),
	} {
		j.either(what, err, true)
	}
}

// byHand creates records that the client does not create, because it must be able to read those of other
// programs.
func (j *tour) byHand() {
	j.foreign = true
	defer func() { j.foreign = false }()
	for _, body := range []string{
		`{"title":"t","currency":{"Fiat":"Usd"},"items":[]}`,
		`{"title":"t","currency":{"Fiat":"Usd"},"items":[{"name":"x","amount":"5","tax":1}]}`,
		`{"title":"t","currency":{"Fiat":"Usd"},"items":[{"name":"x","amount":"5"}],"order_id":""}`,
		`{"title":"t","currency":{"Fiat":"Usd"},"items":[{"name":"x","amount":"5"}],"due_date":"soon"}`,
	} {
		text, err := j.client.Do(j.ctx, "POST", "/api/invoice", json.RawMessage(body))
		if !j.either(body, err, true) {
			continue
		}
		var id string
		check(j, json.Unmarshal(text, &id))
		got := must[Invoice](j)(j.client.Invoices.Get(j.ctx, id))
		if got.ID != id || got.Title != "t" || got.ExternalOrderID != "" || got.Items == nil {
			j.Errorf("got %+v of %s", got, body)
		}
		check(j, j.PayInvoice(id))
		must[Invoice](j)(j.client.Invoices.Get(j.ctx, id))
	}
	_, err := j.client.Do(j.ctx, "GET", "/api/invites?color=red", nil)
	j.either("an unknown parameter", err, false)

	status, text := j.raw("POST", "/api/merchant_withdrawal/create",
		`{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":5}},"address":"a","external_order_id":"A-17/ü"}`)
	if status != 200 {
		return
	}
	var id string
	check(j, json.Unmarshal(text, &id))
	if got := must[Withdrawal](j)(j.client.Withdrawals.Get(j.ctx, id)); got.ExternalOrderID != "A-17/ü" ||
		got.ExternalID != 0 {
		j.Errorf("got %+v", got)
	}
}

// invite makes a reseller and reads it in every way.
func (j *tour) invite() (id string, reseller *Client) {
	const sent = "6f1c2a34-9d0e-4b7a-8c55-0123456789ab"
	c := j.client
	made := must[Invite](j)(c.Invites.Create(j.ctx, sent))
	if CheckUUID(made.Invite) != nil || made.URL == "" || !bytes.Equal(made.RawJSON(), j.last) {
		j.Errorf("got %+v from %s", made, j.last)
	}
	j.either("the same UUID again", err2(c.Invites.Create(j.ctx, sent)), true)
	listed := func() bool {
		return slices.ContainsFunc(must[[]Invite](j)(c.Invites.List(j.ctx)),
			func(i Invite) bool { return i.Invite == made.Invite && json.Valid(i.RawJSON()) })
	}
	if !listed() {
		j.Error("the invite is not in the list")
	}
	if got := must[Invite](j)(c.Invites.Get(j.ctx, made.Invite)); got.Invite != made.Invite ||
		got.Label != made.Label {
		j.Errorf("got %+v of %+v", got, made)
	}
	id, key, err := j.RedeemInvite(made.Invite, "North shop")
	check(j, err)
	if listed() != (j.settings["invites_listed"] != "open") {
		j.Error("the list of invites is another than the setting has it")
	}
	if !slices.Contains(must[[]string](j)(c.Resellers.IDs(j.ctx)), id) {
		j.Error("the reseller is not among the ids")
	}
	for _, got := range append(must[[]Reseller](j)(c.Resellers.List(j.ctx)),
		must[Reseller](j)(c.Resellers.Info(j.ctx, id))) {
		if got.ID != id || got.InviteInfo.Invite != made.Invite || got.InviteInfo.Label != "North shop" ||
			!json.Valid(got.RawJSON()) {
			j.Errorf("got %+v", got)
		}
	}
	if got := must[Invite](j)(c.Resellers.Invite(j.ctx, id)); got.Invite != made.Invite || got.Label != "North shop" {
		j.Errorf("got %+v", got)
	}
	reseller = j.as(key)
	_, err = reseller.Resellers.IDs(j.ctx)
	j.either("a reseller's key", err, false)
	return id, reseller
}

// sell makes a reseller's invoices, pays some of them, and compares all figures.
func (j *tour) sell(id string, reseller *Client) {
	c := j.client
	number := int64(17)
	requests := []CreateInvoice{
		{Title: "Order 1", Currency: usd, Items: []InvoiceItem{{Name: "Tea", Amount: 2500}, {Name: "Milk", Amount: 175}},
			OrderID: "A-1", Number: &number, CallbackURL: "https://shop.example.com/paid"},
		{Title: "Order 2", Currency: btc, Items: []InvoiceItem{{Name: "Tea", Amount: 90_000}}},
		{Title: "Order 3", Currency: usd, Items: []InvoiceItem{{Name: "Tea", Amount: 999}}},
		{Title: "Order 4", Currency: eur, Items: []InvoiceItem{{Name: "Tea", Amount: 1000}}},
	}
	var invoices []string
	for n, r := range requests {
		invoice := must[string](j)(reseller.Invoices.Create(j.ctx, r))
		invoices = append(invoices, invoice)
		waiting := must[Invoice](j)(reseller.Invoices.Get(j.ctx, invoice))
		if must[bool](j)(c.Resellers.InvoiceFinished(j.ctx, id, invoice)) {
			j.Errorf("invoice %d is finished before it is paid", n)
		}
		switch n {
		case 2: // remains unpaid
			continue
		case 3:
			check(j, j.ExpireInvoice(invoice))
			if must[bool](j)(c.Resellers.InvoiceFinished(j.ctx, id, invoice)) != (j.settings["invoice_finished"] == "closed") {
				j.Errorf("invoice %d has expired, and is finished, or not", n)
			}
		default:
			check(j, j.PayInvoice(invoice))
			if !must[bool](j)(c.Resellers.InvoiceFinished(j.ctx, id, invoice)) {
				j.Errorf("invoice %d is paid and not finished", n)
			}
		}
		got := must[Invoice](j)(c.Resellers.Invoice(j.ctx, id, invoice))
		if !bytes.Equal(got.RawJSON(), j.last) {
			j.Errorf("the text %s is kept of %s", got.RawJSON(), j.last)
		}
		for _, v := range []Invoice{waiting, got} {
			if v.ID != invoice || v.Title != r.Title || v.Currency != r.Currency || !slices.Equal(v.Items, r.Items) ||
				v.ExternalOrderID != r.OrderID || (v.ExternalNumber == 17) != (r.Number != nil) ||
				v.CreatedDate == "" || v.Status == "" || v.State == "" || v.Choosen != nil && !json.Valid(v.Choosen) {
				j.Errorf("got %+v of %+v", v, r)
			}
		}
		if waiting.Status == got.Status {
			j.Errorf("the status stays %s", got.Status)
		}
	}

	stats := must[ResellerStats](j)(c.Resellers.Stats(j.ctx, id))
	if stats.ID != id || stats.Label != "North shop" || len(stats.InvoiceRebates) != 2 ||
		!bytes.Equal(stats.RawJSON(), j.last) {
		j.Errorf("got %+v", stats)
	}
	for _, r := range stats.InvoiceRebates {
		if !slices.Contains(invoices[:2], r.ID) || r.Created == "" || len(r.PaidAmount) != 1 {
			j.Errorf("a rebate of %+v", r)
		}
	}
	if len(j.settings) == 0 { // 1 % of each, rounded down
		paid, rebate := CodeAmounts{{"USD", 2675}}, CodeAmounts{{"USD", 26}}
		invoice := must[Invoice](j)(c.Resellers.Invoice(j.ctx, id, invoices[0]))
		of := slices.IndexFunc(stats.InvoiceRebates, func(r InvoiceRebate) bool { return r.ID == invoices[0] })
		want := ResellerStats{ID: id, Label: "North shop", InvoiceRebates: stats.InvoiceRebates,
			InvoiceStats: []StatusCount{{"Awaiting", 1}, {"Expired", 1}, {"Paid", 2}},
			TotalVolume:  []CodeTotal{{"Btc", CodeAmounts{{"Btc", 90_000}}}, {"USD", paid}},
			TotalRebates: []CodeTotal{{"Btc", CodeAmounts{{"Btc", 900}}}, {"USD", rebate}}}
		if one := stats.InvoiceRebates[of]; !same(stats, want, false) || invoice.DueDate != "deprecated" ||
			!same(one, InvoiceRebate{invoices[0], paid, rebate, invoice.CreatedDate}, false) {
			j.Errorf("got %+v, want %+v; one is %+v of %+v", stats, want, one, invoice)
		}
	}
	info := must[Reseller](j)(c.Resellers.Info(j.ctx, id))
	for n, amount := range must[RebateList](j)(c.Resellers.Rebate(j.ctx, id)).Amounts {
		code := amount.Code
		if amount.Kind == Fiat { // as in a Currency
			code = code[:1] + strings.ToLower(code[1:])
		}
		one := must[RebateMap](j)(c.Resellers.RebateIn(j.ctx, id, code))
		if len(one.Rebates) != 1 || one.Rebates[0].Amount != amount ||
			!slices.ContainsFunc(info.Rebates, func(r Rebate) bool { return r.Amount == amount }) {
			j.Errorf("rebate %d: got %+v, %+v and %+v", n, amount, one, info.Rebates)
		}
	}
	must[json.RawMessage](j)(c.Resellers.Balance(j.ctx, id))
	answered := 0
	for _, fiat := range []string{"", "true", "false", "Eur"} {
		if j.either("include_fiat="+fiat, err2(c.Resellers.BalanceIn(j.ctx, id, "Btc", fiat)), false) {
			answered++
		}
	}
	if answered < 1 || answered > 3 {
		j.Errorf("%d spellings of include_fiat are right", answered)
	}

	for _, filter := range []string{`{"currencies":[],"tags":[]}`, "", `{"x":1}`} {
		list, err := c.Resellers.FirstInvoices(j.ctx, id, json.RawMessage(filter), PageBaseAuto, 3)
		if filter == `{"currencies":[],"tags":[]}` && err != nil {
			j.Fatal(err)
		}
		found := 0
		for _, invoice := range invoices {
			found += bytes.Count(list, []byte(`"`+invoice+`"`))
		}
		if j.either("the filter "+filter, err, false) &&
			(!json.Valid(list) || found != 3 && (found != 2 || j.settings["page_size_too_large"] != "clamp")) {
			j.Errorf("by %s: got %s", filter, list)
		}
	}
	j.either("an order id again", err2(reseller.Invoices.Create(j.ctx, requests[0])), true)
	_, err := c.Invoices.Get(j.ctx, invoices[0])
	j.either("another's invoice", err, false)
}

// theirWithdrawals makes and reads a reseller's withdrawals, if it may have any.
func (j *tour) theirWithdrawals(id string, reseller *Client) {
	requests := map[string]CreateWithdrawal{}
	for n := range 5 {
		r := CreateWithdrawal{Currency: btc, Amount: CryptoAmount("Btc", int64(10+n)), Address: "theirs",
			ExternalOrderID: strconv.Itoa(n + 1)}
		made, err := reseller.Withdrawals.Create(j.ctx, r)
		if j.either("a reseller's withdrawal", err, true) {
			requests[made] = r
		}
	}
	theirs := slices.Sorted(maps.Keys(requests))
	if len(theirs) != 5 && len(theirs) != 0 {
		j.Errorf("%d of 5 were made", len(theirs))
	}
	got := must[[]Withdrawal](j)(j.gather(j.client.Resellers.AllWithdrawals(j.ctx, id, WithdrawalFilter{},
		ListOptions{PageSize: 2})))
	own := must[[]Withdrawal](j)(j.gather(reseller.Withdrawals.All(j.ctx, WithdrawalFilter{},
		ListOptions{PageSize: 3})))
	if !slices.Equal(ids(got), theirs) || !slices.Equal(ids(own), theirs) {
		j.Fatalf("got %v and %v, want %v", ids(got), ids(own), theirs)
	}
	for _, w := range got {
		j.matches(w, requests[w.ID])
		one := must[Withdrawal](j)(j.client.Resellers.Withdrawal(j.ctx, id, w.ID))
		if one.ID != w.ID || one.MerchantID != w.MerchantID || !bytes.Equal(one.RawJSON(), j.last) {
			j.Errorf("got %+v of %+v", one, w)
		}
	}
	j.refused("no such withdrawal", err2(j.client.Resellers.Withdrawal(j.ctx, id, none)), false)
}
