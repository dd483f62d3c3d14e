#!/usr/bin/env bash
# Makes pictures of the real program: tools/pictures/make.sh TILL README OTHERS
#
# The two of the README go to the directory README, and those that are only to be looked at to OTHERS: the terminal at
# several widths, the page of a report in the dark and on a phone, what of it is printed, and the page of an invoice.
#
# It needs tmux for a real terminal, aha to turn a screen into HTML, chromium, pdftoppm, and fonts with Latin and
# Japanese letters (Debian: tmux aha chromium poppler-utils fonts-dejavu-core fonts-ipafont-gothic). Look at the
# pictures before you commit them.
set -euo pipefail

for tool in tmux aha chromium pdftoppm perl curl; do
	command -v "$tool" >/dev/null || { echo "$0: $tool is not installed, and the pictures need it" >&2; exit 1; }
done
till=$(realpath "$1")
mkdir -p "$2" "$3"
readme=$(realpath "$2")
others=$(realpath "$3")
work=$(mktemp -d)
trap 'tmux -L till-pictures kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/home"
ln -s "$till" "$work/bin/till"
export PATH="$work/bin:$PATH" HOME="$work/home" LC_ALL=C.UTF-8
unset "${!TILL_@}" "${!XDG_@}" 2>/dev/null || true
cd "$work"

