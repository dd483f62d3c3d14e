// Package payout sends each withdrawal at most once, across crashes and repeats.
//
// The service is not known to honour an idempotency key for a create. If a connection breaks before the
// answer arrives, the withdrawal may have been paid or not, and a program that sends it again may pay twice.
// This package keeps a durable record, the Journal, and decides from it what may be sent.
//
//	journal, err := payout.OpenJournal(ctx, "journal.db")
//	sender, err := payout.New(client, journal, "acme", payout.Options{})
//	sent, err := sender.Send(ctx, request) // request has an order id of your own
//
// An order id is your number for one payment, such as one salary in your books. Repeating a Send with the
// same order id and the same content never pays again. For many payments, Ledger.MakePlan checks a file and
// writes a plan, which others can read and approve (see package approval), and Sender.Apply sends its rows.
// Applied again, a plan continues where it stopped.
//
// # The guarantee
//
// Before the first byte of a request is written, the disk has a record that its order is being sent. Before
// Send returns, the outcome is recorded. So if all senders share a journal and use the same name for an
// account, at most one of them sends an order at a time, and none sends it again unless every earlier attempt
// is known not to have paid, or a person has said so. The file
// docs/guarantees.md of the module says what no client can promise.
//
// # Errors
//
// Every error is an *Error with a Kind, for errors.As, and is one of ErrUnknown, ErrRefused and the others
// for errors.Is. If the context ends before anything is sent, its error is in the chain. After
// ErrUnknown, an order may have been paid. It stays unknown until the service's list shows it, or a person
// decides with Check and Resolve:
//
//	case errors.Is(err, payout.ErrUnknown): // stop, and never send it under another order id
//		results, err := sender.Reconcile(ctx, orderID)
package payout
