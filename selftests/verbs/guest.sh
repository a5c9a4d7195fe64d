#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: two devices on a veth pair, then the RC matrix between them, over
# IPv4 all of it, over IPv6 what depends on addresses, and with an Ethernet MTU of
# 1500 what needs a path MTU that is too large. Started by run.sh.
# usage: guest.sh [--wide] TYPE PROGRAM [arguments for PROGRAM...]
# --wide: with the longest messages there are, the most queue pairs (in a native guest a quarter
# as many, and no such messages), and all races with the end of a key
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/lib.sh"
wide=()
if [ "$1" = --wide ]; then
	wide=(--huge --many 16384 --races 200000 --limit 1200)
	# Each mapping of a process is one of the host, of which a process may have 65,530.
	# Memory that is not in one piece takes many.
	[[ $(uname -r) != *-native* ]] || wide=(--many 4096 --races 200000 --limit 1200)
	shift
fi
type=$1 program=$2
shift 2

# shellcheck disable=SC2317  # called by wait_for
active_mtu_is()
{
	[[ $(ibv_devinfo -d "$1") =~ active_mtu:[[:space:]]+$2[[:space:]] ]]
}

# RC does not care for a wire that loses, doubles and reorders, but for the time it takes.
bad_wire()
{
	local side
	for side in va vb; do
		tc qdisc add dev $side root netem limit 10000 delay 1ms 1ms \
			loss 1% duplicate 2% reorder 25% || return 1
	done
}

good_wire()
{
	local side dropped
	for side in va vb; do
		dropped=$(tc -s qdisc show dev $side)
		[[ $dropped =~ dropped\ [1-9] ]] || {
			echo "Bail out! the bad wire of $side lost nothing"
			return 1
		}
		tc qdisc delete dev $side root || return 1
	done
}

# mr.huge_pages wants some
have_huge_pages 8

veth_pair va vb 9000 || exit 1
# No requester sends a UC packet again: the wire may lose none, however slow this is.
echo 10000 >/proc/sys/net/core/netdev_max_backlog
# Both ends of scale.many_qps are in one process, which maps two rings of each.
echo 262144 >/proc/sys/vm/max_map_count
load_driver "$type" || exit 1
rdma link add va0 type "$type" netdev va || exit 1
rdma link add vb0 type "$type" netdev vb || exit 1
wait_for active va0
wait_for active vb0

common=(--dev va0 --peer vb0)
if slow_kernel; then
	common+=(--large $((4 << 20)) --races 5000 --patience 120 --limit 900)
fi
[ "$type" = rxe ] && common+=(--patience 3)

if (($#)); then
	exec "$program" "${common[@]}" "${wide[@]}" "$@"
fi

before=$(packets_of va)
status=0
"$program" "${common[@]}" "${wide[@]}" --gid v4 \
	--skip state.path_mtu_too_large || status=$?
bad_wire || exit 1
# A side that has lost a packet sends no super-packets for a while (net/gso_backoff.h).
"$program" "${common[@]}" --gid v4 --only data. --only sgl. --only atomic. \
	--only order. --only ext_order. --only srq.rc --only srq.interleaved --only rnr.late --skip data.large --skip data.huge \
	--skip sgl.super_packet || status=$?
good_wire || exit 1
"$program" "${common[@]}" --gid v6 --only data. --only sgl. --only atomic. \
	--only rnr.late --only state.query --only remote_access.out_of_bounds \
	--only retry.peer_destroyed --only process.two --only ud. --only mcast. --skip large --skip huge ||
	status=$?

ip link set va mtu 1500
ip link set vb mtu 1500
wait_for active_mtu_is va0 1024
wait_for active_mtu_is vb0 1024
"$program" "${common[@]}" --gid v4 --only state.path_mtu_too_large || status=$?
if (($(packets_of va) - before < 1000)); then
	echo "Bail out! the traffic did not cross the veth pair"
	exit 1
fi
exit $status
