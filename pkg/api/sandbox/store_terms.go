package sandbox

import (
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
)

// terms are the choices that decide what becomes of money, withdrawals, invoices and invites.
type terms struct {
	money.Market
	flow                                   flow
	pace                                   pace
	invoiceExpiry                          time.Duration // 0: never
	idFormat, orderIDFormat                string
	duplicateOrderIDs, duplicateInvoiceIDs string
	invoiceStatuses                        [3]string // by phase
	paidIn                                 string    // a code, or empty for the invoice's own
	inviteUUID, inviteLabel, inviteReuse   string
	merchantSees                           string
	rebatePercent                          int64 // in steps of 1/percentScale percent
	callbackOnCreate                       string
}

// percentScale allows four decimals in rebate_percent.
const percentScale = 10_000
