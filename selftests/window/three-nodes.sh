#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# All nodes of a cluster run this: one serves, the others come to it at the same time, on
# a wire that is good and on one that is not. Node 1 prints TAP. Called by run.sh.
# usage: three-nodes.sh FOLDER-OF-EXAMPLES FOLDER-OF-TEST-PROGRAMS
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
examples=$1 programs=$2
clients=$((NODES - 1))
load_driver pavo || exit 1
rdma link add rdma0 type pavo netdev eth0 || exit 1
wait_for active rdma0
wait_for gid_index rdma0 v4
slow_kernel && PAIR_LIMIT=300

# all_of_them WHERE NODE: that node serves.
all_of_them()
{
	local address=192.168.77.$2
	pair_step "a store of $clients clients$1, node $2 serves" "$2" \
		"listening 7473" "$examples/key_value rdma0 --clients $clients" \
		"$here/key-value $examples/key_value rdma0 $address node$NODE"
	pair_step "a reduction over all nodes$1, node $2 folds" "$2" \
		"listening 7474" "$examples/reduction rdma0 --senders $clients" \
		"$examples/reduction rdma0 $address"
	pair_step "one buffer, parts of $clients nodes$1, of node $2" "$2" \
		"listening 7479" "$programs/pavo-halves rdma0 $clients" \
		"$programs/pavo-halves rdma0 $address"
}

[ "$NODE" = 1 ] && echo "TAP version 13"
pavo-barrier ready 300 || exit 1
all_of_them '' 1
tc qdisc add dev eth0 root netem limit 10000 delay 1ms 1ms loss 5% duplicate 5% \
	reorder 25% || exit 1
pavo-barrier lossy 300 || exit 1
all_of_them ' on a bad wire' 3
pavo-barrier end 300 || exit 1
[ "$NODE" = 1 ] && tap_end
exit 0