# screenshot FILE PAGE WIDTH HEIGHT [OPTION] saves a page as a picture. PAGE is a file here or a URL.
screenshot() {
	local page=$2
	[[ $page == *://* ]] || page="file://$work/$page"
	chromium --headless --no-sandbox --hide-scrollbars --force-device-scale-factor=1.5 --window-size="$3,$4" \
		"${@:5}" --screenshot="$1" "$page" 2>/dev/null
}

dark=--blink-settings=preferredColorScheme=0

# terminal FILE WIDTH HEIGHT PIXELS,PIXELS SEED runs session.sh on a terminal, and saves its screen as a picture.
terminal() {
	tmux -L till-pictures new-session -d -x "$2" -y "$3" "till sandbox run --seed $5 -- bash session.sh"
	tmux -L till-pictures wait-for done
	{
		cat <<'END'
<!DOCTYPE html><meta charset="utf-8">
<style>body { margin: 0; background: #1e1e2a } pre { margin: 0; padding: 20px 24px; color: #e6e6ec;
font: 15px/1.2 "DejaVu Sans Mono", monospace }
i { display: inline-block; width: 1.204em; font-style: normal }</style>
<pre>
END
		# A Japanese letter is as wide as two Latin ones.
		tmux -L till-pictures capture-pane -e -p | aha --no-header --black |
			perl -CSD -pe 's{([\x{3000}-\x{9fff}])}{<i>$1</i>}g'
		echo '</pre>'
	} >terminal.html
	tmux -L till-pictures kill-server
	screenshot "$1" terminal.html "${4%,*}" "${4#*,}"
}

# session writes session.sh: what is typed, each line with its prompt.
session() {
	{
		cat <<'END'
run() {
	printf '\033[1;32m$\033[0m \033[1m%s\033[0m\n' "$1"
	eval "$1"
	printf '\n'
}
clear
END
		cat
		echo 'tmux -L till-pictures wait-for -S done; sleep 60'
	} >session.sh
}

session <<'END'
run 'till withdraw create --currency Btc --amount 0.015 --order-id 5001 --yes \
    --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'
run 'till withdraw create --currency Btc --amount 0.015 --order-id 5001 --yes \
    --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq   # again: nothing is sent'
till sandbox fault add --do drop-after --times 1 --on "POST /api/merchant_withdrawal/create" -q >/dev/null
run 'till withdraw create --currency Btc --amount 0.25 --order-id 5002 --yes \
    --address bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh   # the answer gets lost; exit code 20'
run 'till withdraw reconcile 5002 --columns order_id,state,listed,status,amount'
run 'till withdraw list --columns order_id,status,amount --limit 5'
END
terminal "$readme/terminal.png" 96 35 925,510 demo

till sandbox run --seed demo -- till reseller report --from last-month --to last-month --html report.html >/dev/null 2>&1
screenshot "$readme/report.png" report.html 1100 845

session <<'END'
run 'till withdraw list'
run 'till reseller list'
run 'till reseller stats "Harbour Books"'
run 'till reseller report --from this-month --compare --currency eur --chart'
END
for width in 60 80 120; do
	terminal "$others/terminal-$width.png" "$width" 54 "$((width * 9 + 60)),1030" demo
done

# What a person decides by: a month's plan beside that of the month before, the question, and the state of the run.
session <<'END'
head='order_id,currency,amount,address,note,team'
iban=DE893704004405320130
printf '%s\n' "$head" "1,Eur,213.41,${iban}00,Ann,a" 2,Eur,850.00,DE64370400440532020919,Bo,a \
	3,Jpy,25432,jp-account-7,田中さん,b 4,Kwd,25.289,kw-7,عمر,b \
	5,UsdtErc20,213.41,0xa5aeb6053f3e94c9b9a09f33669435e7ef1beaed,🎲,b >oct.csv
printf '%s\n' "$head" 11,Eur,480.00,DE14370400440532036757,Ann,a 12,Eur,850.00,DE64370400440532020919,Bo,a \
	13,Jpy,25432,jp-account-7,田中さん,b 14,Kwd,25.289,kw-7,عمر,b \
	15,UsdtErc20,48000.00,0xa5ae00000000000000000000000000000001eaed,🎲,b 16,UsdtTrc20,9.99,trc-7,Erna,b >nov.csv
{ till payout plan oct.csv --out oct.plan --other-columns ignore && till payout apply oct.plan --yes; } >/dev/null 2>&1
clear
run 'till payout plan nov.csv --out nov.plan --other-columns ignore'
till sandbox fault add --do drop-after --match external_order_id=15 -q >/dev/null
till payout apply nov.plan --yes --keep-going >/dev/null 2>&1
run 'till payout status'
END
for width in 60 80 100 120; do
	terminal "$others/payout-$width.png" "$width" 72 "$((width * 9 + 60)),1370" demo
done

screenshot "$others/report-dark.png" report.html 1100 1700 $dark
screenshot "$others/report-phone.png" report.html 390 1700
screenshot "$others/report-phone-dark.png" report.html 390 1700 $dark

# 120 resellers, two of them with the same label, and nine currencies, compared.
{
	echo 'resellers:'
	for n in $(seq 120); do
		echo "  - {label: \"Shop $((n > 1 ? n : 2))\", id: \"$(printf '%08x' "$n")-0000-4000-8000-000000000000\"}"
	done
	echo 'invoices:'
	currencies=(Usd Eur Jpy Btc Eth Ltc UsdtTrc20 UsdtErc20 Xlr)
	for n in $(seq 120); do
		for k in 0 3 7; do
			for month in 04 05; do
				echo "  - {account: \"$(printf '%08x' "$n")-0000-4000-8000-000000000000\", total: \"$((n * 37 + k + 10#$month)) ${currencies[(n + k) % 9]}\", paid_at: \"2026-$month-$(printf %02d $((n % 28 + 1)))T10:00:00Z\"}"
			done
		done
	done
} >large.yaml
till sandbox run --seed large.yaml -- till reseller report --from 2026-05 --to 2026-05 --compare --html large.html \
	>/dev/null 2>&1
chromium --headless --no-sandbox --no-pdf-header-footer --print-to-pdf=large.pdf "file://$work/large.html" 2>/dev/null
rm -f "$others"/print-*.png
pdftoppm -r 75 -png large.pdf "$others/print"

# The page of an invoice: waiting, failed and paid.
cat >invoice.sh <<'END'
id=$(till invoice create --title 'Order 1001' --currency Usd --item 'Atlas=49.00' --item 'Globe=120.00' \
	--callback-url http://127.0.0.1:9/ -q)
page=$TILL_BASE_URL/invoice/$id
screenshot "$others/invoice-waiting.png" "$page" 500 700
curl -sS -o failed -X POST "$page/pay"
screenshot "$others/invoice-failed.png" "$page" 500 700
screenshot "$others/invoice-failed-dark.png" "$page" 500 700 $dark
till sandbox pay "$id" >/dev/null
screenshot "$others/invoice-paid.png" "$page" 500 700
END
export others work dark
export -f screenshot
till sandbox run --set payment_fails=first -- bash -eu invoice.sh
