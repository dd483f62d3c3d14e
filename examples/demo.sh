#!/bin/sh
# A day with till in two minutes: examples/demo.sh [--step] [TILL-BINARY]
#
# With --step, it waits for the Enter key after each command, on a terminal. Without a binary, it takes the one that
# make build has made, or the till that is installed.
#
# Every command below really runs, against a sandbox of the service that starts with the demo and ends with it. Nothing
# leaves this machine, no money moves, and nothing is left behind.
set -eu

if [ "${1-}" = --step ]; then
	shift
	DEMO_STEP=yes
	export DEMO_STEP
fi
here=$(cd "$(dirname "$0")" && pwd)
TILL=${1-}
if [ -z "$TILL" ] && [ -x "$here/../bin/till" ]; then
	TILL=$here/../bin/till
fi
TILL=$(command -v "${TILL:-till}") || { echo "there is no till: make build, or $0 TILL-BINARY" >&2; exit 10; }
case $TILL in /*) ;; *) TILL=$PWD/$TILL ;; esac

if [ "${2-}" != inside ]; then
	# The demo ignores the settings of the person who runs it.
	unset TILL_PROFILE TILL_BASE_URL TILL_API_KEY TILL_CONFIG TILL_OUTPUT TILL_TIMEOUT TILL_RETRIES TILL_DEBUG \
		TILL_NO_INPUT TILL_JOURNAL TILL_CA_FILE
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 60' INT TERM HUP
	mkdir "$work/bin" "$work/config" "$work/day"
	ln -s "$TILL" "$work/bin/till" # so that the commands can say till, as you would type it
	export PATH="$work/bin:$PATH" XDG_CONFIG_HOME="$work/config" XDG_STATE_HOME="$work/config"
	cd "$work/day"
	cp "$here/freelancers.csv" .
	till sandbox run --seed demo -- sh "$here/${0##*/}" "$TILL" inside
	exit 0
fi

bold='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR-}" ]; then
	bold=$(printf '\033[1m') dim=$(printf '\033[2m') plain=$(printf '\033[0m')
fi

title() { printf '\n%s== %s%s\n' "$bold" "$1" "$plain"; }
say() { printf '%s\n' "$@"; }

# run CODE COMMAND shows a command, runs it, and ends the demo unless it ends with the exit code.
run() {
	printf '\n%s$ %s%s\n' "$bold" "$2" "$plain"
	code=0
	eval "$2" 2>&1 || code=$?
	if [ "$code" -ne "$1" ]; then
		echo "the demo has failed: exit code $code instead of $1" >&2
		exit 1
	fi
	[ "$code" -eq 0 ] || printf '%s(exit code %s)%s\n' "$dim" "$code" "$plain"
	echo
	if [ -n "${DEMO_STEP-}" ] && [ -t 0 ] && [ -t 1 ]; then
		printf '%s(press Enter)%s' "$dim" "$plain"
		read -r _
	fi
}

title "Mara pays people from a shell script"
say "First she looks at what would be sent. A dry run sends nothing."
run 0 'till withdraw create --currency Btc --amount 0.015 \
    --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq --order-id 9001 --dry-run'
say "Then she sends it. The id of the withdrawal is all that standard output gets."
run 0 'till withdraw create --currency Btc --amount 0.015 \
    --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq --order-id 9001 --yes'
say "A typing mistake never becomes another amount."
run 10 'till withdraw create --currency Btc --amount 0,15 \
    --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq --order-id 9002 --yes'

title "A file of people"
say "At the end of the month she pays the freelancers in her bookkeeper's file: with a title, IBANs with blanks, amounts" \
	"such as 1.980,50, and a sum below. till guesses nothing. It proposes how to read the file:"
run 0 'till payout layout freelancers.csv --columns skip_lines,until_blank,encoding,decimal,group'
say "The plan checks every row and sends nothing. A second person can read it, and approve it by its digest."
run 0 'till payout plan freelancers.csv --out nov.plan --auto-order-id nov --currency Eur \
    --map address=IBAN/address --map note=Name --map "reference=Invoice no" --other-columns ignore \
    --skip-lines 2 --until-blank --delimiter ";" --decimal , --group . --encoding windows-1252 \
    --columns rows,totals,digest'
say "An answer gets lost in the middle of the file. Exit code 20 means that the outcome is unknown: it may be paid."
run 0 'till sandbox fault add --do drop-after --times 1 \
    --on "POST /api/merchant_withdrawal/create" --match address=DE52370400440532147623'
run 20 'till payout apply nov.plan --yes --columns accepted,unknown,planned'
say "The same command goes on where it stopped. It finds out first, and pays nobody" \
	"twice; after a crash or a power cut it is the same."
run 0 'till payout apply nov.plan --yes --columns accepted,unknown,planned'
say "The results are in the order of the file, with its invoice numbers and names:"
run 0 'head -n 3 nov.plan.results.csv | cut -d ";" -f 2-4,6-8'

title "The answer of a single payment gets lost"
say "That can happen to a single payment too:"
run 0 'till sandbox fault add --do drop-after --times 1 \
    --on "POST /api/merchant_withdrawal/create"'
run 20 'till withdraw create --currency Btc --amount 0.25 \
    --address bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh --order-id 9003 --yes'
say "Many scripts would just try again, and pay twice. Here the journal remembers, and nothing is sent:"
run 20 'till withdraw create --currency Btc --amount 0.25 \
    --address bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh --order-id 9003 --yes'
say "The message has the command that finds out. It reads the service's own list:"
run 0 'till withdraw reconcile 9003 --columns order_id,state,listed,status,amount'
say "The service has taken it. From now on the same command prints its id, and pays" \
	"nothing:"
run 0 'till withdraw create --currency Btc --amount 0.25 \
    --address bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh --order-id 9003 --yes'

title "Ruben looks after the resellers"
say "Volume and rebates per currency, at a glance:"
run 0 'till reseller stats --columns label,volume,rebates --sort label'
say "The same for a spreadsheet, exact to the last digit:"
run 0 'till reseller stats -o csv --columns label,volume,rebates --sort label'

title "A CI job makes a test invoice"
say "It needs no network and no secret. The sandbox is there for one command only," \
	"and till sandbox pay is the customer."
run 0 'till sandbox run -- sh -c '\''
    id=$(till invoice create --title "Order 1001" --currency Usd \
        --item "Coffee beans=25.00" --item Shipping=4.50)
    till sandbox pay "$id" -q
    till invoice wait "$id" --status Paid'\'

title "That was till"
say "Exit codes:         till help exit-codes" \
	"Amounts:            till help money" \
	"The same by hand:   README.md"
