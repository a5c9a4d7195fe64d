#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Both nodes of a pair run this: the examples of libpavo, between two machines, on a wire
# that is good and on one that is not. Node 1 prints TAP. Called by run.sh.
# usage: nodes.sh FOLDER-OF-EXAMPLES
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
examples=$1
load_driver pavo || exit 1
rdma link add rdma0 type pavo netdev eth0 || exit 1
wait_for active rdma0
wait_for gid_index rdma0 v4
# A second adapter, for what goes over several.
modprobe macvlan
ip link add link eth0 name mv0 type macvlan mode bridge &&
	ip addr add "192.168.78.$NODE/24" dev mv0 && ip link set mv0 up &&
	rdma link add rdma1 type pavo netdev mv0 || exit 1
wait_for active rdma1
wait_for gid_index rdma1 v4
slow_kernel && PAIR_LIMIT=300

# each_way NAME PORT PROGRAM [CLIENT-PROGRAM-AND-ARGUMENTS...]
each_way()
{
	local name=$1 port=$2 program=$examples/$3 server
	shift 3
	for server in 1 2; do
		pair_step "$name, node $server waits" "$server" "listening $port" \
			"$program rdma0" \
			"${1:-} $program rdma0 192.168.77.$server ${2:-}"
	done
}

# copied NAME: a file goes over both adapters, and is the same there.
copied()
{
	local file=$PAVO_OUT/file copy=$PAVO_OUT/copy server
	seq 1 300000 >"$file"
	for server in 1 2; do
		pair_step "$1, to node $server" "$server" "listening 7476" \
			"$here/same-copy $examples/striped_copy rdma0,rdma1 $copy $file" \
			"$examples/striped_copy rdma0,rdma1 192.168.77.$server $file"
	done
}

all_of_them()
{
	copied "example striped_copy$1"
	each_way "example put_get$1" 7471 put_get
	each_way "example ping_pong$1" 7472 ping_pong '' "$2"
	each_way "example reduction$1" 7474 reduction
	each_way "example key_value$1" 7473 key_value "$here/key-value"
}

[ "$NODE" = 1 ] && echo "TAP version 13"
pavo-barrier ready 300 || exit 1
all_of_them '' 500
tc qdisc add dev eth0 root netem limit 10000 delay 1ms 1ms loss 5% duplicate 5% \
	reorder 25% || exit 1
pavo-barrier lossy 300 || exit 1
all_of_them ' on a bad wire' 50
pavo-barrier end 300 || exit 1
[ "$NODE" = 1 ] && tap_end
exit 0
