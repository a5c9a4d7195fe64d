#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: programs of unpacked releases over an adapter that speaks with itself. Started by
# run-roots.sh; leaves the results of pyverbs as RELEASE.jsonl in $PAVO_OUT.
# usage: guest-roots.sh TESTS-SO-FAR CACHE BUILDS SECONDS-PER-TEST RELEASE...
# shellcheck disable=SC2317 # called by check
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
tap_number=$1 cache=$2 builds=$3 seconds=$4
shift 4

# Some tests of rdma-core want pages of 2 MiB.
have_huge_pages 64
self_wire ra rb || exit 1
load_driver pavo || exit 1
rdma link add rd-rdma type pavo netdev ra || exit 1
wait_for active rd-rdma
wait_for gid_index rd-rdma v4
gid=$(gid_index rd-rdma v4)

# enter RELEASE: mounts what programs of the release need; /tmp has the tree's and the tests' files
enter()
{
	local folder
	root=$cache/roots/$1
	for folder in /proc /dev /sys; do
		mount --rbind "$folder" "$root$folder"
	done
	mount -t tmpfs tmpfs "$root/tmp"
	mkdir "$root"/tmp/{provider,tests,pyverbs,out}
	mount --bind "$builds/$1/userspace/provider" "$root/tmp/provider"
	mount --bind "$cache/tests/$1" "$root/tmp/tests"
	mount --bind "$here/../pyverbs" "$root/tmp/pyverbs"
	mount --bind "$PAVO_OUT" "$root/tmp/out"
}

in_release()
{
	env -i PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8 IBV_DRIVERS=/tmp/provider/libpavo \
		chroot "$root" "$@"
}

find_device()
{
	in_release ibv_devices | grep -w rd-rdma
	in_release ibv_devinfo -d rd-rdma | grep -w PORT_ACTIVE
}

# Both ends are checked byte by byte (-c), where the program can.
play_pingpong()
{
	local kind=$1 args=(-d rd-rdma -g "$gid" -n 200) server
	shift
	in_release "ibv_${kind}_pingpong" "${args[@]}" "$@" >"$PAVO_OUT/server" 2>&1 &
	server=$!
	until_true 30 listening 18515
	in_release "ibv_${kind}_pingpong" "${args[@]}" "$@" 127.0.0.1 ||
		{ cat "$PAVO_OUT/server"; kill "$server"; return 1; }
	wait "$server"
	# Not before all sockets of this one are gone.
	until_true 30 refused listening 18515
}

run_pyverbs()
{
	in_release python3 /tmp/pyverbs/suite.py /tmp/tests "/tmp/out/$1.jsonl" rd-rdma "$gid" \
		"$seconds" >"$PAVO_OUT/$1.log" 2>&1
	python3 "$here/judge.py" "$PAVO_OUT/$1.jsonl"
}

for release in "$@"; do
	check "$release: its programs see the adapter's kernel" enter "$release"
	root=$cache/roots/$release
	check "$release: ibv_devices and ibv_devinfo show the adapter" find_device
	for kind in rc uc ud srq; do
		check "$release: ibv_${kind}_pingpong, each byte checked" play_pingpong "$kind" -c
	done
	check "$release: ibv_xsrq_pingpong" play_pingpong xsrq
	[ -e "$root/tmp/tests/tests" ] || continue
	check "$release: the tests of rdma-core by its pyverbs" run_pyverbs "$release"
	python3 "$here/judge.py" --skipped "$PAVO_OUT/$release.jsonl" | sed 's/^/# /'
done
tap_end
