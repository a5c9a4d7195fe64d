#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Both nodes of a pair run this: io_unit on one and io_host on the other, on each kind of disk.
# Node 1 prints TAP. Called by run-nodes.sh.
# usage: nodes.sh FOLDER-OF-EXAMPLES
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
examples=$1

io=$here/../window/io-disk

# served NAME NODE DISK: a disk of that node, which the other one writes and reads.
served()
{
	pair_step "io_unit and io_host: $1, disk of node $2" "$2" "cm_listening 3" \
		"$io unit $examples rdma0 $3" "$io host $examples 192.168.77.$2"
}

# all_served NODE DISK DISK DISK DISK: those of that node, by four hosts at once; both nodes have
# hosts, all of whose memory has the same address.
all_served()
{
	local node=$1 address=192.168.77.$1
	shift
	pair_step "io_unit: four disks of node $node, hosts on both nodes" "$node" cm_listening \
		"$io many $examples rdma0 $address $*" "$io hosts $examples $address 0 2"
}

# file_of DISK: makes a file on a file system of the disk.
file_of()
{
	mkfs.ext2 -q "$1" && mkdir -p /run/disk && mount -t ext2 "$1" /run/disk &&
		truncate -s 2M /run/disk/file /run/disk/other
}

[ "$NODE" = 1 ] && echo "TAP version 13"
modprobe -a nvme virtio_blk ext2 || exit 1
load_driver pavo || exit 1
need_part direct
need_part windows
rdma link add rdma0 type pavo netdev eth0 || exit 1
for disk in nvme0n1 nvme1n1 vda; do
	wait_for test -b /dev/$disk
done
wait_for active rdma0
wait_for gid_index rdma0 v4
file_of /dev/nvme1n1 || exit 1
pavo-barrier ready 300 || exit 1
served "an NVMe controller" 1 /dev/nvme0n1
served "a virtio controller" 2 /dev/vda
served "a file on an NVMe disk" 1 /run/disk/file
all_served 1 /dev/nvme0n1 /dev/vda /run/disk/file /run/disk/other
pavo-barrier end 300 || exit 1
[ "$NODE" = 1 ] && tap_end
exit 0
