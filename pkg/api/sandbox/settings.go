package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"example.com/till/internal/near"
	"example.com/till/pkg/api/sandbox/internal/money"
	"example.com/till/pkg/api/sandbox/internal/refusal"
	"example.com/till/pkg/api/sandbox/internal/store"
	"example.com/till/pkg/api/sandbox/internal/webhook"
	"example.com/till/pkg/api/sandbox/internal/wire"
)

// A Setting is one choice that the sandbox makes where the interface is silent.
type Setting struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Values  string `json:"values"` // the allowed values
	Meaning string `json:"meaning"`
}

// Settings returns every setting.
func Settings() []Setting {
	return mapped(noSettings().definitions(), func(d definition) Setting { return d.Setting })
}

// mapped returns the view of each record. The result is never nil.
func mapped[R, V any](records []R, view func(R) V) []V {
	all := make([]V, len(records))
	for i, r := range records {
		all[i] = view(r)
	}
	return all
}

// settings holds the choices in the form that the handlers use, each with the part of the sandbox that it
// concerns. It never changes: other settings are another value.
type settings struct {
	*store.Terms
	wire.Rules

	callbacks webhook.Limits

	resellerAuth, resellerWithdraws string
	needlessMemo, dueDateIn         string
	minItems, maxItems              int64
	invoiceFilter, invoiceList      string
	inviteURL, invitesListed        string
	includeFiat, includeFiatIs      string
	fiatCurrency                    string
	maxBody, perSecond              int64
	envelope                        string
	errors                          map[refusal.Kind]refusal.Rule

	values map[string]string // of every setting, by name
}

// A definition is a setting and the function that reads its value.
type definition struct {
	Setting
	set func(value string) error
}

func noSettings() *settings {
	t := &store.Terms{Market: money.Market{UnitValue: map[string]*big.Int{}}}
	return &settings{Terms: t, Rules: wire.Rules{Terms: t}, errors: map[refusal.Kind]refusal.Rule{},
		values: map[string]string{}}
}

func newSettings(values map[string]string) (*settings, error) {
	s := noSettings()
	for _, d := range s.definitions() {
		value, given := values[d.Name]
		if !given {
			value = d.Default
		}
		if err := d.set(value); err != nil {
			return nil, fmt.Errorf("setting %s cannot be %q: %w", d.Name, value, err)
		}
		s.values[d.Name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, known := s.values[name]; !known {
			advice := cmp.Or(near.Question(name, "", slices.Sorted(maps.Keys(s.values))), "till sandbox settings lists all")
			return nil, fmt.Errorf("there is no setting %q; %s", refusal.Shorten(name), advice)
		}
	}
	if s.DefaultPageSize > s.MaxPageSize {
		return nil, fmt.Errorf("setting default_page_size (%d) is larger than max_page_size (%d); raise the one or lower the other",
			s.DefaultPageSize, s.MaxPageSize)
	}
	if s.MinAmount > s.MaxAmount {
		return nil, fmt.Errorf("setting min_amount (%d) is larger than max_amount (%d); raise the one or lower the other",
			s.MinAmount, s.MaxAmount)
	}
	return s, nil
}

func (s *Server) settings() *settings { return s.live.Load() }

// Set changes settings while the sandbox runs: all of values at once, or none if one of them is wrong.
// Settings lists the names. What was made before stays as it is. Withdrawals and invoices move on by the new
// withdrawal_pace and invoice_expiry, counted from the times that they have.
func (s *Server) Set(values map[string]string) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	all := maps.Clone(s.settings().values)
	maps.Copy(all, values)
	next, err := newSettings(all)
	if err != nil {
		return refusal.New(refusal.InvalidBody, "%v.", err)
	}
	return s.store.Follow(next.Terms, func() { s.live.Store(next) })
}

func (s *Server) controlSet(r *request) action {
	values := r.fields().AllTexts()
	return func() (any, error) {
		err := s.Set(values)
		return s.settings().values, err
	}
}

