#!/bin/sh
# Says when a reseller has earned less than a threshold, for cron:
#
#   0 7 1 * *  rebate-check.sh "Harbour Books" Usd 10000
#
# The threshold is an integer in minor units: 10000 of Usd is 100.00. The reseller is an id or a label.
#
# Exit codes: 0 and no output when the rebates reach the threshold, 42 and a line when they do not. Everything else is
# till's own, with its message on standard error: 10 no such reseller, 31 the key is refused, 41 the service cannot be
# read.
set -eu

if [ $# -ne 3 ]; then
	echo "usage: $0 RESELLER CURRENCY MINOR-UNITS" >&2
	exit 10
fi
reseller=$1 currency=$2 threshold=$3

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
# The answer is an object of code to amount, and an amount is {"Fiat":{"USD":7546}}: the integers are three levels down.
earned=$(till reseller rebate "$reseller" --currency "$currency" --jq '[.[][][]] | add // 0' </dev/null) || exit $?
integer "$earned" "the service's rebate"

if [ "$earned" -lt "$threshold" ]; then
	echo "$reseller: rebates are $earned minor units of $currency, less than $threshold"
	exit 42
fi
