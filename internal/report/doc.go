// Package report adds up what resellers have earned. It takes the statistics of one reseller at a time, in
// any order, and returns rows. It does not call a service, read a clock or print.
//
// # What is summed
//
// Volume and rebates come from the records of single invoices (invoice_rebates). A record counts in every
// currency that it names. Codes that differ only in case are one currency. A code that the registry does not
// know has no decimals: it stays in minor units and is never added to another. Sums are exact at any size:
// they have 128 bits, which as many int64 as fit into a computer do not fill.
//
// # Time
//
// The service writes the creation time of an invoice without a time zone. This package does not add one: a
// day is the day that is written, and 02:30 in the night when clocks change is 02:30. A time.Time in this
// package is therefore not an instant but what a clock on a wall showed. It is in UTC only because a
// time.Time needs a location.
//
// A record whose time cannot be read counts in a report over all time. If days matter, the reseller's figures
// cannot be given, and Add returns an error.
package report
