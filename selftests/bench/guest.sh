#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The guest's part of the benchmark: a veth pair whose traffic really crosses
# it, then rounds in which each driver in turn is loaded, measured, unloaded
# (both want UDP port 4791). Run by ./run and ./profile through pavo-vm, as
# root in a guest of its own; results go to $PAVO_OUT.
#
# usage: guest.sh PAVO-BENCH ROUNDS TYPES [pavo-bench options]
#   TYPES  drivers separated by commas; their order turns round every round
# environment: BENCH_SYMBOLS=1 also leaves TYPE.kallsyms
# leaves: environment; ROUND-TYPE.jsonl and TYPE.maps for each measurement; in
#   finished the names of those that came to their end
set -euo pipefail
# shellcheck source=selftests/bench/lib.sh
. "$(dirname "$(readlink -f "$0")")/lib.sh"

bench=$1 rounds=$2
IFS=, read -ra types <<<"$3"
shift 3

measure()
{
	local round=$1 type=$2
	shift 2
	load "$type"
	[ "$round" -gt 1 ] || driver_environment "$type" >>"$PAVO_OUT/environment"
	[ -z "${BENCH_SYMBOLS:-}" ] || cat /proc/kallsyms >"$PAVO_OUT/$type.kallsyms"
	"$bench" --seed "$round" --maps "$PAVO_OUT/$type.maps" "$@" bench0 bench1 \
		>"$PAVO_OUT/$round-$type.jsonl"
	unload "$type"
	echo "$round-$type" >>"$PAVO_OUT/finished"
	echo "round $round: $type, $(wc -l <"$PAVO_OUT/$round-$type.jsonl") rows"
}

wire
environment >"$PAVO_OUT/environment"
for ((round = 1; round <= rounds; round++)); do
	for ((i = 0; i < ${#types[@]}; i++)); do
		measure "$round" "${types[(i + round) % ${#types[@]}]}" "$@"
	done
done
