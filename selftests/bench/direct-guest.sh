#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The guest's part of ./direct: two adapters of pavo on one wire, an NVMe disk of QEMU at one end (in
# a native guest one that is memory), and rounds in which each way from the disk to the other end is measured in turn. Run through
# pavo-vm, as root in a guest of its own; results go to $PAVO_OUT.
#
# usage: direct-guest.sh PROGRAMS ROUNDS WAYS WIRES [pavo-bench-direct options]
#   WAYS   of direct,io,region,uring,double,nvmet,disk,link; their order turns round every round
#   WIRES  of near,cut: same-host peers, and interfaces that do not segment tunnels
# leaves: environment; ROUND-WAY.jsonl and WAY.maps for each measurement; pavo.kallsyms; in
#   finished the names of those that came to their end
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/bench/lib.sh
. "$here/lib.sh"
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
# shellcheck source=selftests/apps/storage/target.sh
. "$here/../apps/storage/target.sh"

# memory_disk: a block device on a file of tmpfs
memory_disk()
{
	modprobe -q loop || true
	mkdir -p /run/memory
	mount -t tmpfs none /run/memory
	truncate -s 16M /run/memory/disk
	losetup --find --show /run/memory/disk
}

program=$1/pavo-bench-direct rounds=$2
IFS=, read -ra ways <<<"$3"
IFS=, read -ra wires <<<"$4"
options=("${@:5}")
disk=/dev/nvme0n1
case $(uname -r) in
*native*) disk=$(memory_disk) ;;
esac

# fabric_disk: the block device that the host of NVMe over fabrics has.
fabric_disk()
{
	local about name
	for about in /sys/block/nvme[0-9]n1/device/subsysnqn; do
		name=${about#/sys/block/}
		[ "$(<"$about")" != "$nqn" ] || echo "/dev/${name%%/*}"
	done
}

lacks_fabric_disk()
{
	[ ! -b "$(fabric_disk)" ]
}

# run ROUND WAY DISK: on each wire
run()
{
	local wire
	for wire in "${wires[@]}"; do
		[ "$wire" != cut ] || segmentation off
		"$program" --seed "$1" --wire "$wire" --maps "$PAVO_OUT/$2.maps" "${options[@]}" \
			"$2" "$3" bench0 bench1 >>"$PAVO_OUT/$1-$2.jsonl"
		segmentation on
	done
}

# The disk of the round has a pattern of its own, by the first of the ways.
filled=
measure()
{
	[ "$filled" = "$1" ] || "$program" --seed "$1" fill "$disk"
	filled=$1
	if [ "$2" != nvmet ]; then
		run "$1" "$2" "$disk"
		return
	fi
	nvme_connect 10.9.0.2 --host-traddr=10.9.0.1 --nr-io-queues=1
	wait_for refused lacks_fabric_disk
	run "$1" "$2" "$(fabric_disk)"
	nvme disconnect -n "$nqn" >&2
	wait_for lacks_fabric_disk
}

# Until the kernel has seeded its generator every random number is dear, which is so on no machine
# that has run for a while.
head -c 1 /dev/random >/dev/null
wire
load pavo
wait_for active bench0
wait_for active bench1
if [ "$disk" = /dev/nvme0n1 ]; then
	modprobe -a nvme nvme-rdma
	wait_for test -b "$disk"
	nvmet_gives "$disk" 10.9.0.2
fi
environment >"$PAVO_OUT/environment"
driver_environment pavo >>"$PAVO_OUT/environment"
[ "$disk" != /dev/nvme0n1 ] ||
	echo "nvme_register_always=$(</sys/module/nvme_rdma/parameters/register_always)" \
		>>"$PAVO_OUT/environment"
cat /proc/kallsyms >"$PAVO_OUT/pavo.kallsyms"
in_turn "$rounds" "${ways[@]}"
[ "$disk" != /dev/nvme0n1 ] || nvmet_ends
