// Package report adds up what resellers have earned. Statistics go in, one
// reseller at a time and in any order, and rows come out: nothing here asks a
// service, reads a clock or prints.
//
// # What is summed
//
// Volume and rebates come from the records of single invoices
// (invoice_rebates). A record counts in every currency that it names. Codes
// that differ in case only are one currency; one that the registry does not
// know has no decimals, stays in minor units, and is never added to another.
// Sums are exact at any size: they are kept in 128 bits, which as many int64 as
// fit into a computer do not fill.
//
// # Time
//
// The service writes when an invoice was created without a time zone. Nothing
// here gives it one: a day is the day that is written there, and 02:30 in the
// night when clocks change is 02:30. A time.Time in this package is therefore
// not an instant but what a clock on a wall showed; it is in UTC only because
// a time.Time has to be somewhere.
//
// A record whose time cannot be read counts in a report over all time. Where
// days matter, the reseller's figures cannot be given, and Add says so.
package report
