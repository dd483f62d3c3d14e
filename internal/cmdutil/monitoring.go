package cmdutil

import (
	"strings"
)

// MonitoringTopic is the help topic about reports to other programs.
func MonitoringTopic() string {
	var b strings.Builder
	b.WriteString(`payout apply, wait and reconcile, withdraw create and wait, journal check and
reseller report tell other programs how they ended, whatever the end was: a
signal, a full disk and an unknown outcome too. Neither way changes what the
command does or its exit code. What fails here is a warning.

A program
  --on-finish /usr/local/bin/report    an absolute path, without arguments
  on_finish: [/usr/local/bin/report, payroll]              in a profile

  It runs after everything is recorded, and has 60 seconds. There is no shell.
  Its output goes to standard error. The environment has no key and no password
  of a journal, but TILL_EXIT_CODE, TILL_KIND (empty for exit code 0) and
  TILL_RUN (empty without a run). TILL_WITHIN_ON_FINISH is set: with it, no
  command runs on_finish again, and a warning says so.

  Standard input is a JSON object:
    command, exit_code, kind      payout apply, 20, unknown
    rule, message, hint           as in the error line
    run, order_id, order_ids, id  what it was about
    profile, account, service     for whom and where
    started, ended, seconds       when, and how long
    calls, retries                to the service
    orders                        of the run or the one order, by state
    amounts                       sums: of (total, accepted, volume, rebates),
                                  currency, amount, amount_minor
    unsettled                     all orders of the account that are sending,
                                  unknown or in conflict

Metrics
  --metrics FILE                  metrics: FILE in a profile

  FILE belongs into the directory of the textfile collector of node_exporter,
  which reads names that end in .prom; till writes no others. It is replaced at
  once, and has for each account and command how it last ended:

`)
	for _, m := range metrics() {
		b.WriteString("  " + m.name + "\n")
	}
	b.WriteString(`
  If a command is killed, the time of its last success stays. Commands and
  accounts can share a file, also at the same time. docs/monitoring.md has
  alerts.
`)
	return b.String()
}
