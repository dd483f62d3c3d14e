#!/usr/bin/env bash
# Makes the pictures of the README from the real program: tools/pictures/make.sh TILL DIRECTORY
#
# It needs tmux for a real terminal, aha to turn a screen into HTML, chromium, and fonts with Latin and Japanese
# letters (Debian: tmux aha chromium fonts-dejavu-core fonts-ipafont-gothic). Look at the pictures before you commit
# them.
set -euo pipefail

till=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
work=$(mktemp -d)
trap 'tmux -L till-pictures kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/home"
ln -s "$till" "$work/bin/till"
export PATH="$work/bin:$PATH" HOME="$work/home" LC_ALL=C.UTF-8
unset "${!TILL_@}" "${!XDG_@}" 2>/dev/null || true
cd "$work"

# screenshot NAME WIDTH HEIGHT saves a page of the working directory as a picture.
screenshot() {
	chromium --headless --no-sandbox --hide-scrollbars --force-device-scale-factor=1.5 --window-size="$2,$3" \
		--screenshot="$out/$1.png" "file://$work/$1.html" 2>/dev/null
}

# What is typed, as it looks in a terminal of 96 columns.
cat >session.sh <<'END'
run() {
	printf '\033[1;32m$\033[0m \033[1m%s\033[0m\n' "$1"
	eval "$1"
	printf '\n'
}
clear
run 'till withdraw create --currency Btc --amount 0.015 --order-id 5001 --yes \
    --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'
run 'till withdraw create --currency Btc --amount 0.015 --order-id 5001 --yes \
    --address bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq   # again: nothing is sent'
till sandbox fault add --do drop-after --times 1 --on "POST /api/merchant_withdrawal/create" -q >/dev/null
run 'till withdraw create --currency Btc --amount 0.25 --order-id 5002 --yes \
    --address bc1qxy2kgdygjrsqtzq2n0yrf2493p83kkfjhx0wlh   # the answer gets lost; exit code 20'
run 'till withdraw reconcile 5002 --columns order_id,state,listed,status,amount'
run 'till withdraw list --columns order_id,status,amount --limit 5'
tmux -L till-pictures wait-for -S done
sleep 60
END
tmux -L till-pictures new-session -d -x 96 -y 34 'till sandbox run --seed demo -- bash session.sh'
tmux -L till-pictures wait-for done
{
	cat <<'END'
<!DOCTYPE html><meta charset="utf-8">
<style>body { margin: 0; background: #1e1e2a } pre { margin: 0; padding: 20px 24px; color: #e6e6ec;
font: 15px/1.35 "DejaVu Sans Mono", monospace }</style>
<pre>
END
	tmux -L till-pictures capture-pane -e -p | aha --no-header --black
	echo '</pre>'
} >terminal.html
screenshot terminal 925 590

till sandbox run --seed demo -- till reseller report --from last-month --to last-month --html report.html >/dev/null 2>&1
screenshot report 1100 845
