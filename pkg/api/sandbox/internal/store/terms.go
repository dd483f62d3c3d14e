package store

import (
	"time"

	"example.com/till/pkg/api/sandbox/internal/money"
)

// Terms are the settings that affect money, withdrawals, invoices and invites.
type Terms struct {
	money.Market
	Flow                                   Flow
	Pace                                   Pace
	InvoiceExpiry                          time.Duration // 0: never
	IDFormat, OrderIDFormat                string
	DuplicateOrderIDs, DuplicateInvoiceIDs string
	InvoiceStatuses                        [3]string // by phase
	PaidIn                                 string    // a code, or empty for the invoice's own
	PaymentFails                           string
	InviteUUID, InviteLabel, InviteReuse   string
	MerchantSees                           string
	RebatePercent                          int64 // in steps of 1/PercentScale percent
	CallbackOnCreate                       string
}

// PercentScale allows four decimals in rebate_percent.
const PercentScale = 10_000
