// Package journal is the durable record of withdrawals: what was asked for under which order id, whether it was sent, and
// what came of it. It is what keeps a withdrawal from being sent twice, so everything about it is made for one moment: the
// one in which the machine stops between two steps and somebody has to know the next day what happened.
//
// # The rule
//
// An order is recorded as sending, and the record is on the disk, before the first byte of its request is written to the
// network. What came back is on the disk before anybody is told. So whatever happens in between, the record is never
// behind the money: a withdrawal that may exist is never recorded as one that does not.
//
//	planned   nothing is under way, and it may be sent
//	sending   a process is sending it, or was when it died
//	accepted  the service took it, and gave it an id
//	rejected  the service refused it, definitely
//	unknown   it may have been taken or not
//	conflict  the service's record is not what was asked for
//
// What an order becomes when something happens to it is decided by one pure function, next in transition.go, and made durable in
// one place, move.go, as a compare-and-set: every change of an order makes a new version of it, and a change names the version
// that it starts from and does nothing when that is gone. Which attempts there were, and how each of them ended, is a table of its
// own: whether an order may have been taken is read from it. transition.go has a picture of all steps: those of Claim, Finish
// and reap (its sender has died), those of Settle (what the service's own list says), and those of Decide (what a person says). A
// Finish can be late, when its sender was taken for dead, and the order was settled, given up or sent again since.
//
// An order that is new to the journal begins with BeginRun (planned), Claim (sending), or Settle (accepted, conflict).
//
// What the service has once shown, in an answer or on its list, as it was sent or not, is never decided to be not sent: a person
// can only say which withdrawal it is, also one that differs. That it was shown is kept (Show) even if the reading that showed it
// settles nothing, because it was incomplete or about other orders.
//
// There is no step from sending or unknown back to planned but the outcome of the very attempt that is under way, and a
// person's decision. A rejection settles its own attempt only: an order of which an earlier attempt is in doubt is unknown
// again after it. And an order of which an attempt was ever in doubt is sent with the same content only, though a person has
// said that it was not sent: other content goes out where every attempt was rejected or never left.
//
// # Who is alive
//
// A process that sends holds a lock that the system takes away when the process ends in any way: a byte of a lock file
// beside an SQLite journal, an advisory lock in PostgreSQL. No other process moves a row whose sender holds its lock.
// When the lock is free, a row that was left sending becomes unknown. If the lock was lost while its process lived, what
// that process comes to know is recorded on the unknown row all the same.
//
// # Runs
//
// A plan that is applied is a run. Its rows are recorded when it begins, in pieces, and from then on they alone are sent, as they
// were recorded: a claim of a run's row makes no order and takes nothing from a file. A run whose process dies before all rows are
// recorded has not begun, and is forgotten. An order belongs to itself: it keeps its state under any plan, and a run only notes which
// orders are its rows, and each order which run sent it last. Of several processes that share a run, each claims a row for
// itself before it sends it, as a single withdrawal is claimed; in a journal that is a file, one process applies at a time.
//
// Claims and outcomes that wait for the same commit are recorded with a few statements for all of them, on the strength of what
// was read before; where the compare-and-set then finds something else, the order is read and decided about by itself, as it
// is for a single withdrawal.
//
// # What it cannot promise
//
// The journal knows what it was told. One that is put back from a backup, or loses commits in a failover, has forgotten; two of
// them know nothing of each other; and a payment past till is in none. What follows from that for a merchant is in the help
// topic payouts.
//
// # Accounts
//
// A row belongs to an account, which has a number of its own; a service's address and a name for the merchant there are its
// attributes. A sender finds the account once, as a Ledger, and keeps it: no claim makes an account, and one that was renamed
// under its sender stops it. The same order id in two
// accounts is two orders. Which API keys have been used with an account is noted by their fingerprints, so that a key that
// opens somebody else's account is found out before anything is sent with it.
//
// # Where it is kept
//
// In an SQLite file of one machine, or in a PostgreSQL database that several share. Both hold the same tables and run the
// same statements; sqlite.go and postgres.go have what differs: how they are opened, what makes a commit durable, and how a
// sender's lock is held.
package journal
