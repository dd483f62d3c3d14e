#!/bin/sh
# Checks downloaded files of a release against its sums, and the sums against their signature.
#
#   verify.sh DIR [ALLOWED_SIGNERS]
#
# DIR has SHA256SUMS, SHA256SUMS.sig and one or more of the files that SHA256SUMS names. ALLOWED_SIGNERS is a
# file of the keys that you trust, in the format of ssh-keygen; get it another way than the download. Without
# it only damage is found, because whoever changes a file can change its sum. Exit code 0 means that
# everything in DIR is what was released.
set -eu

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	echo "usage: verify.sh DIR [ALLOWED_SIGNERS]" >&2
	exit 2
fi
signers=
if [ $# = 2 ]; then
	signers=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
fi
cd "$1"

fail() {
	echo "verify.sh: $*" >&2
	exit 1
}

[ -f SHA256SUMS ] || fail "there is no SHA256SUMS in $1: download it too"
if [ -n "$signers" ]; then
	[ -f SHA256SUMS.sig ] || fail "there is no SHA256SUMS.sig in $1: the sums are not signed"
	signer=$(ssh-keygen -Y find-principals -s SHA256SUMS.sig -f "$signers" 2>/dev/null | head -n 1) ||
		signer=
	[ -n "$signer" ] || fail "SHA256SUMS.sig was not made with a key in $signers: do not use these files"
	ssh-keygen -Y verify -f "$signers" -I "$signer" -n till-release -s SHA256SUMS.sig <SHA256SUMS >/dev/null 2>&1 ||
		fail "the signature of SHA256SUMS is wrong: do not use these files"
fi

if command -v sha256sum >/dev/null; then
	sum() { sha256sum -- "$1"; }
else
	sum() { shasum -a 256 -- "$1"; }
fi
checked=0
for file in *; do
	case $file in
	SHA256SUMS | SHA256SUMS.sig) continue ;;
	esac
	[ -f "$file" ] || fail "$file is not a file of a release"
	grep -qxF -- "$(sum "$file")" SHA256SUMS || fail "$file is not what was released: do not use it"
	checked=$((checked + 1))
done
[ $checked -gt 0 ] || fail "there is no file of a release in $1"

if [ -n "$signers" ]; then
	echo "$checked files are what $signer released"
else
	echo "$checked files have the right sums; who made the sums is unknown without ALLOWED_SIGNERS"
fi
