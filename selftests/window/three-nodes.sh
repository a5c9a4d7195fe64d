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
# shellcheck source=selftests/window/nodes-lib.sh
. "$here/nodes-lib.sh"
examples=$1 programs=$2
clients=$((NODES - 1))

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
	between_nodes "$programs/pavo-nodes" "$1" "$2"
	between "$programs/pavo-nodes" "one link of two goes down$1" "$2" \
		"striped rdma0,rdma1" mv0
	ip link set mv0 up
	usable rdma1
}

two_adapters || exit 1
on_both_wires 1 3
