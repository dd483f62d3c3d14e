// Package sandbox is the payment service on your own machine: an http.Handler
// that serves all 22 operations of the interface, with state, so that a program
// can be tried out and tested without a network, a secret or anybody's money.
//
//	box, err := sandbox.New()
//	if err != nil {
//		return err
//	}
//	server := httptest.NewServer(box)
//	defer server.Close()
//	// call server.URL with the header Authorization: Bearer + box.Key()
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
// want the merchant's key whatever reseller_auth is, take and return JSON, and
// write times in RFC 3339. Their errors are those of the interface.
//
//	GET  /sandbox/state                                        {"id", "merchant_id"}
//	POST /sandbox/fund     {"amount": Amount}                  {"currency", "balance"}
//	POST /sandbox/pay      {"invoice": id}                     the invoice
//	POST /sandbox/expire   {"invoice": id}                     the invoice
//	POST /sandbox/advance  {"withdrawal": id, "status": name}  the withdrawal
//	POST /sandbox/redeem   {"invite": id, "label": text}       {"id", "label", "invite", "api_key"}
//	GET  /sandbox/clock                                        {"now", "offset"}
//	POST /sandbox/clock    {"set": time or "now"} or           {"now", "offset"}
//	                       {"advance_seconds": n}
//	GET  /sandbox/dump                                         the whole state
//	POST /sandbox/restore  what a dump returned                {"id", "merchant_id"}
//	POST /sandbox/reset    {"seed": "demo" or "none"}          {"id", "merchant_id"}
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
// currency stands beside them. Times are in RFC 3339.
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
//	resellers            id, label, invite (id or label; made), api_key (or key, its SHA-256; one that nobody
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
// Amounts are int64 minor units and every sum is checked: what does not fit is
// refused, never wrapped. A withdrawal takes its money when it is created. A fiat
// equivalent is converted by the rate table and rounded up to one minor unit of
// the withdrawn currency. When the balance in that currency is short, the rest is
// swapped from the others, in the order of Currencies; a swap takes the smallest
// number of minor units that is worth what it gives, so rounding costs less than
// one minor unit of the currency that was drawn on, and Swaps shows each one. If
// everything together is short, nothing is taken. There are no fees.
//
// # Strictness
//
// Every field of a request is checked. A key that is unknown or given twice, a
// value of the wrong type, a fraction, text after the JSON, a parameter that the
// path does not have: each is refused with one sentence that says where and what
// to do. A null counts as absent in an optional field and is refused in a required
// one. The order of the checks is Host, origin, path, method, key, query, body.
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
//	  an unknown currency or tag, or        an error                                  -
//	    a from after to, in a filter
//	  a reseller's invoice filter           the withdrawal filter, all optional       -
//	  a reseller's invoice list             a page of Invoices                        invoice_list
//
//	Times
//	  statuses[].at                         2006-01-02T15:04:05, UTC                  time_layout
//	  from and to                           either that layout or RFC 3339            filter_times
//	  created_date, created                 2006-01-02T15:04:05, UTC                  created_layout
//	  the clock                             the machine's, until a control moves it   -
//
//	Withdrawals
//	  statuses and transitions              New>Processing>Completed,                 withdrawal_flow
//	                                        Processing>Failed*,New>Cancelled*
//	                                        (* gives the money back)
//	  id                                    a random UUID                             -
//	  steps that the clock makes            none                                      withdrawal_pace
//	  merchant_id                           a UUID, new with each sandbox; a          -
//	                                        reseller's own id where it is its
//	  external_order_id                     digits, no leading zero, within int64     -
//	  the same one a second time            accept                                    duplicate_order_ids
//	  optional fields that were not given   omit                                      absent_fields
//	  amount of a fiat equivalent           as sent                                   amount_shown
//	  memo where none is required           accepted                                  -
//	  memo in the answer                    no                                        memo_shown
//	  is_testnet                            true                                      is_testnet
//	  address in a list, fiat withdrawal    under Crypto, like any other              -
//	  whose withdrawals a key sees          its own account's only                    -
//
//	Invoices
//	  statuses                              Awaiting,Paid,Expired                     invoice_statuses
//	  states                                Open,Closed,Closed                        invoice_states
//	  a waiting invoice expires             never                                     invoice_expiry
//	  finished means                        paid                                      invoice_finished
//	  choosen before payment                null                                      choosen_unpaid
//	  choosen after payment                 {currency, amount, at}                    -
//	  the placeholder in due_date           deprecated                                due_date_text
//	  due_date of a request                 any text, not looked at                   -
//	  the same order_id a second time       accept                                    duplicate_invoice_order_ids
//	  items                                 at least one, each amount above 0         -
//	  paid in                               the invoice's currency, in full           -
//
//	Invites and resellers
//	  the UUID that makes an invite         the invite's own id                       invite_uuid
//	  an invite's label                     Invite 1, Invite 2, ... until redeemed    -
//	  an invite's url                       http://{host}/invite/{invite}             invite_url
//	  redeeming an invite twice             reject                                    invite_reuse
//	  invites listed                        all, redeemed or not                      -
//	  keys for invite and reseller routes   bearer, the merchant's only               reseller_auth
//	  rebate, rounded down, beside the      1 percent                                 rebate_percent
//	    balance and in the paid currency
//	  all balances                          by kind: {Crypto: {code: minor},          balance_record
//	                                        Fiat: {code: minor}}
//	  the balance in one currency           {currency, balance}, and fiat with        -
//	                                        include_fiat
//	  include_fiat                          optional; true, false, or bare (true)     include_fiat
//	  the fiat equivalent, rounded down     in Usd                                    fiat_currency
//	  currencies with nothing in them       omit                                      zero_amounts
//	  codes as keys of rebates              as in a Currency (Usd)                    -
//	  codes as keys in statistics           as in an amount (USD), both levels        stats_codes
//	  invoice_stats keys                    all invoice statuses, zeros too           -
//	  created in invoice_rebates            the invoice's creation                    -
//
//	Money
//	  codes and decimals                    Currencies                                -
//	  fiat codes in requests                Usd and USD are both taken                -
//	  codes in other cases (btc)            an error                                  -
//	  what one unit is worth                Btc 60000, Eth 3000, Ltc 80,              rate_Btc ...
//	                                        UsdtErc20 1, UsdtTrc20 1, Xlr 0.1,
//	                                        UsdcXlr 1, Usd 1, Eur 1.08, Gbp 1.27,
//	                                        Jpy 0.0067, Kwd 3.25
//	  bounds on amounts                     above 0, within int64                     -
//
//	Requests
//	  largest body                          1048576 bytes                             max_body
//	  other limits, rate limits             none                                      -
//	  Content-Type of a request             not looked at                             -
//	  Host                                  loopback addresses, localhost,            -
//	                                        *.localhost
//	  requests from web pages               of the sandbox's own origin only          -
//	  errors                                the envelope on every path                -
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
//	  no such thing, or another account's   404:1301                                  error_not_found
//	  a code the registry does not know     400:2001                                  error_unknown_currency
//	  an amount not above 0, or in the      400:2002                                  error_invalid_amount
//	    wrong unit
//	  no memo where one is required         400:2003                                  error_memo_required
//	  all balances together are short       422:2004                                  error_insufficient_funds
//	  an order id used before               422:2005                                  error_duplicate_order_id
//	  a sum beyond int64                    422:2006                                  error_amount_too_large
//	  an invite that exists                 422:2101                                  error_invite_exists
//	  an invite already redeemed            422:2102                                  error_invite_used
//	  a status that cannot follow           422:2201                                  error_wrong_status
//	  a fault of the sandbox itself         500:1501                                  error_internal_error
package sandbox
