#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The guest's part of `windows --mode nodes`: four network namespaces on one bridge, each a node
# with an adapter of pavo's. In alternating rounds what several nodes do by an operation of windows,
# and what they do without it; TCP over an interface over windows, and over the wire. Run through
# pavo-vm on a kernel at native speed, as root in a guest of its own; results go to $PAVO_OUT.
#
# usage: nodes-guest.sh PROGRAMS ROUNDS WAYS TOOL [pavo-bench-nodes options]
#   WAYS     of with,without; their order turns round every round
#   TOOL     the program pavo
#   options  nothing else is measured
# environment: BENCH_SYMBOLS=1 also leaves WAY.kallsyms
# leaves: environment; ROUND-WAY.jsonl; for TCP ROUND-WAY.SIZE.json; in finished the names of those
#   that came to their end
set -euo pipefail
# shellcheck source=selftests/bench/lib.sh
. "$(dirname "$(readlink -f "$0")")/lib.sh"

programs=$1 rounds=$2 tool=$4
IFS=, read -ra ways <<<"$3"
options=("${@:5}")
nodes=(0 1 2 3)

# Each node's interface is va, as lib.sh has it; the bridge knows who is in a group by itself.
wire_of_nodes()
{
	local node
	ip netns add hub
	ip -n hub link add hub mtu "$mtu" type bridge mcast_snooping 0
	ip -n hub link set hub up
	for node in "${nodes[@]}"; do
		ip netns add "n$node"
		ip -n "n$node" link set lo up
		ip -n "n$node" link add va mtu "$mtu" type veth peer name "p$node" mtu "$mtu" netns hub
		ip -n hub link set "p$node" master hub up
		ip -n "n$node" link set va up
		ip -n "n$node" address add "10.9.1.$((node + 1))/24" dev va
		ip -n "n$node" route add 224.0.0.0/4 dev va
	done
}

# all_nodes COMMAND...: in the namespace of each
all_nodes()
{
	local node
	for node in "${nodes[@]}"; do
		ip netns exec "n$node" "$@"
	done
}

# operations ROUND WAY [OPTIONS...]
operations()
{
	ip netns exec n0 "$programs/pavo-bench-nodes" --seed "$1" "${@:3}" "$2" bench0@n0 \
		bench1@n1 bench2@n2 bench3@n3 >>"$PAVO_OUT/$1-$2.jsonl"
}

# interface NODE PEER: over windows, with the address 10.77.0.
interface()
{
	"$tool" interface add "bench$1" --name pv0 --job 77 --key 0x62656e6368 --node "$1" \
		--window 700 --peer "$2=10.9.1.$(($2 + 1))" >&2
	ip -n "n$1" address add "10.77.0.$(($1 + 1))/24" dev pv0
	ip -n "n$1" link set pv0 up
}

measure()
{
	local size address=10.77.0.2
	[ "$2" = with ] || address=10.9.1.2
	[ -z "${BENCH_SYMBOLS:-}" ] || cat /proc/kallsyms >"$PAVO_OUT/$2.kallsyms"
	operations "$1" "$2" "${options[@]}"
	[ "${#options[@]}" = 0 ] || return 0
	all_nodes tc qdisc add dev va root netem limit 10000 rate 1gbit
	operations "$1" "$2" --name ' 1 Gbit/s' --bytes 16777216 --sizes 65536,1048576
	all_nodes tc qdisc delete dev va root
	for size in 65536 1048576; do
		tcp_stream "$PAVO_OUT/$1-$2.$size.json" n0 n1 "$address" "$size"
	done
}

wire_of_nodes
load_module pavo
for node in "${nodes[@]}"; do
	ip netns exec "n$node" rdma link add "bench$node" type pavo netdev va
done
interface 0 1
interface 1 0
ip netns exec n0 ping -qc 1 -w 10 10.77.0.2 >&2
environment >"$PAVO_OUT/environment"
driver_environment pavo >>"$PAVO_OUT/environment"
in_turn "$rounds" "${ways[@]}"
