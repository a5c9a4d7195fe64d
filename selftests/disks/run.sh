#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The disks group: direct windows with controllers of disks, which read and write memory
# themselves, and regions of memory in a controller; one emulated guest. Called by
# selftests/run (which sets PAVO_*), or by hand after `make`.
# usage: run.sh [arguments for pavo-disks...]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/disks/host-disks.sh
. "$here/host-disks.sh"

add_disks
# One transfer a second: the next one is late.
add_disk pavo-late nvme throttling.iops-total=1
# Its controller has memory that processes map, where the kernel lets them.
add_disk pavo-cmb nvme,cmb_size_mb=16
# Behind an IOMMU; edu is a device that a process can drive.
add_arguments -machine kernel-irqchip=split -device intel-iommu -device edu
exec "$PAVO_VM" run -q --mem 1G --append intel_iommu=on --timeout "$(limit 240)" \
	"${arguments[@]}" -- \
	bash "$here/guest.sh" "$PAVO_BUILD/selftests/disks/pavo-disks" \
	"$PAVO_BUILD/userspace/tools/pavo/pavo" "$@"
