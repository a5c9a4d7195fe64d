#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# All nodes of a cluster run this: node 1 sends to a group that all others but the last one are in,
# on a wire that is good and on one that is not. Node 1 prints TAP. Called by run-four.sh.
# usage: four-nodes.sh FOLDER-OF-TEST-PROGRAMS FOLDER-OF-PAVO-COPY
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
# shellcheck source=selftests/window/nodes-lib.sh
. "$here/nodes-lib.sh"
programs=$1 copy=$2/pavo-copy

# all_of_them WHERE NODE
# shellcheck disable=SC2317  # called by on_both_wires
all_of_them()
{
	between "$programs/pavo-nodes" "RDMA to a group$1" "$2" "broadcast rdma0"
	[ -n "$1" ] || between "$programs/pavo-nodes" "what one node of a group missed" "$2" \
		"broadcast-missed rdma0"
	between "$programs/pavo-nodes" "RDMA to a group over two adapters$1" "$2" \
		"broadcast-striped rdma0,rdma1" mv0
	ip link set mv0 up
	usable rdma1
	# Some chunks, the last one not whole: each slot is used several times.
	seq 1 200000 >"$PAVO_OUT/many"
	pair_step "pavo-copy of a file to three machines$1" "$2" "listening 7475" \
		"$here/copy-of-many $copy send $PAVO_OUT/many 3" \
		"$here/copy-of-many $copy receive $PAVO_OUT/many rdma0 192.168.77.$2"
}

two_adapters || exit 1
on_both_wires 1 1
