#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: adapters a0 and b0 in namespaces A and B, a path between them, data of all kinds
# compared byte by byte, and then what the counters say of the path:
#   whole  super-packets arrive as they were sent
#   cut    they are sent, and a device on the way makes packets with an ICRC of them
#   plain  none is sent
# Started by run.sh.
# usage: guest.sh any|distribution|all PROGRAM [NAME...]
# any: paths that every kernel has; distribution: those that need a kernel of a distribution
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
kernels=$1 program=$2
shift 2
wanted=("$@")
number=0 failed=0

# shellcheck source=selftests/paths/topology.sh
. "$here/topology.sh"

# count DEVICE COUNTER
count()
{
	local value
	counter_of "$1" "$2"
	echo "$value"
}

# traffic [OPTION...]: data of every operation, in messages around the borders of packets and
# super-packets, one by one, and in both directions at once.
traffic()
{
	"$program" --dev a0 --peer "$peer" --large $((1 << 20)) --patience 60 --limit 200 \
		--only data.send.mtu_4096 --only data.write_with_immediate.mtu_1024 \
		--only data.read.mtu_4096 --only data.read.mtu_256 --only data.large \
		--only data.bidirectional --only atomic.fetch --only sgl.write \
		--only order.write_then_send --only coalesced "$@"
}

# counted: GSO super-packets made, packets segmented, and packets that GRO merged, in this machine
counted()
{
	local words
	read -rd '' -a words </sys/kernel/debug/pavo/gso
	echo "${words[1]} ${words[3]} ${words[5]}"
}

# judge WANTED: is the path of that kind?
judge()
{
	local kind=whole made segmented made_before segmented_before
	read -r made segmented _ <<<"$(counted)"
	read -r made_before segmented_before _ <<<"$before"
	((segmented == segmented_before)) || kind="cut"
	((made > made_before)) || kind=plain
	[[ $kind == "$1" ]] && return
	echo "# $kind, wanted: $1"
	return 1
}

# none COUNTER...: is 0 at both ends; rdma_rxe has no such counters
none()
{
	local counter device value bad=0
	for counter; do
		for device in a0 "$peer"; do
			[ "$device" != r0 ] || continue
			value=$(count "$device" "$counter")
			((value)) || continue
			bad=1
			echo "# $device: $counter is $value"
		done
	done
	return $bad
}

# show: where packets may have gone: counters of adapters that are not 0, and those of the kernel
show()
{
	local device ns counter value
	for device in a0 b0 r0; do
		for counter in "/sys/class/infiniband/$device/ports/1/hw_counters"/*; do
			[ -e "$counter" ] && read -r value <"$counter" && [ "$value" != 0 ] &&
				echo "# $device: ${counter##*/} $value"
		done
	done
	for ns in A R B; do
		ip -n $ns -s link | sed "s/^/# $ns: /"
		ip netns exec $ns grep -E '^(Ip|Udp):' /proc/net/snmp | sed "s/^/# $ns: /"
	done
	sed 's/^/# softnet_stat: /' /proc/net/softnet_stat
	sed 's/^/# /' /sys/kernel/debug/pavo/gso /sys/kernel/debug/pavo/budgets
}

report()
{
	number=$((number + 1))
	if (($1)); then
		failed=1
		echo "not ok $number $2"
		show 2>&1
	else
		echo "ok $number $2"
	fi
}

