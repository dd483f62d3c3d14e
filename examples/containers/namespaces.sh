#!/bin/sh
# What compose.yaml does, without a container engine: a sandbox in a network namespace of its own, and a command that
# joins it there.
#
#   namespaces.sh sh examples/shop/test.sh
#
# It wants Linux, unshare and nsenter (util-linux), ip (iproute2), and till in the PATH. It needs no root where users may
# make namespaces. The exit code is the command's; 69 says that this machine does not allow it.
set -eu

[ $# -gt 0 ] || { echo "usage: $0 COMMAND [ARGUMENT]..." >&2; exit 10; }
why=$(unshare --user --map-root-user --net ip link set lo up 2>&1) || { echo "$0: no network namespace can be made here: $why" >&2; exit 69; }

work=$(mktemp -d)
sandbox=''
tidy() {
	[ -z "$sandbox" ] || { kill "$sandbox" 2>/dev/null || :; wait "$sandbox" 2>/dev/null || :; }
	rm -rf "$work"
}
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# A new namespace has a loopback interface of its own, which is down at first. Everything here is exec, so that $! is till.
unshare --user --map-root-user --net sh -euc 'ip link set lo up; exec till sandbox serve --listen 127.0.0.1:8080 --env-file "$1"' \
	sh "$work/env" >/dev/null &
sandbox=$!
while [ ! -e "$work/env" ]; do # it appears when the first request will be answered
	kill -0 "$sandbox" 2>/dev/null || { echo "$0: the sandbox did not start" >&2; exit 1; }
	sleep 0.05
done
set -a
. "$work/env"
set +a

# Other processes cannot reach it, not even with its key.
if till sandbox clock show --retries 0 --timeout 5s >/dev/null 2>&1; then
	echo "$0: the sandbox can be reached from outside its namespace" >&2
	exit 1
fi

code=0
nsenter --target "$sandbox" --user --net --preserve-credentials "$@" || code=$?
exit "$code"