func (s *settings) definitions() []definition {
	defs := []definition{
		// Lists
		number("first_page", "1", 0, 1, "The number of the first page of a list.", &s.FirstPage),
		number("default_page_size", "20", 1, math.MaxInt32, "The page size when a request names none.",
			&s.DefaultPageSize),
		number("max_page_size", "1000", 1, math.MaxInt32, "The largest page size.", &s.MaxPageSize),
		choice("page_size_too_large", "reject|clamp", "What happens to a larger page size.", &s.PageSizeTooLarge),
		choice("page_out_of_range", "empty|reject|clamp",
			"The answer to a page that does not exist: no items, an error, or the nearest page.", &s.PageOutOfRange),
		number("empty_page_count", "0", 0, 1, "The page_count of a list without items.", &s.EmptyPageCount),
		choice("list_order", "newest|oldest", "Which item of a list comes first, by time of creation.", &s.ListOrder),
		choice("tags_match", "current|history",
			"Whether a filter's tags are compared with the current status or with every status reached.", &s.TagsMatch),
		choice("period_end", "inclusive|exclusive",
			"Whether the moment named by to belongs to the period. The moment named by from does. What counts is the time of creation.", &s.PeriodEnd),
		choice("unknown_in_filter", "reject|no_match", "How a filter by an unknown currency or status is answered.",
			&s.UnknownInFilter),
		choice("reversed_period", "reject|empty", "How a filter whose from is after its to is answered.",
			&s.ReversedPeriod),
		choice("invoice_filter", "optional|required|ignored",
			"The filter of the reseller's invoice list: that of withdrawals with every field optional, the very same one, or any object, which filters nothing.", &s.invoiceFilter),
		choice("invoice_list", "page|array",
			"The answer of the reseller's invoice list: a page of Invoices with page_count and total, or the bare array.", &s.invoiceList),

		// Times
		layout("time_layout", "How withdrawal times are written, as a Go layout, in UTC, in whole seconds.",
			&s.TimeLayout),
		choice("filter_times", "either|layout",
			"What from and to may be: time_layout or RFC 3339, or time_layout alone.", &s.FilterTimes),
		layout("created_layout", "How invoice times are written, as a Go layout, in UTC.", &s.CreatedLayout),

		// Withdrawals
		{Setting{"withdrawal_flow", "New>Processing>Completed,Processing>Failed*,New>Cancelled*",
			"FROM>TO[>TO]..., comma-separated",
			"Withdrawal statuses and the steps between them. The first one named is where a withdrawal begins; a star marks a last status that gives the money back."},
			func(value string) (err error) { s.Flow, err = store.ParseFlow(value); return err }},
		choice("history_order", "oldest|newest", "Which entry of statuses comes first.", &s.HistoryOrder),
		choice("id_format", "uuid|text|digits",
			"What a withdrawal's id looks like: a UUID, W- and 16 letters and digits, or 18 digits.", &s.IDFormat),
		choice("merchant_id_of", "owner|merchant",
			"The merchant_id of a reseller's withdrawal: its own id, or the merchant's.", &s.MerchantIDOf),
		choice("merchant_id_format", "uuid|digits", "What a merchant_id looks like.", &s.MerchantIDFormat),
		choice("merchant_sees", "own|all",
			"What the merchant's key finds on the withdrawal and invoice paths: its own, or its resellers' too.",
			&s.MerchantSees),
		choice("reseller_withdraws", "allowed|forbidden", "Whether a reseller's key may create withdrawals.",
			&s.resellerWithdraws),
		choice("order_id_format", "digits|text",
			"What an external_order_id may be: digits without leading zeros within int64, or any text, and external_id is then there where it is a number.", &s.OrderIDFormat),
		number("min_amount", "1", 1, math.MaxInt64,
			"The smallest amount of a withdrawal or an invoice's item, in minor units.", &s.MinAmount),
		limit("max_amount", "The largest amount of a withdrawal or an invoice's item, in minor units.", &s.MaxAmount),
		choice("needless_memo", "accept|reject", "How a memo is answered if none is required.", &s.needlessMemo),
		choice("fiat_address", "crypto|fiat",
			"The key over the address of a fiat withdrawal in a list: Crypto, as the interface shows it, or Fiat.",
			&s.FiatAddress),
		{Setting{"withdrawal_pace", "none", "none, or FROM>TO=DURATION,... of steps in withdrawal_flow",
			"Steps that a withdrawal takes by itself when it has been in a status for so long by the sandbox's clock, such as New>Processing=30s,Processing>Completed=2m."},
			func(value string) (err error) { s.Pace, err = store.ParsePace(value, &s.Flow); return err }}, // after the flow
		choice("amount_shown", "sent|converted",
			"The amount in a withdrawal: as it was sent, or in the withdrawn currency.", &s.AmountShown),
		choice("memo_shown", "no|yes", "Whether a withdrawal shows its memo.", &s.MemoShown),
		choice("is_testnet", "true|false", "The is_testnet of every withdrawal.", &s.IsTestnet),
		choice("absent_fields", "omit|null",
			"How a field that was not given (external_id, external_order_id, external_number, callback) is shown.",
			&s.AbsentFields),
		choice("duplicate_order_ids", "accept|reject",
			"How a withdrawal is answered if the account has used its external_order_id before.", &s.DuplicateOrderIDs),

		// Callbacks
		choice("callback_on_create", "no|yes", "Whether a withdrawal's callback is posted for its creation too.",
			&s.CallbackOnCreate),
		number("callback_attempts", "5", 1, 50, "How often a callback is posted until it is given up.",
			&s.callbacks.Attempts),
		duration("callback_backoff", "1s", "1h",
			"The time from the first attempt to the second. It doubles with each one more, up to an hour.",
			&s.callbacks.Backoff),
		duration("callback_timeout", "5s", "1m", "How long a receiver may take to answer a callback.",
			&s.callbacks.Timeout),
		choice("callback_targets", "loopback|any",
			"Where callbacks are posted to: addresses of this machine alone, or any.", &s.callbacks.Targets),

		// Invoices
		names(Setting{"invoice_statuses", "Awaiting,Paid,Expired", "three different names",
			"The status of an invoice that waits for payment, is paid, has expired."}, &s.InvoiceStatuses, true),
		names(Setting{"invoice_states", "Open,Closed,Closed", "three names",
			"The state that goes with each of those statuses."}, &s.InvoiceStates, false),
		parsed(Setting{"invoice_expiry", "never", "never, or a duration such as 15m, 36h or 7d",
			"When a waiting invoice expires by itself, counted from its creation by the sandbox's clock."},
			&s.InvoiceExpiry, "use never, or a duration of whole seconds such as 15m, 36h or 7d", parseExpiry),
		choice("invoice_finished", "paid|closed",
			"When an invoice counts as finished: once it is paid, or also once it has expired.", &s.InvoiceFinished),
		choice("choosen_unpaid", "null|empty|omit",
			"The choosen of an unpaid invoice: null, an empty object, or not there.", &s.ChoosenUnpaid),
		choice("choosen_paid", "record|currency|null|omit",
			"The choosen of a paid invoice: {currency, amount, at}, a Currency, null, or not there.", &s.ChoosenPaid),
		choice("due_date_in", "text|date_time",
			"What due_date may be in a request: any text, or a time in created_layout.", &s.dueDateIn),
		number("min_items", "1", 0, 1, "The fewest items of an invoice.", &s.minItems),
		limit("max_items", "The most items.", &s.maxItems),
		parsed(Setting{"paid_in", "invoice", "invoice or a code of the registry",
			"The currency that customers pay in: the invoice's, or another, by the rate table and rounded up."},
			&s.PaidIn, "use invoice or one of "+money.Codes(money.Registry, ""), parsePaidIn),
		choice("payment_fails", "never|first|always",
			"Which payments with the button of an invoice's page fail: none, the first of each invoice, or all. The invoice goes on waiting, and only the page shows the failure.",
			&s.PaymentFails),
		text("due_date_text", "deprecated", "The placeholder in due_date.", &s.DueDate),
		choice("duplicate_invoice_order_ids", "accept|reject",
			"How an invoice is answered if the account has used its order_id before.", &s.DuplicateInvoiceIDs),

		// Invites and resellers
		choice("invite_uuid", "id|reference",
			"What the UUID sent to create an invite is: the new invite's own UUID, or a reference that becomes its label.", &s.InviteUUID),
		text("invite_url", "{base}/invite/{invite}",
			"The url of a new invite; {base} is the address of the sandbox or of its proxy, {host} the request's Host.",
			&s.inviteURL),
		choice("invite_reuse", "reject|accept", "Whether an invite may be redeemed more than once.", &s.InviteReuse),
		parsed(Setting{"invite_label", "Invite {n}", "any text, also none",
			"The label of an invite until it is redeemed; {n} counts invites, {invite} is its UUID."},
			&s.InviteLabel, "it is blank or holds control characters; use plain text, or nothing at all",
			parseInviteLabel),
		choice("invites_listed", "all|open", "Whether the list of invites has those that were redeemed.",
			&s.invitesListed),
		choice("reseller_auth", "own|bearer|any_key|none",
			"What the invite and reseller routes want: the merchant's key or, for what is its own, a reseller's; the merchant's; any; or none.",
			&s.resellerAuth),
		parsed(Setting{"rebate_percent", "1", "0 to 100, up to four decimals",
			"The reseller's part of each paid invoice, rounded down to a minor unit, in the currency that was paid."},
			&s.RebatePercent, "use a number from 0 to 100 with at most four decimals, such as 1.25", parseRebate),
		choice("balance_record", "kind|list",
			"A reseller's balances: {Crypto: {code: minor}, Fiat: {code: minor}}, or an array of the record for one currency.", &s.BalanceRecord),
		choice("currency_balance", "amounts|record|map",
			"A reseller's balance in one currency: an array of one Amount or, with include_fiat, two; {currency, balance} and fiat; or {code: minor}.", &s.CurrencyBalance),
		choice("zero_amounts", "omit|show",
			"Whether balances, rebates and totals name currencies in which there is nothing.", &s.ZeroAmounts),
		choice("include_fiat_is", "flag|currency",
			"What include_fiat is: true, false or empty (true), and adds the equivalent in fiat_currency, rounded down; or the code of the fiat currency to add it in.", &s.includeFiatIs),
		choice("include_fiat", "optional|required", "Whether include_fiat must be given.", &s.includeFiat),
		parsed(Setting{"fiat_currency", "Usd", "a fiat code of the registry", "The currency of the fiat equivalent."},
			&s.fiatCurrency, "use one of "+money.Codes(money.Registry, money.Fiat), parseFiatCurrency),
		choice("stats_codes", "amount|currency",
			"Fiat codes as keys in reseller statistics: as in an Amount (USD) or as in a Currency (Usd).",
			&s.StatsCodes),
		choice("rebate_codes", "currency|amount",
			"Fiat codes as keys of rebates: as in a Currency (Usd) or as in an Amount (USD).", &s.RebateCodes),
		choice("stats_zeros", "show|omit", "Whether invoice_stats names statuses that no invoice has.", &s.StatsZeros),
		choice("rebate_created", "invoice|payment",
			"The created in invoice_rebates: when the invoice was made, or when it was paid.", &s.RebateCreated),

		// Money
		parsed(Setting{"currencies", strings.ReplaceAll(money.Codes(money.Registry, ""), ", ", ","),
			"codes of the registry, comma-separated",
			"The currencies that there are, in the order in which an automatic swap draws on them."},
			&s.Currencies, "use codes of "+money.Codes(money.Registry, "")+", separated by commas, each once",
			parseCurrencies),
		choice("fiat_codes_in", "either|as_shown",
			"Fiat codes in requests: Usd and USD anywhere, or Usd in a Currency and a query and USD in an Amount.",
			&s.FiatCodesIn),
		choice("code_case", "exact|any", "Whether btc is Btc.", &s.CodeCase),

		// Requests
		choice("unknown_keys", "reject|ignore", "How a body with a key that the interface does not have is answered.",
			&s.UnknownKeys),
		choice("unknown_parameters", "reject|ignore",
			"How a query with a parameter that the interface does not have is answered.", &s.UnknownParameters),
		choice("empty_text", "reject|absent",
			"What an empty text in an optional field is: an error, or as if it were not there.", &s.EmptyText),
		limit("max_text", "The longest text in a field, in characters.", &s.MaxText),
		choice("content_type", "ignored|required",
			"Whether a request with a body must say Content-Type: application/json.", &s.ContentType),
		limit("requests_per_second", "How many requests are answered in a second, of all keys together.", &s.perSecond),
		choice("envelope", "everywhere|as_shown",
			"Which errors have the envelope: all, or those of the merchant's withdrawals and of making an invoice; others are plain text.", &s.envelope),
		number("max_body", "1048576", 1, 1<<30, "The largest request body, in bytes.", &s.maxBody),
	}
	var rates, errors []string
	for _, c := range money.Registry {
		rates = append(rates, c.Code+"="+c.Rate)
	}
	for _, rule := range refusal.Rules {
		errors = append(errors, fmt.Sprintf("%s=%d:%d", rule.Kind, rule.Status, rule.Code))
	}
	return append(defs,
		family("rates", "CODE=RATE,...", "What one of a currency is worth in Usd, or in whatever all rates are quoted in: above 0, 9 digits, 9 decimals.",
			rates, func(i int, value string) error { return s.setRate(money.Registry[i], value) }),
		family("errors", "REASON=STATUS:CODE,...", "The HTTP status and the code of an error.",
			errors, func(i int, value string) error { return s.setError(refusal.Rules[i], value) }))
}

// family returns a setting that is a map. What a value does not name has its default.
func family(name, values, meaning string, defaults []string, set func(i int, value string) error) definition {
	return definition{Setting{name, strings.Join(defaults, ","), values, meaning}, func(value string) error {
		seen := map[int]int{}
		for _, entry := range append(slices.Clone(defaults), strings.Split(value, ",")...) {
			key, one, found := strings.Cut(entry, "=")
			i := slices.IndexFunc(defaults, func(entry string) bool { return strings.HasPrefix(entry, key+"=") })
			if seen[i]++; seen[i] > 2 { // its default, and what is given
				return fmt.Errorf("%s is given twice; leave one out", key)
			}
			if !found || i < 0 {
				return fmt.Errorf("%q is not one of its entries; write it like %s", refusal.Shorten(entry), defaults[0])
			}
			if err := set(i, one); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		return nil
	}}
}
