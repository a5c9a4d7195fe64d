#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: messages between two adapters of this machine, and between two queue pairs of one,
# while the module records its calls. Started by packet_path.py.
# leaves: NAME.calls, in $PAVO_OUT
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../../verbs/lib.sh"
out=$PAVO_OUT
calls=/sys/kernel/debug/pavo_calls
port=18515

# messages NAME ADAPTER BYTES [OPTION...]: a hundred of them, each followed by one back
messages()
{
	local name=$1 adapter=$2 size=$3 server
	shift 3
	port=$((port + 1))
	ibv_rc_pingpong -d va0 -g "$gid" -p $port -s "$size" -n 100 "$@" >/dev/null &
	server=$!
	sleep 0.3
	echo 1 >$calls
	ibv_rc_pingpong -d "$adapter" -g "$gid" -p $port -s "$size" -n 100 "$@" localhost >/dev/null
	wait $server || return 1
	cat $calls >"$out/$name.calls"
}

# gid_of ADAPTER: index of its GID of IPv4 and RoCEv2
gid_of()
{
	local i gid
	for i in 0 1 2 3 4 5 6 7; do
		gid=/sys/class/infiniband/$1/ports/1/gids/$i
		if grep -q ':ffff:0a09:' "$gid" &&
			grep -q v2 "/sys/class/infiniband/$1/ports/1/gid_attrs/types/$i"; then
			echo $i
			return
		fi
	done
}

veth_pair va vb 9000 || exit 1
ip link set lo up
load_driver pavo || exit 1
rdma link add va0 type pavo netdev va || exit 1
rdma link add vb0 type pavo netdev vb || exit 1
wait_for active va0
wait_for active vb0
gid=$(gid_of va0)
parameter=/sys/module/pavo/parameters/deferred_icrc
messages same-host-64 vb0 64 -m 4096 || exit 1
messages same-host-64K vb0 65536 -m 4096 || exit 1
echo N >$parameter
messages wire-64 vb0 64 -m 4096 || exit 1
messages wire-4K vb0 4096 -m 4096 || exit 1
echo Y >$parameter
messages loopback-64 va0 64 -m 4096 || exit 1
