package sandbox

import (
	"fmt"
	"math"
	"math/big"
	"time"
)

// A Setting is one choice that the sandbox makes where the interface is silent.
type Setting struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Values  string `json:"values"` // what may stand there
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

// settings holds the choices in the form in which the handlers use them. It is
// filled once, when a server is made, and only read afterwards.
type settings struct {
	firstPage, emptyPageCount               int64
	defaultPageSize, maxPageSize            int64
	pageSizeTooLarge, pageOutOfRange        string
	listOrder, tagsMatch, periodEnd         string
	timeLayout, filterTimes, createdLayout  string
	absentFields                            string
	flow                                    flow
	pace                                    pace
	invoiceExpiry                           time.Duration // 0: never
	amountShown, memoShown, isTestnet       string
	duplicateOrderIDs, duplicateInvoiceIDs  string
	invoiceStatuses, invoiceStates          [3]string
	invoiceFinished, choosenUnpaid, dueDate string
	inviteUUID, inviteURL, inviteReuse      string
	resellerAuth                            string
	balanceRecord, zeroAmounts              string
	includeFiat, fiatCurrency               string
	statsCodes, invoiceList                 string
	rebatePercent                           int64 // in steps of 1/percentScale percent
	maxBody                                 int64
	errors                                  [len(errorRules)]errorRule
	unitValue                               map[string]*big.Int // what one minor unit is worth, all on one scale
}

// percentScale allows four decimals in rebate_percent.
const percentScale = 10_000

// A definition is a setting and what reads its value.
type definition struct {
	Setting
	set func(s *settings, value string) error
}

// newSettings applies the defaults and then the values that were asked for.
func newSettings(values map[string]string) (*settings, error) {
	s := &settings{errors: errorRules, unitValue: map[string]*big.Int{}}
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
	for _, name := range sortedKeys(values) {
		if !known[name] {
			return nil, fmt.Errorf("there is no setting %q; Settings lists those there are", name)
		}
	}
	if s.defaultPageSize > s.maxPageSize {
		return nil, fmt.Errorf("setting default_page_size (%d) is larger than max_page_size (%d); raise the one or lower the other", s.defaultPageSize, s.maxPageSize)
	}
	return s, nil
}

