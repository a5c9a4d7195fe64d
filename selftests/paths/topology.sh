# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Paths between interface va in namespace A and vb in B: each function makes one, with 10.9.0.1 and
# fd09::1 on va, 10.9.0.2 and fd09::2 on vb, or addresses of two networks with a router R between
# them. Sourced by guest.sh.
parameters=/sys/module/pavo/parameters

# settle: once, settings that all namespaces begin with
settle()
{
	local settings=/proc/sys/net
	# Of this namespace, not of the kernel.
	echo 1 >$settings/core/devconf_inherit_init_net &&
		# Addresses are good at once.
		echo 0 >$settings/ipv6/conf/default/accept_dad &&
		echo 0 >$settings/ipv6/conf/all/accept_dad &&
		# An interface below another answers for no address of that.
		echo 1 >$settings/ipv4/conf/all/arp_ignore
}

begin()
{
	local ns
	printf 'netns add %s\n' A B R | ip -batch - || return 1
	for ns in A B R; do
		ip -n $ns link set lo up
	done
	peer=b0 gate=10.9.0.1 gate6=fd09:0::1
	echo Y >$parameters/deferred_icrc
}

end()
{
	local device
	[ -z "${watcher:-}" ] || kill "$watcher"
	watcher=
	for device in a0 b0 r0; do
		[ ! -e /sys/class/infiniband/$device ] || rdma link delete $device
	done
	printf 'netns delete %s\n' A B R T | ip -force -batch - 2>/dev/null
}

# addresses NAMESPACE INTERFACE LAST NETWORK: and up
addresses()
{
	ip -n "$1" -batch - <<-END
		addr add 10.9.$4.$3/24 dev $2
		addr add fd09:$4::$3/64 dev $2 nodad
		link set $2 up
	END
}

# joined NAME1 NAMESPACE1 NAME2 NAMESPACE2: a veth pair for jumbo packets
joined()
{
	ip link add name "$1" netns "$2" mtu 9000 type veth peer name "$3" netns "$4" mtu 9000
}

wire()
{
	joined va A vb B && addresses A va 1 0 && addresses B vb 2 0
}

# without FEATURE: the wire's ends leave that to the stack
without()
{
	wire && ip netns exec A ethtool -K va "$1" off >/dev/null &&
		ip netns exec B ethtool -K vb "$1" off >/dev/null
}

# unable: neither fragments nor the offload
unable()
{
	without tx-udp_tnl-segmentation &&
		ip netns exec A ethtool -K va tx-scatter-gather off >/dev/null &&
		ip netns exec B ethtool -K vb tx-scatter-gather off >/dev/null
}

# collecting [FEATURE]: a wire whose ends merge what they receive, which veth does only for packets of
# a sender without segmentation of TCP; and which leave trains to the stack.
collecting()
{
	local device ns=A
	without tx-udp_tnl-segmentation || return 1
	for device in va vb; do
		ip netns exec $ns ethtool -K $device tso off gro on >/dev/null || return 1
		[ -z "${1:-}" ] || ip netns exec $ns ethtool -K $device "$1" off >/dev/null || return 1
		ns=B
	done
}

# Packets that arrive wrong join no train, and go the way of others to their counter.
collecting_wrong()
{
	collecting && ip netns exec A tc qdisc add dev va root netem limit 10000 loss 1% duplicate 1% &&
		ip netns exec B tc qdisc add dev vb root netem limit 10000 corrupt 1%
}

# A bridge that merges packets for another machine, since its own has the same address: they have to
# leave it as they came.
collecting_bridge()
{
	echo N >$parameters/deferred_icrc
	switch && ip -n R link add d0 mtu 9000 type dummy && addresses R d0 2 0 || return 1
	ip netns exec A ethtool -K va tso off >/dev/null &&
		ip netns exec R ethtool -K ra gro on >/dev/null &&
		ip netns exec R rdma link add r0 type pavo netdev d0
}

# moved NUMBER: did that number of counted() grow?
moved()
{
	local -a now had
	read -ra now <<<"$(counted)"
	read -ra had <<<"$before"
	((now[$1] > had[$1])) && return
	echo "# still ${now[$1]} (number $1 of debugfs pavo/gso)"
	return 1
}

