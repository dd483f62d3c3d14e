#!/bin/sh
# A very small shop, as something to test:
#
#   shop.sh order NUMBER    takes an order: makes its invoice, and prints the id
#   shop.sh settle NUMBER   prints what becomes of it: shipped, waiting or cancelled
#
# It finds the service in TILL_BASE_URL and TILL_API_KEY, and keeps its orders in the directory SHOP_DIR, a file each.
# The number is noted before the invoice is made. If the answer is lost, it is unknown whether there is an
# invoice, and the shop does not make a second one: exit code 20, and a person has to look.
set -eu

usage() {
	echo "usage: $0 order|settle NUMBER" >&2
	exit 10
}

number=${2-}
case $number in '' | *[!0-9]*) usage ;; esac
order=${SHOP_DIR:?}/$number

case $1 in
order)
	if ! (set -C; : >"$order") 2>/dev/null; then # the order was taken before
		id=$(cat "$order")
		[ -n "$id" ] || { echo "order $number: it is not known whether it has an invoice" >&2; exit 20; }
		echo "$id"
		exit 0
	fi
	code=0
	id=$(till invoice create --title "Order $number" --currency Usd \
		--item "Coffee beans=25.00" --item Shipping=4.50 --order-id "$number") || code=$?
	case $code in
	0) echo "$id" >"$order" ;;
	1? | 3? | 40) rm "$order"; exit "$code" ;; # there is no invoice, and it may be tried again
	*) exit 20 ;;
	esac
	echo "$id"
	;;
settle)
	code=0
	till invoice wait "$(cat "$order")" --status Paid --fail-on Expired --timeout "${SHOP_WAIT:-10s}" -q >/dev/null || code=$?
	case $code in
	0) echo shipped ;;
	33) echo cancelled ;;
	42) echo waiting ;;
	*) exit "$code" ;;
	esac
	;;
*) usage ;;
esac
