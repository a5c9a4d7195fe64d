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
# shellcheck source=selftests/paths/topology.sh
. "$here/../../paths/topology.sh"
out=$PAVO_OUT
calls=/sys/kernel/debug/pavo_calls
port=18515

# listening PORT: a server waits for its client
listening()
{
	grep -q ":$(printf %04X "$1") .* 0A " /proc/net/tcp /proc/net/tcp6
}

# messages NAME ADAPTER BYTES [OPTION...]: a hundred of them, each followed by one back
messages()
{
	local name=$1 adapter=$2 size=$3 server
	shift 3
	port=$((port + 1))
	ibv_rc_pingpong -d a0 -g "$gid" -p $port -s "$size" -n 100 "$@" >/dev/null &
	server=$!
	wait_for listening $port
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
		if grep -q ':ffff:0a09:' "$gid" 2>/dev/null &&
			grep -q v2 "/sys/class/infiniband/$1/ports/1/gid_attrs/types/$i"; then
			echo $i
			return
		fi
	done
	return 1
}

load_driver pavo || exit 1
settle && begin && wire && adapters || exit 1
ip link set lo up
gid=$(gid_of a0) || exit 1
same_host()
{
	messages same-host-64 b0 64 -m 4096 && messages same-host-64K b0 65536 -m 4096 &&
		messages loopback-64 a0 64 -m 4096
}
# As on a wire: every packet has its ICRC, and pages are attached as if the interface were hardware.
on_wire()
{
	echo N >$parameters/deferred_icrc
	echo Y >$parameters/trust_namespaces
	messages wire-64 b0 64 -m 4096 && messages wire-4K b0 4096 -m 4096
}
same_host && on_wire || exit 1
