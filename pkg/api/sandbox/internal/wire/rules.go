package wire

import "example.com/till/pkg/api/sandbox/internal/store"

// Rules are the settings for how strictly a request is read and for the form of an answer.
type Rules struct {
	*store.Terms
	FirstPage, EmptyPageCount              int64
	DefaultPageSize, MaxPageSize           int64
	PageSizeTooLarge, PageOutOfRange       string
	ListOrder, TagsMatch, PeriodEnd        string
	UnknownInFilter, ReversedPeriod        string
	TimeLayout, FilterTimes, CreatedLayout string
	AbsentFields                           string
	HistoryOrder, FiatAddress              string
	MerchantIDOf, MerchantIDFormat         string
	MinAmount, MaxAmount, MaxText          int64
	AmountShown, MemoShown, IsTestnet      string
	InvoiceStates                          [3]string // by phase
	InvoiceFinished                        string
	ChoosenUnpaid, ChoosenPaid, DueDate    string
	BalanceRecord, CurrencyBalance         string
	ZeroAmounts, StatsCodes, StatsZeros    string
	RebateCodes, RebateCreated             string
	UnknownKeys, UnknownParameters         string
	EmptyText, ContentType                 string
	CodeCase, FiatCodesIn                  string
}
