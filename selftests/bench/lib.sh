# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The common part of the benchmarks' guest scripts: the wire, drivers on it, facts
# about the guest. Sourced in a guest as root.

# Of every wire.
mtu=9000

# Two interfaces of one machine: without the rules, traffic between their
# addresses would take the loopback and every driver would look fast.
wire()
{
	local dev
	sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	ip link add va mtu "$mtu" type veth peer name vb mtu "$mtu"
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
	modprobe -q crc32-pclmul || true
}

# The same wire between the network namespaces near and far, which need no rules.
wire_of_namespaces()
{
	ip netns add near
	ip netns add far
	ip -n near link add va mtu "$mtu" type veth peer name vb mtu "$mtu" netns far
	ip -n near link set lo up
	ip -n far link set lo up
	ip -n near link set va up
	ip -n far link set vb up
	ip -n near address add 10.9.0.1/24 dev va
	ip -n far address add 10.9.0.2/24 dev vb
	ip -n near neighbour replace 10.9.0.2 dev va nud permanent \
		lladdr "$(ip netns exec far cat /sys/class/net/vb/address)"
	ip -n far neighbour replace 10.9.0.1 dev vb nud permanent \
		lladdr "$(ip netns exec near cat /sys/class/net/va/address)"
}

# segmentation on|off [WORDS WORDS]: of tunnels, by the interfaces; without it each packet of pavo's gets
# its ICRC; with words in front of the commands of either end, as load has them
segmentation()
{
	${2:-} ethtool -K va tx-udp_tnl-segmentation "$1"
	${3:-} ethtool -K vb tx-udp_tnl-segmentation "$1"
} >/dev/null

# How types that have been loaded once are loaded again: what they need stays.
declare -A again

# module_of TYPE: the module's name.
module_of()
{
	case $1 in
	rxe) echo rdma_rxe ;;
	before | pavo-rules) echo pavo ;;
	*) echo "$1" ;;
	esac
}

# load_module TYPE: before is the pavo.ko $BENCH_BEFORE
load_module()
{
	local type=$1 ko=${PAVO_KO:-$PAVO_TREE/build/kernel/$(uname -r)/pavo.ko}
	# what a driver says of itself is the last one's
	dmesg --clear
	[ "$1" != before ] || ko=$BENCH_BEFORE
	case $1 in
	before | pavo-rules) type=pavo ;;
	esac
	if [ -n "${again[$1]:-}" ]; then
		${again[$1]}
	else
		PAVO_KO=$ko pavo-load "$type"
		again[$1]="modprobe $(module_of "$1")"
		[ "$type" != pavo ] || again[$1]="insmod $ko"
	fi
}

# load TYPE [WORDS WORDS]: and its devices; with words in front of the commands of either end, as
# `ip netns exec near`
load()
{
	local type=$1
	load_module "$type"
	[ "$(module_of "$type")" != pavo ] || type=pavo
	${2:-} rdma link add bench0 type "$type" netdev va
	${3:-} rdma link add bench1 type "$type" netdev vb
}

# load_measured ROUND TYPE [WORDS WORDS]: and tells of the driver, and of its symbols
load_measured()
{
	load "${@:2}"
	[ "$1" -gt 1 ] || driver_environment "$2" >>"$PAVO_OUT/environment"
	[ -z "${BENCH_SYMBOLS:-}" ] || cat /proc/kallsyms >"$PAVO_OUT/$2.kallsyms"
}

unload()
{
	rdma link delete bench0
	rdma link delete bench1
	rmmod "$(module_of "$1")"
}

# in_turn ROUNDS NAME...: measure ROUND NAME for each of them, forward, then back, so that
# neighbours take turns to be first
in_turn()
{
	local rounds=$1 round i place
	shift
	for ((round = 1; round <= rounds; round++)); do
		for ((i = 0; i < $#; i++)); do
			place=$(((round % 2 ? i : $# - 1 - i) + round / 2))
			place=$((place % $# + 1))
			measure "$round" "${!place}"
			echo "$round-${!place}" >>"$PAVO_OUT/finished"
			echo "round $round of $rounds: ${!place}"
		done
	done
}

# tcp_stream FILE CLIENT SERVER ADDRESS SIZE [OPTIONS...]: by writes of that size between two
# namespaces; the host reads the report
tcp_stream()
{
	local server
	ip netns exec "$3" iperf3 --server --one-off >/dev/null &
	server=$!
	pavo-until 10 eval "ip netns exec $3 ss -Hltn 'sport = :5201' | grep -q ."
	ip netns exec "$2" iperf3 --client "$4" --length "$5" --bytes 256M --json "${@:6}" >"$1"
	wait "$server"
}

# name=value lines, which run puts into its JSON
environment()
{
	echo "guest_kernel=$(uname -r)"
	echo "guest_cpus=$(nproc)"
	echo "guest_cpu_model=$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n1)"
	echo "guest_cpu_flags=$(sed -n 's/^flags\s*: //p' /proc/cpuinfo | head -n1)"
	echo "guest_clocksource=$(</sys/devices/system/clocksource/clocksource0/current_clocksource)"
	echo "wire_mtu=$mtu"
}

# crc_of TYPE: what the driver says, or the algorithm of the crypto API that it holds
crc_of()
{
	local said=
	case $1 in
	siw) echo 'none; it has the checksum of TCP' ; return ;;
	rxe) ;;
	*) said=$(dmesg | sed -n 's/.*pavo: CRC by //p' | tail -n 1) ;;
	esac
	[ -n "$said" ] || said=$(awk '/^name/ { n = $3 } /^driver/ { d = $3 }
		/^refcnt/ && n == "crc32" && $3 > 1 { print d }' /proc/crypto | paste -sd,)
	echo "${said:-crc32_le}"
}

# The code by which each driver computes its CRC, and the size at which packets leave.
driver_environment()
{
	echo "$1_path_mtu=$(ibv_devinfo -d bench0 | awk '/active_mtu/ { print $2 }')"
	echo "$1_crc32=$(crc_of "$1")"
	echo "$1_srcversion=$(cat "/sys/module/$(module_of "$1")/srcversion" 2>/dev/null)"
}
