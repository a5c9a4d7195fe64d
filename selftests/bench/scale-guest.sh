#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: two adapters, then what ./scale measures. Rows go to $PAVO_OUT/scale.jsonl.
# usage: scale-guest.sh FOLDER-OF-PROGRAMS crowd MOST | cpus ROUNDS
set -euo pipefail
# shellcheck source=selftests/bench/lib.sh
. "$(dirname "$(readlink -f "$0")")/lib.sh"
programs=$1 what=$2 count=$3 rows=$PAVO_OUT/scale.jsonl

# stream PROCESS PROCESSES ROUND SIZE SCALE: the writes of one process, on its CPU
stream()
{
	taskset -c "$1" "$programs/pavo-bench" --wait polling --ops write --tests rate \
		--sizes "$4" --scale "$5" --seed "$3" bench0 bench1 |
		sed "s/^{/{\"what\": \"cpus\", \"process\": $1, \"processes\": $2, \"round\": $3, /"
}

# Alone on the first CPU, alone on the second, then both.
cpus()
{
	local round size scale first
	for ((round = 1; round <= count; round++)); do
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
		done
		echo "round $round of $count" >&2
	done
}

# Each queue pair maps its rings.
sysctl -qw vm.max_map_count=1048576
wire
environment >"$PAVO_OUT/environment"
load pavo
if [ "$what" = crowd ]; then
	"$programs/pavo-bench-scale" bench0 bench1 "$count" >"$rows"
else
	cpus >"$rows"
fi
unload pavo