# cut_again: a device got packets of what was merged
cut_again()
{
	moved 1
}

# merged: the ends took trains that GRO made
merged()
{
	moved 2
}

# Trains are too long for it, single packets are not.
short_device()
{
	wire && ip -n A link set va gso_max_size 4000 && ip -n B link set vb gso_max_size 4000
}

router()
{
	joined va A ra R && joined vb B rb R &&
		addresses A va 1 0 && addresses R ra 2 0 &&
		addresses B vb 1 1 && addresses R rb 2 1 || return 1
	gate=10.9.1.2 gate6=fd09:1::2
	ip netns exec R sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	ip -n A route add default via 10.9.0.2
	ip -n B route add default via 10.9.1.2
	ip -n A -6 route add default via fd09:0::2
	ip -n B -6 route add default via fd09:1::2
}

router_without()
{
	local device
	router || return 1
	for device in ra rb; do
		ip netns exec R ethtool -K $device tx-udp_tnl-segmentation off >/dev/null || return 1
	done
}

switch()
{
	joined va A ra R && joined vb B rb R && addresses A va 1 0 && addresses B vb 2 0 || return 1
	ip -n R -batch - <<-END
		link add br0 mtu 9000 type bridge
		link set ra master br0
		link set rb master br0
		link set ra up
		link set rb up
		link set br0 up
	END
}

# All addresses are on the VLANs, and so are the GIDs of the adapters.
vlans_of_wire()
{
	joined va A vb B || return 1
	ip -n A link set va up
	ip -n B link set vb up
	ip -n A link add link va name va.7 type vlan id 7 &&
		ip -n B link add link vb name vb.7 type vlan id 7 || return 1
	addresses A va.7 1 0 && addresses B vb.7 2 0
}

macvlans()
{
	joined x A y B || return 1
	ip -n A link set x up
	ip -n B link set y up
	ip -n A link add va link x mtu 9000 type macvlan mode bridge &&
		ip -n B link add vb link y mtu 9000 type macvlan mode bridge || return 1
	addresses A va 1 0 && addresses B vb 2 0
}

bonds()
{
	local ns top
	joined x A y B || return 1
	for ns in A B; do
		[ $ns = A ] && top=va low=x || top=vb low=y
		ip -n $ns -batch - <<-END || return 1
			link add $top mtu 9000 type bond mode active-backup miimon 10
			link set $low down
			link set $low master $top
			link set $low up
		END
	done
	addresses A va 1 0 && addresses B vb 2 0
}

filtered_router()
{
	router && ip netns exec R nft -f - <<-END
		table inet t {
			chain forward {
				type filter hook forward priority 0; policy drop;
				ct state new,established udp dport 4791 counter accept
				meta l4proto ipv6-icmp accept
			}
		}
	END
}

mirrored()
{
	wire && ip -n A link add m1 type dummy && ip -n A link set m1 up &&
		ip netns exec A tc qdisc add dev va clsact &&
		ip netns exec A tc filter add dev va egress matchall \
			action mirred egress mirror dev m1
}

watched()
{
	wire || return 1
	ip netns exec A tcpdump -q -i va -w /dev/null 2>/tmp/watcher &
	watcher=$!
	wait_for grep -q listening /tmp/watcher
}

# Interfaces as those of virtual machines: a process takes each frame from one to the other.
tapped()
{
	"${here:?}/taps" va vb >/tmp/taps 2>&1 &
	watcher=$!
	wait_for grep -q ready /tmp/taps || return 1
	ip link set va netns A mtu 9000 txqueuelen 10000 &&
		ip link set vb netns B mtu 9000 txqueuelen 10000 &&
		addresses A va 1 0 && addresses B vb 2 0
}

# The process has seen no frame that is too long for a wire.
still_carried()
{
	kill -0 "$watcher" 2>/dev/null && return
	sed 's/^/# /' /tmp/taps
	return 1
}

