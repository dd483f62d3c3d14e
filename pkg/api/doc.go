// Package api is a client for a merchant payment service: withdrawals from a merchant's balance, invoices that
// customers pay, and the administration of resellers, in crypto and fiat currencies. All 22 operations of the
// service's interface are methods here, grouped as fields of a Client.
//
// It keeps no journal. A create whose answer is lost may have been carried out, and this package, once the process
// has ended, remembers nothing of it. A program that pays people out must itself write down, durably and before each
// Withdrawals.Create, the order id it is about to use and what for, and afterwards what became of it. Then an outcome
// that is unknown can be settled by looking for that order id in the service's list, without paying twice. (The
// command till does all of this; use it where a program of your own is not needed.)
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
// A Client is made once and shared: it is safe for concurrent use and keeps connections open. The context of a call
// comes first and can end it at any moment. WithTimeouts limits each call besides.
//
// # Money
//
// Every amount is an int64 count of the currency's minor unit: 2500 in USD, which has two decimals, is 25 dollars. No
// float is used on the way, and none should be on yours. ParseDecimal and FormatDecimal turn exact decimal text into
// minor units and back, given the number of decimals, and refuse what is not exact: exponents, signs, separators,
// more digits than the currency has, anything beyond 64 bits.
//
// How many decimals a crypto currency has is not shown by the interface, and so not known here. Codes are sent as you
// write them; the interface spells a fiat code Usd in a currency and USD in an amount.
//
// Where money is read, the decoder is strict. A number with a point or an exponent, a null or a string where a number
// belongs, a second key in an object that has one, a key given twice or in the wrong case, invalid UTF-8, text after
// the end: each makes the whole answer an error.
//
// # Errors and outcomes
//
// A request that could not be carried out as meant is refused before anything is sent, with an InvalidError that
// names the field, or by Do with ErrUseCreate. Every call that failed is an Error, to be reached with errors.As, and
// its Outcome says what the call has left behind. For a create (of a withdrawal, an invoice or an invite, and any
// request through Do that is not a read):
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
// An error envelope is well-formed when the body is one object whose only key is error, over an integer code and the
// strings reason and description; there may be more keys inside. It is asked for because proxies answer with the same
// statuses, and have no say in what the service did. The content type decides nothing.
//
// A call that only reads ends in Rejected for any 4xx with an envelope, and for 401, 403 and 429 without; otherwise
// in Failed. It has changed nothing, so it can be run again at any time.
//
// Only this package's own transport can tell by itself that nothing was written. WithTransport says how another one can.
// Code around the transport, see WithMiddleware, has no say in it.
//
// # At most once, and again
//
// A create is sent at most once by every layer: this package does not try it again, the transport underneath is kept
// from doing so on a connection that was closed, and a redirect is never followed. A connection that was idle for
// more than a second is not used for it, because the longer it was, the more likely it is to be gone.
//
// To run a create again after Unknown, without having looked, risks paying twice; the service promises no check
// of order ids. An order id that is not in the list has still not been proved to be unpaid: a create can land late.
//
// Reads (every GET and the three POST .../list paths) are tried again after a connection error, 429, 502, 503 and
// 504, three times unless WithRetries says otherwise. The pauses are random, up to 200, 400 and 800 ms and so on, or
// as long as Retry-After asks: up to 30 s, and within the time of the call. Error.RetryAfter has what it asked for.
// The end of the context ends a pause at once.
//
// # Lists
//
// Withdrawals.List and Resellers.Withdrawals return one page. Withdrawals.All and Resellers.AllWithdrawals are
// iterators over all of them, in memory that does not grow with the list:
//
//	for w, err := range client.Withdrawals.All(ctx, api.WithdrawalFilter{}, api.ListOptions{}) {
//		if err != nil {
//			return err // the list was not read to its end
//		}
//		...
//	}
//
// An error is the last thing that is yielded. Withdrawals made meanwhile push others onto the next page; those are
// not yielded again, and those that were there at the beginning are not missed. The next pages are read while one is
// used.
//
// Whether the first page is 0 or 1 is not shown by the interface. Unless ListOptions.FirstPage says it, the iterator
// finds out from the answers, at the cost of one request where the service counts from 1 or the list is empty. A
// service that does not refuse page 0 with a 4xx and the envelope, nor answers it, wants FirstPage to be set.
//
// The format of times is not shown either: those in a filter are sent as they are given, and those in answers are
// returned as they came.
//
// # What the interface leaves open
//
// Balances, the list of a reseller's invoices and an invoice's choosen have no shape that is known, and are
// json.RawMessage. Every resource keeps the JSON text that it came from: RawJSON returns it, with every field that
// the service sent and every digit. The text of one withdrawal of a list is a part of its page's, and keeps all of it
// in memory. A key that is unknown is no error, except where money is counted.
//
// Client.Do reaches paths that have no method here. It refuses the one that creates withdrawals, in every spelling.
//
// # Waits and callbacks
//
// Withdrawals.WaitFor and Invoices.WaitFor read one until it has a status. ParseCallback reads what is posted to a
// withdrawal's callback.
//
// # Limits
//
// An answer is an error when it is larger than 6 MiB (after decompression), holds a list or an object of more than
// 50,000 elements where one is decoded, or more than 200,000 commas in all. So no answer, from whatever server, takes more
// than a few dozen megabytes. These are the limits of one answer; an iterator has up to three pages at hand.
//
// # The network
//
// TLS is 1.2 or newer, and verification cannot be switched off; WithRootCAs names the authority of a private service.
// Plain http is for literal loopback addresses. Proxies are taken from the environment, as net/http does. HTTP/2 is
// not used. WithTLSConfig sets what else there is to set. WithTrace writes requests and answers as text, without the key but with everything else.
//
// # Testing
//
// Package [example.com/till/pkg/api/sandbox] is the whole service as an http.Handler, with balances, rates, statuses
// and errors, for tests without a network or a secret:
//
//	box := sandbox.Start(t)
//	client, err := api.New(box.URL, api.WithAPIKey(box.Key()))
//
// It can be told to count pages from 0, to refuse repeated order ids, to be out of funds. Test the Unknown outcome as
// well, with the sandbox's fault drop-after, which loses the answer of a create that was made: it is the one that costs
// money.
package api
