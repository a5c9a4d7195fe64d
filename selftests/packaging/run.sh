#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Group packaging: Debian's packages of this tree, in roots with nothing installed, for
# each release: they are made from what their source asks for, lintian has nothing to say,
# and they are installed, used, upgraded, removed and purged. The tests of these are in
# installed.sh, system.sh and boot.sh. Takes some minutes for each release, the first time more:
# part of `make test-full`, or `make test ONLY=packaging`. Writes the cache, where fetched
# packages and what ccache knows stay.
# usage: run.sh [RELEASE...]
# shellcheck disable=SC2154,SC2317 # set by roots.sh; called by check
set -u
here=$(dirname "$(readlink -f "$0")")
# For check and its like; nothing here is a guest.
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
# shellcheck source=qemu-scripts/archive.sh
. "$here/../../qemu-scripts/archive.sh"
# shellcheck source=selftests/packaging/roots.sh
. "$here/roots.sh"
# shellcheck source=selftests/packaging/installed.sh
. "$here/installed.sh"
# shellcheck source=selftests/packaging/system.sh
. "$here/system.sh"
# shellcheck source=selftests/packaging/boot.sh
. "$here/boot.sh"
tree=$(readlink -f "$here/../..")
cache=${PAVO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pavo}/packaging

skip_all()
{
	echo "1..0 # SKIP $*"
	exit 4
}

if [ "$(id -u)" != 0 ]; then
	skip_all "only root makes roots"
elif ! command -v debootstrap >/dev/null; then
	skip_all "no debootstrap; apt-get install debootstrap"
elif ! find_archive >/dev/null 2>&1; then
	skip_all "apt knows no archive of Debian"
fi
# Mounts and processes that are made here end with it.
if [ -z "${PAVO_ROOTS:-}" ]; then
	PAVO_ROOTS=1 exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi
[ $# != 0 ] || set -- bookworm trixie

# --- making them ------------------------------------------------------------------------

version=$(sed -n 's/^PAVO_VERSION := //p' "$tree/Kbuild")
# One more, for an upgrade: nothing but the one line differs.
later=${version%.*}.$((${version##*.} + 1))

# Copies the part of the tree that is kept to /pavo
copy_tree()
{
	mkdir "$root/pavo"
	cd "$tree" || return
	{ git ls-files -z -co --exclude-standard 2>/dev/null ||
		find . \( -path ./build -o -path ./.git \) -prune -o -type f -print0; } |
		tar -c --null --files-from=- | tar -x -C "$root/pavo" --no-same-owner
}

# Installs packages that the source asks for, and no more; ccache takes objects of earlier runs.
prepare_build()
{
	copy_tree
	mkdir -p "$root/source"
	cp -R "$tree/packaging/debian" "$root/source/debian"
	apt update update
	apt build-tools install build-essential ccache
	apt build-dep build-dep /source
}

make_packages()
{
	sed -i "s/^PAVO_VERSION := .*/PAVO_VERSION := $1/" "$root/pavo/Kbuild"
	in_root /pavo/packaging/make-packages "/packages/$1" >"$logs/make-$1" 2>&1 || {
		tail -n 40 "$logs/make-$1"
		return 1
	}
	cp "$packages/$1/build.log" "$logs/build-$1.log"
	[ "$(compgen -G "$packages/$1/*_$1_*.deb" | grep -vc dbgsym)" = 6 ]
}

# The version of the policy is that of Debian 12: a later lintian says so at its levels
# below a warning.
lintian_is_silent()
{
	local levels=
	apt lintian install lintian
	[ "$release" != bookworm ] || levels='--display-info --pedantic'
	# The compiler cuts strings of the library to the length of registers.
	levels+=' --suppress-tags spelling-error-in-binary'
	in_root sh -c "lintian --allow-root --info $levels --tag-display-limit 0 \
		/packages/$version/*.changes" >"$logs/lintian.txt" 2>&1 || :
	if [ -s "$logs/lintian.txt" ]; then
		cat "$logs/lintian.txt"
		return 1
	fi
}

# --- all ---------------------------------------------------------------------------------

# Stops at the first that fails: the next ones need it.
test_release()
{
	check "$release: a root with nothing installed" make_base || return
	open_root build
	check "$release: a root with what the source asks for" prepare_build &&
		check "$release: packages are made" make_packages "$version" &&
		check "$release: lintian has nothing to say" lintian_is_silent
	check "$release: packages of a later version are made" make_packages "$later"
	close_root
	[ -d "$packages/$later" ] || return
	open_root machine
	test_installed
	close_root
}

echo "TAP version 13"
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
# One that was killed left its own.
rm -rf --one-file-system "$cache"/roots.*
all=$(mktemp -d "$cache/roots.XXXXXX")
trap 'rm -rf --one-file-system "$all"' EXIT
for release in "$@"; do
	work=$all/$release
	packages=$work/packages
	logs=${PAVO_LOGS:-${PAVO_BUILD:-$tree/build}/test-logs/packaging}/$release
	rm -rf "$logs"
	mkdir -p "$logs" "$work"
	chmod 755 "$all" "$work"
	test_release
	rm -rf --one-file-system "$work"
done
tap_end