# A program at both ends that looks at all packets. It takes no packets of segmentation, so they are
# cut at the other end.
inspected()
{
	wire || return 1
	# ip has a /sys of its own in another namespace
	mkdir -p /tmp/bpf
	mountpoint -q /tmp/bpf || mount -t bpf bpf /tmp/bpf || return 1
	[ -e /tmp/bpf/pass ] || "${here:?}/xdp-pass" /tmp/bpf/pass || return 1
	ip -n A link set dev va xdp pinned /tmp/bpf/pass &&
		ip -n B link set dev vb xdp pinned /tmp/bpf/pass
}

# A bridge of a tenant, who has no adapter, but a tunnel to a namespace T of its own. Packets that it
# sends there pass w1, and rules of tc which verbs/tenant_tests.cpp sets.
tenants()
{
	switch && ip -n B link set vb address 02:00:00:00:00:0b && ip netns add T &&
		ip link add name w1 mtu 1330 netns R type veth peer name w2 mtu 1330 netns T &&
		addresses R w1 1 5 && addresses T w2 2 5 &&
		ip -n R link add g1 type geneve id 1 remote 10.9.5.2 innerprotoinherit &&
		ip -n T link add g2 type geneve id 1 remote 10.9.5.1 innerprotoinherit &&
		addresses R g1 1 6 && addresses T g2 2 6 &&
		ip netns exec R tc qdisc add dev w1 clsact
}

# rdma_rxe works in the first namespace only.
to_rxe()
{
	ip link add va netns A mtu 9000 type veth peer name vb mtu 9000 &&
		addresses A va 1 0 || return 1
	ip -batch - <<-END || return 1
		addr add 10.9.0.2/24 dev vb
		addr add fd09:0::2/64 dev vb nodad
		link set vb up
	END
	peer=r0
}

to_rxe_without()
{
	to_rxe && ip netns exec A ethtool -K va tx-udp_tnl-segmentation off >/dev/null
}

# One adapter, with itself.
inside()
{
	wire && peer=a0
}

sealed()
{
	echo N >$parameters/deferred_icrc
	wire
}

bad_wire()
{
	wire && ip netns exec A tc qdisc add dev va root netem limit 10000 delay 1ms 1ms \
		loss 1% duplicate 2% reorder 25% &&
		ip netns exec B tc qdisc add dev vb root netem limit 10000 delay 1ms 1ms loss 1%
}

corrupting()
{
	router_without && ip netns exec R tc qdisc add dev rb root netem limit 10000 corrupt 2%
}

# A bit that changed in a packet with an ICRC: found by that, or by the sums of IP and UDP.
wrong_icrc()
{
	(($(count b0 rx_icrc_encapsulated))) && return
	echo "# no packet had va wrong ICRC"
	return 1
}

narrow()
{
	wire && ip netns exec A tc qdisc add dev va root tbf rate 2gbit burst 100000 limit 40000
}

# shellcheck disable=SC2317  # called by wait_for
# knows NAMESPACE ADDRESS: a datagram has made it look up that neighbour.
knows()
{
	ip netns exec "$1" bash -c "echo >/dev/udp/$2/9" 2>/dev/null
	ip -n "$1" neigh show "$2" | grep -q lladdr
}

# shellcheck disable=SC2317  # called by wait_for
knows_here()
{
	bash -c "echo >/dev/udp/$1/9" 2>/dev/null
	ip neigh show "$1" | grep -q lladdr
}

# The adapters, when the path is up. rdma core gives a neighbour a second to answer, no more.
adapters()
{
	if [ "$peer" = b0 ]; then
		wait_for knows A 10.9.0.2
		wait_for knows A fd09:0::2
		wait_for knows B "$gate"
		wait_for knows B "$gate6"
	fi
	if [ "$peer" = r0 ]; then
		wait_for knows A 10.9.0.2
		wait_for knows_here 10.9.0.1
		rdma link add r0 type rxe netdev vb || return 1
		wait_for active r0
	fi
	ip netns exec A rdma link add a0 type pavo netdev va || return 1
	wait_for active a0
	[ "$peer" != r0 ] || return 0
	ip netns exec B rdma link add b0 type pavo netdev vb || return 1
	wait_for active b0
}
