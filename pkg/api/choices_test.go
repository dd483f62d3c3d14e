package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/till/pkg/api"
	"example.com/till/pkg/api/internal/described"
	"example.com/till/pkg/api/sandbox"
)

// choices are the values of each setting of the sandbox to test the client with: first the default, then at
// least one that differs as much as possible. Where the interface is silent, the client must work with all of
// them.
var choices = map[string][]string{
	"first_page":          {"1", "0"},
	"default_page_size":   {"20", "1"},
	"max_page_size":       {"1000", "3"},
	"page_size_too_large": {"reject", "clamp"},
	"page_out_of_range":   {"empty", "reject", "clamp"},
	"empty_page_count":    {"0", "1"},
	"list_order":          {"newest", "oldest"},
	"tags_match":          {"current", "history"},
	"period_end":          {"inclusive", "exclusive"},
	"unknown_in_filter":   {"reject", "no_match"},
	"reversed_period":     {"reject", "empty"},
	"invoice_filter":      {"optional", "required", "ignored"},
	"invoice_list":        {"page", "array"},
	"time_layout":         {"2006-01-02T15:04:05", "Mon, 02 Jan 2006 15:04:05 MST", "20060102 150405"},
	"filter_times":        {"either", "layout"},
	"created_layout":      {"2006-01-02T15:04:05", "2006-01-02 15:04:05.000"},
	"withdrawal_flow": {"New>Processing>Completed,Processing>Failed*,New>Cancelled*", "New>sent_out",
		"created>1>2>3*"},
	"withdrawal_pace":             {"none", "New>Processing=1s,Processing>Completed=1s"},
	"history_order":               {"oldest", "newest"},
	"id_format":                   {"uuid", "text", "digits"},
	"merchant_id_of":              {"owner", "merchant"},
	"merchant_id_format":          {"uuid", "digits"},
	"merchant_sees":               {"own", "all"},
	"reseller_withdraws":          {"allowed", "forbidden"},
	"order_id_format":             {"digits", "text"},
	"min_amount":                  {"1", "2"},
	"max_amount":                  {"none", "10000000"},
	"needless_memo":               {"accept", "reject"},
	"fiat_address":                {"crypto", "fiat"},
	"amount_shown":                {"sent", "converted"},
	"memo_shown":                  {"no", "yes"},
	"is_testnet":                  {"true", "false"},
	"absent_fields":               {"omit", "null"},
	"duplicate_order_ids":         {"accept", "reject"},
	"invoice_statuses":            {"Awaiting,Paid,Expired", "open,settled,gone"},
	"invoice_expiry":              {"never", "15m"},
	"invoice_states":              {"Open,Closed,Closed", "1,1,1"},
	"invoice_finished":            {"paid", "closed"},
	"choosen_unpaid":              {"null", "empty", "omit"},
	"choosen_paid":                {"record", "currency", "null", "omit"},
	"due_date_in":                 {"text", "date_time"},
	"min_items":                   {"1", "0"},
	"max_items":                   {"none", "2"},
	"paid_in":                     {"invoice", "Eth"},
	"due_date_text":               {"deprecated", ""},
	"duplicate_invoice_order_ids": {"accept", "reject"},
	"invite_uuid":                 {"id", "reference"},
	"invite_label":                {"Invite {n}", "", "\"{invite}\" — ☕"},
	"invites_listed":              {"all", "open"},
	"invite_url":                  {"{base}/invite/{invite}", "http://{host}/{invite}", "other"},
	"invite_reuse":                {"reject", "accept"},
	"reseller_auth":               {"own", "bearer", "any_key", "none"},
	"rebate_percent":              {"1", "0", "100"},
	"balance_record":              {"kind", "list"},
	"currency_balance":            {"amounts", "record", "map"},
	"zero_amounts":                {"omit", "show"},
	"include_fiat_is":             {"flag", "currency"},
	"include_fiat":                {"optional", "required"},
	"fiat_currency":               {"Usd", "Jpy"},
	"rebate_codes":                {"currency", "amount"},
	"stats_codes":                 {"amount", "currency"},
	"stats_zeros":                 {"show", "omit"},
	"rebate_created":              {"invoice", "payment"},
	"currencies": {"Btc,Eth,Ltc,UsdtErc20,UsdtTrc20,Xlr,UsdcXlr,Usd,Eur,Gbp,Jpy,Kwd",
		"Eur,Usd,Xlr,Ltc,Btc"},
	"fiat_codes_in":       {"either", "as_shown"},
	"code_case":           {"exact", "any"},
	"unknown_keys":        {"reject", "ignore"},
	"unknown_parameters":  {"reject", "ignore"},
	"empty_text":          {"reject", "absent"},
	"max_text":            {"none", "40"},
	"content_type":        {"ignored", "required"},
	"requests_per_second": {"none", "1"},
	"envelope":            {"everywhere", "as_shown"},
	"max_body":            {"1048576", "400"},
	"errors":              {isDefault, "not_found=410:9"},
	"rates":               {isDefault, "Btc=0.000000001", "Btc=999999999"},
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
// TestClientWorksWithEverySetting runs a journey with each.
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

// isDefault means the default of a setting that is a map, which is long.
const isDefault = "default"

func defaultOf(name string) string {
	for _, s := range sandbox.Settings() {
		if s.Name == name {
			return s.Default
		}
	}
	return ""
}

func TestEveryChoiceIsTried(t *testing.T) {
	known := map[string]bool{}
	for _, s := range sandbox.Settings() {
		known[s.Name] = true
		values := choices[s.Name]
		switch reason := withoutEffect[s.Name]; {
		case reason != "" && values != nil:
			t.Errorf("%s is said to have no effect on a client, and is tried", s.Name)
		case reason != "":
		case len(values) < 2:
			t.Errorf("%s is not tried with two values: add them to choices, or say in withoutEffect why no client can tell", s.Name)
		case values[0] != s.Default && values[0] != isDefault:
			t.Errorf("%s is tried with %q first, and its default is %q", s.Name, values[0], s.Default)
		case len(slices.Compact(slices.Sorted(slices.Values(values)))) != len(values):
			t.Errorf("%s is tried twice with one value: %q", s.Name, values)
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(choices)), slices.Collect(maps.Keys(withoutEffect))) {
		if !known[name] {
			t.Errorf("there is no setting %s", name)
		}
	}
}

// TestClientWorksWithEverySetting runs one journey through the whole client for every value of every setting.
func TestClientWorksWithEverySetting(t *testing.T) {
	t.Run("defaults", func(t *testing.T) { newJourney(t).run() })
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		for _, value := range choices[name][1:] {
			setting := name + "=" + value
			t.Run(setting, func(t *testing.T) {
				t.Parallel()
				more := beside[setting]
				if more == nil {
					more = []string{""}
				}
				for _, others := range more {
					newJourney(t, append(strings.Fields(others), setting)...).run()
				}
			})
		}
	}
}

