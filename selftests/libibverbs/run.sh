#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Group libibverbs: the provider with the library of each Debian release. It is built with the
# header of a release, its tests run with the library of that release, and the test of the
# layout runs with those of the others that have the same number. Packages are fetched and
# unpacked, not installed. Part of `make test-full`, or `make test ONLY=libibverbs`. Writes
# build/libibverbs, and the cache, where unpacked packages stay.
# usage: run.sh [RELEASE...]
# shellcheck disable=SC2317 # called by check
set -u
here=$(dirname "$(readlink -f "$0")")
tree=$(readlink -f "$here/../..")
# shellcheck source=selftests/libibverbs/builds.sh
. "$here/builds.sh"
[ $# != 0 ] || set -- bookworm trixie sid

# run_with RELEASE BUILT TEST: a test that was built with a release, with the loader and the
# libraries of another one
run_with()
{
	local asan folder=$cache/$1/lib/$arch

	# Debian 12 has its libc in /lib.
	[ -d "$folder" ] || folder=$cache/$1/usr/lib/$arch
	asan=$(dirname "$(readlink -f "$(g++ -print-file-name=libasan.so)")")
	"$folder/$loader" --inhibit-rpath '' \
		--library-path "$folder:$cache/$1/usr/lib/$arch:$asan" "$builds/$2/selftests/provider/provider-$3"
}

# Memory that libibverbs keeps until exit is not the provider's to free.
run_tests()
{
	ASAN_OPTIONS=detect_leaks=0 run_with "$1" "$1" test
}

run_layout()
{
	run_with "$2" "$1" abi-test
}

# The loader of the release says which library lacks which number.
is_refused()
{
	refused run_layout "$1" "$2" >"$builds/refusal" 2>&1
	grep "libibverbs.so.1: version .IBVERBS_PRIVATE_${number[$1]}. not found" "$builds/refusal"
}

get_libc()
{
	zcat "$1/usr/share/doc/libc6/changelog.Debian.gz" | sed -n '1s/.*(\([0-9.]*\).*/\1/p'
}

# A program runs with a libc that is not older than the one that it was linked with.
has_our_libc()
{
	dpkg --compare-versions "$(get_libc "$cache/$1")" ge \
		"$(ldd --version | sed -n '1s/.* //p')"
}

loader=$(ldd "$(command -v bash)" | sed -n 's/^[[:space:]]*\/[^ ]*\/\(ld-linux[^ ]*\).*/\1/p')
begin_builds
for release in "$@"; do
	check_build "$release"
done
for release in "$@"; do
	if ! has_our_libc "$release"; then
		tap_skip "$release: what is built here runs there" "its libc is older"
		continue
	fi
	check "$release: the tests of the provider, number ${number[$release]}" \
		run_tests "$release"
	for built in "$@"; do
		if [ "${number[$built]}" = "${number[$release]}" ]; then
			check "$release: the structures of a provider built with $built" \
				run_layout "$built" "$release"
		else
			check "$release: no provider built with $built" \
				is_refused "$built" "$release"
		fi
	done
done
tap_end
