package reseller

// ReportTopic describes the periods, the groups and the JSON of a report.
func ReportTopic() string {
	return `till reseller report adds up the single invoices in the statistics of
resellers. Sums are exact. A currency with unknown decimals is shown in minor
units.

Periods
  The period applies to the time created of each invoice, as the service writes
  it: the interface does not show its time zone. --from and --to are words
  (today, yesterday, this-month, last-month), dates (2026-05-03), weeks from
  Monday on (2026-W18), months (2026-05), ages (30d) or date-times without a
  zone. --from means the beginning of a day, week or month, and --to its end:
  the whole last month is --from last-month --to last-month. A period without
  --to ends today.

  With --compare, whole months are compared with as many months before, and
  other periods with as many days before. A short month is compared with the
  whole longer month before it.

  A period that is not over is marked "so far". If --from is a week or month,
  --compare takes the same number of days from the beginning of the weeks or
  months before: on 23 November, --from this-month is 1 to 23 November, and is
  compared with 1 to 23 October. A month with fewer days is taken whole.

Groups
  There is a row for each group and currency. --by may have two groups: --by
  reseller,month makes a table for a spreadsheet. Only one of day, week and
  month can be used. --currency leaves one currency in rows, totals and charts.

Charts
  A timeline ends with the period or today, also after days without rebates.
  Every currency has a scale of its own. The sum of others has no bar.

JSON
  A report is one object:
  period    from and to, null where there is none; so_far is true while it
            is not over, and missing otherwise
  previous  the same of the period before; only with --compare
  rows      id and label, or period, as they are grouped; then currency,
            invoices (how many), volume, volume_minor, rebates,
            rebates_minor, share (of all rebates in the currency, percent)
            and last (the newest time). volume and rebates are text, and
            null where the decimals are unknown. --compare adds
            previous_volume_minor, previous_rebates_minor and change (of the
            rebates, percent, null from nothing)
  totals    the same for each currency, of all rows, also those beyond --top
  all_time  for each reseller what the service itself counts, without any
            period or currency: id, label, invoice_stats, total_volume,
            total_rebates
  failed    id and error of those that could not be read (exit code 50, also
            when it is all of them; then no file is written)
  csv and jsonl have the rows alone.
`
}
