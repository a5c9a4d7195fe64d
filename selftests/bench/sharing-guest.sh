#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a native guest: queue pairs and streams of TCP share a link of 500 Mbit/s. For each round and scenario
# ($PAVO_OUT/ROUND-SCENARIO.*): begin and end, two looks at the queue pairs with their times; tcpN, reports of
# iperf3; begin.queue and end.queue, what tc says of the link at the time of these looks.
# usage: sharing-guest.sh PROGRAMS ROUNDS SECONDS PAVO SCENARIO...   as sharing --help says
# environment: BENCH_MODULES  folder of the modules of modules/build
set -euo pipefail
# shellcheck source=selftests/bench/lib.sh
. "$(dirname "$(readlink -f "$0")")/lib.sh"
bench=$1/pavo-bench rounds=$2 seconds=$3 pavo=$4
scenarios=("${@:5}")
near=(ip netns exec near) far=(ip netns exec far)
rate=500mbit

widen_link()
{
	"${near[@]}" tc qdisc del dev va root 2>/dev/null || true
}

# narrow_link QUEUE: towards the far end. Packets are single there.
narrow_link()
{
	"${near[@]}" tc qdisc add dev va root handle 1: tbf rate "$rate" burst 40000 limit 1000000
	case $1 in
	pfifo*) set -- pfifo limit "${1#pfifo}" ;;
	# Marks all from 15 packets of 4 KiB on, as DCTCP wants it.
	red) set -- red limit 1000000 min 60000 max 65000 avpkt 4000 burst 16 probability 1 \
		bandwidth "$rate" ecn ;;
	esac
	"${near[@]}" tc qdisc add dev va parent 1:1 handle 2: "$@" 2>/dev/null
}

# look FILE: the time, and all queue pairs of the sender; FILE.queue: the link
look()
{
	"${near[@]}" tc -s qdisc show dev va >"$1.queue"
	date +%s.%N >"$1"
	# Its status says that there is trouble, as packets are dropped.
	"$pavo" status --queue-pairs --json bench0 >>"$1" || true
}

# wait_for COMMAND...: ten seconds at most
wait_for()
{
	local i
	for ((i = 0; i < 200; i++)); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.05
	done
	echo "not within ten seconds: $*" >&2
	return 1
}

is_listening()
{
	"${far[@]}" ss -Hltn "sport = :$1" | grep -q .
}

# share ROUND SCENARIO
share()
{
	local queue pairs streams algorithm file=$PAVO_OUT/$1-$2 i writers=() clients=()
	IFS=: read -r queue pairs streams algorithm <<<"$2"
	widen_link
	for ((i = 1; i <= streams; i++)); do
		"${far[@]}" iperf3 --server --one-off --port $((5300 + i)) >/dev/null 2>&1 &
		wait_for is_listening $((5300 + i))
	done
	for ((i = 0; i < pairs; i++)); do
		"${near[@]}" "$bench" --tests list --ops write --sizes 65536 --queue-pairs 1 \
			--scale 400 --peer-namespace far bench0 bench1 >/dev/null 2>&1 &
		writers+=($!)
	done
	for ((i = 1; i <= streams; i++)); do
		"${near[@]}" iperf3 --client 10.9.0.2 --port $((5300 + i)) --json --omit 3 \
			--time $((seconds + 1)) --congestion "${algorithm:-cubic}" >"$file.tcp$i" 2>&1 &
		clients+=($!)
	done
	# They connect on a wide link: a queue that drops what it cannot mark would drop requests for that.
	sleep 1
	narrow_link "$queue"
	# The time in which they adapt is not measured.
	sleep 2
	look "$file.begin"
	sleep "$seconds"
	look "$file.end"
	[ ${#clients[@]} -eq 0 ] || wait "${clients[@]}" || true
	kill "${writers[@]}" 2>/dev/null || true
	wait || true
}

environment >"$PAVO_OUT/environment"
wire_of_namespaces
for module in sch_fq_codel sch_red tcp_dctcp; do
	insmod "${BENCH_MODULES:?}/$module.ko"
done
load pavo "${near[*]}" "${far[*]}"
segmentation off "${near[*]}" "${far[*]}"
echo N >/sys/module/pavo/parameters/deferred_icrc
for end in near far; do
	ip netns exec $end sysctl -qw net.ipv4.tcp_ecn=1
done
"${far[@]}" tc qdisc add dev vb root netem limit 100000 delay 1ms
for ((round = 1; round <= rounds; round++)); do
	for scenario in "${scenarios[@]}"; do
		share "$round" "$scenario"
		echo "round $round of $rounds: $scenario"
	done
done
unload pavo
