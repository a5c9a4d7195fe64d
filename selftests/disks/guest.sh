#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest with disks: two adapters on a veth pair, and pavo-disks between them. Started by
# run.sh.
# usage: guest.sh PROGRAM PAVO-TOOL [arguments for PROGRAM...]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
program=$1
export PAVO_TOOL=$2
shift 2

# The device for lessons becomes one that a process drives.
give_to_process()
{
	local folder id
	for folder in /sys/bus/pci/devices/*; do
		read -r id <"$folder/device"
		[ "$id" = 0x11e8 ] || continue
		echo vfio-pci >"$folder/driver_override"
		echo "${folder##*/}" >/sys/bus/pci/drivers_probe
	done
}

modprobe -a nvme virtio_blk dm-mod vfio-pci vivid || exit 1
# Kernels of our own may have none: the test is skipped.
modprobe -q fuse
give_to_process
veth_pair va vb 9000 || exit 1
load_pair va0 vb0 || exit 1
need_part direct
for disk in nvme0n1 nvme1n1 nvme2n1 nvme3n1 vda; do
	wait_for test -b /dev/$disk
done
common=(--dev va0 --peer vb0)
slow_kernel && common+=(--patience 120 --limit 900)
exec "$program" "${common[@]}" "$@"
