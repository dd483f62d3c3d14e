// Package payout sends withdrawals, each of them at most once, also across crashes, timeouts and repeated runs.
//
// A create has no idempotency key that the service is known to honour. If a connection breaks before the answer arrives, the
// withdrawal may have been paid or not, and a program that sends it again may pay twice. This package keeps a durable record,
// the Journal, and decides from it what may be sent.
//
//	journal, err := payout.OpenJournal(ctx, "journal.db")
//	sender, err := payout.New(client, journal, "acme", payout.Options{})
//	sent, err := sender.Send(ctx, request) // request has an order id of your own
//
// An order id is your number for one payment, such as that of a salary in your books. Repeating a Send with the same order id
// and the same content never pays again: it returns the id of the withdrawal that is there, or an error that says what has to
// be settled first.
//
// # The guarantee
//
// Every order is recorded as being sent, on the disk, before the first byte of its request is written, and its outcome is
// recorded before Send returns. So of all senders that share a journal and name an account alike, at most one sends an order,
// and it sends it once. A definite refusal, or a call of which no byte was written, makes the order free to be sent again.
// Everything else makes it unknown, and it stays so until Reconcile finds it on the service's list, or a person decides with
// Check and Resolve. That the list does not show an order proves nothing: a list can lag, hide a row or end early.
//
// # What nobody can guarantee
//
// As long as the service does not refuse a second create with the same order id, no client can promise more than this:
//
//   - Two journals do not know of each other. Use one journal for one account: a file on one machine, or a PostgreSQL database
//     for several. A journal that is restored from a backup has forgotten what was paid since; Options.Lookup and Sender.Compare
//     help to find that out.
//   - A payment that is made past this package, in a merchant panel for example, is in no journal.
//   - An order id that is used for two payments is one payment. Two order ids with the same content are two payments; Send
//     refuses the second one while the outcome of the first is unknown.
//   - If the service does not keep order ids as they were sent, nothing can be found again. A withdrawal is read back once to
//     see that, and if its order id was dropped, the error is ErrConflict.
//   - A person who decides that an order was not sent can be wrong. Check refuses what the list contradicts, and every decision
//     is recorded with its reason, name and time.
//
// # What to do with an error
//
// Every error is an *Error with a Kind, for errors.As, and is one of ErrUnknown, ErrRefused and the others for errors.Is. Only
// the end of a context is returned as it is. The one that matters:
//
//	case errors.Is(err, payout.ErrUnknown): // stop, and never send it under another order id
//	        results, err := sender.Reconcile(ctx, orderID)
//
// # Many withdrawals
//
// Ledger.MakePlan checks every row of a file and writes a plan, which a second person can read and approve by its digest.
// Sender.Apply sends the rows of a plan, each once. Applied again, a plan goes on where it stopped.
//
// # How one withdrawal is sent
//
// Send asks the journal what it has under the order id, compares the key with those that the account was used with before,
// reads the service's list twice if the journal may not know everything, records that the order is being sent, makes the call,
// records the outcome, and reads the withdrawal back once. The function send in send.go is that list. A row of a plan goes the
// same way, but the list is read once for all rows.
package payout
