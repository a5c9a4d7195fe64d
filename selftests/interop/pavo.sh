#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Both nodes run this: node 2 serves the passive end, which is also the one that is attacked;
# node 1 has the other one and the forger, and prints TAP. Started by run-pavo.sh.
# usage: pavo.sh PAVO-VERBS
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
load_driver pavo || exit 1
rdma link add rdma0 type pavo netdev eth0 || exit 1
wait_for active rdma0
wait_for gid_index rdma0 v4
if [ "$NODE" = 2 ]; then
	"$1" --dev rdma0 --gid v4 --server --once &
	wait_for listening 18515
	pavo-barrier serving 150 || exit 1
	wait
else
	pavo-barrier serving 150 || exit 1
	"$1" --dev rdma0 --gid v4 --connect 192.168.77.2 --patience 30 \
		--only blind. --only ext_order. --only direct.nodes_
fi
