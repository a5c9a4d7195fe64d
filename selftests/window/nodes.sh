#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Both nodes of a pair run this: libpavo and its examples, between two machines, on a wire
# that is good and on one that is not. Node 1 prints TAP. Called by run.sh.
# usage: nodes.sh all|examples|few FOLDER-OF-EXAMPLES FOLDER-OF-TEST-PROGRAMS
#   few: a part of all that goes over a good wire
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
# shellcheck source=selftests/window/nodes-lib.sh
. "$here/nodes-lib.sh"
part=$1 examples=$2 programs=$3

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

# disk_served NAME: a disk of each node, written and read by the other one.
disk_served()
{
	local server
	if ! has_part direct; then
		[ "$NODE" != 1 ] || tap_skip "$1" "the module was built without direct windows"
		return
	fi
	for server in 1 2; do
		pair_step "$1, disk of node $server" "$server" "cm_listening 3" \
			"$here/io-disk unit $examples rdma0" \
			"$here/io-disk host $examples 192.168.77.$server"
	done
	pair_step "$1, four disks of node 1, hosts on both nodes" 1 cm_listening \
		"$here/io-disk many $examples rdma0 192.168.77.1" \
		"$here/io-disk hosts $examples 192.168.77.1 0 2"
}

# all_of_them WHERE "SERVER ROUNDS": which node serves the tests of nodes-lib.sh, and how
# often a ball goes there and back.
all_of_them()
{
	examples_of_all "$1" "${2#* }"
	[ "$part" = all ] || return 0
	between_nodes "$programs/pavo-nodes" "$1" "${2% *}"
	striped_nodes "$programs/pavo-nodes" "$1" "${2% *}"
}

examples_of_all()
{
	copied "example striped_copy$1"
	each_way "example put_get$1" 7471 put_get
	each_way "example ping_pong$1" 7472 ping_pong '' "$2"
	each_way "example reduction$1" 7474 reduction
	each_way "example shared_lock$1" 7477 shared_lock '' 50
	each_way "example key_value$1" 7473 key_value "$here/key-value"
	disk_served "examples io_unit and io_host$1"
}

# shellcheck disable=SC2317  # called by on_a_good_wire
# few_of_them: what is enough to see a distribution's kernel carry all kinds of them
few_of_them()
{
	copied "example striped_copy"
	between "$programs/pavo-nodes" "messages of all lengths" 1 "messages rdma0"
	between "$programs/pavo-nodes" "events of messages" 1 "events rdma0"
	between "$programs/pavo-nodes" "RDMA, memory and FIFOs" 1 "rdma rdma0"
	between "$programs/pavo-nodes" "recoveries in the middle of RDMA" 1 "recovery rdma0"
	striped_nodes "$programs/pavo-nodes" '' 1
}

two_adapters || exit 1
if [ "$part" = few ]; then
	on_a_good_wire few_of_them
else
	on_both_wires "1 500" "2 50"
fi
