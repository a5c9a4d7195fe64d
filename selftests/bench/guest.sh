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

bench=$1 rounds=$2
IFS=, read -ra types <<<"$3"
shift 3

# Two interfaces of one machine: without the rules, traffic between their
# addresses would take the loopback and every driver would look fast.
wire()
{
	local dev
	sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	ip link add va mtu 9000 type veth peer name vb mtu 9000
	for dev in va vb; do
		sysctl -qw "net.ipv4.conf.$dev.accept_local=1" \
			"net.ipv4.conf.$dev.rp_filter=0"
		ip link set "$dev" up
		ip rule add pref 10 iif "$dev" lookup local
	done
	ip address add 10.9.0.1/24 dev va
	ip address add 10.9.0.2/24 dev vb
	ip neighbour replace 10.9.0.2 dev va nud permanent \
		lladdr "$(cat /sys/class/net/vb/address)"
	ip neighbour replace 10.9.0.1 dev vb nud permanent \
		lladdr "$(cat /sys/class/net/va/address)"
	ip route add 10.9.0.2 dev va table 100
	ip route add 10.9.0.1 dev vb table 100
	ip rule add pref 20 lookup 100
	ip rule add pref 30 lookup local
	ip rule del pref 0
}

load()
{
	pavo-load "$1"
	rdma link add bench0 type "$1" netdev va
	rdma link add bench1 type "$1" netdev vb
}

unload()
{
	rdma link delete bench0
	rdma link delete bench1
	case $1 in
	rxe)	rmmod rdma_rxe ;;
	*)	rmmod "$1" ;;
	esac
}

# name=value lines, which run puts into its JSON
environment()
{
	echo "guest_kernel=$(uname -r)"
	echo "guest_cpus=$(nproc)"
	echo "guest_cpu_model=$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n1)"
	echo "guest_cpu_flags=$(sed -n 's/^flags\s*: //p' /proc/cpuinfo | head -n1)"
	echo "guest_clocksource=$(</sys/devices/system/clocksource/clocksource0/current_clocksource)"
	echo "wire_mtu=$(</sys/class/net/va/mtu)"
}

# What each driver computes its CRC with, and at what size packets leave.
driver_environment()
{
	echo "$1_path_mtu=$(ibv_devinfo -d bench0 | awk '/active_mtu/ { print $2 }')"
	echo "$1_crc32=$(awk '/^name/ { n = $3 } /^driver/ { d = $3 }
		/^refcnt/ && n == "crc32" && $3 > 1 { print d }' /proc/crypto | paste -sd,)"
	echo "$1_srcversion=$(cat "/sys/module/$2/srcversion" 2>/dev/null)"
}

measure()
{
	local round=$1 type=$2 module=$2
	shift 2
	[ "$type" = rxe ] && module=rdma_rxe
	load "$type"
	[ "$round" -gt 1 ] || driver_environment "$type" "$module" >>"$PAVO_OUT/environment"
	[ -z "${BENCH_SYMBOLS:-}" ] || cat /proc/kallsyms >"$PAVO_OUT/$type.kallsyms"
	"$bench" --seed "$round" --maps "$PAVO_OUT/$type.maps" "$@" bench0 bench1 \
		>"$PAVO_OUT/$round-$type.jsonl"
	unload "$type"
	echo "$round-$type" >>"$PAVO_OUT/finished"
	echo "round $round: $type, $(wc -l <"$PAVO_OUT/$round-$type.jsonl") rows"
}

wire
modprobe -q crc32-pclmul || true
environment >"$PAVO_OUT/environment"
for ((round = 1; round <= rounds; round++)); do
	for ((i = 0; i < ${#types[@]}; i++)); do
		measure "$round" "${types[(i + round) % ${#types[@]}]}" "$@"
	done
done
