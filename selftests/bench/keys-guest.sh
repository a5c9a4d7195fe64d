#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: two adapters, then the program that measures keys. Started by
# ./keys. usage: keys-guest.sh PROGRAM regions|walks|cached MOST
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
veth_pair va vb 9000 || exit 1
echo 10000 >/proc/sys/net/core/netdev_max_backlog
echo 1048576 >/proc/sys/vm/max_map_count
load_driver pavo || exit 1
[ -d /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing
rdma link add va0 type pavo netdev va || exit 1
rdma link add vb0 type pavo netdev vb || exit 1
wait_for active va0
wait_for active vb0
"$1" va0 vb0 "$2" "$3" >"$PAVO_OUT/keys.jsonl"
