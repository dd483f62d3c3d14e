// Package payout sends withdrawals, each at most once, and finds out what became of those of which nobody knows.
//
// A Book is an account of a service together with the journal that keeps its record. Everything that moves money goes
// through Book.Send, the one place in which a withdrawal is sent:
//
//  1. what stands in the journal under the order id decides whether anything is to be sent at all;
//  2. the key is held against the keys that the account was used with before (Book.Admit);
//  3. where the journal may not know everything, the service's own list is asked (Book.readings);
//  4. the intent is recorded, durably (journal.Claim);
//  5. the call is made, once, and not if more than a few seconds have passed since the record, or the person has given up;
//  6. the outcome is recorded, durably (journal.Finish);
//  7. the withdrawal is read back, to see that the service keeps order ids.
//
// Reconcile settles what is unknown by reading the service's list, Resolve by a person's decision. Hold says where the journal
// and the list do not agree.
//
// A list is read as a whole or not at all: see Book.read for what counts as a whole one. It is held against what was sent, by
// order id. What is not on it is never taken for not sent.
//
// Of many withdrawals a Plan is made first, by Make: a file that a person can read and another one approve, with a digest of
// its own. OpenPlan reads it, and takes nothing that Make would not have written. Neither of them asks the service anything.
//
// The package talks to no person: what it finds is in its results and its errors, and an *Error says which kind it is and
// what to do next.
package payout
