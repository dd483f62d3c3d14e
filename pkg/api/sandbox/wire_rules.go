package sandbox

import "example.com/till/pkg/api/sandbox/internal/store"

// rules are the choices of how strictly a request is read and of what an answer looks like.
type rules struct {
	*store.Terms
	firstPage, emptyPageCount              int64
	defaultPageSize, maxPageSize           int64
	pageSizeTooLarge, pageOutOfRange       string
	listOrder, tagsMatch, periodEnd        string
	unknownInFilter, reversedPeriod        string
	timeLayout, filterTimes, createdLayout string
	absentFields                           string
	historyOrder, fiatAddress              string
	merchantIDOf, merchantIDFormat         string
	minAmount, maxAmount, maxText          int64
	amountShown, memoShown, isTestnet      string
	invoiceStates                          [3]string // by phase
	choosenUnpaid, choosenPaid, dueDate    string
	balanceRecord, currencyBalance         string
	zeroAmounts, statsCodes, statsZeros    string
	rebateCodes, rebateCreated             string
	unknownKeys, unknownParameters         string
	emptyText, contentType                 string
	codeCase, fiatCodesIn                  string
}