// TestClientWorksWithOtherErrorStatuses gives all errors another status and code at once. The client decides
// what a status proves.
func TestClientWorksWithOtherErrorStatuses(t *testing.T) {
	for _, rule := range []string{"400:-%d", "422:%d", "500:%d", "409:%d"} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			var all []string
			for n, entry := range strings.Split(defaultOf("errors"), ",") {
				reason, _, _ := strings.Cut(entry, "=")
				all = append(all, reason+"="+fmt.Sprintf(rule, 9000+n))
			}
			newJourney(t, "errors="+strings.Join(all, ",")).run()
		})
	}
}

// TestTooManyRequests checks that too many requests differ from other refusals, and that the error says when
// to come back.
func TestTooManyRequests(t *testing.T) {
	j := newJourney(t, "requests_per_second=2")
	j.still = true
	for range 2 {
		must[[]api.Invite](j)(j.client.Invites.List(j.ctx))
	}
	for name, err := range map[string]error{
		"read": second(j.client.Invites.List(j.ctx)),
		"create": second(j.client.Withdrawals.Create(j.ctx,
			api.CreateWithdrawal{Currency: btc, Amount: btcAmount(5), Address: "a"})),
	} {
		if e := j.refused(name, err, name == "create"); e.Outcome != api.Rejected || e.Status != 429 ||
			e.RetryAfter != time.Second {
			t.Errorf("%s: got %+v", name, e)
		}
	}
}

