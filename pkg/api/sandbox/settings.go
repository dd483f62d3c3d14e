package sandbox

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

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

// Settings returns every setting. The table in the package documentation has a
// row for each.
func Settings() []Setting {
	defs := definitions()
	all := make([]Setting, len(defs))
	for i, d := range defs {
		all[i] = d.Setting
	}
	return all
}

// settings holds the choices in the form in which the handlers use them, each with the part of the sandbox that it is
// about. It is filled once, when a server is made, and only read afterwards.
type settings struct {
	*store.Terms
	wire.Rules

	callbacks webhook.Limits

	resellerAuth, resellerWithdraws string
	needlessMemo, dueDateIn         string
	minItems, maxItems              int64
	invoiceFilter, invoiceList      string
	invoiceFinished                 string
	inviteURL, invitesListed        string
	includeFiat, includeFiatIs      string
	fiatCurrency                    string
	maxBody, perSecond              int64
	envelope                        string
	errors                          [len(refusal.Rules)]refusal.Rule
}

// A definition is a setting and what reads its value.
type definition struct {
	Setting
	set func(s *settings, value string) error
}

// newSettings applies the defaults and then the values that were asked for.
func newSettings(values map[string]string) (*settings, error) {
	t := &store.Terms{Market: money.Market{UnitValue: map[string]*big.Int{}}}
	s := &settings{Terms: t, Rules: wire.Rules{Terms: t}, errors: refusal.Rules}
	known := map[string]bool{}
	for _, d := range definitions() {
		value, given := values[d.Name]
		if !given {
			value = d.Default
		}
		if err := d.set(s, value); err != nil {
			return nil, fmt.Errorf("setting %s cannot be %q: %w", d.Name, value, err)
		}
		known[d.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !known[name] {
			return nil, fmt.Errorf("there is no setting %q; Settings lists those there are", name)
		}
	}
	if s.DefaultPageSize > s.MaxPageSize {
		return nil, fmt.Errorf("setting default_page_size (%d) is larger than max_page_size (%d); raise the one or lower the other", s.DefaultPageSize, s.MaxPageSize)
	}
	if s.MinAmount > s.MaxAmount {
		return nil, fmt.Errorf("setting min_amount (%d) is larger than max_amount (%d); raise the one or lower the other", s.MinAmount, s.MaxAmount)
	}
	return s, nil
}

func definitions() []definition {
	defs := []definition{
		// Lists
		number("first_page", "1", 0, 1, "The number of the first page of a list.", func(s *settings) *int64 { return &s.FirstPage }),
		number("default_page_size", "20", 1, math.MaxInt32, "The page size when a request names none.", func(s *settings) *int64 { return &s.DefaultPageSize }),
		number("max_page_size", "1000", 1, math.MaxInt32, "The largest page size.", func(s *settings) *int64 { return &s.MaxPageSize }),
		choice("page_size_too_large", "reject|clamp", "What becomes of a larger page size.", func(s *settings) *string { return &s.PageSizeTooLarge }),
		choice("page_out_of_range", "empty|reject|clamp", "The answer to a page that does not exist: no items, an error, or the nearest page.", func(s *settings) *string { return &s.PageOutOfRange }),
		number("empty_page_count", "0", 0, 1, "The page_count of a list without items.", func(s *settings) *int64 { return &s.EmptyPageCount }),
		choice("list_order", "newest|oldest", "Which item of a list comes first, by time of creation.", func(s *settings) *string { return &s.ListOrder }),
		choice("tags_match", "current|history", "Whether a filter's tags are held against the current status or against every status reached.", func(s *settings) *string { return &s.TagsMatch }),
		choice("period_end", "inclusive|exclusive", "Whether the moment named by to belongs to the period. The moment named by from does. What counts is the time of creation.", func(s *settings) *string { return &s.PeriodEnd }),
		choice("unknown_in_filter", "reject|no_match", "What becomes of a filter by a currency or status that there is none of.", func(s *settings) *string { return &s.UnknownInFilter }),
		choice("reversed_period", "reject|empty", "What becomes of a filter whose from is after its to.", func(s *settings) *string { return &s.ReversedPeriod }),
		choice("invoice_filter", "optional|required|ignored", "The filter of the reseller's invoice list: that of withdrawals with every field optional, the very same one, or any object, which filters nothing.", func(s *settings) *string { return &s.invoiceFilter }),
		choice("invoice_list", "page|array", "The answer of the reseller's invoice list: a page of Invoices with page_count and total, or the bare array.", func(s *settings) *string { return &s.invoiceList }),

		// Times
		layout("time_layout", "How withdrawal times are written, as a Go layout, in UTC, in whole seconds.", func(s *settings) *string { return &s.TimeLayout }),
		choice("filter_times", "either|layout", "What from and to may be: time_layout or RFC 3339, or time_layout alone.", func(s *settings) *string { return &s.FilterTimes }),
		layout("created_layout", "How invoice times are written, as a Go layout, in UTC.", func(s *settings) *string { return &s.CreatedLayout }),

		// Withdrawals
		{Setting{"withdrawal_flow", "New>Processing>Completed,Processing>Failed*,New>Cancelled*", "FROM>TO[>TO]..., comma-separated",
			"Withdrawal statuses and the steps between them. The first one named is where a withdrawal begins; a star marks a last status that gives the money back."}, setFlow},
		choice("history_order", "oldest|newest", "Which entry of statuses comes first.", func(s *settings) *string { return &s.HistoryOrder }),
		choice("id_format", "uuid|text|digits", "What a withdrawal's id looks like: a UUID, W- and 16 letters and digits, or 18 digits.", func(s *settings) *string { return &s.IDFormat }),
		choice("merchant_id_of", "owner|merchant", "The merchant_id of a reseller's withdrawal: its own id, or the merchant's.", func(s *settings) *string { return &s.MerchantIDOf }),
		choice("merchant_id_format", "uuid|digits", "What a merchant_id looks like.", func(s *settings) *string { return &s.MerchantIDFormat }),
		choice("merchant_sees", "own|all", "What the merchant's key finds on the withdrawal and invoice paths: its own, or its resellers' too.", func(s *settings) *string { return &s.MerchantSees }),
		choice("reseller_withdraws", "allowed|forbidden", "Whether a reseller's key may create withdrawals.", func(s *settings) *string { return &s.resellerWithdraws }),
		choice("order_id_format", "digits|text", "What an external_order_id may be: digits without leading zeros within int64, or any text, and external_id is then there where it is a number.", func(s *settings) *string { return &s.OrderIDFormat }),
		number("min_amount", "1", 1, math.MaxInt64, "The smallest amount of a withdrawal or an invoice's item, in minor units.", func(s *settings) *int64 { return &s.MinAmount }),
		limit("max_amount", "The largest amount, likewise.", func(s *settings) *int64 { return &s.MaxAmount }),
		choice("needless_memo", "accept|reject", "What becomes of a memo where none is required.", func(s *settings) *string { return &s.needlessMemo }),
		choice("fiat_address", "crypto|fiat", "The key over the address of a fiat withdrawal in a list: Crypto, as the interface shows it, or Fiat.", func(s *settings) *string { return &s.FiatAddress }),
		{Setting{"withdrawal_pace", "none", "none, or FROM>TO=DURATION,... of steps in withdrawal_flow",
			"Steps that a withdrawal takes by itself when it has been in a status for so long by the sandbox's clock, such as New>Processing=30s,Processing>Completed=2m."}, setPace},
		choice("amount_shown", "sent|converted", "The amount in a withdrawal: as it was sent, or in the withdrawn currency.", func(s *settings) *string { return &s.AmountShown }),
		choice("memo_shown", "no|yes", "Whether a withdrawal shows its memo.", func(s *settings) *string { return &s.MemoShown }),
		choice("is_testnet", "true|false", "The is_testnet of every withdrawal.", func(s *settings) *string { return &s.IsTestnet }),
		choice("absent_fields", "omit|null", "How a field that was not given (external_id, external_order_id, external_number, callback) is shown.", func(s *settings) *string { return &s.AbsentFields }),
		choice("duplicate_order_ids", "accept|reject", "What becomes of a withdrawal whose external_order_id the account has used before.", func(s *settings) *string { return &s.DuplicateOrderIDs }),

		// Callbacks
		choice("callback_on_create", "no|yes", "Whether a withdrawal's callback is told of its creation, too.", func(s *settings) *string { return &s.CallbackOnCreate }),
		number("callback_attempts", "5", 1, 50, "How often a callback is posted until it is given up.", func(s *settings) *int64 { return &s.callbacks.Attempts }),
		duration("callback_backoff", "1s", "1h", "The time from the first attempt to the second. It doubles with each one more, up to an hour.", func(s *settings) *time.Duration { return &s.callbacks.Backoff }),
		duration("callback_timeout", "5s", "1m", "How long a receiver may take to answer a callback.", func(s *settings) *time.Duration { return &s.callbacks.Timeout }),
		choice("callback_targets", "loopback|any", "Where callbacks are posted to: addresses of this machine alone, or any.", func(s *settings) *string { return &s.callbacks.Targets }),

		// Invoices
		{Setting{"invoice_statuses", "Awaiting,Paid,Expired", "three different names", "The status of an invoice that waits for payment, is paid, has expired."}, setInvoiceStatuses},
		{Setting{"invoice_states", "Open,Closed,Closed", "three names", "The state that goes with each of those statuses."}, names(func(s *settings) *[3]string { return &s.InvoiceStates })},
		{Setting{"invoice_expiry", "never", "never, or a duration such as 15m, 36h or 7d", "When a waiting invoice expires by itself, counted from its creation by the sandbox's clock."}, setExpiry},
		choice("invoice_finished", "paid|closed", "When an invoice counts as finished: once it is paid, or also once it has expired.", func(s *settings) *string { return &s.invoiceFinished }),
		choice("choosen_unpaid", "null|empty|omit", "The choosen of an unpaid invoice: null, an empty object, or not there.", func(s *settings) *string { return &s.ChoosenUnpaid }),
		choice("choosen_paid", "record|currency|null|omit", "The choosen of a paid invoice: {currency, amount, at}, a Currency, null, or not there.", func(s *settings) *string { return &s.ChoosenPaid }),
		choice("due_date_in", "text|date_time", "What due_date may be in a request: any text, or a time in created_layout.", func(s *settings) *string { return &s.dueDateIn }),
		number("min_items", "1", 0, 1, "The fewest items of an invoice.", func(s *settings) *int64 { return &s.minItems }),
		limit("max_items", "The most items.", func(s *settings) *int64 { return &s.maxItems }),
		{Setting{"paid_in", "invoice", "invoice or a code of the registry", "The currency that customers pay in: the invoice's, or another, by the rate table and rounded up."}, setPaidIn},
		text("due_date_text", "deprecated", "The placeholder in due_date.", func(s *settings) *string { return &s.DueDate }),
		choice("duplicate_invoice_order_ids", "accept|reject", "What becomes of an invoice whose order_id the account has used before.", func(s *settings) *string { return &s.DuplicateInvoiceIDs }),

		// Invites and resellers
		choice("invite_uuid", "id|reference", "What the UUID sent to create an invite is: the new invite's own UUID, or a reference that becomes its label.", func(s *settings) *string { return &s.InviteUUID }),
		text("invite_url", "http://{host}/invite/{invite}", "The url of a new invite; {host} is the request's Host.", func(s *settings) *string { return &s.inviteURL }),
		choice("invite_reuse", "reject|accept", "Whether an invite may be redeemed more than once.", func(s *settings) *string { return &s.InviteReuse }),
		{Setting{"invite_label", "Invite {n}", "any text, also none", "The label of an invite until it is redeemed; {n} counts invites, {invite} is its UUID."}, setInviteLabel},
		choice("invites_listed", "all|open", "Whether the list of invites has those that were redeemed.", func(s *settings) *string { return &s.invitesListed }),
		choice("reseller_auth", "bearer|any_key|none", "What the invite and reseller routes want: the merchant's key, that or a reseller's, or none.", func(s *settings) *string { return &s.resellerAuth }),
		{Setting{"rebate_percent", "1", "0 to 100, up to four decimals", "The reseller's part of each paid invoice, rounded down to a minor unit, in the currency that was paid."}, setRebate},
		choice("balance_record", "kind|list", "A reseller's balances: {Crypto: {code: minor}, Fiat: {code: minor}}, or an array of the record for one currency.", func(s *settings) *string { return &s.BalanceRecord }),
		choice("currency_balance", "record|amounts|map", "A reseller's balance in one currency: {currency, balance} and fiat with include_fiat, an array of one Amount or two, or {code: minor}.", func(s *settings) *string { return &s.CurrencyBalance }),
		choice("zero_amounts", "omit|show", "Whether balances, rebates and totals name currencies in which there is nothing.", func(s *settings) *string { return &s.ZeroAmounts }),
		choice("include_fiat_is", "flag|currency", "What include_fiat is: true, false or empty (true), and adds the equivalent in fiat_currency, rounded down; or the code of the fiat currency to add it in.", func(s *settings) *string { return &s.includeFiatIs }),
		choice("include_fiat", "optional|required", "Whether include_fiat must be given.", func(s *settings) *string { return &s.includeFiat }),
		{Setting{"fiat_currency", "Usd", "a fiat code of the registry", "The currency of the fiat equivalent."}, setFiatCurrency},
		choice("stats_codes", "amount|currency", "Fiat codes as keys in reseller statistics: as in an Amount (USD) or as in a Currency (Usd).", func(s *settings) *string { return &s.StatsCodes }),
		choice("rebate_codes", "currency|amount", "Fiat codes as keys of rebates: as in a Currency (Usd) or as in an Amount (USD).", func(s *settings) *string { return &s.RebateCodes }),
		choice("stats_zeros", "show|omit", "Whether invoice_stats names statuses that no invoice has.", func(s *settings) *string { return &s.StatsZeros }),
		choice("rebate_created", "invoice|payment", "The created in invoice_rebates: when the invoice was made, or when it was paid.", func(s *settings) *string { return &s.RebateCreated }),

		// Money
		{Setting{"currencies", strings.ReplaceAll(money.Codes(""), ", ", ","), "codes of the registry, comma-separated", "The currencies that there are, in the order in which an automatic swap draws on them."}, setCurrencies},
		choice("fiat_codes_in", "either|as_shown", "Fiat codes in requests: Usd and USD anywhere, or Usd in a Currency and a query and USD in an Amount.", func(s *settings) *string { return &s.FiatCodesIn }),
		choice("code_case", "exact|any", "Whether btc is Btc.", func(s *settings) *string { return &s.CodeCase }),

		// Requests
		choice("unknown_keys", "reject|ignore", "What becomes of a key in a body that the interface does not have.", func(s *settings) *string { return &s.UnknownKeys }),
		choice("unknown_parameters", "reject|ignore", "What becomes of a parameter in a query that the interface does not have.", func(s *settings) *string { return &s.UnknownParameters }),
		choice("empty_text", "reject|absent", "What an empty text in an optional field is: an error, or as if it were not there.", func(s *settings) *string { return &s.EmptyText }),
		limit("max_text", "The longest text in a field, in characters.", func(s *settings) *int64 { return &s.MaxText }),
		choice("content_type", "ignored|required", "Whether a request with a body must say Content-Type: application/json.", func(s *settings) *string { return &s.ContentType }),
		limit("requests_per_second", "How many requests are answered in a second, of all keys together.", func(s *settings) *int64 { return &s.perSecond }),
		choice("envelope", "everywhere|as_shown", "Which errors have the envelope: all, or those of the merchant's withdrawals and of making an invoice; others are plain text.", func(s *settings) *string { return &s.envelope }),
		number("max_body", "1048576", 1, 1<<30, "The largest request body, in bytes.", func(s *settings) *int64 { return &s.maxBody }),
	}
	for _, c := range money.Registry {
		defs = append(defs, definition{
			Setting{"rate_" + c.Code, c.Rate, "above 0, 9 digits, 9 decimals", "What one " + c.Code + " is worth in Usd, or in whatever one unit all rates are quoted in."},
			func(s *settings, value string) error { return setRate(s, c.Currency, value) },
		})
	}
	for k, rule := range refusal.Rules {
		defs = append(defs, definition{
			Setting{"error_" + rule.Reason, fmt.Sprintf("%d:%d", rule.Status, rule.Code), "STATUS:CODE", "The HTTP status and the code of the error " + rule.Reason + "."},
			func(s *settings, value string) error { return setError(&s.errors[k], value) },
		})
	}
	return defs
}
