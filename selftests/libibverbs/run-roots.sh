#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Part "roots" of the group libibverbs: programs of each Debian release over an adapter, with the
# provider that was built with the header of the release: ibv_devices, the pingpongs, and the
# tests of rdma-core by the release's pyverbs where RDMA_CORE_SRC names a clone of rdma-core. One
# guest for all releases; its kernel is that of the group. Packages are fetched and unpacked,
# not installed. Called by selftests/run, or by hand after `make`.
# usage: run-roots.sh [RELEASE...]
# shellcheck disable=SC2317 # called by check
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
tree=$PAVO_TREE
# shellcheck source=selftests/libibverbs/builds.sh
. "$here/builds.sh"
[ $# != 0 ] || set -- bookworm trixie sid

programs=(ibverbs-utils iproute2 libibverbs1 libstdc++6 python3-pyverbs python3 bash coreutils dash mawk)

fetch_root()
{
	set_up_apt "$cache/apt/$1" "$1"
	unpack_root "$cache/apt/$1" "$cache/roots/$1" "${programs[@]}"
}

# The tests of rdma-core of the version that the release has. They are in no package.
fetch_tests()
{
	local version

	version=$(sed -n 's/.*python3-pyverbs_\([0-9.]*\)-.*/\1/p' "$cache/roots/$1/.files")
	rm -rf "${cache:?}/tests/$1"
	mkdir -p "$cache/tests/$1"
	git -C "${RDMA_CORE_SRC:-/nowhere}" archive "v$version" tests 2>/dev/null |
		tar -x -C "$cache/tests/$1" 2>/dev/null ||
		echo "# $release: the tests of its pyverbs are left out: RDMA_CORE_SRC names no clone" \
			"of rdma-core with the tag v$version"
}

begin_builds
for release in "$@"; do
	check_build "$release"
	check "$release: its programs" fetch_root "$release"
	fetch_tests "$release"
done
((tap_failed)) && tap_end
exec "$PAVO_VM" run -q --mem 2G --timeout "$(limit 1200)" -- \
	bash "$here/guest-roots.sh" "$tap_number" "$cache" "$builds" "$(limit 60)" "$@"
