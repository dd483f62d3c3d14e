package sandbox

// FaultsTopic describes the faults of the sandbox.
func FaultsTopic() string {
	return `till sandbox fault add makes calls to the sandbox fail, so that you can see how
your program reacts. --do says how:

  refuse           Nothing is done, and the connection is reset at once: a
                   create ends with 20. With till --sandbox the connection is
                   refused, and a create ends with 40.
  drop-before      Nothing is done, and the connection is closed without an
                   answer.
  drop-after       It is done, and the connection is closed without an answer:
                   a script that tries again pays twice.
  truncate         It is done, and half of the answer comes.
  deliver-twice    It is done twice, as if a proxy had sent it again, and
                   answered once. A call that is refused is not made again. The
                   log has it once: till sandbox requests counts 1.
  delay=2s         It waits (10m at most) and goes on.
  stale-list=10m   A list hides what is younger, in its total too, as from a
                   copy of the database that lags behind.
  status=503       Nothing is done, and the answer has this status, from 200
                   to 599, and the service's error envelope.
  status=503,bare  The same without the envelope.
  status=429,retry-after=5
                   The same as status=429, with a header Retry-After.
  html             Nothing is done, and the answer is 200 and a web page, as
                   from a proxy in between; html=502 has another status.
  body=FILE        Nothing is done, and the answer is 200 and the bytes of the
                   file, 1 MiB at most.
  lose-callback    The response about a withdrawal is never posted to its
                   callback URL.
  delay-callback=10m
                   It is posted so much later by the sandbox's clock, and
                   those that follow it wait: till sandbox clock advance 10m.

Which calls
  --on names one operation: till help operations. Without it, a fault applies
  to all operations, but never to the commands of till sandbox.

  --match FIELD=VALUE limits a fault to calls with a value in the query or the
  body. A dot leads into an object: currency.Crypto=Btc. If it is given more
  than once, all must match.

  --rate applies a fault to a part of the calls; the same --seed selects the
  same part again. --times ends the fault after that many calls.

  The last two kinds apply to callbacks and not to calls: they take no --on,
  and --match selects withdrawals by their fields.

  If several faults apply to a call, it gets the one added first; after a
  delay, a stale list or deliver-twice it gets the next one too.

Looking and ending
  till sandbox fault add prints the number of the fault. till sandbox fault
  list counts for each fault the calls that it could apply to and those that it
  affected, also when the sandbox refused the call. till sandbox fault clear
  removes faults.
`
}

// CallbacksTopic describes how callbacks are received, and how the sandbox sends them.
func CallbacksTopic() string {
	return `The service sends its response about a withdrawal to the callback URL of the
withdrawal. The interface does not show when, how often, in which form, or
whether it is signed, so treat a callback as a hint to ask the service. Nothing
is posted to the callback_url of an invoice: the service redirects the
customer's browser there.

Receiving
  till callback listen prints the body of every POST to any path as one line of
  JSON. A body that is not JSON is printed as a JSON string. A body may have up
  to 1 MiB. The file of --ready-file appears when the listener answers.

  With --exec, sh runs the command for each body, one after the other, with the
  body on its standard input. The output of the command goes to standard error.
  If the command fails, the sender gets a 500 and may send the body again.

  With --secret-path, only one random path is answered, which is part of the
  address; others get a 404. Nothing else checks who posts and what.

  The exit code is 0 after --count bodies, 42 if --timeout runs out first, and
  60 if a signal ends it first. Without --count, the timeout or a signal ends
  it with 0. It is 50 instead of 0 if a command of --exec or the filter of --jq
  failed on some bodies.

Callbacks of the sandbox
  The sandbox posts one delivery for each change of a withdrawal's status. A
  delivery is pending until it gets an answer of 2xx (delivered) or the sandbox
  gives up (failed). It is refused if its URL leads to another machine, and
  lost if a fault says so: till help faults. If an earlier delivery of the
  withdrawal is pending, the next one waits.

  The settings callback_attempts, callback_backoff and callback_timeout say how
  often and how long the sandbox tries. It tries only while it runs: till
  --sandbox makes one attempt during the command. A delivery that stays pending
  is tried again at the next change of the withdrawal's status, by till sandbox
  callbacks resend, or by till sandbox serve with the same state.

  till sandbox callbacks lists the deliveries, and till sandbox advance causes
  one.
`
}

