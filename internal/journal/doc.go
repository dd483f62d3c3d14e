// Package journal is the durable record of withdrawals: what was asked for under which order id, whether it
// was sent, and what came of it. It keeps a withdrawal from being sent twice. It is designed for the case
// that the machine stops between two steps, and a person has to find out the next day what happened.
//
// # The rule
//
// Before the first byte of a request is written to the network, the disk has a record that the order is
// sending. The outcome is on the disk before any caller gets it. So the record is never behind the money,
// whatever happens in between: a withdrawal that may exist is never recorded as one that does not.
//
//	planned   nothing is under way, and it may be sent
//	sending   a process is sending it, or was when it died
//	accepted  the service took it, and gave it an id
//	rejected  the service refused it, definitely
//	unknown   it may have been taken or not
//	conflict  the service's record is not what was asked for
//
// One pure function decides what an order becomes when something happens to it: next in transition.go, with
// a table of all steps. One place makes the change durable, as a compare-and-set: happen. Every change of an
// order makes a new version of it, and does nothing if the order has another version by now.
//
// The attempts, and how each of them ended, are in their own table. They show whether an order may have been
// taken. Only the outcome of the attempt that is under way and a person's decision lead from sending or
// unknown back to planned. A rejection settles only its own attempt. If any attempt of an order was ever in
// doubt, the order is sent with the same content only, even if a person has said that it was not sent.
//
// If the service has ever shown an order, in an answer or on its list, no person can decide that it was not
// sent, even if the service showed something else than was sent. A person can only say which withdrawal it
// is, also one that differs.
//
// # Who is alive
//
// A process that sends holds a lock, which the system releases when the process ends in any way. It is a
// byte of a lock file next to an SQLite journal, or an advisory lock in PostgreSQL. No other process changes
// the state of an order whose sender holds its lock. When the lock is free, an order that was left sending
// becomes unknown. If the lock was lost while its process lived, the outcomes of that process are still
// recorded, on the unknown orders.
//
// # Runs
//
// A plan that is applied is a run. Its rows are recorded when it begins, and from then on only these are
// sent: a claim of a run's row makes no order and reads no file. An order does not belong to a run: it keeps
// its state under any plan. If several processes share a run, each of them claims a row before it sends it.
//
// # What it cannot promise
//
// The journal knows only what was recorded in it. A journal that is restored from a backup, or loses commits
// in a failover, has forgotten some of it; see copy.go. Two journals know nothing of each other. The help
// topic payouts says what follows from this for a merchant.
package journal
