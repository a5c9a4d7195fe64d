# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about interfaces that lead to an adapter's and are not the adapter's: a
# macvlan, ipvlan, bridge, veth, VRF in another namespace; and about VRFs of the adapter's own
# namespace. Sourced by guest.sh; world.sh, netdev_tests.sh and security_tests.sh say
# what the words mean.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

user_packets=/sys/module/pavo/parameters/allow_user_packets

# lead KIND: an interface $port in n1 that packets of $peer in n2 reach, by way of those of
# la and lb but for a veth
lead()
{
	port=va.7 peer=vb.7
	case $1 in
	veth)
		port=x1 peer=x2
		ip link add x1 netns n1 type veth peer name x2 netns n2
		;;
	macvlan | ipvlan)
		port=mv1 peer=mv2
		# shellcheck disable=SC2086 # words
		ip link add mv1 link va netns n1 type $1 mode ${2:-bridge}
		ip link add mv2 link vb netns n2 type macvlan mode bridge
		;;
	*)
		vlans
		ip link set va.7 netns n1
		ip link set vb.7 netns n2
		;;
	esac
}

# sockets_of_vrfs PROTOCOL: those that are bound to no VRF get what comes by any
sockets_of_vrfs()
{
	echo 1 >"/proc/sys/net/ipv4/$1_l3mdev_accept"
}
export -f sockets_of_vrfs

# stack KIND [MODE]: in n1 an interface $top with the very addresses of adapter la, in n2
# a peer with those of lb.
stack()
{
	local port peer mac
	ip netns add n1
	ip netns add n2
	lead "$@"
	top=$port
	case $1 in
	bridge)
		top=br1
		[ -d /sys/module/bridge ] || modprobe bridge
		ip -n n1 -batch - <<-END
			link add br1 type bridge
			link set $port master br1
		END
		;;
	vrf)
		ip -n n1 -batch - <<-END
			link add red type vrf table 66
			link set red up
			link set $port master red
		END
		inside n1 sockets_of_vrfs udp
		;;
	esac
	[ -d /sys/module/dummy ] || modprobe dummy numdummies=0
	ip -n n1 -batch - <<-END
		link add dum1 type dummy
		link set dum1 up
		link set lo up
		link set $port up
		link set $top up
		addr add 10.9.0.1/24 dev $top
		addr add fd09::1/64 dev $top nodad
	END
	# Adapter la's interface would answer for these addresses as well.
	mac=$(inside n1 cat "/sys/class/net/$top/address")
	ip -n n2 -batch - <<-END
		link set $peer up
		addr add 10.9.0.2/24 dev $peer
		addr add fd09::2/64 dev $peer nodad
		neigh replace 10.9.0.1 lladdr $mac dev $peer nud permanent
		neigh replace fd09::1 lladdr $mac dev $peer nud permanent
	END
	# The sockets of that namespace are there because of an adapter of its own.
	inside n1 rdma link add ld type pavo netdev dum1
}

unstack()
{
	ip netns del n1
	ip netns del n2
	soon absent ld
}

