#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: two adapters, then what ./many measures. Rows go to $PAVO_OUT/rows.jsonl.
# usage: many-guest.sh PROGRAMS crowd|regions|walks|cached MOST | cpus ROUNDS
set -euo pipefail
# shellcheck source=selftests/bench/lib.sh
. "$(dirname "$(readlink -f "$0")")/lib.sh"
programs=$1 what=$2 count=$3

# stream PROCESS PROCESSES ROUND SIZE SCALE: the writes of one process, on its CPU
stream()
{
	taskset -c "$1" "$programs/pavo-bench" --wait polling --ops write --tests rate \
		--sizes "$4" --scale "$5" --seed "$3" bench0 bench1 |
		sed "s/^{/{\"what\": \"cpus\", \"process\": $1, \"processes\": $2, \"round\": $3, /"
}

# Alone on the first CPU, alone on the second, then both.
measure()
{
	local round=$1 size scale first
	for size in 64 65536; do
		scale=1600
		((size == 64)) || scale=700
		stream 0 1 "$round" "$size" "$scale"
		stream 1 1 "$round" "$size" "$scale"
		stream 0 2 "$round" "$size" "$scale" >"$PAVO_OUT/first" &
		first=$!
		stream 1 2 "$round" "$size" "$scale"
		wait "$first"
		cat "$PAVO_OUT/first"
	done >>"$PAVO_OUT/rows.jsonl"
}

# Each queue pair maps its rings.
sysctl -qw vm.max_map_count=1048576
echo 10000 >/proc/sys/net/core/netdev_max_backlog
[ -d /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing
wire
environment >"$PAVO_OUT/environment"
load pavo
if [ "$what" = cpus ]; then
	in_turn "$count" cpus
else
	"$programs/pavo-bench-many" bench0 bench1 "$what" "$count" >"$PAVO_OUT/rows.jsonl"
fi
unload pavo
