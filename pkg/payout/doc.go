// Package payout sends withdrawals. It sends each one at most once, across crashes, timeouts and repeated
// runs.
//
// The service is not known to honour an idempotency key for a create. If a connection breaks before the
// answer arrives, the withdrawal may have been paid or not. A program that sends it again may pay twice. This
// package keeps a durable record, the Journal, and decides from it what may be sent.
//
//	journal, err := payout.OpenJournal(ctx, "journal.db")
//	sender, err := payout.New(client, journal, "acme", payout.Options{})
//	sent, err := sender.Send(ctx, request) // request has an order id of your own
//
// An order id is your number for one payment, such as one salary in your books. Repeating a Send with the
// same order id and the same content never pays again. It returns the id of the existing withdrawal, or an
// error that says what has to be settled first.
//
// # The guarantee
//
// Before the first byte of a request is written, the disk has a record that its order is being sent. Before
// Send returns, the outcome is recorded. So if all senders share a journal and use the same name for an
// account, at most one of them sends an order at a time, and none sends it again unless every earlier attempt
// is known not to have paid, or a person has said so.
//
// An attempt is known not to have paid after a definite refusal, and if it wrote no byte. Every other failure
// makes the order unknown. It stays unknown until its sender still learns the outcome, a reading of the
// service's list by Reconcile or Apply finds it, or a person decides with Check and Resolve. An order that is
// missing on the list proves nothing: a list can lag, hide a row or end early.
//
// # The limits
//
// As long as the service does not refuse a second create with the same order id, no client can promise more
// than this:
//
//   - Two journals do not know of each other. Use one journal for one account: a file on one machine, or a
//     PostgreSQL database for several. A journal that is restored from a backup does not know what was paid
//     since. Options.Lookup and Sender.Compare help to find that out.
//   - A payment that is made without this package, for example in a merchant panel, is in no journal.
//   - An order id that is used for two payments is one payment. Two order ids with the same content are two
//     payments. Send refuses the second one while the outcome of the first is unknown.
//   - If the service changes or drops order ids, no order can be found again. To detect that, a withdrawal is
//     read back once, unless Options.Lookup is LookupNever. If its order id was dropped, the error is
//     ErrConflict.
//   - A person who decides that an order was not sent can be wrong. Check refuses what the list contradicts,
//     and every decision is recorded with its reason, name and time.
//
// # What to do with an error
//
// Every error is an *Error with a Kind, for errors.As, and is one of ErrUnknown, ErrRefused and the others
// for errors.Is. The exception is a context that ended before anything was sent: its error is returned, or the
// *api.Error of the read that it cut off, for errors.Is with context.Canceled. The most important error is
// ErrUnknown:
//
//	case errors.Is(err, payout.ErrUnknown): // stop, and never send it under another order id
//	        results, err := sender.Reconcile(ctx, orderID)
//
// # Many withdrawals
//
// Ledger.MakePlan checks every row of a file and writes a plan. A second person can read the plan and approve
// it by its digest. Sender.Apply sends the rows of a plan, each once. Applied again, a plan continues where
// it stopped.
//
// # How one withdrawal is sent
//
// Send takes these steps:
//
//   - It looks the order id up in the journal.
//   - It compares the key with the keys that the account was used with before.
//   - It reads the service's list twice if the journal may be incomplete.
//   - It records that the order is being sent.
//   - It makes the call.
//   - It records the outcome.
//   - It reads the withdrawal back once.
//
// A row of a plan takes the same steps, but the list is read once for all rows.
package payout
