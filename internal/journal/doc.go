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
// One pure function decides what an order becomes when something happens to it: next in transition.go,
// with a table of all steps. One place makes the change durable, as a compare-and-set: happen. Every
// change of an order makes a new version of it, names the version that it starts from, and does nothing if
// the order has another version by now. The attempts, and how each of them ended, are in their own table.
// It shows whether an order may have been taken. A Finish can be late: its sender was taken for dead, and
// since then the order was settled, decided or sent again.
//
// If the service has ever shown an order, in an answer or on its list, no person can decide that it was not
// sent, even if the service showed something else than was sent. A person can only say which withdrawal it
// is, also one that differs. Show records that an order was shown even if the scan settles nothing, because
// it is incomplete or about other orders. An order that was planned or rejected is then unknown, so it is not
// sent again before it is settled. If it is being sent at that time, its sender's answer settles it, and a
// second id makes it a conflict.
//
// Only two events lead from sending or unknown back to planned: the outcome of the attempt that is under way,
// and a person's decision. A rejection settles only its own attempt. If an earlier attempt is in doubt, the
// order is unknown again after the rejection. If any attempt of an order was ever in doubt, the order is sent
// with the same content only, even if a person has said that it was not sent. Other content is sent only if
// every attempt was rejected or never left.
//
// # Who is alive
//
// A process that sends holds a lock, which the system releases when the process ends in any way. It is a byte
// of a lock file next to an SQLite journal, or an advisory lock in PostgreSQL. No other process changes the
// state of an order whose sender holds its lock. When the lock is free, an order that was left sending
// becomes unknown. If the lock was lost while its process lived, the outcomes of that process are still
// recorded, on the unknown orders.
//
// # Runs
//
// A plan that is applied is a run. When it begins, its rows are recorded, in pieces. From then on only the
// recorded rows are sent: a claim of a run's row makes no order and reads no file. If the process dies before
// all rows are recorded, the run has not begun, and is removed.
//
// An order does not belong to a run: it keeps its state under any plan. A run notes which orders are its
// rows, and an order notes which run sent it last. If several processes share a run, each of them claims a
// row before it sends it, as for a single withdrawal. If the journal is a file, one process applies a plan at
// a time.
//
// Claims and outcomes that wait at the same time go into the same commit. Each of them makes its own change
// there, as if it were alone.
//
// # What it cannot promise
//
// The journal knows only what was recorded in it. A journal that is restored from a backup, or loses commits
// in a failover, has forgotten some of it; see copy.go. Two journals know nothing of each other. A payment that is made
// without till is in no journal. The help topic payouts says what follows from this for a merchant.
//
// # Accounts
//
// An order belongs to an account. An account has its own number. The service's address and the merchant's
// name there are its attributes. A sender finds the account once, as a Ledger, and keeps it. No claim makes
// an account, and a sender stops if its account is renamed. The same order id in two accounts is two orders.
// The journal notes the fingerprints of the API keys that were used with each account, so that a key of
// another account is found out before anything is sent with it.
//
// # Where it is kept
//
// The journal is an SQLite file on one machine, or a PostgreSQL database that several machines share. Both have
// the same tables and run the same statements.
package journal
