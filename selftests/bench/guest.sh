#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The guest's part of the benchmark: a veth pair whose traffic really crosses
# it, then rounds in which each driver in turn is loaded, measured, unloaded
# (both want UDP port 4791). Run by ./run and ./profile through pavo-vm, as
# root in a guest of its own; results go to $PAVO_OUT.
#
# usage: guest.sh PROGRAMS ROUNDS TYPES [pavo-bench options]
#   TYPES  drivers separated by commas; their order turns round every round
# environment: BENCH_SYMBOLS=1 also leaves TYPE.kallsyms
# leaves: environment; ROUND-TYPE.jsonl and TYPE.maps for each measurement; in
#   finished the names of those that came to their end
set -euo pipefail
# shellcheck source=selftests/bench/lib.sh
. "$(dirname "$(readlink -f "$0")")/lib.sh"
programs=$1 rounds=$2
IFS=, read -ra types <<<"$3"
options=("${@:4}")

measure()
{
	load_measured "$1" "$2"
	"$programs/pavo-bench" --seed "$1" --maps "$PAVO_OUT/$2.maps" "${options[@]}" bench0 bench1 \
		>"$PAVO_OUT/$1-$2.jsonl"
	unload "$2"
}

wire
environment >"$PAVO_OUT/environment"
in_turn "$rounds" "${types[@]}"
