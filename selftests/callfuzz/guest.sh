#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: the witness's adapters on a veth pair, then pavo-callfuzz, which makes the
# rest. Started by run.sh; the guest's console is judged by pavo-vm.
# usage: guest.sh PROGRAM [arguments for PROGRAM...]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
program=$1
shift

modprobe -aq fuse udmabuf sch_ingress cls_matchall cls_u32 act_mirred act_pedit act_csum geneve
veth_pair wa wb 9000 || exit 1
load_driver pavo || exit 1
rdma link add wa0 type pavo netdev wa || exit 1
rdma link add wb0 type pavo netdev wb || exit 1
wait_for active wa0
wait_for active wb0
chmod a+rw /dev/udmabuf 2>/dev/null
echo 1 >/proc/sys/vm/unprivileged_userfaultfd 2>/dev/null
# Failures of allocations that may sleep, too, and no stack of each on the console.
for of in failslab fail_page_alloc fail_usercopy; do
	[ -d /sys/kernel/debug/$of ] || continue
	echo 0 >/sys/kernel/debug/$of/verbose
	for file in ignore-gfp-wait ignore-gfp-highmem; do
		[ ! -e /sys/kernel/debug/$of/$file ] ||
			echo 0 >/sys/kernel/debug/$of/$file
	done
done

mkdir -p "$PAVO_OUT/kept"
common=(--world "$here/world.sh" --out "$PAVO_OUT" --save "$PAVO_OUT/kept")
# Where checkers run, or the machine is emulated, a whole transfer is slow.
if slow_kernel; then
	common+=(--patience 120)
else
	common+=(--starve-ms 1000)
fi
[ "$(nproc)" = 1 ] || common+=(--call-ms 100)
exec "$program" "${common[@]}" "$@"
