package payout

// FilesTopic describes the files of payout plan.
func FilesTopic() string {
	return `till payout plan reads CSV with a header, or one JSON object a line from a file
whose name ends in .jsonl (or --format says so). All values are texts. The
columns or members are:

  order_id      your own number for the withdrawal, from 1 to 9007199254740991
  currency      what is withdrawn, such as Btc or Usd
  amount        an exact decimal, such as 0.015 or 25.00 USD
  amount_minor  instead of it: minor units, such as 1500000 or 2500 USD
  address       where the money goes
  memo          of the transfer, required by some currencies
  callback      a URL to which the service sends its response
  note          for yourself: it is kept and shown, and never sent

amount_currency, as in an export, is the currency of both; if both amounts are
given, they must agree.

CSV
  It is UTF-8. Its fields are separated by commas, semicolons or tabs. till
  recognises the separator from the header. To name it, use --delimiter or a
  first line such as sep=;. A field with a separator in it needs double quotes,
  and no field may have a line break. Rows without any content are skipped.

Order ids
  --auto-order-id BATCH makes the order ids for a file that has none, from the
  name of the batch, the contents of the row, and its number among identical
  rows, never from its position. The same file gets the same order ids on every
  machine and in any order of its rows. If a run of the batch has begun, rows
  that were added or removed since are refused; --batch-changed accepts them,
  and warns of a run that is being applied at that moment. Use another name
  next month.

What is refused
  An address that is not valid in the format of its currency (till currency
  set), and an order id, address or memo that a spreadsheet has damaged, such
  as 1.23457E+12 or #N/A: format the column as text.

What till warns of
  Identical rows, rows identical to an order whose outcome is unknown, amounts
  ten times as large or as small as usual in the file, addresses that the
  journal has never paid and, if their currency has no format, addresses that
  look mistyped. It also says how many of the order ids were accepted before:
  an earlier run may have stopped half-way, or old order ids were used again.
  till payout apply wants their number.

Output
  With -o json it is {"plan","run","digest","account","base_url","made",
  "expires","expired","batch","since","rows",
  "totals":[{"amount","pays","rows"}],
  "journal":{"accepted","first","last","unknown","conflict"},
  "warnings":[...]}. With -o csv it is a line for each currency, with the rows
  in it and their total; -q prints the digest. A plan sends nothing, so there
  is no --dry-run of it.
`
}

// RunsTopic describes what applying a plan does.
func RunsTopic() string {
	return `A run is a plan that was applied. till payout apply records it in the journal,
reads the service's list for the orders to be sent, and sends them in the order
of the file. With a journal in PostgreSQL, several machines can apply a plan at
the same time: each begins at a random row, and each row is sent by one of
them.

Confirmation
  On a terminal, type the total. In a script, --digest names the plan that was
  approved; --yes accepts any plan. A digest protects from an edited plan only
  if it reached you through a different channel than the plan.

  Orders that another run or command had accepted are not sent again. That is
  right if an earlier run stopped half-way, and wrong if old order ids were
  used again. Type their number, or give --already-paid N. --yes never asks,
  and without --already-paid it ends with 12.

When it stops
  At the first unknown outcome, at a refused key, at too many calls, and when
  the service cannot be reached. With --keep-going it continues after an
  unknown outcome, but not after five in a row. The first Ctrl-C waits for the
  calls in flight, the second does not.

  Apply the same plan again to continue. Accepted rows are not sent again, and
  unknown rows are looked up on the list first. While one is unknown, the rest
  waits, unless there is --keep-going.

  The exit code is 50 if some orders were accepted and others not. If none was
  accepted, it is the code that all of them share, such as 30 or 40, otherwise
  50.

Results file
  PLAN.results.csv, or the file of --results, has a line for each row:
  order_id, state, id, reason. It is replaced as a whole at the end.

Output
  With -o json, till payout apply prints {"run","plan","digest","rows",
  "accepted","rejected","unknown","conflict","planned","already_paid",
  "totals":[{"amount","pays","rows"}],"accepted_totals":[...],"results"}. With
  -o csv it is a line for each currency, with the orders in that currency
  alone. already_paid counts the accepted orders that this run did not send.

  With -o json, a run of till payout list is {"run","plan","digest","batch",
  "began","user","host","rows","accepted","rejected","unknown","conflict",
  "planned","sending","already_paid","totals":[{"amount","pays","rows"}],
  "accepted_totals":[...]}.

  --dry-run prints the requests of all rows, also of those already sent: it
  opens no journal.
`
}

// ApprovalsTopic describes how persons approve what is sent.
func ApprovalsTopic() string {
	return `A profile can require that several persons approve what is sent:

  approvals: 2
  approvers: /etc/till/allowed_signers
  approvals_above: ["0.1 Btc", "500.00 EUR"]

approvers is a file in the format allowed_signers of OpenSSH: a principal, then
options (namespaces, valid-after, valid-before), then a public key. Only you
and root may be able to change it, or any directory or link on the way to it.
approvals_above has totals up to which nobody must approve; a total in any
other currency must be approved. It is about the whole plan, also if some of
its rows were paid before.

Approving a plan
  till payout approve PLAN shows the plan and signs it. So does ssh-keygen:

    ssh-keygen -Y sign -n till-payout -f KEY PLAN

  Keys are ed25519, ECDSA, RSA from 2048 bits on, and those on FIDO2 tokens,
  which must be touched for each signature.

Applying it
  till payout apply reads the signatures in the files PLAN*.sig next to the
  plan, or in those of --approval. It counts persons: several keys of one
  principal are one person, and so are several principals of one key, or
  principals that differ only in case or in the form of their letters. If fewer
  persons than required have signed this very file with keys that are valid
  now, nothing is sent, and the exit code is 12 with the rule approval.
  Signatures that do not count do no harm; they are named on standard error.
  till payout show PLAN --approvals says who has signed, and what apply says.

  Each apply checks again, also one that continues a run, and on each machine.
  Signatures that the journal has count as files do. Rows that the journal
  recorded must be those that were signed.

  till withdraw create refuses an amount that must be approved: make a plan of
  one row.

What the journal remembers
  The strictest settings that were ever used with the account. If the settings
  in use require less, or name other approvers in another place, nothing is
  sent, until a person says till journal approvals N --reason TEXT. Each
  account (its name and address) has its own. If it becomes stricter while till
  sends, nothing more is sent.

  Each approval is recorded with its run: principal, key, signature and time.
  With -o json, till payout status, till journal show and till journal export
  print {"approval":{"run","digest","required","approvals":[{"principal",
  "fingerprint","key","signature","seen","user","host"}]}} for orders that had
  to be approved when they were sent: only what was required and what counted
  then, not what was signed later. Keep the plan file: the signatures are about
  it. till journal export also has what the account required, and since when,
  as "demands" of the account's first order; each attempt names one of them.

What approvals cannot do
  A person who has the API key can pay without till, or under another account
  name. One who can write the journal can change what is required, and one who
  can write the file of approvers or the profile can take part in deciding it.
`
}
