# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Shell functions for guest scripts of the verbs, interop, life and apps groups:
# loading a driver, a veth pair whose traffic really crosses it, waiting for
# conditions, TAP lines. Sourced in a guest as root; changes that guest only.

# load_driver TYPE: makes `rdma link add ... type TYPE` possible. Does nothing
# when it is loaded already. The provider of the build folder (IBV_DRIVERS) is
# found by libibverbs by itself and does no harm to other devices.
load_driver()
{
	modprobe -a ib_uverbs ib_umad rdma_ucm || return 1
	case $1 in
	pavo)
		[ -d /sys/module/pavo ] && return 0
		# what the module uses and insmod does not bring
		modprobe -a udp_tunnel ip6_udp_tunnel 2>/dev/null
		insmod "${PAVO_KO:?the module, set by selftests/run}"
		;;
	rxe)
		modprobe rdma_rxe
		;;
	*)
		echo "load_driver: no driver for type '$1'" >&2
		return 1
		;;
	esac
}

# veth_pair A B MTU: two interfaces with 10.9.0.1/.2 and fd09::1/::2 whose
# traffic crosses the pair instead of taking the loopback: policy routing.
veth_pair()
{
	local a=$1 b=$2 mtu=$3 mac_a mac_b f
	modprobe veth
	ip link add "$a" mtu "$mtu" type veth peer name "$b" mtu "$mtu" || return 1
	sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	for f in "$a" "$b"; do
		sysctl -qw net.ipv4.conf."$f".rp_filter=0 \
			net.ipv4.conf."$f".accept_local=1 \
			net.ipv6.conf."$f".accept_dad=0
		ip link set "$f" up
	done
	ip addr add 10.9.0.1/24 dev "$a"
	ip addr add 10.9.0.2/24 dev "$b"
	ip addr add fd09::1/64 dev "$a" nodad
	ip addr add fd09::2/64 dev "$b" nodad
	mac_a=$(<"/sys/class/net/$a/address") mac_b=$(<"/sys/class/net/$b/address")
	for f in 10.9.0 fd09:; do
		local one=$f.1 two=$f.2
		[ "$f" = fd09: ] && one=fd09::1 two=fd09::2
		ip neigh replace "$two" lladdr "$mac_b" dev "$a" nud permanent
		ip neigh replace "$one" lladdr "$mac_a" dev "$b" nud permanent
	done
	for f in -4 -6; do
		ip $f rule add pref 10 iif "$a" lookup local
		ip $f rule add pref 10 iif "$b" lookup local
		ip $f rule add pref 30 lookup local
		ip $f rule add pref 20 lookup 100
		ip $f rule del pref 0
	done
	ip route add 10.9.0.2/32 dev "$a" src 10.9.0.1 table 100
	ip route add 10.9.0.1/32 dev "$b" src 10.9.0.2 table 100
	ip -6 route add fd09::2/128 dev "$a" src fd09::1 table 100
	ip -6 route add fd09::1/128 dev "$b" src fd09::2 table 100
}

# until_true SECONDS COMMAND...: repeats until it succeeds or time is up.
until_true()
{
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS > end)) && return 1
		sleep 0.05
	done
}

# active DEVICE: its port is up.
active()
{
	grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"
}

# A sanitizer kernel is several times slower.
slow_kernel()
{
	[ -e /sys/kernel/debug/kmemleak ]
}

# packets_of INTERFACE: sent so far; proves that traffic crossed a wire.
packets_of()
{
	cat "/sys/class/net/$1/statistics/tx_packets"
}

# --- TAP ---------------------------------------------------------------------

tap_number=0
tap_failed=0
tap_passed=0

tap_ok()
{
	tap_passed=$((tap_passed + 1))
	echo "ok $((++tap_number)) $*"
}

tap_not_ok()
{
	tap_failed=$((tap_failed + 1))
	echo "not ok $((++tap_number)) $*"
}

tap_skip()
{
	local name=$1
	shift
	echo "ok $((++tap_number)) $name # SKIP $*"
}

# check NAME COMMAND...: one TAP line; what the command said, if it failed.
check()
{
	local name=$1 said
	shift
	if said=$("$@" 2>&1); then
		tap_ok "$name"
	else
		local status=$?
		tap_not_ok "$name"
		echo "# status $status of: $*"
		tail -n 30 <<<"$said" | sed 's/^/#   /'
		return 1
	fi
}

# tap_end: prints the plan (TAP allows it last) and leaves with its status.
tap_end()
{
	echo "1..$tap_number"
	if ((tap_failed)); then
		exit 1
	elif ((tap_passed == 0)); then
		exit 4
	fi
	exit 0
}