is_wanted()
{
	local name
	[[ $kernels == all || $kernels == "${kernel:-any}" ]] || return 1
	((${#wanted[@]})) || return 0
	for name in "${wanted[@]}"; do
		[[ $1 == *"$name"* ]] && return 0
	done
	return 1
}

# path NAME KIND TOPOLOGY [ARGUMENT...]: one test. With "lossy" for KIND the path loses packets:
# then data has to arrive, and no more is known. Variables: family is v4 or v6; also: more tests
# of pavo-verbs; kernel is "distribution" for what the native one lacks.
path()
{
	local name=$1 kind=$2 bad=0 output test options=()
	shift 2
	is_wanted "$name" || return 0
	if ! begin || ! "$@" || ! adapters; then
		report 1 "$name: no path"
		end
		return
	fi
	if [ "$kind" = lossy ]; then
		# coalesced.empty asks that no packet is lost. A queue pair that refuses is in
		# Error, and sends no second NAK for one that was lost (coalesced.refused).
		options=(--skip coalesced.empty --skip coalesced.refused)
	else
		# Of 4 s: one of 67 ms expires where the host lets the guest stand.
		options=(--loss-timeout 20)
	fi
	for test in ${also:-}; do
		options+=(--only "$test")
	done
	before=$(counted)
	output=$(traffic --gid "${family:-v4}" "${options[@]}") || bad=1
	if [ "$kind" = lossy ]; then
		[[ $(counted) != "$before" ]] || bad=1
	else
		judge "$kind" && none rx_icrc_encapsulated rx_drop_short local_ack_timeout_err ||
			bad=1
	fi
	[ -z "${after:-}" ] || $after || bad=1
	((!bad)) || printf '# %s\n' "${output//$'\n'/$'\n'# }"
	report $bad "$name"
	end
}

# tenant NAME: packets of one on the way who has no adapter
tenant()
{
	local bad=0 output
	is_wanted "$1" || return 0
	if ! begin || ! tenants || ! adapters; then
		report 1 "$1: no path"
	else
		output=$("$program" --dev a0 --peer b0 --gid v4 --patience 60 \
			--only pair.tenant) && [[ $output == *"ok 1 pair.tenant: "* ]] || bad=1
		((!bad)) || printf '# %s\n' "${output//$'\n'/$'\n'# }"
		report $bad "$1"
	fi
	end
}

load_driver pavo || exit 1
modprobe -a veth bridge 8021q macvlan bonding tun sch_netem sch_tbf rdma_rxe 2>/dev/null
settle || exit 1
trap 'end 2>/dev/null' EXIT

also="pair.captured pair.forged" path "two ends of a wire" whole wire
family=v6 path "two ends of a wire, IPv6" whole wire
path "no offload of tunnels" cut without tx-udp_tnl-segmentation
path "no offload of SCTP" cut without tx-sctp-segmentation
family=v6 path "no offload of SCTP, IPv6" cut without tx-sctp-segmentation
path "no fragments" whole without tx-scatter-gather
path "no fragments, no offload" cut unable
path "no room for super-packets at the device" cut short_device
after=merged path "GRO at the receiver" cut collecting
family=v6 after=merged path "GRO at the receiver, IPv6" cut collecting
after=merged path "GRO at the receiver, packets in one piece" cut collecting tx-scatter-gather
after=cut_again path "GRO at a bridge" plain collecting_bridge
after=merged path "GRO at the receiver of wrong packets" lossy collecting_wrong
path "a router" whole router
family=v6 path "a router, IPv6" whole router
path "a router, and no offload behind it" cut router_without
family=v6 path "a router, and no offload behind it, IPv6" cut router_without
path "a bridge" whole switch
kernel=distribution tenant "a tenant who forges"
path "a VLAN" whole vlans_of_wire
path "a macvlan" whole macvlans
kernel=distribution path "a bond" whole bonds
kernel=distribution path "rules of a filter on the way" whole filtered_router
path "a mirror of what is sent" whole mirrored
path "a packet socket that looks" whole watched
kernel=distribution path "an XDP program that looks" cut inspected
kernel=distribution after=still_carried path "taps of virtual machines" cut tapped
path "rdma_rxe at the other end" plain to_rxe
path "rdma_rxe, and no offload of tunnels" cut to_rxe_without
path "one adapter, with itself" whole loopback
path "deferred_icrc=N" plain with_icrc
path "loss, duplicates, another order" lossy bad_wire
after=wrong_icrc path "bits that change behind the cut" lossy corrupting
path "a queue shorter than a super-packet" lossy narrow
echo "1..$number"
exit $failed
