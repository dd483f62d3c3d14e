#!/bin/sh
# Pays every row of a CSV file, one after the other, and can be run again when it has stopped:
#
#   payout.sh payouts.csv
#
# The file begins with the line order_id,currency,amount,address. Amounts are decimals in the row's currency, or carry
# their own, as in 25.00 USD. Order ids are your own numbers; each may occur once, ever. No quotes, no commas in fields.
#
# What was done stands in payouts.csv.sent, a line each: ORDER sending, ORDER accepted ID, ORDER not-sent CODE. The last
# line of an order counts. Keep that file with the CSV file: it is what keeps a second run from paying again.
#
# Exit codes: 0 all rows are accepted; 50 some were refused and skipped, run it again when they are mended; 10 the file
# is wrong, 11 and 31 till or the key is not set up, 13 another run is under way, 32, 40 and 41 the service could not be
# reached, run it again later; 60 interrupted; 20 STOP, one payment may or may not have been made, and the message says
# which. Accepted means that the service took the order, not that the money has arrived: see till withdraw wait.
#
# What a shell loop cannot promise:
# - Its record is a plain file and not forced to the disk. A power cut can take the last lines along. Therefore the loop
#   asks the service for its list before it pays, and takes what is listed there as accepted. It compares order ids only,
#   and a list that does not show a withdrawal yet cannot help.
# - Its lock is a directory beside the file. A copy of the file elsewhere, or on another machine, does not see it.
# - The service does not promise to refuse an order id that it has seen before. Nothing but this record and that list
#   stands between you and a second payment.
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
record=$file.sent
work=$file.lock
[ -f "$file" ] && [ -r "$file" ] || stop 10 "there is no file $file that can be read"
command -v till >/dev/null || stop 11 "till is not in the PATH"

mkdir "$work" 2>/dev/null ||
	stop 13 "another run is under way, or was killed: make sure that none is, then remove the directory $work"
trap 'rm -rf "$work"' EXIT
# A signal waits for the row that is on its way, whose outcome is then noted.
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
	$1 "" in seen { wrong("the order id " $1 " stands in line " seen[$1 ""] " already"); next }
	$2 == "" || $3 == "" || $4 == "" || $4 ~ / / { wrong("a field is empty, or the address has a space"); next }
	{ seen[$1 ""] = NR; print }
	END { if (NR == 0) wrong("the file is empty"); close("cat >&2"); exit bad }
' "$file" >"$work/rows" || stop 10 "nothing was sent"

# note makes an entry in the record. When it cannot, nothing more is sent.
touch "$record" || stop 10 "the record $record cannot be written, nothing was sent"
[ -z "$(tail -c 1 "$record")" ] || stop 20 "the last line of $record is torn: find out what became of that order, and mend it"
note() { printf '%s\n' "$*" >>"$record"; }
state_of() { awk -v order="$1" '$1 "" == order "" { state = $2 } END { print state }' "$record"; }

# What the service lists is not paid again, whatever the record says. till reads the whole list, or fails.
code=0
till withdraw list -o csv --columns order_id,id --no-headers </dev/null >"$work/listed" || code=$?
[ "$code" -eq 0 ] || stop "$code" "the service's list cannot be read, nothing was sent"
listed() { awk -F, -v order="$1" '$1 "" == order "" { print $2; exit }' "$work/listed"; }

# pay sends one row and notes what became of it. It ends the script when it must not go on.
pay() {
	try=1
	while :; do
		note "$order sending" || stop 10 "the record cannot be written, order $order was not sent"
		code=0
		id=$(till withdraw create --currency "$currency" --amount "$amount" --address "$address" \
			--order-id "$order" --yes </dev/null) || code=$?
		case $code in
		0)
			note "$order accepted $id" || stop 20 "order $order is accepted as $id, but the record cannot be written"
			echo "$order accepted $id"
			return
			;;
		10 | 12 | 30) # this row is wrong, or not allowed, or rejected: nothing was paid, and the next may be right
			note "$order not-sent $code"
			echo "$order not-sent $code"
			skipped=$((skipped + 1))
			return
			;;
		11 | 31) # nothing was paid, and the next row would fare no better
			note "$order not-sent $code"
			stop "$code" "stopped at order $order"
			;;
		32 | 40 | 41) # nothing was paid, try again later
			note "$order not-sent $code"
			[ "$try" -lt "$tries" ] || stop "$code" "gave up at order $order, nothing is unknown: run it again later"
			try=$((try + 1))
			sleep "$pause" || : # a signal ends it early
			[ -z "$interrupted" ] || return 0
			;;
		60) # interrupted before anything was written
			note "$order not-sent $code"
			interrupted=yes
			return
			;;
		*) # 20, and every code that till does not have: a crash, a kill
			stop 20 "the outcome of order $order is UNKNOWN (exit code $code): do not send it again, find out first"
			;;
		esac
	done
}

skipped=0
while IFS=, read -r order currency amount address <&3; do
	[ -z "$interrupted" ] || stop 60 "interrupted before order $order, nothing is unknown"
	state=$(state_of "$order")
	id=$(listed "$order")
	if [ "$state" = accepted ]; then
		continue
	elif [ -n "$id" ]; then
		note "$order accepted $id"
		echo "$order accepted $id (found in the service's list)"
		continue
	fi
	case $state in
	'' | not-sent) pay ;;
	*)
		say "order $order was being sent when an earlier run ended, and the service does not list it"
		say "that is no proof that it was not paid: wait, look in the merchant panel, and decide"
		say "if you are certain that it was not paid: echo '$order not-sent by-hand' >> '$record'"
		exit 20
		;;
	esac
done 3<"$work/rows"

[ -z "$interrupted" ] || stop 60 "interrupted, nothing is unknown"
[ "$skipped" -eq 0 ] || stop 50 "$skipped of the rows were not sent, all others are accepted"
