#!/bin/sh
# Pays every row of a CSV file, one after the other, and can be run again when it has stopped:
#
#   payout.sh payouts.csv
#
# The file begins with the line order_id,currency,amount,address. Amounts are decimals in the row's currency, or carry
# their own, as in 25.00 USD. Order ids are your own numbers; each may occur once, ever. No quotes, no commas in fields.
#
# The script keeps no record: till's journal does. Every row is recorded there under its order id before it is sent, so a
# second run prints the ids of what was accepted, sends what was not, and stops at a row with an unknown outcome. Keep the
# journal (till journal path), and let all machines that pay use the same one (TILL_JOURNAL).
#
# Exit codes: 0 all rows are accepted; 50 some were refused and skipped, run it again when they are mended; 10 the file
# is wrong; 11, 14 and 31 till, its journal or the key is not set up; 13 another run is under way; 32, 40 and 41 the
# service could not be reached, run it again later; 60 interrupted; 20 and 21 STOP, one payment may or may not have been
# made, or is not what was asked for, and the message says which. Accepted means that the service took the order, not that
# the money has arrived: see till withdraw wait. What till cannot promise: till help payouts.
set -eu

tries=${PAYOUT_TRIES:-3} # how often a row is tried when the service cannot be reached or is busy
pause=${PAYOUT_PAUSE:-30} # seconds between two tries

say() { printf '%s\n' "payout: $*" >&2; }
stop() {
	code=$1
	shift
	say "$*"
	exit "$code"
}

[ $# -eq 1 ] || stop 10 "usage: $0 FILE.csv"
file=$1
[ -f "$file" ] && [ -r "$file" ] || stop 10 "there is no file $file that can be read"
command -v till >/dev/null || stop 11 "till is not in the PATH"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A signal waits for the row that is on its way, whose outcome is then recorded.
interrupted=''
trap 'interrupted=yes' INT TERM HUP

# The whole file is checked before anything is sent.
awk -F, '
	function wrong(why) { print "payout: line " NR ": " why | "cat >&2"; bad = 1 }
	{ sub(/\r$/, "") }
	NR == 1 { if ($0 != "order_id,currency,amount,address") wrong("the first line must be order_id,currency,amount,address"); next }
	/["\t]/ { wrong("quotes and tabs are not understood here"); next }
	NF != 4 { wrong("there must be four fields, and there are " NF); next }
	$1 !~ /^[1-9][0-9]*$/ { wrong("the order id must be a number without leading zeros: " $1); next }
	$1 "" in seen { wrong("the order id " $1 " is in line " seen[$1 ""] " already"); next }
	$2 == "" || $3 == "" || $4 == "" || $4 ~ / / { wrong("a field is empty, or the address has a space"); next }
	{ seen[$1 ""] = NR; print }
	END { if (NR == 0) wrong("the file is empty"); close("cat >&2"); exit bad }
' "$file" >"$work/rows" || stop 10 "nothing was sent"

# What an earlier run has left unknown is settled first, by reading the service's list.
code=0
till withdraw reconcile -q </dev/null >&2 || code=$?
[ "$code" -eq 0 ] || stop "$code" "what was sent before is not settled, so nothing was sent now"

# pay sends one row. It ends the script when it must not go on.
pay() {
	try=1
	while :; do
		code=0
		id=$(till withdraw create --currency "$currency" --amount "$amount" --address "$address" \
			--order-id "$order" --yes </dev/null) || code=$?
		case $code in
		0)
			echo "$order accepted $id"
			return
			;;
		10 | 12 | 30) # this row is wrong, or not allowed, or rejected: nothing was paid, and the next may be right
			echo "$order not-sent $code"
			skipped=$((skipped + 1))
			return
			;;
		11 | 13 | 14 | 31) # nothing was paid by this run, and the next row would fare no better
			stop "$code" "stopped at order $order"
			;;
		32 | 40 | 41) # nothing was paid, try again later
			[ "$try" -lt "$tries" ] || stop "$code" "gave up at order $order, nothing is unknown: run it again later"
			try=$((try + 1))
			sleep "$pause" || : # a signal ends it early
			[ -z "$interrupted" ] || return 0
			;;
		60) # interrupted before anything was written
			interrupted=yes
			return
			;;
		21) stop 21 "what the service has as order $order is not what was asked for: find out why before anything else is sent" ;;
		*) # 20, and every code that till does not have: a crash, a kill
			stop 20 "the outcome of order $order is UNKNOWN (exit code $code): when this script is run again, it asks the service first"
			;;
		esac
	done
}

skipped=0
while IFS=, read -r order currency amount address <&3; do
	[ -z "$interrupted" ] || stop 60 "interrupted before order $order, nothing is unknown"
	pay
done 3<"$work/rows"

[ -z "$interrupted" ] || stop 60 "interrupted, nothing is unknown"
[ "$skipped" -eq 0 ] || stop 50 "$skipped of the rows were not sent, all others are accepted"