// TestingTopic describes the life of a sandbox.
func TestingTopic() string {
	return `The sandbox is the payment service on your machine: its whole interface, with
state, without a network or a secret. It listens on loopback addresses only.

  till --sandbox COMMAND     for single commands; the state is kept in
                             ~/.local/state/till/sandbox.db, or in the file
                             that TILL_SANDBOX_STATE names; what you send is
                             recorded in the default journal, under an account
                             of its own
  till sandbox run -- CMD    for a test: a fresh sandbox for one command
  till sandbox serve         for a browser and for programs in any language

Which sandbox a command acts on
  The other commands of till sandbox act on the sandbox that your settings lead
  to: inside till sandbox run, or through a profile, variables or flags.
  Otherwise they act on the sandbox of till --sandbox. Other programs do the
  same over HTTP: see --dry-run, and ADDRESS/openapi.json (OpenAPI 3.1).

till sandbox run
  sets TILL_BASE_URL, TILL_API_KEY and TILL_PROFILE, whatever they were, and
  TILL_JOURNAL to a temporary journal. The command uses the standard input,
  output and error of till. SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on
  to it. Without a terminal, processes that it leaves in its process group are
  ended too.

  It needs no home directory and no configuration: one that cannot be read is
  left out, for the command too, unless --config names it. It writes only to
  the directory for temporary files (TMPDIR), and to the files that you name.

  If till is killed by SIGKILL, the port closes, and on Linux the command is
  killed too. What remains are the processes that the command has started, the
  temporary journal, and the files of --ready-file and --env-file.

till sandbox serve
  makes the file of --state if it does not exist, from the seed, and has it
  alone until it ends. It makes its own key. A key of yours must begin with
  till_sandbox_, so that a real key is never used by mistake.

  The files of --ready-file and --env-file appear when the sandbox answers
  requests, readable by their owner only, and are removed when it ends. To load
  the second one into a shell: set -a; . ./FILE; set +a

Behind a proxy
  A proxy that passes https://shop.example/sandbox/PATH on as /PATH is named by
  --public-url https://shop.example/sandbox: the url of an invite begins with
  it, and the sandbox accepts its host.

The same in every run
  --clock TIME starts with a clock that stands still. Callbacks are posted at
  once; their retries and all that is due later wait until till sandbox clock
  moves it. --ids seeded makes all ids the same in every run, if the same calls
  come in the same order; only the id of the state differs. till invite create
  sends a random UUID unless you give one.

Paying an invoice
  ADDRESS/invoice/ID is a page with a button that needs neither a key nor
  scripts and leads on to the invoice's callback URL. till sandbox pay does the
  same. With --set payment_fails=first, the first payment of each invoice by
  the button fails, and with payment_fails=always every one.

More: till sandbox settings; till help faults, seeds, callbacks.
`
}

// SeedsTopic describes the fields of a seed.
func SeedsTopic() string {
	return `A seed is a YAML or JSON file with the contents of a sandbox, for till sandbox
seed and --seed. It may have these lists, and each of their entries these
fields:

  balances     account, amount; or only an amount, which is the merchant's
  invites      label, redeemed, created, id
  resellers    label, api_key, invite (its label or id), created, id
  invoices     total, items (each with name and amount), account, title,
               currency, status, created, paid_at, expired_at, failed_at, paid,
               rebate, order_id, number, callback, id
  withdrawals  address, amount, account, currency, memo, status, created,
               order_id, callback, debit, id; or statuses (each with status and
               at) in place of status and created

A withdrawal needs address and amount, and an invoice total or items. The
sandbox makes up or derives the rest:
  account    the merchant; otherwise give the label or id of a reseller
  currency   that of the amounts
  status     the first one; Paid if an invoice has paid_at, Expired if it has
             expired_at
  created    paid_at, expired_at or failed_at of an invoice, otherwise now
  paid       what the customer paid, by the sandbox's rates
  rebate     of a reseller's paid invoice, by the setting rebate_percent
  debit      what was taken from the balance, by the sandbox's rates
  balances   what an account's paid invoices brought, less its withdrawals; the
             merchant of a seed without balances has the same funds as in a
             fresh sandbox

Write an amount as 1.5 Btc, or in minor units if its currency is given
elsewhere, and a time as 2026-05-03T10:00:00Z. An api_key begins with
till_sandbox_. In YAML, put quotes around a text that looks like a number.

A seed may also have merchant_id and clock_ahead_seconds. till sandbox dump
prints a seed of everything, with a format line, which says that nothing is
left out, and with lists of swaps, deliveries and faults.
`
}
