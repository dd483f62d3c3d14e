// Package payout sends withdrawals, each at most once, and settles those whose outcome is unknown.
//
// A Sender is an account of a service together with the journal that keeps its record. Everything that moves money goes
// through Sender.Send, the one place in which a withdrawal is sent:
//
//  1. the state that the journal has for the order id decides whether anything is to be sent at all (Sender.Existing);
//  2. the key is compared with those that the account was used with before (Sender.VerifyKey);
//  3. if the journal may not know everything, the service's own list is read, twice (Sender.scanTwice);
//  4. the intent is recorded, durably (Ledger.Claim); from here on, what is sent is what was recorded;
//  5. the call is made, once, and not if more than a few seconds have passed since the record, or the person has given up;
//  6. the outcome is recorded, durably (Ledger.Finish), and tried again for a minute if it cannot be;
//  7. the withdrawal is read back, to see that the service keeps order ids.
//
// Reconcile settles what is unknown by reading the service's list, Resolve by a person's decision. Hold says where the journal
// and the list do not agree.
//
// A list is read as a whole or not at all: see Sender.scan for what counts as a whole one. It is held against what was sent, by
// order id. What is not on it is never taken for not sent.
//
// Of many withdrawals a Plan is made first, by Make: a file that a person can read and another one approve, with a digest of
// its own. OpenPlan reads it, and takes nothing that Make would not have written. Neither of them asks the service anything.
//
// The package talks to no person: what it finds is in its results and its errors, and an *Error says which kind it is and
// what to do next.
package payout