// A journey is a client, a sandbox with some settings, and a clock that advances by a second with each
// request.
type journey struct {
	testing.TB
	ctx      context.Context
	settings map[string]string
	box      *sandbox.Server
	client   *api.Client

	// ticks is the clock, in seconds. The sandbox reads it while it posts callbacks.
	ticks atomic.Int64
	mu    sync.Mutex
	still bool // stops the clock
	// foreign says that requests are not the client's own, so that they may differ from the description.
	foreign bool
	last    []byte // the last answer
}

func newJourney(t testing.TB, settings ...string) *journey {
	t.Helper()
	j := &journey{TB: t, ctx: t.Context(), settings: map[string]string{}}
	begin := time.Date(2026, 5, 3, 10, 0, 0, 0, time.UTC)
	opts := []sandbox.Option{sandbox.WithClock(func() time.Time { return begin.Add(time.Duration(j.ticks.Load()) * time.Second) })}
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		j.settings[name] = value
		opts = append(opts, sandbox.WithSetting(name, value))
	}
	var err error
	if j.box, err = sandbox.New(opts...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.box.Close() })
	j.client = j.as(j.box.Key())
	return j
}

func (j *journey) as(key string, opts ...api.Option) *api.Client {
	j.Helper()
	return must[*api.Client](j)(api.New("http://127.0.0.1",
		append(opts, api.WithAPIKey(key), api.WithTransport(j), api.WithRetries(0))...))
}

func (j *journey) RoundTrip(r *http.Request) (*http.Response, error) {
	j.mu.Lock() // lists are read ahead, concurrently
	defer j.mu.Unlock()
	if !j.still {
		j.ticks.Add(1)
	}
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	if j.foreign {
		described.Serve(j, j.box, w, in)
	} else {
		described.ServeClient(j, j.box, w, in)
	}
	j.last = bytes.TrimSpace(w.Body.Bytes())
	return w.Result(), nil
}

// raw sends a request that the client does not send, and returns the status and the answer.
func (j *journey) raw(method, path, body string) (int, []byte) {
	j.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+j.box.Key())
	r.Header.Set("Content-Type", "application/json")
	w := must[*http.Response](j)(j.RoundTrip(r))
	return w.StatusCode, j.last
}

func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func second[T any](_ T, err error) error { return err }