# taken PROTOCOL: datagrams that sockets of this namespace were given, in $value
taken()
{
	value=$(awk -v name="$1InDatagrams" '
		$1 == name { print $2 }
		$1 == "Udp:" && name == "UdpInDatagrams" && $2 ~ /[0-9]/ { print $2 }
	' /proc/net/snmp /proc/net/snmp6)
}

# arrive ADDRESS PROTOCOL: one to the port of RDMA, from n2, by now in n1's socket
arrive()
{
	local value before
	taken "$2" && before=$value
	nsenter --net=/run/netns/n2 bash -c 'printf hello >"/dev/udp/$1/4791"' - "$1"
	taken "$2" && ((value > before))
}
export -f taken arrive

# With the adapter's own addresses, and with one that rdma core takes for the adapter's
# where the interface is above the adapter's.
stacked_is_anothers()
{
	local value top version
	add_pair
	stack "$@"
	echo Y >$user_packets
	soon inside n1 arrive 10.9.0.1 Udp
	soon inside n1 arrive fd09::1 Udp6
	echo N >$user_packets
	shorts_are 0 0
	counter_of ld rx_drop_short && [ "$value" = 0 ]
	ip -n n1 addr add 10.98.0.1/24 dev "$top"
	if [ "$1" = veth ]; then
		no_gid la v4 10.98.0.1
	else
		soon has_gid la v4 10.98.0.1
		gid_is_useless la v4 10.98.0.1
	fi
	unstack
	smoke
}

# gid_is_useless DEVICE VERSION ADDRESS: no queue pair can be told to send from there
gid_is_useless()
{
	local index
	index=$(has_gid "$@")
	refused timeout 60 "$verbs" --dev "$1" --peer "$1" --gid-index "$index" \
		--patience 2 --only data.send.mtu_1024 >"$work/useless"
	says "$work/useless" "RTR: Invalid argument"
}

# vrf_leg VRF TABLE INTERFACE NAMESPACE PEER: an interface of that VRF here, with the same
# addresses in each VRF, and its peer
vrf_leg()
{
	ip -batch - <<-END
		link add $1 type vrf table $2
		link set $1 up
		link add $3 mtu 9000 type veth peer name $5 mtu 9000 netns $4
		link set $3 master $1
		link set $3 up
		addr add 10.96.0.1/24 dev $3
		addr add fd96::1/64 dev $3 nodad
	END
	ip -n "$4" -batch - <<-END
		link set lo up
		link set $5 up
		addr add 10.96.0.2/24 dev $5
		addr add fd96::2/64 dev $5 nodad
	END
}

# vrf_talk SERVER NAMESPACE CLIENT VERSION: adapter SERVER of this namespace with CLIENT of
# the other
vrf_talk()
{
	local server status=0
	"$verbs" --dev "$1" --gid "$4" --server --once 2>"$work/server" &
	server=$!
	soon says "$work/server" serving
	ip netns exec "$2" "$verbs" --dev "$3" --gid "$4" --connect 10.96.0.1 \
		--patience 10 --only data.send.mtu_4096 --only order.mixed_operations \
		--only mcast.copies >"$work/smoke" || {
		cat "$work/smoke"
		status=1
		kill $server || true
	}
	wait $server || true
	return $status
}

# Two VRFs have the same addresses: a packet is for the adapter whose interface it came by,
# and a packet of the machine to itself for the one of its VRF.
vrfs_have_the_same_addresses()
{
	local version address
	ip netns add n1
	ip netns add n2
	vrf_leg red 66 r1 n1 y1
	vrf_leg blue 67 b1 n2 y2
	sockets_of_vrfs udp
	sockets_of_vrfs tcp
	rdma link add la type pavo netdev r1
	rdma link add lb type pavo netdev b1
	inside n1 rdma link add lc type pavo netdev y1
	inside n2 rdma link add ld type pavo netdev y2
	soon has_gid la v4 10.96.0.1
	soon has_gid la v6 fd96::1
	soon has_gid lb v4 10.96.0.1
	soon has_gid lb v6 fd96::1
	soon inside n1 has_gid lc v6 fd96::2
	soon inside n2 has_gid ld v6 fd96::2
	# rdma core gives the kernel a second to find a neighbour, which is too short on a busy host.
	for address in 10.96.0.1 fd96::1; do
		soon inside n1 ping -c 1 -W 1 $address
		soon inside n2 ping -c 1 -W 1 $address
	done
	for version in v4 v6; do
		vrf_talk la n1 lc $version
		vrf_talk lb n2 ld $version
		smoke_alone la $version
		smoke_alone lb $version
	done
	echo 0 >/proc/sys/net/ipv4/tcp_l3mdev_accept
	echo 0 >/proc/sys/net/ipv4/udp_l3mdev_accept
	delete_all
	ip link del red
	ip link del blue
	ip link del r1
	ip link del b1
	ip netns del n1
	ip netns del n2
}

# smoke_alone DEVICE VERSION: with itself
smoke_alone()
{
	"$verbs" --dev "$1" --peer "$1" --gid "$2" --patience 10 \
		--only data.send.mtu_1024 >"$work/smoke" || {
		cat "$work/smoke"
		return 1
	}
}

stacked_tests()
{
	[ "$type" = pavo ] || return 0
	life "macvlan: in another namespace it is another's" stacked_is_anothers macvlan
	life "ipvlan: in another namespace it is another's" stacked_is_anothers ipvlan l2
	life "bridge: in another namespace it is another's" stacked_is_anothers bridge
	life "veth: in another namespace it is another's" stacked_is_anothers veth
	if ! modinfo vrf >/dev/null 2>&1; then
		[[ "VRF" =~ $part ]] && tap_skip "VRF" "this kernel has none"
		return 0
	fi
	life "VRF: in another namespace it is another's" stacked_is_anothers vrf
	life "VRF: two with the same addresses" vrfs_have_the_same_addresses
}
