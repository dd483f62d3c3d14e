// Package api is a client for a merchant payment service: withdrawals from a merchant's balance, invoices
// that customers pay, and the administration of resellers, in crypto and fiat currencies. All 22 operations
// of the service's interface are methods here, grouped as fields of a Client.
//
// It keeps no journal. A create whose answer is lost may have been carried out, and once the process has
// ended, this package remembers nothing of it. A program that pays people must itself keep a durable record.
// Before each Withdrawals.Create it records the order id and the purpose, and afterwards the result. It can
// then settle an unknown outcome by looking for that order id in the service's list, without paying twice.
// (The command till does all of this. Use it unless you need a program of your own.)
//
//	client, err := api.New("https://pay.example.com", api.WithAPIKey(key))
//	if err != nil {
//		return err
//	}
//	id, err := client.Withdrawals.Create(ctx, api.CreateWithdrawal{
//		Currency:        api.CryptoCurrency("Btc"),
//		Amount:          api.CryptoAmount("Btc", 1_500_000), // 0.015 with 8 decimals
//		Address:         "bc1q...",
//		ExternalOrderID: "4711", // recorded before this line
//	})
//
// Make a Client once and share it: it is safe for concurrent use and keeps connections open. The context of a
// call comes first and can end it at any moment. WithTimeouts also limits each call.
//
// # Money
//
// Every amount is an int64 count of the currency's minor unit: 2500 in USD, which has two decimals, is 25
// dollars. The package uses no floating point for amounts, and neither should your program: ParseDecimal
// and FormatDecimal convert exact decimal text. The interface does not show how many decimals a crypto
// currency has, so this package does not know. Codes are sent as you write them. The interface spells a
// fiat code Usd in a currency and USD in an amount.
//
// The decoder is strict with money. Each of these makes the whole answer an error: a number with a point or
// an exponent, a null or a string in place of a number, a second key in an object that has one, a duplicate
// key, a key in the wrong case, invalid UTF-8, and trailing text.
//
// # Errors and outcomes
//
// A request that could not be carried out as meant is refused before anything is sent: with an InvalidError
// that names the field, or by Do with ErrUseCreate. Every call that fails returns an Error, which errors.As
// finds. Its Outcome says what the call may have done. For a create (of a withdrawal, an invoice or an
// invite, and any request through Do that is not a read):
//
//	WHAT CAME BACK                                                   OUTCOME
//
//	200 with one JSON string that is not empty; for an invite,       no error
//	  an Invite with its url; for Do, any 200
//	400, 401, 403, 404, 405, 413, 415, 422 or 429 with a             Rejected: nothing was made
//	  well-formed error envelope
//	a failure before the first byte of the request was written:      NotSent: safe to run again
//	  no such host, no connection, no TLS, a time-out in these
//	anything else: a time-out, a reset, a redirect, 408, 409,        Unknown: it may have been made
//	  any 5xx, a 4xx without the envelope, a 2xx that is not 200,
//	  a 200 with HTML, null, "", trailing data or a cut body
//
// An error envelope is well-formed if the body is one object whose only key is error, with an integer code
// and the strings reason and description; the inner object may have more keys. It is required because proxies
// answer with the same statuses without knowing what the service did. The content type does not matter.
//
// A call that only reads is Rejected for any 4xx with an envelope, and for 401, 403 and 429 without one.
// Otherwise it is Failed. It has changed nothing, so it can be run again at any time.
//
// # At most once, and again
//
// Every layer sends a create at most once: this package does not retry it, keeps the transport from sending
// it again on a closed connection, and never follows a redirect. A create does not use a connection that was
// idle for more than a second, because the longer it was idle, the more likely it is closed.
//
// Running a create again after Unknown, without looking at the list, risks paying twice: the service does not
// promise to check order ids. Even an order id that is not in the list may be paid later, because a create
// can arrive late.
//
// Reads (every GET and the three POST .../list paths) are retried, see WithRetries. The pauses are random,
// up to 200, 400 and 800 ms and so on, or as long as Retry-After asks. If it asks for more than 30 s, or
// than is left of the time of the call, the read is not retried. A pause ends at once when the context does.
//
// # Lists
//
// Withdrawals.List and Resellers.Withdrawals return one page. Withdrawals.All and Resellers.AllWithdrawals
// iterate over all pages, in constant memory:
//
//	for w, err := range client.Withdrawals.All(ctx, api.WithdrawalFilter{}, api.ListOptions{}) {
//		if err != nil {
//			return err // the list was not read to its end
//		}
//		...
//	}
//
// An error is the last thing that is yielded. Withdrawals made meanwhile push others onto the next page.
// These are not yielded again, and none of those that existed at the beginning is missed, as long as total and
// page_count grow with the list. The next pages are read while one is used.
//
// # What the interface leaves open
//
// The formats of balances, of the list of a reseller's invoices and of an invoice's choosen are not known,
// so these are json.RawMessage. Neither is the format of times: they are sent as given, and returned as
// they came. Every resource keeps the JSON text that it came from: RawJSON returns it, with every field
// that the service sent and every digit. The text of one withdrawal of a list is a part of its page's text,
// and keeps all of that in memory. An unknown key is no error, except where money is counted. Client.Do
// reaches paths that have no method here.
//
// # Limits
//
// An answer is an error if it is larger than 6 MiB (after decompression), if a decoded list or object has
// more than 50,000 elements, or if it has more than 200,000 commas in total. So no answer, from any server,
// takes more than a few dozen megabytes. These are the limits of one answer; an iterator holds up to three
// pages.
//
// # The network
//
// TLS is 1.2 or newer, verification cannot be disabled, and HTTP/2 is not used. Proxies are taken from the
// environment, as in net/http. Traces and the texts of errors hide the whole key; the values and the
// RawJSON that calls return are as the service sent them.
//
// # Testing
//
// Package [example.com/till/pkg/api/sandbox] is the whole service as an http.Handler, with balances, rates,
// statuses and errors, for tests without a network or a secret:
//
//	box := sandbox.Start(t)
//	client, err := api.New(box.URL, api.WithAPIKey(box.Key()))
//
// It can count pages from 0, refuse repeated order ids, or be out of funds. Also test the Unknown outcome,
// with the sandbox's fault drop-after, which loses the answer of a create that was carried out: this outcome
// is the one that costs money.
package api
