#!/bin/sh
# Says when a reseller has earned less than a threshold in a period, for cron:
#
#   0 7 1 * *  rebate-check.sh "Harbour Books" Usd 10000
#
# The threshold is an integer in minor units: 10000 of Usd is 100.00. The reseller is an id or a label. The period is
# the last month; FROM and TO name another one, as in --from and --to of till reseller report:
#
#   rebate-check.sh "Harbour Books" Usd 2500 7d today
#
# Exit codes: 0 and no output when the rebates reach the threshold, 42 and a line when they do not. Everything else is
# till's own, with its message on standard error: 10 no such reseller, 31 the key is refused, 41 the service cannot be
# read, 50 the reseller cannot be read.
set -eu

if [ $# -ne 3 ] && [ $# -ne 5 ]; then
	echo "usage: $0 RESELLER CURRENCY MINOR-UNITS [FROM TO]" >&2
	exit 10
fi
reseller=$1 currency=$2 threshold=$3 from=${4-last-month} to=${5-last-month}

# integer TEXT WHAT refuses whatever the shell could not compare exactly.
integer() {
	case ${1#-} in
	'' | *[!0-9]* | ???????????????????*)
		echo "$0: $2 is not an integer of at most 18 digits: $1" >&2
		exit 10
		;;
	esac
}

integer "$threshold" "the threshold"
# A currency has at most one total. What till says about the period would make cron send a mail, so it is shown only if
# till fails. The sum is the last word.
answer=$(till reseller report "$reseller" --currency "$currency" --from "$from" --to "$to" \
	--jq '"sum \(.totals[0].rebates_minor // 0)"' 2>&1 </dev/null) || {
	code=$?
	echo "$answer" >&2
	exit $code
}
earned=${answer##*sum }
integer "$earned" "the sum of the rebates"

if [ "$earned" -lt "$threshold" ]; then
	echo "$reseller: rebates from $from to $to are $earned minor units of $currency, less than $threshold"
	exit 42
fi
