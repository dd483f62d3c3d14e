#!/bin/sh
# A test of a program that has nothing but HTTP: it makes an invoice in the sandbox, and pays it as a customer would.
# The sandbox is at TILL_BASE_URL, with the key in TILL_API_KEY.
set -eu

post() {
	curl -sS --fail-with-body -H "Authorization: Bearer $TILL_API_KEY" -H 'Content-Type: application/json' --data "$2" "$TILL_BASE_URL$1"
}

id=$(post /api/invoice '{"title": "Order 1001", "currency": {"Fiat": "Usd"}, "items": [{"name": "Tea", "amount": "300"}]}' |
	tr -d '"')
post /sandbox/pay "{\"invoice\": \"$id\"}" | grep -q '"status": *"Paid"'
echo "invoice $id is paid"
