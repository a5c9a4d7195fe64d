#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The guest's part of ./direct: two adapters of pavo on one wire, an NVMe disk of QEMU at one end,
# and rounds in which each way from the disk to the other end is measured in turn. Run through
# pavo-vm, as root in a guest of its own; results go to $PAVO_OUT.
#
# usage: direct-guest.sh PAVO-BENCH ROUNDS WAYS WIRES [pavo-bench-direct options]
#   WAYS   of direct,double,region,nvmet,disk,link; their order turns round every round
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

program=${1%/*}/pavo-bench-direct rounds=$2
IFS=, read -ra ways <<<"$3"
IFS=, read -ra wires <<<"$4"
shift 4
disk=/dev/nvme0n1

# fabric_disk: the block device that the host of NVMe over fabrics has.
fabric_disk()
{
	local about name
	for about in /sys/block/nvme[0-9]n1/device/subsysnqn; do
		name=${about#/sys/block/}
		[ "$(<"$about")" != "$nqn" ] || echo "/dev/${name%%/*}"
	done
}

has_fabric_disk()
{
	[ -b "$(fabric_disk)" ]
}

lacks_fabric_disk()
{
	! has_fabric_disk
}

# run ROUND WAY DISK OPTIONS...: on each wire
run()
{
	local round=$1 way=$2 from=$3 wire
	shift 3
	for wire in "${wires[@]}"; do
		[ "$wire" != cut ] || segmentation off
		"$program" --seed "$round" --wire "$wire" --maps "$PAVO_OUT/$way.maps" "$@" \
			"$way" "$from" bench0 bench1 >>"$PAVO_OUT/$round-$way.jsonl"
		segmentation on
	done
}

measure()
{
	local round=$1 way=$2
	if [ "$way" = nvmet ]; then
		nvme_connect 10.9.0.2 --host-traddr=10.9.0.1 --nr-io-queues=1
		wait_for has_fabric_disk
		run "$round" "$way" "$(fabric_disk)" "${@:3}"
		nvme disconnect -n "$nqn" >&2
		wait_for lacks_fabric_disk
	else
		run "$round" "$way" "$disk" "${@:3}"
	fi
	echo "$round-$way" >>"$PAVO_OUT/finished"
	echo "round $round of $rounds: $way"
}

# Until the kernel has seeded its generator every random number is dear, which is so on no machine
# that has run for a while.
head -c 1 /dev/random >/dev/null
wire
load pavo
wait_for active bench0
wait_for active bench1
modprobe -a nvme nvme-rdma
wait_for test -b "$disk"
nvmet_gives "$disk" 10.9.0.2
environment >"$PAVO_OUT/environment"
driver_environment pavo >>"$PAVO_OUT/environment"
echo "nvme_register_always=$(</sys/module/nvme_rdma/parameters/register_always)" \
	>>"$PAVO_OUT/environment"
cat /proc/kallsyms >"$PAVO_OUT/pavo.kallsyms"
for ((round = 1; round <= rounds; round++)); do
	"$program" --seed "$round" fill "$disk"
	for ((i = 0; i < ${#ways[@]}; i++)); do
		measure "$round" "${ways[(i + round) % ${#ways[@]}]}" "$@"
	done
done
nvmet_ends
