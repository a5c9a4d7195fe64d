#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: a device on a veth pair, the module that uses it, and its results
# from the kernel's log. Then the driver that imports dma-bufs, and the tests of direct windows that
# need it. Started by run.
# usage: guest.sh TYPE FOLDER-OF-MODULES PAVO-VERBS
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
type=$1 modules=$2 program=$3

veth_pair va vb 9000 || exit 1
load_driver "$type" || exit 1
rdma link add va0 type "$type" netdev va || exit 1
wait_for active va0
echo 'TAP version 13'
insmod "$modules/pavo_kverbs.ko" dev=va0
status=$?
dmesg | sed -n 's/.*kverbs: //p'
[ "$type" = pavo ] || exit $status

insmod "$modules/pavo_importer.ko" || exit 1
rdma link add vb0 type "$type" netdev vb || exit 1
wait_for active vb0
common=(--dev va0 --peer vb0)
slow_kernel && common+=(--patience 120 --limit 900)
"$program" "${common[@]}" --only direct.driver_ || status=$?
exit $status
