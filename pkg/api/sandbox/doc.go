// Package sandbox runs the payment service on your own machine. It is an http.Handler with state that serves
// all 22 operations of the interface, so that you can test a program without a network, a secret or real
// money.
//
//	func TestCheckout(t *testing.T) {
//		box := sandbox.Start(t)
//		client, err := api.New(box.URL, api.WithAPIKey(box.Key()))
//		if err != nil {
//			t.Fatal(err)
//		}
//		id, err := client.Invoices.Create(t.Context(), api.CreateInvoice{
//			Title:    "Order 1001",
//			Currency: api.Currency{Kind: api.Fiat, Code: "Usd"},
//			Items:    []api.InvoiceItem{{Name: "Coffee beans", Amount: 2500}},
//		})
//		if err != nil {
//			t.Fatal(err)
//		}
//		if err := box.PayInvoice(id); err != nil { // as the customer does
//			t.Fatal(err)
//		}
//		invoice, err := client.Invoices.Get(t.Context(), id)
//		if err != nil || invoice.Status != "Paid" {
//			t.Errorf("the invoice is %q, %v", invoice.Status, err)
//		}
//	}
//
// Start listens on its own port until the test ends. A program serves a sandbox with New and Serve, or passes
// the Server from New, an http.Handler, to its own HTTP server. For other languages, the binary does the
// same: till sandbox run -- COMMAND.
//
// A fresh sandbox holds a million whole units of every currency in Currencies. The methods of Server do what
// is outside the interface: Fund, PayInvoice, AdvanceWithdrawal, RedeemInvite and others. Withdrawals and
// invoices made with the key of a reseller belong to it, and so does the money.
//
// # Controls
//
// The controls below /sandbox/ offer the same over HTTP, for tests in another process or language. GET
// /openapi.json describes them and the operations of the interface, in OpenAPI 3.1. They require the
// merchant's key whatever reseller_auth is. Only the description and /sandbox/health need no key, and
// /sandbox/state also accepts a reseller's, and names that account. Health answers 200 once the sandbox takes
// requests and can read its state. Controls take and return JSON and write times in RFC 3339. Their errors are
// those of the interface.
//
// GET /sandbox/requests returns the log of requests, see Server.Requests: with on and match those that a fault
// would select, with since those after an id. It counts the requests that the log has dropped, and those whose
// body it has cut, so that match cannot decide.
//
// # Faults
//
// A Fault makes requests go wrong that have the values in Match in their query or body, at its Rate and until
// it has struck Times times. It does one of these:
//
//	DO               WHAT HAPPENS TO A REQUEST THAT IT STRIKES
//
//	refuse           nothing is done, and the connection is reset as soon as the
//	                 headers have arrived
//	drop-before      the request is read, nothing is done, and the connection is
//	                 closed without an answer
//	drop-after       the request is carried out, and the connection is closed
//	                 without an answer: a client that tries again has paid twice
//	truncate         the request is carried out, and half of the answer is sent;
//	                 its Content-Length is that of the whole answer
//	deliver-twice    the request is carried out twice, as if a proxy had sent it again,
//	                 and the answer is the first one; a request that is refused the
//	                 first time is not made again
//	delay=2s         the request waits, 10m at most, and goes on even if the client
//	                 has given up; if the server ends first, nothing is done
//	stale-list=10m   a list hides what is younger by the sandbox's clock, in its total
//	                 too; other requests are not struck
//	status=503       nothing is done, and the answer has this status, from 200 to 599,
//	                 and an error envelope with the code 1901 and the reason fault
//	status=503,bare  the same with a line of plain text in place of the envelope
//	status=429,retry-after=5  the same with a header Retry-After, up to 86400 seconds
//	html             nothing is done, and the answer is 200 and a web page, like
//	                 that of a proxy; html=502 has another status
//	body             nothing is done, and the answer is 200 and the bytes of Body
//	respond          nothing is done, and the answer is what Body says: {"status", "headers",
//	                 "body"}, where a body that is a string is sent as it is
//	lose-callback    the delivery to a withdrawal's callback is never posted
//	delay-callback=10m  the delivery is posted so much later by the sandbox's clock,
//	                 and those that follow it wait for it
//
// The last two apply to callbacks, at each change of status, and not to requests: their On is empty or *, and
// Match is compared with the withdrawal as its GET shows it then.
//
// Faults come after the checks of Host, origin, path, method, key and rate, and before the query and the body
// are checked, and never strike the controls. They are asked in the order in which they were added, until one
// strikes; after a delay, deliver-twice and stale-list the next ones are asked too. A fault that was not asked,
// or is used up, does not count the request as Seen.
//
// Which requests a Rate strikes follows from the Seed and the number of the request among those that the fault
// has seen. So a test that sets the Seed goes the same way each time. Faults and their counters are part of the
// state and of a dump; Reset removes them. In Match, a dot leads into an object or to an element of an array,
// as in currency.Crypto and items.0.name. Numbers are compared as they are written.
//
// If your own server calls ServeHTTP, a delay ends with the context of the request. If there is no server, a
// broken connection is a panic with http.ErrAbortHandler; refuse first tries to Hijack the ResponseWriter.
//
// # Callbacks
//
// The sandbox posts each change of a withdrawal's status to its callback: the withdrawal in JSON, as its GET
// shows it at that moment. Each post is a Delivery, stored together with the status. An answer of 2xx delivers
// it. After any other answer, or none, the sandbox posts it again until it gives up, and the wait doubles each
// time. It follows no redirects and uses no proxy. It refuses a target whose host is a name other than
// localhost, or whose dialled address is not a loopback address.
//
// A later delivery of a withdrawal waits until the one before it is delivered, refused or given up. A call that
// changes a status returns after the first attempt, or at once if an earlier delivery is still in progress. A
// create never waits. A receiver may get a delivery more than once, as from any service that repeats what was
// not answered. What is pending when a server ends stays in the state's file for the next one.
//
// # Pages
//
// GET /invoice/{id} is a page for a browser, with a button that does the same as PayInvoice while the invoice
// waits for payment. It leads to the invoice's callback_url, or back to the page. A second push leads there
// again and pays nothing. With the setting payment_fails, a payment by the button fails, and the page offers to
// try again; the interface shows no status for this. GET /invite/{id}, the url of an invite, says how to redeem
// it, and GET / lists the open invoices. The pages need no key, as with any hosted checkout. They work without
// script and load nothing. Their links are relative, and WithPublicURL names a proxy in front of them. A link
// from another site works; a form of another site is refused.
//
// # Life
//
// Besides the controls, the clock moves withdrawals and invoices, if the settings withdrawal_pace and
// invoice_expiry ask for it: for example, a withdrawal that has been New for 30 seconds goes on to Processing.
// Such a move has the time at which it was due. The sandbox makes it before anything reads the state, and Serve
// makes it when it is due. Setting the clock back undoes nothing. A refund that does not fit into the balance
// waits until it does.
//
// # Seeds
//
// A sandbox begins with a seed: a name, as for WithSeed, or JSON, as for WithSeedJSON and Restore. The JSON
// lists what the sandbox holds, as in the example of WithSeedJSON.
//
// Every field is optional except the address and amount of a withdrawal, the items or the total of an
// invoice, and every field of a swap other than account and at. Amounts are a decimal with its code, such as
// "1.5 Btc", or minor units where the currency is given with them. Times are in RFC 3339. An account without an
// entry in balances holds what its paid invoices brought, less its withdrawals; without balances, the merchant
// holds the same as in a fresh sandbox. The help topic seeds of the binary lists every field, and what the
// sandbox makes of one that is left out: till help seeds.
//
// The field format, "till-sandbox/1", which Dump writes, says that nothing is left out, so that balances are
// not computed.
//
// # Money
//
// Currencies lists the possible currencies and the decimals of each. A client of the sandbox relies on this
// list, so no setting changes it. Amounts are int64 minor units and every sum is checked: a sum that
// overflows is refused, never wrapped. Requested amounts must be above 0, and so must each item of an
// invoice. An invoice is paid in full. A withdrawal takes its money when it is created. A fiat equivalent is
// converted by the rate table and rounded up to one minor unit of the withdrawn currency. If the balance in
// that currency is short, the rest is swapped from the others, in the order of the setting currencies. A swap
// takes the smallest number of minor units that is worth what it gives, so rounding costs less than one minor
// unit of the source currency. Swaps lists each swap. If all balances together are short, nothing is taken.
// There are no fees.
//
// # Strictness
//
// Every field of a request is checked. An unknown or repeated key, a value of the wrong type, a fraction,
// text after the JSON, a parameter that the path does not have: each is refused with one sentence that says
// where and what to do. A null counts as absent in an optional field and is refused in a required one. The
// order of the checks is Host, origin, path, method, key, rate, query, body.
//
// The interface leaves much open. Each choice of the sandbox is a setting, which WithSetting changes. Some make
// it more lenient, but never for the controls. Settings lists all of them, with the default, the values that
// each may have, and its meaning.
//
// # Security
//
// Without WithExposure, Serve listens on loopback addresses only. The sandbox answers a request only if its
// Host is a loopback address, localhost or *.localhost, and if no web page other than the sandbox's own sent
// it. So other tabs of a browser cannot reach it. Every key begins with KeyPrefix.
//
// # Errors
//
// The setting errors has the HTTP status and the code of errors, as REASON=STATUS:CODE.
//
//	REASON               WHEN
//
//	unauthorized         no key, or a wrong one
//	forbidden            a reseller's key on merchant routes
//	wrong_host           a Host that is not this machine
//	cross_origin         a web page of another origin
//	unknown_path         a path that does not exist
//	wrong_method         a method that the path does not take; the header Allow has the others
//	invalid_query        a query string that cannot be read
//	invalid_body         a body that cannot be read
//	body_too_large       a body over the limit
//	page_out_of_range    a page that does not exist
//	wrong_content_type   a Content-Type other than application/json, if it is required
//	rate_limited         too many requests; the header Retry-After says when to come back
//	not_found            no such object, or that of another account
//	unknown_currency     a code that is not in the registry
//	invalid_amount       an amount not above 0, or in the wrong unit, or out of its bounds
//	memo_required        no memo where one is required
//	insufficient_funds   all balances together are short
//	duplicate_order_id   an order id that was used before
//	amount_too_large     a sum that an int64 does not hold
//	invite_exists        a new invite with the UUID of another
//	invite_used          an invite that was redeemed before
//	wrong_status         a status that cannot follow the one before
//	internal_error       an error of the sandbox itself
package sandbox
