#!/bin/sh
# Checks downloaded files of a release against its sums, and the sums against their signature.
#
#   sh verify.sh DIR [ALLOWED_SIGNERS]
#
# DIR has SHA256SUMS, SHA256SUMS.sig and one or more of the files that SHA256SUMS names, and nothing else.
# ALLOWED_SIGNERS is a file of the keys that you trust, in the format of ssh-keygen; get it another way than the
# download. Without it only damage is found, because whoever changes a file can change its sum. Exit code 0 means
# that everything in DIR is what was released.
set -eu
unset CDPATH

fail() {
	echo "verify.sh: $*" >&2
	exit 1
}

# absolute PATH prints a path that begins with a slash, so that none is taken for a flag.
absolute() {
	case $1 in
	/*) printf '%s\n' "$1" ;;
	*) printf '%s/%s\n' "$PWD" "$1" ;;
	esac
}

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	echo "usage: sh verify.sh DIR [ALLOWED_SIGNERS]" >&2
	exit 2
fi
dir=$(absolute "$1")
signers=
if [ $# = 2 ]; then
	signers=$(absolute "$2")
	[ -f "$signers" ] || fail "there is no file $2: it has the keys that you trust"
	command -v ssh-keygen >/dev/null || fail "ssh-keygen is needed to check the signature: install OpenSSH"
fi
[ -d "$dir" ] || fail "there is no directory $1"
cd "$dir"
# What a link leads to can be another file a moment later, and is not what was downloaded.
for file in * .[!.]* ..?*; do
	[ ! -L "$file" ] || fail "$file is a link: put the file itself there"
done
[ -f SHA256SUMS ] || fail "there is no SHA256SUMS in $1: download it too"

# signer prints the first trusted person whose signature it is, or the key if its line is for any person. ssh-keygen finds the first line with the key, and a
# key may have several lines, for different uses: so each name in the file is tried too.
signer() {
	{
		ssh-keygen -Y find-principals -s SHA256SUMS.sig -f "$signers" 2>/dev/null || true
		sed -n 's/^\([^#[:space:]][^[:space:]]*\)[[:space:]].*/\1/p' "$signers" | tr , '\n'
	} | while IFS= read -r person; do
		if said=$(ssh-keygen -Y verify -f "$signers" -I "$person" -n till-release -s SHA256SUMS.sig <SHA256SUMS 2>/dev/null); then
			case $person in
			*[*?]*) person="the key ${said##* }" ;;
			esac
			printf '%s\n' "$person"
			break
		fi
	done
}

person=
if [ -n "$signers" ]; then
	[ -f SHA256SUMS.sig ] || fail "there is no SHA256SUMS.sig in $1: the sums are not signed"
	person=$(signer)
	[ -n "$person" ] || fail "SHA256SUMS.sig is not the signature of SHA256SUMS by a key in $2 that is valid: do not use these files"
fi

if command -v sha256sum >/dev/null; then
	sum() { sha256sum -- "$1"; }
else
	sum() { shasum -a 256 -- "$1"; }
fi
checked=0
for file in * .[!.]* ..?*; do
	[ -e "$file" ] || continue
	case $file in
	SHA256SUMS | SHA256SUMS.sig) continue ;;
	esac
	[ -f "$file" ] || fail "$file is not a file of a release"
	grep -qxF -- "$(sum "$file")" SHA256SUMS || fail "$file is not what was released: do not use it"
	checked=$((checked + 1))
done
[ $checked -gt 0 ] || fail "there is no file of a release in $1"

case $checked in
1) files="1 file" is=is has=has ;;
*) files="$checked files" is=are has=have ;;
esac
if [ -n "$person" ]; then
	echo "$files $is what $person released"
else
	echo "$files $has the right sum; who made the sums is unknown without ALLOWED_SIGNERS"
fi
