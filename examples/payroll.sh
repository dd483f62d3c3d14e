#!/bin/sh
# The monthly payroll, by two people and a mail:
#
#   payroll.sh plan payroll-2026-05.csv      one person makes payroll-2026-05.plan; nothing is sent
#   payroll.sh show payroll-2026-05.plan     another person reads every row, and sends the digest at the end
#                                            through a different channel than the plan: only that protects from an edited plan
#   payroll.sh pay payroll-2026-05.plan sha256:...   sends what was approved, and mails what came of it
#
# The file has the columns currency, amount, address and, where wanted, memo and note; see till help payout-files. It has
# no order ids: they are derived from its name and its rows, so that a file which is planned once more pays nobody twice.
#
# Whatever stops "pay", a crash or a power cut included, the same command again goes on where it stopped. What was sent is
# in till's journal (till journal path) and is never sent twice: keep it, and pay from the machine that has it.
#
#   PAYROLL_TO       who gets the mail; needed by "pay"
#   MAILER           how it is sent: MAILER -s SUBJECT TO, with the text on standard input (default: mail)
#   PAYROLL_TRIES, PAYROLL_PAUSE   how often "pay" tries, and how many seconds it waits between two tries (5 and 60)
#
# Exit codes are till's: 0 everybody's payment is accepted; 50 some are, and the mail says which are not; 20 and 21 STOP,
# a person has to look; 51 it is done, but the mail could not be sent. All of them: till help exit-codes.
set -eu

say() { printf '%s\n' "payroll: $*" >&2; }
stop() {
	code=$1
	shift
	say "$*"
	exit "$code"
}

usage="usage: $0 plan FILE.csv | show PLAN | pay PLAN DIGEST"
[ $# -ge 2 ] || stop 10 "$usage"
command -v till >/dev/null || stop 11 "till is not in the PATH"

case $1 in
plan)
	shift
	file=$1
	shift # what is left goes to till, --batch-changed for example
	batch=${file##*/}
	till payout plan "$file" --out "${file%.csv}.plan" --auto-order-id "${batch%.csv}" "$@" </dev/null
	exit
	;;
show)
	till payout show "$2" </dev/null || exit $?
	printf '\nIf this is right, hand over: %s\n' "$(till payout show "$2" --jq .digest </dev/null)"
	exit
	;;
pay) [ $# -eq 3 ] || stop 10 "$usage" ;;
*) stop 10 "$usage" ;;
esac

plan=$2 digest=$3 to=${PAYROLL_TO-}
[ -n "$to" ] || stop 10 "PAYROLL_TO does not say whom to mail the result to"
mailer=${MAILER:-mail}
command -v "${mailer%% *}" >/dev/null || stop 11 "there is no program $mailer to mail the result with: set MAILER"
tries=${PAYROLL_TRIES:-5} pause=${PAYROLL_PAUSE:-60}
run=$(printf %s "${digest#sha256:}" | cut -c 1-8)
results=$plan.results.csv

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A signal waits for the payments that are on their way, whose outcome is then recorded.
interrupted=''
trap 'interrupted=yes' INT TERM HUP

# apply sends what is left, and sets code.
apply() {
	code=0
	till payout apply "$plan" --digest "$digest" --results "$results" --concurrency 4 \
		</dev/null >"$work/summary" 2>"$work/messages" || code=$?
	cat "$work/messages" >&2
}

try=1 asked=''
while :; do
	apply
	[ -z "$interrupted" ] || break
	case $code in
	13 | 32 | 40 | 41) # nothing is unknown, and later it may go on
		[ "$try" -lt "$tries" ] || break
		try=$((try + 1))
		sleep "$pause" || : # a signal ends it early
		[ -z "$interrupted" ] || break
		;;
	0 | 1 | 10 | 11 | 12 | 14 | 21 | 30 | 31 | 50 | 51 | 60) break ;;
	*) # 20, and every code that till does not have: a crash, a kill. Ask the service once, then go on.
		[ -z "$asked" ] || break
		asked=yes
		till payout reconcile "$run" </dev/null >&2 || break
		;;
	esac
done

case $code in
0) subject="paid" ;;
12) subject="REFUSED, nothing was sent" ;;
13 | 32 | 40 | 41 | 60) subject="not finished, run it again" ;;
21) subject="STOP: the service has something else than was sent" ;;
30 | 50) subject="not everybody is paid" ;;
51) subject="paid, but the results could not be written" ;;
1 | 10 | 11 | 14 | 31) subject="not sent: till cannot work here" ;;
*) subject="STOP: it is unknown whether somebody was paid" ;;
esac
{
	cat "$work/summary" "$work/messages"
	if till payout status "$run" --columns order_id,state,amount,address,note,reason </dev/null >"$work/rows" 2>/dev/null; then # the run has begun
		printf '\n'
		cat "$work/rows"
		[ "$code" -eq 0 ] || printf '\nAll of it: till payout export %s\n' "$run"
	fi
	[ "$code" -eq 0 ] || printf '\nExit code %s. The same command again sends nothing twice.\n' "$code"
} >"$work/mail"
if ! $mailer -s "Payroll $run: $subject" "$to" <"$work/mail"; then
	say "the mail could not be sent: run it again for another one; no payment is made twice"
	[ "$code" -ne 0 ] || code=51
fi
say "$subject"
exit "$code"