func definitions() []definition {
	defs := []definition{
		// Lists
		number("first_page", "1", 0, 1, "The number of the first page of a list.", func(s *settings) *int64 { return &s.firstPage }),
		number("default_page_size", "20", 1, math.MaxInt32, "The page size when a request names none.", func(s *settings) *int64 { return &s.defaultPageSize }),
		number("max_page_size", "1000", 1, math.MaxInt32, "The largest page size.", func(s *settings) *int64 { return &s.maxPageSize }),
		choice("page_size_too_large", "reject|clamp", "What becomes of a larger one.", func(s *settings) *string { return &s.pageSizeTooLarge }),
		choice("page_out_of_range", "empty|reject|clamp", "The answer to a page that does not exist: no items, an error, or the nearest page.", func(s *settings) *string { return &s.pageOutOfRange }),
		number("empty_page_count", "0", 0, 1, "The page_count of a list without items.", func(s *settings) *int64 { return &s.emptyPageCount }),
		choice("list_order", "newest|oldest", "Which item of a list comes first, by time of creation.", func(s *settings) *string { return &s.listOrder }),
		choice("tags_match", "current|history", "Whether a filter's tags are held against the current status or against every status reached.", func(s *settings) *string { return &s.tagsMatch }),
		choice("period_end", "inclusive|exclusive", "Whether the moment named by to belongs to the period. The moment named by from does. What counts is the time of creation.", func(s *settings) *string { return &s.periodEnd }),
		choice("invoice_list", "page|array", "The answer of the reseller's invoice list: a page of Invoices with page_count and total, or the bare array.", func(s *settings) *string { return &s.invoiceList }),

		// Times
		layout("time_layout", "How withdrawal times are written, as a Go layout, in UTC, in whole seconds.", func(s *settings) *string { return &s.timeLayout }),
		choice("filter_times", "either|layout", "What from and to may be: time_layout or RFC 3339, or time_layout alone.", func(s *settings) *string { return &s.filterTimes }),
		layout("created_layout", "How invoice times are written, as a Go layout, in UTC.", func(s *settings) *string { return &s.createdLayout }),

		// Withdrawals
		{Setting{"withdrawal_flow", "New>Processing>Completed,Processing>Failed*,New>Cancelled*", "FROM>TO[>TO]..., comma-separated",
			"Withdrawal statuses and the steps between them. The first one named is where a withdrawal begins; a star marks a last status that gives the money back."}, setFlow},
		{Setting{"withdrawal_pace", "none", "none, or FROM>TO=DURATION,... of steps in withdrawal_flow",
			"Steps that a withdrawal takes by itself when it has been in a status for so long by the sandbox's clock, such as New>Processing=30s,Processing>Completed=2m."}, setPace},
		choice("amount_shown", "sent|converted", "The amount in a withdrawal: as it was sent, or in the withdrawn currency.", func(s *settings) *string { return &s.amountShown }),
		choice("memo_shown", "no|yes", "Whether a withdrawal shows its memo.", func(s *settings) *string { return &s.memoShown }),
		choice("is_testnet", "true|false", "The is_testnet of every withdrawal.", func(s *settings) *string { return &s.isTestnet }),
		choice("absent_fields", "omit|null", "How a field that was not given (external_id, external_order_id, external_number, callback) is shown.", func(s *settings) *string { return &s.absentFields }),
		choice("duplicate_order_ids", "accept|reject", "What becomes of a withdrawal whose external_order_id the account has used before.", func(s *settings) *string { return &s.duplicateOrderIDs }),

		// Invoices
		{Setting{"invoice_statuses", "Awaiting,Paid,Expired", "three different names", "The status of an invoice that waits for payment, is paid, has expired."}, setInvoiceStatuses},
		{Setting{"invoice_states", "Open,Closed,Closed", "three names", "The state that goes with each of those statuses."}, names(func(s *settings) *[3]string { return &s.invoiceStates })},
		{Setting{"invoice_expiry", "never", "never, or a duration such as 15m, 36h or 7d", "When a waiting invoice expires by itself, counted from its creation by the sandbox's clock."}, setExpiry},
		choice("invoice_finished", "paid|closed", "When an invoice counts as finished: once it is paid, or also once it has expired.", func(s *settings) *string { return &s.invoiceFinished }),
		choice("choosen_unpaid", "null|empty|omit", "The choosen of an unpaid invoice: null, an empty object, or not there. A paid one has {currency, amount, at}.", func(s *settings) *string { return &s.choosenUnpaid }),
		text("due_date_text", "deprecated", "The placeholder in due_date.", func(s *settings) *string { return &s.dueDate }),
		choice("duplicate_invoice_order_ids", "accept|reject", "What becomes of an invoice whose order_id the account has used before.", func(s *settings) *string { return &s.duplicateInvoiceIDs }),

		// Invites and resellers
		choice("invite_uuid", "id|reference", "What the UUID sent to create an invite is: the new invite's own UUID, or a reference that becomes its label.", func(s *settings) *string { return &s.inviteUUID }),
		text("invite_url", "http://{host}/invite/{invite}", "The url of a new invite; {host} is the request's Host.", func(s *settings) *string { return &s.inviteURL }),
		choice("invite_reuse", "reject|accept", "Whether an invite may be redeemed more than once.", func(s *settings) *string { return &s.inviteReuse }),
		choice("reseller_auth", "bearer|none", "Whether the invite and reseller routes want the merchant's key, or none.", func(s *settings) *string { return &s.resellerAuth }),
		{Setting{"rebate_percent", "1", "0 to 100, up to four decimals", "The reseller's part of each paid invoice, rounded down to a minor unit, in the invoice's currency."}, setRebate},
		choice("balance_record", "kind|list", "A reseller's balances: {Crypto: {code: minor}, Fiat: {code: minor}}, or an array of the record for one currency.", func(s *settings) *string { return &s.balanceRecord }),
		choice("zero_amounts", "omit|show", "Whether balances, rebates and totals name currencies in which there is nothing.", func(s *settings) *string { return &s.zeroAmounts }),
		choice("include_fiat", "optional|required", "Whether include_fiat must be given. It is true, false or empty (true), and adds the fiat equivalent, rounded down.", func(s *settings) *string { return &s.includeFiat }),
		{Setting{"fiat_currency", "Usd", "a fiat code of the registry", "The currency of that equivalent."}, setFiatCurrency},
		choice("stats_codes", "amount|currency", "Fiat codes as keys in reseller statistics: as in an Amount (USD) or as in a Currency (Usd).", func(s *settings) *string { return &s.statsCodes }),

		number("max_body", "1048576", 1, 1<<30, "The largest request body, in bytes.", func(s *settings) *int64 { return &s.maxBody }),
	}
	for _, c := range registry {
		defs = append(defs, definition{
			Setting{"rate_" + c.Code, c.rate, "a decimal above 0, nine digits and nine decimals at most", "What one " + c.Code + " is worth in Usd, or in whatever one unit all rates are quoted in."},
			func(s *settings, value string) error { return setRate(s, c.Currency, value) },
		})
	}
	for k, rule := range errorRules {
		defs = append(defs, definition{
			Setting{"error_" + rule.reason, fmt.Sprintf("%d:%d", rule.status, rule.code), "STATUS:CODE", "The HTTP status and the code of the error " + rule.reason + "."},
			func(s *settings, value string) error { return setError(&s.errors[k], value) },
		})
	}
	return defs
}
