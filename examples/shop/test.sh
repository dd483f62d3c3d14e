#!/bin/sh
# The tests of the shop's checkout, from the order to the parcel:
#
#   till sandbox run -- sh examples/shop/test.sh
#
# The service is a sandbox that lives for as long as this script, so nothing here needs a network, a secret or money.
# Where the shop would wait for a customer, or for time to pass, the script does what it waits for.
set -eu

shop() { sh "${0%/*}/shop.sh" "$@"; }
SHOP_DIR=$(mktemp -d)
trap 'rm -rf "$SHOP_DIR"' EXIT
export SHOP_DIR SHOP_WAIT=200ms

# is WHAT GOT WANT ends the tests unless the two are the same.
is() {
	[ "$2" = "$3" ] || { echo "FAIL: $1: it is '$2' and should be '$3'" >&2; exit 1; }
	echo "ok: $1"
}

id=$(shop order 1001)
is "the invoice says what it is for" "$(till invoice get "$id" --jq .tittle)" "Order 1001"
is "and what it costs" "$(till invoice get "$id" --jq '[.items[].amount | tonumber] | add')" 2950
is "an order that is not paid waits" "$(shop settle 1001)" waiting
till sandbox pay "$id" -q >/dev/null
is "one that is paid is shipped" "$(shop settle 1001)" shipped
is "asking again does not make a second invoice" "$(shop order 1001)" "$id"

id=$(shop order 1002)
till sandbox expire "$id" -q >/dev/null
is "one that nobody pays is cancelled" "$(shop settle 1002)" cancelled

# The customer pays in a browser, on the page of the invoice.
if command -v curl >/dev/null; then
	id=$(shop order 1004)
	curl -sS --fail -o "$SHOP_DIR/page" "$TILL_BASE_URL/invoice/$id"
	is "the page of the invoice has a button to pay" "$(grep -c '<button type="submit">Pay 29.50 USD' "$SHOP_DIR/page")" 1
	curl -sS --fail -o "$SHOP_DIR/page" -X POST "$TILL_BASE_URL/invoice/$id/pay"
	is "who pushes it has paid" "$(shop settle 1004)" shipped
fi

# The service makes the invoice, and its answer gets lost.
till sandbox fault add --do drop-after --on "POST /api/invoice" --times 1 -q >/dev/null
code=0
shop order 1005 >/dev/null 2>&1 || code=$?
is "when an answer is lost, nobody knows" "$code" 20
code=0
shop order 1005 >/dev/null 2>&1 || code=$?
is "and asking again does not help" "$code" 20
is "nor make a second invoice" "$(till sandbox dump --jq '[.invoices[] | select(.order_id == "1005")] | length')" 1

code=0
TILL_API_KEY=till_sandbox_wrong shop order 1003 2>/dev/null || code=$?
is "a wrong key is an error" "$code" 31
is "that leaves the order to be made" "$(shop order 1003 | wc -l | tr -d ' ')" 1
