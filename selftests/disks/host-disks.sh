# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The common part of run.sh and run-nodes.sh, on the host: arguments of pavo-vm that give a
# guest disks with controllers of their own, in the array `arguments`. Sourced.
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

# A disk is an empty file. QEMU keeps bytes that a guest writes in a file beside it, which ends
# with QEMU (snapshot=on), so that guests may share the empty one.
image=$PAVO_BUILD/selftests/disks/empty.raw
mkdir -p "${image%/*}"
export TMPDIR=${image%/*}
truncate -s 16M "$image" || exit 1

if [[ ${PAVO_KERNEL:-} == native* ]]; then
	echo "1..0 # SKIP a native guest has no controllers"
	exit 4
fi
arguments=()

# add_arguments ARGUMENT-OF-QEMU...
add_arguments()
{
	arguments+=("${@/#/--qemu-arg=}")
}

# add_disk SERIAL CONTROLLER [OPTION-OF-DRIVE]
add_disk()
{
	add_arguments \
		-drive "if=none,id=$1,file=$image,format=raw,snapshot=on${3:+,$3}" \
		-device "$2,drive=$1,serial=$1"
}

# Those of all guests. block.h and nodes.sh know their serial numbers.
add_disks()
{
	add_disk pavo-nvme-a nvme
	add_disk pavo-nvme-b nvme
	add_disk pavo-virtio virtio-blk-pci
}
