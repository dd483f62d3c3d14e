#!/bin/sh
# Looks after the payouts every night, and tells the right one what it finds:
#
#   30 2 * * *  nightly.sh
#
# What it finds out is till's exit code, and that decides whom it tells:
#
#   20, 21, 14, and any code that till does not have   a person is called: money may have moved, or the outcome is unknown
#   13, 32, 40, 41   it is tried again, and only when that does not help there is a ticket
#   50, 33, 51, 30   a ticket: a part is not done, and can wait for the morning
#   1, 10, 11, 12, 31   a ticket: this machine or its key is not set up
#   60   nothing: somebody has stopped it
#
#   PAGE, TICKET     how they are told: PAGE SUBJECT, with the text on standard input
#                    (default: mail -s SUBJECT to $ONCALL and to $TICKETS)
#   NIGHTLY_TRIES, NIGHTLY_PAUSE   how often it tries, and how many seconds it waits between two tries (3 and 300)
#
# It sends no payment. It ends with the code of what was worst: 20, 21, then what came first.
set -eu

tries=${NIGHTLY_TRIES:-3} pause=${NIGHTLY_PAUSE:-300}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
worst=0

mailed() { mail -s "$2" "$1"; }
page() {
	if [ -n "${PAGE-}" ]; then $PAGE "$1"; else mailed "${ONCALL:-root}" "$1"; fi
}
ticket() {
	if [ -n "${TICKET-}" ]; then $TICKET "$1"; else mailed "${TICKETS:-root}" "$1"; fi
}

# look WHAT COMMAND... runs a command that only reads, or settles what it reads, and tells somebody how it went.
look() {
	what=$1
	shift
	try=1
	while :; do
		code=0
		"$@" </dev/null >"$work/text" 2>&1 || code=$?
		case $code in
		13 | 32 | 40 | 41) [ "$try" -lt "$tries" ] || break ;;
		*) break ;;
		esac
		try=$((try + 1))
		sleep "$pause"
	done
	case $code in
	0 | 60) ;;
	1 | 1[0-3] | 3[0-3] | 4[0-2] | 5[01]) ticket "$what (exit code $code)" <"$work/text" || tell "$what" ;;
	*)
		page "$what (exit code $code)" <"$work/text" || tell "$what"
		case $code in 14 | 21) ;; *) code=20 ;; esac # a crash is as bad as 20
		;;
	esac
	case $worst:$code in
	*:0 | 20:*) ;;
	*:20 | 0:*) worst=$code ;;
	*:21) worst=21 ;;
	esac
}

# tell is for when the page failed: cron mails standard error.
tell() {
	echo "nightly: $1, and nobody could be told:" >&2
	cat "$work/text" >&2
}

# unfinished prints the runs in which something was rejected or not sent. Of a batch, only the newest run sends anything.
unfinished() {
	till payout list --jq 'group_by(.batch)[] | (if .[0].batch == "" then .[] else last end) | select(.rejected + .planned > 0) | .run' >"$work/runs" || return $?
	[ -s "$work/runs" ] || return 0
	while read -r run; do
		till payout status "$run" --columns order_id,state,amount,reason || return $?
	done <"$work/runs"
	return 50
}

# Settle first what the service's list can settle, so that no person is called for it.
look "payments with an unknown outcome" till withdraw reconcile
look "open questions in the journal" till journal list --state unknown,conflict --exit-status
look "payouts that are not finished" unfinished
exit "$worst"
