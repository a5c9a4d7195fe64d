#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# All nodes of a cluster run this: one serves, the others come to it at the same time, on
# a bad wire, and with --wide all of it on a good one before. Node 1 prints TAP. Called by run-three.sh.
# usage: three-nodes.sh [--wide] FOLDER-OF-EXAMPLES FOLDER-OF-TEST-PROGRAMS
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
# shellcheck source=selftests/window/nodes-lib.sh
. "$here/nodes-lib.sh"
wide=
if [ "$1" = --wide ]; then
	wide=1
	shift
fi
examples=$1 programs=$2
clients=$((NODES - 1))

# round_trip NAME PORT PROGRAM [ARGUMENT]: an example of two programs; each node waits once,
# and the next one comes to it.
round_trip()
{
	local server client
	for server in 1 2 3; do
		client=true
		[ "$NODE" != $((server % NODES + 1)) ] ||
			client="$examples/$3 rdma0 192.168.77.$server ${4:-}"
		pair_step "$1, node $server waits" "$server" "listening $2" \
			"$examples/$3 rdma0" "$client"
	done
}

# all_of_them WHERE "NODE ROUNDS": which node serves, and how often a ball goes there and back.
all_of_them()
{
	local node=${2% *} rounds=${2#* }
	local address=192.168.77.$node
	# In a plain run a good wire is for what a bad one cannot show.
	if [ -z "$1$wide" ]; then
		rounds_between "$programs/pavo-nodes" "$node"
		return
	fi
	round_trip "example put_get$1" 7471 put_get
	round_trip "example ping_pong$1" 7472 ping_pong "$rounds"
	pair_step "a store of $clients clients$1, node $node serves" "$node" \
		"listening 7473" "$examples/key_value rdma0 --clients $clients" \
		"$here/key-value $examples/key_value rdma0 $address node$NODE"
	pair_step "a reduction over all nodes$1, node $node folds" "$node" \
		"listening 7474" "$examples/reduction rdma0 --senders $clients" \
		"$examples/reduction rdma0 $address"
	pair_step "pages of $clients workers$1, node $node manages their locks" "$node" \
		"listening 7481" "$examples/lock_manager rdma0 $clients" \
		"$examples/lock_manager rdma0 $address $rounds"
	pair_step "all-reduce and barrier over all nodes$1, node $node begins" "$node" \
		"listening 7482" "$examples/all_reduce rdma0 --others $clients" \
		"$examples/all_reduce rdma0 $address"
	pair_step "one buffer, parts of $clients nodes$1, of node $node" "$node" \
		"listening 7479" "$programs/pavo-halves rdma0 $clients" \
		"$programs/pavo-halves rdma0 $address"
	between_nodes "$programs/pavo-nodes" "$1" "$node"
	striped_nodes "$programs/pavo-nodes" "$1" "$node"
}

two_adapters || exit 1
on_both_wires "1 500" "3 50"
