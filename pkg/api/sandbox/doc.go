// Package sandbox is the payment service on your own machine: an http.Handler
// that serves all 22 operations of the interface, with state, so that a program
// can be tried out and tested without a network, a secret or anybody's money.
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
// Start listens on a port of its own until the test has ended. A program serves one
// with New and Serve, or hands New's Server, an http.Handler, to a server it has.
// The same is in the binary, for other languages: till sandbox run -- COMMAND.
//
// A fresh sandbox holds a million whole units of every currency in Currencies.
// Methods of Server do what lies outside the interface: Fund a balance,
// PayInvoice and ExpireInvoice, AdvanceWithdrawal along its statuses, and
// RedeemInvite, which makes a reseller with a key of its own. Withdrawals and
// invoices made with that key are the reseller's, and so is the money. Times
// follow a clock that SetClock and AdvanceClock move.
//
// # Controls
//
// The same is there over HTTP, for tests in another process or language. Controls
// want the merchant's key whatever reseller_auth is (the state takes a reseller's
// too, and names that account), take and return JSON, and write times in RFC 3339.
// Their errors are those of the interface.
//
//	GET  /sandbox/state                                        {"id", "merchant_id"}
//	POST /sandbox/fund     {"amount": Amount}                  {"currency", "balance"}
//	POST /sandbox/pay      {"invoice": id}                     the invoice
//	POST /sandbox/expire   {"invoice": id}                     the invoice
//	POST /sandbox/advance  {"withdrawal": id, "status": name}  the withdrawal, and its "delivery"
//	GET  /sandbox/callbacks                                    every Delivery, the oldest first
//	POST /sandbox/callbacks/resend  {"id": id}                 the Delivery
//	POST /sandbox/redeem   {"invite": id, "label": text}       {"id", "label", "invite", "api_key"}
//	GET  /sandbox/clock                                        {"now", "offset"}
//	POST /sandbox/clock    {"set": time or "now"} or           {"now", "offset"}
//	                       {"advance_seconds": n}
//	GET  /sandbox/dump                                         the whole state
//	POST /sandbox/restore  what a dump returned                {"id", "merchant_id"}
//	POST /sandbox/reset    {"seed": "demo" or "none"}          {"id", "merchant_id"}
//	GET  /sandbox/faults                                       all faults
//	POST /sandbox/faults   {"do", "on", "rate", "times",       the fault
//	                       "match": {field: text}, "seed"}
//	POST /sandbox/faults/clear  {} or {"id": id}               the faults that are gone
//
// # Faults
//
// A Fault lets requests of one operation, or of all, go wrong: those whose fields
// Match names hold what it says, at its Rate, until it has struck Times times.
// What goes wrong is one of these:
//
//	DO               WHAT HAPPENS TO A REQUEST THAT IT STRIKES
//
//	refuse           nothing is done, and the connection is reset as soon as the
//	                 headers are in
//	drop-before      the request is read, nothing is done, and the connection is
//	                 closed without an answer
//	drop-after       it is carried out, and the connection is closed without an
//	                 answer: a client that tries again has paid twice
//	truncate         it is carried out, and half of the answer comes, whose
//	                 Content-Length tells of all of it
//	delay=2s         it waits, 10m at most, and goes on, although the client may have
//	                 given up; if the server goes away meanwhile, nothing is done
//	status=503       nothing is done, and the answer has this status, from 200 to 599,
//	                 and an error envelope with the code 1901 and the reason fault
//	status=503,bare  the same with a line of plain text in place of the envelope
//	html             nothing is done, and the answer is 200 and a web page, as a
//	                 proxy's would be; html=502 has another status
//
// Faults come after the checks of Host, origin, path, method and key, and before
// anything else of a request is looked at; drop-after and truncate lose the answer
// of a request that is refused, too. The controls are never hit. Faults are asked in
// the order in which they were added, and the first that strikes ends it, but for a
// delay, after which the next ones are asked as well. A fault that was not asked has
// not Seen the request, and one that is spent does not count any further.
//
// Which requests a Rate strikes is drawn, but its Seed and the number of the request
// among those that it has seen decide it, and nothing else: a test with a seed of
// its own goes the same way each time. Faults and what they have counted are a part
// of the state and of a dump; Reset takes them away. In Match, a point leads into an
// object or to an element of an array, as in currency.Crypto and items.0.name; a
// number is compared as it is written.
//
// Where ServeHTTP is called by a server of your own, a delay ends with the request's
// context. Where there is no server, a connection that breaks is a panic
// with http.ErrAbortHandler, and refuse asks the ResponseWriter to Hijack first.
//
// # Callbacks
//
// Each change of a withdrawal's status is posted to its callback: the withdrawal,
// as its GET shows it at that moment, as JSON. What is to be posted is a Delivery,
// stored together with the status. An answer of 2xx delivers it. After any other,
// or none, it is posted again, each time after twice as long, until it is given up.
// Redirects are not followed, and no proxy is used. A target is refused when its
// host is a name other than localhost, or when the address that is dialled is not a
// loopback one.
//
// A withdrawal's deliveries keep their order: a later one waits until the one
// before it is delivered, refused or given up. What moves a withdrawal on returns
// after the first attempt; where an earlier delivery is still under way, it returns
// at once. A create never waits for what is posted on its account. A receiver may
// get a delivery more than once, as from any service that repeats what was not
// answered.
//
// With a state in a file, the server that made a delivery posts it. When that one is
// closed, or has been gone for some seconds, another one that serves goes on with
// what is pending. Resend posts a delivery by hand.
//
// # Pages
//
// A browser can walk a checkout to its end. GET /invoice/{id} is a page with the
// invoice and, while it waits, a button. The button is a form, POST
// /invoice/{id}/pay, which does what PayInvoice does and leads to the invoice's
// callback_url, or back to the page where there is none. Pushed again, it leads
// there once more and pays nothing. GET /invite/{id}, where the url of an invite
// leads, says how the invite is redeemed. The pages want no key: who has the
// address may look and pay, as with any hosted checkout. They work without script
// and load nothing. Following a link from another site is fine; a form of another
// site is refused. Times are in UTC, characters that cannot be seen are written
// out, and errors are said in HTML, with the statuses of the settings: that of
// wrong_status for paying what has expired.
//
// Their policy lets the form lead to the sandbox and to the origin of the
// callback_url. Chromium holds the policy against every redirect that follows, so
// a callback_url that redirects to yet another origin gets stuck there, with the
// invoice paid: name the last address.
//
// # Life
//
// Controls move withdrawals and invoices. The clock does so as well, where the
// settings withdrawal_pace and invoice_expiry ask for it: a withdrawal that has
// been New for 30 seconds goes on to Processing, say. Such a move is the same as
// by a control, and bears the time when it was due. It is made before anything
// looks at the state, and by Serve when its time has come; moving the clock on
// makes all that are due then, in order of time. A clock that is set back undoes
// nothing. A refund that would not fit into the balance waits until it does.
//
// # Seeds
//
// A sandbox begins with a seed: a name, as for WithSeed, or JSON, as for
// WithSeedJSON and Restore, in which one says what there is:
//
//	{
//	  "balances": ["1000.00 Usd", "1.5 Btc"],
//	  "resellers": [{"label": "Harbour Books", "api_key": "till_sandbox_harbour"}],
//	  "invoices": [
//	    {"account": "Harbour Books", "title": "Order 1001", "total": "25.00 Usd", "status": "Paid"},
//	    {"items": [{"name": "Tea", "amount": "3.00 Eur"}], "created": "2026-05-03T10:00:00Z"}
//	  ],
//	  "withdrawals": [{"amount": "0.015 Btc", "address": "bc1q", "status": "Processing"}]
//	}
//
// Every field may be left out but for the address and amount of a withdrawal, the
// items or the total of an invoice, and all of a swap but its account and time.
// Amounts are a decimal with its code, such as "1.5 Btc", or minor units where the
// currency is given with them. Times are in RFC 3339.
//
//	format               "till-sandbox/1" in a dump: nothing is left out, so balances are not worked out
//	merchant_id          a UUID; made, like every id
//	clock_ahead_seconds  how far the clock is ahead of the machine's; 0
//	balances             what accounts hold in the end, each an amount of the merchant's, or
//	                     {"account", "amount"}, in a dump {"account", "book", "code", "delta"}. An account
//	                     that is not named holds what its paid invoices brought, less its withdrawals.
//	                     Without balances, the merchant holds what it does in a fresh sandbox. The books
//	                     volume and rebates are the paid invoices' and need not be stated
//	invites              id, label, created, redeemed (whether a reseller names it)
//	resellers            id, label, invite (id or label; made), api_key (or key, its SHA-256; one that no one
//	                     has), created
//	invoices             id, account (the merchant, or a reseller by id or label), title, items of name and
//	                     amount (one, of the total), total, currency (that of the amounts), status (or
//	                     phase, 0 to 2; by paid_at and expired_at, else that of a new one), created (now),
//	                     paid_at (created), expired_at, rebate (by rebate_percent), order_id, number, callback
//	withdrawals          id, account, amount, currency (that of the amount), debit (by the rates), address,
//	                     memo, status (that of a new one) and created (now), or statuses of status and at,
//	                     order_id, callback
//	swaps                withdrawal, account, from, taken, to, given, at
//
// Dump returns a seed, from which a sandbox with the same content begins.
//
// # State
//
// The state is in memory and gone with the server. WithState keeps it in a file
// instead, which several servers in several processes may use at a time: each
// sees at once what the others have done. A change is in the file, synced to the
// disk, before the answer goes out, and changes that arrive together are synced
// together; a process that is killed leaves no half of one. Every state has an
// Identity, and Reset begins a new one.
//
// # Money
//
// Which currencies there can be, and how many decimals each has, is in
// Currencies; a client of the sandbox counts by it, so no setting changes it.
// Amounts are int64 minor units and every sum is checked: what does not fit is
// refused, never wrapped. What is asked for is above 0, and so is each item of an
// invoice, which is paid in full. A withdrawal takes its money when it is created.
// A fiat equivalent is converted by the rate table and rounded up to one minor unit
// of the withdrawn currency. When the balance in that currency is short, the rest
// is swapped from the others, in the order of the setting currencies; a swap takes
// the smallest number of minor units that is worth what it gives, so rounding costs
// less than one minor unit of the currency that was drawn on, and Swaps shows each
// one. If everything together is short, nothing is taken. There are no fees.
//
// # Strictness
//
// Every field of a request is checked. A key that is unknown or given twice, a
// value of the wrong type, a fraction, text after the JSON, a parameter that the
// path does not have: each is refused with one sentence that says where and what
// to do. A null counts as absent in an optional field and is refused in a required
// one. The order of the checks is Host, origin, path, method, key, rate, query,
// body. Settings make some of it more lenient, but never for the controls.
//
// # Security
//
// Serve listens on loopback addresses only. A request is answered where its Host is
// a loopback address, localhost or *.localhost, and where no web page but the
// sandbox's own sent it: whatever names point to this machine, a browser's other
// tabs get nowhere. Every key begins with KeyPrefix.
//
// # Choices
//
// The interface leaves much open and a sandbox has to choose. This is all of it;
// the last column is the setting that changes it, through WithSetting. Settings
// lists the values that each may have.
//
//	WHERE THE INTERFACE IS SILENT           WHAT THE SANDBOX DOES                     SETTING
//
//	Lists
//	  number of the first page              1                                         first_page
//	  page and page_size may be left out    the first page, of 20                     default_page_size
//	  largest page_size                     1000                                      max_page_size
//	  a larger page_size                    reject                                    page_size_too_large
//	  a page that does not exist            empty                                     page_out_of_range
//	  page_count of an empty list           0                                         empty_page_count
//	  order, by time of creation            newest first                              list_order
//	  tags of a filter are held against     the current status                        tags_match
//	  from and to speak of                  the time of creation, to inclusive        period_end
//	  a filter by unknown codes or tags     reject                                    unknown_in_filter
//	  a filter with from after to           reject                                    reversed_period
//	  a reseller's invoice filter           the withdrawal filter, all optional       invoice_filter
//	  a reseller's invoice list             a page of Invoices                        invoice_list
//
//	Times
//	  statuses[].at                         2006-01-02T15:04:05, UTC                  time_layout
//	  from and to                           either that layout or RFC 3339            filter_times
//	  created_date, created                 2006-01-02T15:04:05, UTC                  created_layout
//
//	Withdrawals
//	  statuses and transitions              New>Processing>Completed,                 withdrawal_flow
//	                                        Processing>Failed*,New>Cancelled*
//	                                        (* gives the money back)
//	  order of a history                    oldest first                              history_order
//	  steps that the clock makes            none                                      withdrawal_pace
//	  id                                    a random UUID                             id_format
//	  merchant_id, a reseller's withdrawal  the reseller's own id                     merchant_id_of
//	  merchant_id looks like                a UUID                                    merchant_id_format
//	  external_order_id                     digits, no leading zero, within int64     order_id_format
//	  the same one a second time            accept                                    duplicate_order_ids
//	  optional fields that were not given   omit                                      absent_fields
//	  amount of a fiat equivalent           as sent                                   amount_shown
//	  the smallest amount, in minor units   1                                         min_amount
//	  the largest                           none, but int64                           max_amount
//	  memo where none is required           accept                                    needless_memo
//	  memo in the answer                    no                                        memo_shown
//	  is_testnet                            true                                      is_testnet
//	  address in a list, fiat withdrawal    under Crypto, like any other              fiat_address
//	  what the merchant's key finds         its own only                              merchant_sees
//	  withdrawals with a reseller's key     allowed                                   reseller_withdraws
//
//	Callbacks
//	  told of                               each change of status, creation not       callback_on_create
//	  attempts in all                       5                                         callback_attempts
//	  time until the second one             1s, then twice as long each               callback_backoff
//	  time for an answer                    5s                                        callback_timeout
//	  targets                               loopback addresses                        callback_targets
//
//	Invoices
//	  statuses                              Awaiting,Paid,Expired                     invoice_statuses
//	  states                                Open,Closed,Closed                        invoice_states
//	  a waiting invoice expires             never                                     invoice_expiry
//	  finished means                        paid                                      invoice_finished
//	  choosen before payment                null                                      choosen_unpaid
//	  choosen after payment                 {currency, amount, at}                    choosen_paid
//	  the placeholder in due_date           deprecated                                due_date_text
//	  due_date of a request                 any text, not looked at                   due_date_in
//	  the same order_id a second time       accept                                    duplicate_invoice_order_ids
//	  fewest items                          1                                         min_items
//	  most items                            none                                      max_items
//	  paid in                               the invoice's currency                    paid_in
//
//	Invites and resellers
//	  the UUID that makes an invite         the invite's own id                       invite_uuid
//	  an invite's label until redeemed      Invite {n}: Invite 1, Invite 2, ...       invite_label
//	  an invite's url                       http://{host}/invite/{invite}             invite_url
//	  redeeming an invite twice             reject                                    invite_reuse
//	  invites listed                        all, redeemed or not                      invites_listed
//	  keys for invite and reseller routes   bearer, the merchant's only               reseller_auth
//	  rebate, rounded down, beside the      1 percent                                 rebate_percent
//	    balance and in the paid currency
//	  all balances                          by kind: {Crypto: {code: minor},          balance_record
//	                                        Fiat: {code: minor}}
//	  the balance in one currency           {currency, balance}, and fiat with        currency_balance
//	                                        include_fiat
//	  include_fiat                          true, false, or bare (true)               include_fiat_is
//	  include_fiat left out                 optional: no equivalent                   include_fiat
//	  the fiat equivalent, rounded down     in Usd                                    fiat_currency
//	  currencies with nothing in them       omit                                      zero_amounts
//	  codes as keys of rebates              as in a Currency (Usd)                    rebate_codes
//	  codes as keys in statistics           as in an amount (USD), both levels        stats_codes
//	  invoice_stats keys                    all invoice statuses, zeros too           stats_zeros
//	  created in invoice_rebates            the invoice's creation                    rebate_created
//
//	Money
//	  currencies, in the order of swaps     Btc,Eth,Ltc,UsdtErc20,UsdtTrc20,Xlr,      currencies
//	                                        UsdcXlr,Usd,Eur,Gbp,Jpy,Kwd
//	  fiat codes in requests                Usd and USD are both taken                fiat_codes_in
//	  codes in other cases (btc)            an error                                  code_case
//	  what one unit is worth                Btc 60000, Eth 3000, Ltc 80,              rate_Btc ...
//	                                        UsdtErc20 1, UsdtTrc20 1, Xlr 0.1,
//	                                        UsdcXlr 1, Usd 1, Eur 1.08, Gbp 1.27,
//	                                        Jpy 0.0067, Kwd 3.25
//
//	Requests
//	  largest body                          1048576 bytes                             max_body
//	  longest text                          none                                      max_text
//	  rate limit                            none                                      requests_per_second
//	  unknown keys in a body                reject                                    unknown_keys
//	  unknown parameters of a query         reject                                    unknown_parameters
//	  empty text where it is optional       reject                                    empty_text
//	  Content-Type of a request             not looked at                             content_type
//	  errors have the envelope              on every path                             envelope
//
//	Errors, as HTTP status:code
//	  no key, or a wrong one                401:1001                                  error_unauthorized
//	  a reseller's key on merchant routes   403:1002                                  error_forbidden
//	  a Host that is not this machine       403:1003                                  error_wrong_host
//	  a web page of another origin          403:1004                                  error_cross_origin
//	  no such path                          404:1101                                  error_unknown_path
//	  not this method (and Allow)           405:1102                                  error_wrong_method
//	  the query string                      400:1201                                  error_invalid_query
//	  the body                              400:1202                                  error_invalid_body
//	  a body over the limit                 413:1203                                  error_body_too_large
//	  a page that does not exist            400:1204                                  error_page_out_of_range
//	  another Content-Type, where it is     415:1205                                  error_wrong_content_type
//	    required
//	  too many requests (and Retry-After)   429:1206                                  error_rate_limited
//	  no such thing, or another account's   404:1301                                  error_not_found
//	  a code the registry does not know     400:2001                                  error_unknown_currency
//	  an amount not above 0, or in the      400:2002                                  error_invalid_amount
//	    wrong unit, or out of its bounds
//	  no memo where one is required         400:2003                                  error_memo_required
//	  all balances together are short       422:2004                                  error_insufficient_funds
//	  an order id used before               422:2005                                  error_duplicate_order_id
//	  a sum beyond int64                    422:2006                                  error_amount_too_large
//	  an invite that exists                 422:2101                                  error_invite_exists
//	  an invite already redeemed            422:2102                                  error_invite_used
//	  a status that cannot follow           422:2201                                  error_wrong_status
//	  a fault of the sandbox itself         500:1501                                  error_internal_error
package sandbox
