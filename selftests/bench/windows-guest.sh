#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The guest's part of ./windows: on one wire and in alternating rounds windows, queue pairs
# of pavo, and of rdma_rxe; each also over a wire that delays packets, and over one that sends
# a quarter of them at once, past those that wait. At last what windows cost that do nothing.
# Run through pavo-vm, as root in a guest of its own; results go to $PAVO_OUT.
#
# usage: windows-guest.sh PROGRAMS ROUNDS CONTESTANTS MOST-IDLE WAIT
#   CONTESTANTS  of windows,pavo,rxe,rxe-ud; their order turns round every round
# leaves: environment; ROUND-CONTESTANT.jsonl, and ROUND-CONTESTANT.level.jsonl and
#   .reordered.jsonl, and what the wire did in .level.wire.jsonl and .reordered.wire.jsonl;
#   idle.jsonl; in finished the names of those that came to their end
set -euo pipefail
# shellcheck source=selftests/bench/lib.sh
. "$(dirname "$(readlink -f "$0")")/lib.sh"

programs=$1 rounds=$2 idle=$4 wait=$5
IFS=, read -ra contestants <<<"$3"

# Driver and service of each contestant.
declare -A driver_of=([windows]=pavo [pavo]=pavo [rxe]=rxe [rxe-ud]=rxe)
declare -A service_of=([windows]=windows [pavo]=rc [rxe]=rc [rxe-ud]=ud)

# run NAME SERVICE ARGUMENTS...: adds to the rows of that name
run()
{
	"$programs/pavo-bench" --wait "$wait" --service "$2" "${@:3}" bench0 bench1 \
		>>"$PAVO_OUT/$1.jsonl"
}

# over_a_wire NAME SERVICE NETEM...: goodput of writes while packets are late
over_a_wire()
{
	local name=$1 service=$2
	shift 2
	tc qdisc add dev va root netem limit 10000 "$@"
	run "$name" "$service" --ops write --tests bandwidth --sizes 65536
	tc -json -statistics qdisc show dev va >"$PAVO_OUT/$name.wire.jsonl"
	tc qdisc delete dev va root
}

measure()
{
	local round=$1 name=$1-$2 driver=${driver_of[$2]} service=${service_of[$2]}
	load_measured "$round" "$driver"
	run "$name" "$service" --seed "$round" --ops send --tests latency,rate \
		--sizes 2,64,2000
	run "$name" "$service" --seed "$round" --ops write,read --tests bandwidth \
		--sizes 65536,1048576
	over_a_wire "$name.level" "$service" delay 200us
	# without a correlation: with 50% netem sends 7 % ahead, not 25
	over_a_wire "$name.reordered" "$service" delay 200us reorder 25%
	unload "$driver"
}

wire
environment >"$PAVO_OUT/environment"
in_turn "$rounds" "${contestants[@]}"
# Ten thousand ends of windows take long otherwise, and no bench measures them.
echo 1 >/sys/kernel/rcu_expedited
echo 1048576 >/proc/sys/vm/max_map_count
load pavo
for count in 1 100 10000; do
	((count > idle)) ||
		run idle windows --idle "$count" --ops send --sizes 64 \
			--tests latency,rate,latency,rate,latency,rate,latency,rate,latency,rate
done
unload pavo