// refused expects an *api.Error with the outcome that its status and its body prove.
func (j *journey) refused(what string, err error, create bool) *api.Error {
	j.Helper()
	var e *api.Error
	if !errors.As(err, &e) {
		j.Fatalf("%s: got %v, which is no *api.Error", what, err)
	}
	said := e.Reason != "" && e.Description != ""
	want := api.Failed
	switch {
	case create && said && slices.Contains([]int{400, 401, 403, 404, 405, 413, 415, 422, 429}, e.Status):
		want = api.Rejected
	case create:
		want = api.Unknown
	case said && e.Status/100 == 4, e.Status == 401, e.Status == 403, e.Status == 429:
		want = api.Rejected
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
func (j *journey) either(what string, err error, create bool) (allowed bool) {
	j.Helper()
	if err != nil {
		j.refused(what, err, create)
	}
	return err == nil
}

// gather reads a whole list and checks that no id comes twice.
func (j *journey) gather(items iter.Seq2[api.Withdrawal, error]) (all []api.Withdrawal, err error) {
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

func ids(all []api.Withdrawal) []string {
	list := make([]string, len(all))
	for i, w := range all {
		list[i] = w.ID
	}
	return slices.Sorted(slices.Values(list))
}

var (
	btc  = api.Currency{Kind: api.Crypto, Code: "Btc"}
	ltc  = api.Currency{Kind: api.Crypto, Code: "Ltc"}
	xlr  = api.Currency{Kind: api.Crypto, Code: "Xlr"}
	usd  = api.Currency{Kind: api.Fiat, Code: "Usd"}
	eur  = api.Currency{Kind: api.Fiat, Code: "Eur"}
	none = "7c9e6679-7425-40de-944b-e07fc1f90ae7" // nothing has this id
)

func btcAmount(minor int64) api.Amount {
	return api.Amount{Kind: api.Crypto, Code: "Btc", Minor: minor}
}
func usdAmount(minor int64) api.Amount {
	return api.Amount{Kind: api.Fiat, Code: "USD", Minor: minor}
}

func (j *journey) run() {
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
func (j *journey) withdraw() (requests map[string]api.CreateWithdrawal, created map[string]string) {
	requests, created = map[string]api.CreateWithdrawal{}, map[string]string{}
	names := strings.FieldsFunc(choices["withdrawal_flow"][0], func(r rune) bool { return r == '>' || r == ',' })
	if flow := j.settings["withdrawal_flow"]; flow != "" {
		names = strings.FieldsFunc(flow, func(r rune) bool { return r == '>' || r == ',' })
	}
	for n, r := range []api.CreateWithdrawal{
		{Currency: btc, Amount: btcAmount(1501), Address: "bc1q-1"},
		{Currency: ltc, Amount: usdAmount(2500), Address: "ltc1-2", Callback: "https://shop.example.com/w?n=2"},
		{Currency: usd, Amount: usdAmount(999), Address: "DE00-3"},
		{Currency: xlr, Amount: api.Amount{Kind: api.Crypto, Code: "Xlr", Minor: 77}, Address: "GA7Q-4", Memo: "tea ☕"},
		{Currency: btc, Amount: btcAmount(1502), Address: "bc1q-5"},
		{Currency: ltc, Amount: api.Amount{Kind: api.Crypto, Code: "Ltc", Minor: 1503}, Address: "ltc1-6"},
		{Currency: btc, Amount: usdAmount(4000), Address: "bc1q-7"},
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
			if err := j.box.AdvanceWithdrawal(id, strings.TrimSuffix(names[1], "*")); err != nil {
				j.Fatal(err)
			}
		}
		got := must[api.Withdrawal](j)(j.client.Withdrawals.Get(j.ctx, id))
		if !bytes.Equal(got.RawJSON(), j.last) {
			j.Errorf("the text %s is kept of %s", got.RawJSON(), j.last)
		}
		if got.Address != (api.Address{Text: r.Address}) {
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
func (j *journey) matches(got api.Withdrawal, r api.CreateWithdrawal) {
	j.Helper()
	number, _ := strconv.ParseInt("0"+r.ExternalOrderID, 10, 64)
	if got.ID == "" || got.MerchantID == "" || got.Currency != r.Currency || got.Callback != r.Callback ||
		got.ExternalOrderID != r.ExternalOrderID || got.ExternalID != number || got.Address.Text != r.Address {
		j.Errorf("got %+v of %+v", got, r)
	}
	if got.Amount != r.Amount &&
		(got.Amount.Code != r.Currency.Code || got.Amount.Kind != r.Currency.Kind || got.Amount.Minor <= 0 ||
			j.settings["amount_shown"] != "converted") {
		j.Errorf("the amount %+v was %+v", got.Amount, r.Amount)
	}
	if !slices.ContainsFunc(got.Statuses, func(s api.Status) bool { return s.Status == got.Current && s.At != "" }) {
		j.Errorf("the status %q is not in the history %+v", got.Current, got.Statuses)
	}
}

// list reads the withdrawals in every way.
func (j *journey) list(made map[string]api.CreateWithdrawal, created map[string]string) {
	all := slices.Sorted(maps.Keys(made))
	got := must[[]api.Withdrawal](j)(j.gather(j.client.Withdrawals.All(j.ctx, api.WithdrawalFilter{},
		api.ListOptions{PageSize: 3})))
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
		items, err := j.gather(j.client.Withdrawals.All(j.ctx, api.WithdrawalFilter{}, api.ListOptions{PageSize: size}))
		if j.either("a large page", err, false) && !slices.Equal(ids(items), all) {
			j.Errorf("by %d: got %v, want %v", size, ids(items), all)
		}
	}
	var paged []api.Withdrawal
	for number := range 5 {
		page, err := j.client.Withdrawals.List(j.ctx, api.WithdrawalFilter{}, number, 3)
		if j.either("a page", err, false) && (page.Total != int64(len(all)) || page.PageCount < 3) {
			j.Errorf("page %d: %d on %d pages", number, page.Total, page.PageCount)
		}
		paged = append(paged, page.Items...)
	}
	if pages := slices.Compact(ids(paged)); !slices.Equal(pages, all) {
		j.Errorf("the pages 0 to 4 hold %v, want %v", pages, all)
	}

	slices.SortFunc(got, func(a, b api.Withdrawal) int { // by their time: the addresses are numbered
		return strings.Compare(made[a.ID].Address[5:], made[b.ID].Address[5:])
	})
	of := func(code string) []api.Withdrawal {
		return slices.DeleteFunc(slices.Clone(got), func(w api.Withdrawal) bool { return w.Currency.Code != code })
	}
	first, third, sixth := created[got[0].ID], created[got[2].ID], created[got[5].ID]
	for what, want := range map[string]struct {
		filter api.WithdrawalFilter
		items  []api.Withdrawal // nil: none, or a refusal
	}{
		"Btc":                 {api.WithdrawalFilter{Currencies: []api.Currency{btc}}, of("Btc")},
		"Ltc and Usd":         {api.WithdrawalFilter{Currencies: []api.Currency{ltc, usd}}, append(of("Ltc"), of("Usd")...)},
		"Eur":                 {api.WithdrawalFilter{Currencies: []api.Currency{eur}}, nil},
		"since":               {api.WithdrawalFilter{From: third}, got[2:]},
		"an unknown status":   {api.WithdrawalFilter{Tags: []string{"Unheard"}}, nil},
		"an unknown currency": {api.WithdrawalFilter{Currencies: []api.Currency{{Kind: api.Crypto, Code: "Doge"}}}, nil},
		"a reversed period":   {api.WithdrawalFilter{From: sixth, To: first}, nil},
	} {
		items, err := j.gather(j.client.Withdrawals.All(j.ctx, want.filter, api.ListOptions{PageSize: 3}))
		if !j.either(what, err, false) && want.items != nil || err == nil && !slices.Equal(ids(items), ids(want.items)) {
			j.Errorf("%s: got %v, %v, want %v", what, ids(items), err, ids(want.items))
		}
	}
	tagged, err := j.gather(j.client.Withdrawals.All(j.ctx, api.WithdrawalFilter{Tags: []string{got[6].Current}},
		api.ListOptions{PageSize: 3}))
	if err != nil || !slices.Contains(ids(tagged), got[6].ID) {
		j.Errorf("%s: got %v, %v", got[6].Current, ids(tagged), err)
	}
}

// refusals makes requests that no setting allows, and requests that only some allow.
func (j *journey) refusals() {
	w, v := j.client.Withdrawals, j.client.Invoices
	pay := func(c api.Currency, a api.Amount, order, memo string) error {
		return second(w.Create(j.ctx, api.CreateWithdrawal{Currency: c, Amount: a, Address: "a", ExternalOrderID: order,
			Memo: memo}))
	}
	bill := func(title string, c api.Currency, items int) error {
		return second(v.Create(j.ctx, api.CreateInvoice{Title: title, Currency: c,
			Items: slices.Repeat([]api.InvoiceItem{{Name: "x", Amount: 5}}, items)}))
	}
	crypto := func(code string) api.Currency { return api.Currency{Kind: api.Crypto, Code: code} }
	stranger := j.as(api.SandboxKeyPrefix + "wrong")
	j.refused("no such withdrawal", second(w.Get(j.ctx, none)), false)
	j.refused("no such invoice", second(v.Get(j.ctx, none)), false)
	j.refused("no such invite", second(j.client.Invites.Get(j.ctx, none)), false)
	j.refused("no such reseller", second(j.client.Resellers.Stats(j.ctx, none)), false)
	j.refused("no funds", pay(usd, usdAmount(1<<62), "", ""), true)
	j.refused("no such currency", bill("t", crypto("Doge"), 1), true)
	j.refused("a wrong key", second(stranger.Invoices.Get(j.ctx, none)), false)
	j.refused("a wrong key, a create", second(stranger.Withdrawals.Create(j.ctx,
		api.CreateWithdrawal{Currency: btc, Amount: btcAmount(5), Address: "a"})), true)
	j.either("no key", second(j.as(j.box.Key(), api.WithoutResellerAuth()).Invites.List(j.ctx)), false)
	for what, err := range map[string]error{
		"a needless memo":        pay(btc, btcAmount(5), "", "m"),
		"an order id again":      pay(btc, btcAmount(5), "4711", ""),
		"a small amount":         pay(btc, btcAmount(1), "", ""),
		"a large amount":         pay(btc, btcAmount(10_000_001), "", ""),
		"a long text":            bill(strings.Repeat("x", 100), usd, 1),
		"many items":             bill("t", usd, 20),
		"a code in another case": bill("t", crypto("btc"), 1),
		"a code as in an amount": bill("t", api.Currency{Kind: api.Fiat, Code: "USD"}, 1),
	} {
		j.either(what, err, true)
	}
}

// byHand creates records that the client does not create, because it must be able to read those of other
// programs.
func (j *journey) byHand() {
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
		if err := json.Unmarshal(text, &id); err != nil {
			j.Fatal(err)
		}
		got := must[api.Invoice](j)(j.client.Invoices.Get(j.ctx, id))
		if got.ID != id || got.Title != "t" || got.ExternalOrderID != "" || got.Items == nil {
			j.Errorf("got %+v of %s", got, body)
		}
		if err := j.box.PayInvoice(id); err != nil {
			j.Fatal(err)
		}
		must[api.Invoice](j)(j.client.Invoices.Get(j.ctx, id))
	}
	_, err := j.client.Do(j.ctx, "GET", "/api/invites?color=red", nil)
	j.either("an unknown parameter", err, false)

	status, text := j.raw("POST", "/api/merchant_withdrawal/create",
		`{"currency":{"Fiat":"Usd"},"amount":{"Fiat":{"USD":5}},"address":"a","external_order_id":"A-17/ü"}`)
	if status != 200 {
		return
	}
	var id string
	if err := json.Unmarshal(text, &id); err != nil {
		j.Fatal(err)
	}
	if got := must[api.Withdrawal](j)(j.client.Withdrawals.Get(j.ctx, id)); got.ExternalOrderID != "A-17/ü" ||
		got.ExternalID != 0 {
		j.Errorf("got %+v", got)
	}
}

// invite makes a reseller and reads it in every way.
func (j *journey) invite() (id string, reseller *api.Client) {
	const sent = "6f1c2a34-9d0e-4b7a-8c55-0123456789ab"
	c := j.client
	made := must[api.Invite](j)(c.Invites.Create(j.ctx, sent))
	if api.CheckUUID(made.Invite) != nil || made.URL == "" || !bytes.Equal(made.RawJSON(), j.last) {
		j.Errorf("got %+v from %s", made, j.last)
	}
	j.either("the same UUID again", second(c.Invites.Create(j.ctx, sent)), true)
	listed := func() bool {
		return slices.ContainsFunc(must[[]api.Invite](j)(c.Invites.List(j.ctx)),
			func(i api.Invite) bool { return i.Invite == made.Invite && json.Valid(i.RawJSON()) })
	}
	if !listed() {
		j.Error("the invite is not in the list")
	}
	if got := must[api.Invite](j)(c.Invites.Get(j.ctx, made.Invite)); got.Invite != made.Invite ||
		got.Label != made.Label {
		j.Errorf("got %+v of %+v", got, made)
	}
	id, key, err := j.box.RedeemInvite(made.Invite, "North shop")
	if err != nil {
		j.Fatal(err)
	}
	if listed() != (j.settings["invites_listed"] != "open") {
		j.Error("the list of invites is another than the setting has it")
	}
	if !slices.Contains(must[[]string](j)(c.Resellers.IDs(j.ctx)), id) {
		j.Error("the reseller is not among the ids")
	}
	for _, got := range append(must[[]api.Reseller](j)(c.Resellers.List(j.ctx)),
		must[api.Reseller](j)(c.Resellers.Info(j.ctx, id))) {
		if got.ID != id || got.InviteInfo.Invite != made.Invite || got.InviteInfo.Label != "North shop" ||
			!json.Valid(got.RawJSON()) {
			j.Errorf("got %+v", got)
		}
	}
	if got := must[api.Invite](j)(c.Resellers.Invite(j.ctx, id)); got.Invite != made.Invite || got.Label != "North shop" {
		j.Errorf("got %+v", got)
	}
	reseller = j.as(key)
	_, err = reseller.Resellers.IDs(j.ctx)
	j.either("a reseller's key", err, false)
	return id, reseller
}

// sell makes a reseller's invoices, pays some of them, and compares all figures.
func (j *journey) sell(id string, reseller *api.Client) {
	c := j.client
	number := int64(17)
	requests := []api.CreateInvoice{
		{Title: "Order 1", Currency: usd, Items: []api.InvoiceItem{{Name: "Tea", Amount: 2500}, {Name: "Milk", Amount: 175}},
			OrderID: "A-1", Number: &number, CallbackURL: "https://shop.example.com/paid"},
		{Title: "Order 2", Currency: btc, Items: []api.InvoiceItem{{Name: "Tea", Amount: 90_000}}},
		{Title: "Order 3", Currency: usd, Items: []api.InvoiceItem{{Name: "Tea", Amount: 999}}},
		{Title: "Order 4", Currency: eur, Items: []api.InvoiceItem{{Name: "Tea", Amount: 1000}}},
	}
	var invoices []string
	for n, r := range requests {
		invoice := must[string](j)(reseller.Invoices.Create(j.ctx, r))
		invoices = append(invoices, invoice)
		waiting := must[api.Invoice](j)(reseller.Invoices.Get(j.ctx, invoice))
		if must[bool](j)(c.Resellers.InvoiceFinished(j.ctx, id, invoice)) {
			j.Errorf("invoice %d is finished before it is paid", n)
		}
		switch n {
		case 2: // remains unpaid
			continue
		case 3:
			if err := j.box.ExpireInvoice(invoice); err != nil {
				j.Fatal(err)
			}
			must[bool](j)(c.Resellers.InvoiceFinished(j.ctx, id, invoice))
		default:
			if err := j.box.PayInvoice(invoice); err != nil {
				j.Fatal(err)
			}
			if !must[bool](j)(c.Resellers.InvoiceFinished(j.ctx, id, invoice)) {
				j.Errorf("invoice %d is paid and not finished", n)
			}
		}
		got := must[api.Invoice](j)(c.Resellers.Invoice(j.ctx, id, invoice))
		if !bytes.Equal(got.RawJSON(), j.last) {
			j.Errorf("the text %s is kept of %s", got.RawJSON(), j.last)
		}
		for _, v := range []api.Invoice{waiting, got} {
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

	stats := must[api.ResellerStats](j)(c.Resellers.Stats(j.ctx, id))
	paid, earned := map[string]int64{}, map[string]int64{} // by the code of an amount
	for _, r := range stats.InvoiceRebates {
		if !slices.Contains(invoices[:2], r.ID) || r.Created == "" || len(r.PaidAmount) != 1 {
			j.Errorf("a rebate of %+v", r)
		}
		for _, a := range r.PaidAmount {
			paid[a.Code] += a.Minor
		}
		for _, a := range r.Rebate {
			earned[strings.ToUpper(a.Code)] += a.Minor
		}
	}
	if stats.ID != id || stats.Label != "North shop" || len(stats.InvoiceRebates) != 2 ||
		!bytes.Equal(stats.RawJSON(), j.last) {
		j.Errorf("got %+v", stats)
	}

	// These are three ways to the same rebates.
	info := must[api.Reseller](j)(c.Resellers.Info(j.ctx, id))
	for n, amount := range must[api.RebateList](j)(c.Resellers.Rebate(j.ctx, id)).Amounts {
		code := amount.Code
		if amount.Kind == api.Fiat { // as in a Currency
			code = code[:1] + strings.ToLower(code[1:])
		}
		one := must[api.RebateMap](j)(c.Resellers.RebateIn(j.ctx, id, code))
		if len(one.Rebates) != 1 || one.Rebates[0].Amount != amount || amount.Minor != earned[strings.ToUpper(code)] ||
			!slices.ContainsFunc(info.Rebates, func(r api.Rebate) bool { return r.Amount == amount }) {
			j.Errorf("rebate %d: got %+v, %+v and %+v; the statistics have %v", n, amount, one, info.Rebates, earned)
		}
	}

	// Nothing was spent, so the balances equal the payments.
	balance := must[json.RawMessage](j)(c.Resellers.Balance(j.ctx, id))
	for code, minor := range paid {
		if !json.Valid(balance) || !holds(balance, minor) {
			j.Errorf("the balance %s, and %d %s were paid", balance, minor, code)
		}
		answered := 0
		for _, fiat := range []string{"", "true", "false", "Eur"} {
			one, err := c.Resellers.BalanceIn(j.ctx, id, strings.Replace(code, "USD", "Usd", 1), fiat)
			if j.either("include_fiat="+fiat, err, false) {
				if answered++; !holds(one, minor) {
					j.Errorf("the balance %s, and %d %s were paid", one, minor, code)
				}
			}
		}
		if answered < 1 || answered > 3 {
			j.Errorf("%d spellings of include_fiat are right", answered)
		}
	}

	for _, filter := range []string{`{"currencies":[],"tags":[]}`, "", `{"x":1}`} {
		list, err := c.Resellers.FirstInvoices(j.ctx, id, json.RawMessage(filter), api.PageBaseAuto, 3)
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
	j.either("an order id again", second(reseller.Invoices.Create(j.ctx, requests[0])), true)
	_, err := c.Invoices.Get(j.ctx, invoices[0])
	j.either("another's invoice", err, false)
}

// holds reports whether a number is anywhere in JSON of any format.
func holds(text []byte, n int64) bool {
	return regexp.MustCompile(`[:\[]` + strconv.FormatInt(n, 10) + `\b`).Match(text)
}

// theirWithdrawals makes and reads a reseller's withdrawals, if it may have any.
func (j *journey) theirWithdrawals(id string, reseller *api.Client) {
	requests := map[string]api.CreateWithdrawal{}
	for n := range 5 {
		r := api.CreateWithdrawal{Currency: btc, Amount: btcAmount(int64(10 + n)), Address: "theirs",
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
	got := must[[]api.Withdrawal](j)(j.gather(j.client.Resellers.AllWithdrawals(j.ctx, id, api.WithdrawalFilter{},
		api.ListOptions{PageSize: 2})))
	own := must[[]api.Withdrawal](j)(j.gather(reseller.Withdrawals.All(j.ctx, api.WithdrawalFilter{},
		api.ListOptions{PageSize: 3})))
	if !slices.Equal(ids(got), theirs) || !slices.Equal(ids(own), theirs) {
		j.Fatalf("got %v and %v, want %v", ids(got), ids(own), theirs)
	}
	for _, w := range got {
		j.matches(w, requests[w.ID])
		one := must[api.Withdrawal](j)(j.client.Resellers.Withdrawal(j.ctx, id, w.ID))
		if one.ID != w.ID || one.MerchantID != w.MerchantID || !bytes.Equal(one.RawJSON(), j.last) {
			j.Errorf("got %+v of %+v", one, w)
		}
	}
	seen := 0
	for _, w := range must[[]api.Withdrawal](j)(j.gather(j.client.Withdrawals.All(j.ctx, api.WithdrawalFilter{},
		api.ListOptions{PageSize: 3}))) {
		if requests[w.ID].Address != "" {
			seen++
		}
	}
	if seen != 0 && seen != len(theirs) {
		j.Errorf("the merchant sees %d of %d", seen, len(theirs))
	}
	j.refused("no such withdrawal", second(j.client.Resellers.Withdrawal(j.ctx, id, none)), false)
}
