# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about the interface below: down, up, MTU, addresses, VLANs, names,
# removal. Sourced by guest.sh; world.sh says what the words mean.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

down_and_up()
{
	local i
	add_pair
	watch la
	for i in 1 2 3; do
		ip link set va down
		soon port_down la
		ip link set va up
		soon active la
	done
	soon says "$watch_log" PORT_ACTIVE
	says "$watch_log" PORT_ERR
	end_watch
	cross_routes va vb 10.9.0 fd09
	soon has_gid la v6 fd09::1
	smoke
}

down_at_first()
{
	ip link set va down
	add la va
	port_down la
	ip link set va up
	soon active la
	cross_routes va vb 10.9.0 fd09
	add lb vb
	soon has_gid la v6 fd09::1
	soon has_gid lb v6 fd09::2
	smoke
}

down_and_up_under_traffic()
{
	local i
	add_pair
	start_traffic
	for i in 1 2; do
		ip link set va down
		soon port_down la
		ip link set va up
		cross_routes va vb 10.9.0 fd09
		soon active la
		goes_on
	done
	stop_traffic
}

mtu_followed()
{
	local pair
	add_pair
	for pair in 1500:1024 2200:2048 1280:1024 9000:4096; do
		ip link set va mtu "${pair%:*}"
		soon mtu_is la "${pair#*:}" || {
			echo "MTU ${pair%:*}: active_mtu is $(active_mtu la)"
			return 1
		}
	done
	smoke
}

mtu_under_traffic()
{
	local mtu
	add_pair
	start_traffic --mtu 1024
	for mtu in 1500 2200 9000; do
		ip link set va mtu $mtu
		ip link set vb mtu $mtu
		goes_on
	done
	stop_traffic
}

# The interface that sends what is under way: la, or lb if that is the answer to a read.
too_long_somewhere()
{
	counted la tx_drop_too_long || counted lb tx_drop_too_long
}

# Too small for the packets under way, for a moment: they go on afterwards.
mtu_too_small_for_a_moment()
{
	add_pair
	start_traffic
	ip link set va mtu 1500
	ip link set vb mtu 1500
	soon mtu_is la 1024
	[ "$type" != pavo ] || soon too_long_somewhere
	ip link set va mtu 9000
	ip link set vb mtu 9000
	goes_on
	stop_traffic
}

# narrow add|change DEVICE: its queue has room for half of a message, and is slower than
# the slowest guest.
narrow()
{
	tc qdisc "$1" dev "$2" root tbf rate 40kbit burst 10000 limit 10000
}

# wide add|change DEVICE: the same queue as if it were none.
wide()
{
	tc qdisc "$1" dev "$2" root tbf rate 10gbit burst 100000 limit 1000000
}

# Its queue is full, most of the time: the sender pauses and goes on.
queue_full()
{
	add_pair
	start_traffic
	narrow add va
	soon counted la tx_drop_congested
	tc qdisc delete dev va root
	goes_on
	stop_traffic
}

# The queue of who answers is full, most of the time: no answer is lost, or who waits for
# it without a loss timer would for ever. The queue itself is there before the traffic and
# after it: while one is added the interface loses packets, and deleted it takes along what
# is in it.
queue_full_of_answers()
{
	local loss_timeout=0
	add_pair
	# of a super-packet the queue would drop a part, and say nothing
	echo N >/sys/module/pavo/parameters/deferred_icrc
	wide add vb
	start_traffic
	narrow change vb
	soon counted lb tx_drop_congested
	wide change vb
	goes_on
	stop_traffic
	tc qdisc delete dev vb root
	echo Y >/sys/module/pavo/parameters/deferred_icrc
}

# rping_server: over rdma_cm, in the background; its pid is $server_pid
rping_server()
{
	rping -s -a 10.9.0.1 -C "$1" >"$work/rping" 2>&1 &
	server_pid=$!
	soon cm_listening
}

# A datagram that does not fit fails its work request and stops the send queue
# of the management QP; that is brought back, and rdma_cm works again.
mtu_too_small_for_management()
{
	local client i
	add_pair
	rping_server 1000000
	rping -c -a 10.9.0.1 -C 1000000 >"$work/rping-client" 2>&1 &
	client=$!
	soon connected_by_cm
	ip link set va mtu 200
	ip link set vb mtu 200
	# the connections end with a message each that cannot be sent
	kill -KILL $client $server_pid
	wait $client $server_pid || true
	soon counted la sq_errors
	soon counted lb sq_errors
	for i in la lb; do
		soon management_qp_ready $i
	done
	ip link set va mtu 9000
	ip link set vb mtu 9000
	cross_routes va vb 10.9.0 fd09
	soon has_gid la v4 10.9.0.1
	soon has_gid lb v4 10.9.0.2
	rping_server 3
	"$rping_client" 3 -a 10.9.0.1
	wait $server_pid
}

# shellcheck disable=SC2317  # called by soon
connected_by_cm()
{
	rdma resource show qp | grep -q "type RC state RTS"
}

# shellcheck disable=SC2317  # called by soon
management_qp_ready()
{
	rdma resource show qp link "$1/1" | grep -q "type GSI state RTS"
}

addresses_followed()
{
	local i
	add_pair
	watch la
	for i in 1 2 3 4 5 6; do
		echo "addr add 10.77.$i.1/24 dev va"
		echo "addr add fd77:$i::1/64 dev va nodad"
	done | ip -batch -
	for i in 1 2 3 4 5 6; do
		soon has_gid la v4 10.77.$i.1
		soon has_gid la v6 fd77:$i::1
		no_gid lb v4 10.77.$i.1
	done
	for i in 2 4 6 1 3 5; do
		echo "addr del 10.77.$i.1/24 dev va"
		echo "addr del fd77:$i::1/64 dev va"
	done | ip -batch -
	for i in 1 2 3 4 5 6; do
		soon no_gid la v4 10.77.$i.1
		soon no_gid la v6 fd77:$i::1
	done
	soon says "$watch_log" GID_CHANGE
	end_watch
	smoke
}

# gid_at DEVICE INDEX: that entry of the table, in $gid
gid_at()
{
	read -r gid <"/sys/class/infiniband/$1/ports/1/gids/$2"
	[ "$gid" != 0000:0000:0000:0000:0000:0000:0000:0000 ]
}

no_gid_at()
{
	! gid_at "$@"
}

# every ADDRESSES COMMAND: of an address 10.78.N.N for each
every()
{
	local i
	for ((i = 0; i < $1; i++)); do
		echo "addr $2 10.78.$((i / 250)).$((i % 250 + 1))/32 dev va"
	done | ip -batch -
}

# Every entry is used, and what verbs can name by a byte can be used; one more
# address is no GID. Those that were there before are not hurt.
addresses_fill_the_table()
{
	local gid length text
	add_pair
	text=$(ibv_devinfo -v -d la)
	text=${text#*gid_tbl_len:}
	read -r length _ <<<"$text"
	every $((length - 3)) add
	soon gid_at la $((length - 1))
	ip addr add 10.79.0.1/32 dev va
	smoke
	gid_at la 255
	smoke --gid-index 255
	[[ $(</sys/class/infiniband/la/ports/1/gids/$((length - 1))) == *:0a4e:* ]]
	refused grep -q 0a4f:0001 "/sys/class/infiniband/la/ports/1/gids/"*
	every $((length - 3)) del
	ip addr del 10.79.0.1/32 dev va
	soon no_gid_at la $((length - 1))
	soon no_gid_at la 3
	smoke
}

# The adapter has the speed of its interface, or the slowest there is.
speed_followed()
{
	local text
	add_pair
	text=$(ibv_devinfo -v -d la)
	[[ $text =~ active_width:[[:space:]]+1X\  ]]
	[ "$(</sys/class/net/va/speed)" = 10000 ]
	[[ $text =~ active_speed:[[:space:]]+10.0\ Gbps\  ]]
	[ -d /sys/module/dummy ] || modprobe dummy numdummies=0
	ip link add dum1 type dummy
	ip link set dum1 up
	add ld1 dum1
	text=$(ibv_devinfo -v -d ld1)
	[[ $text =~ active_width:[[:space:]]+1X\  ]]
	[[ $text =~ active_speed:[[:space:]]+2.5\ Gbps\  ]]
	delete ld1
	ip link del dum1
}

addresses_under_traffic()
{
	local i
	add_pair
	start_traffic --gid v6
	for i in 1 2 3 4 5 6 7 8; do
		ip -batch - <<-END
			addr add 10.77.$i.1/24 dev va
			addr add fd77:$i::1/64 dev vb nodad
			addr del 10.77.$i.1/24 dev va
			addr del fd77:$i::1/64 dev vb
		END
	done
	goes_on
	stop_traffic
}

# A QP holds on to its GID: the address goes while it is used, and comes back.
own_address_away()
{
	add_pair
	start_traffic
	ip addr del 10.9.0.1/24 dev va
	cross_routes va vb 10.9.0 fd09
	goes_on
	stop_traffic
	soon has_gid la v4 10.9.0.1
	smoke
}

vlans()
{
	[ -d /sys/module/8021q ] || modprobe 8021q
	ip -batch - <<-END
		link add link va name va.7 type vlan id 7
		link add link vb name vb.7 type vlan id 7
	END
	loose va.7 vb.7
	ip -batch - <<-END
		link set va.7 up
		link set vb.7 up
	END
	policy_routing va.7 vb.7
	cross_routes va.7 vb.7 10.97.0 fd97
}

no_vlans()
{
	ip -batch - <<-END
		link del va.7
		link del vb.7
	END
}

# How many of the frames that leave an interface carry a tag: the VLAN interface
# counts what it sent down.
vlan_gids()
{
	local version a b before
	vlans
	add_pair
	for version in v4 v6; do
		if [ $version = v4 ]; then
			soon has_gid la v4 10.97.0.1
			soon has_gid lb v4 10.97.0.2
			a=$(has_gid la v4 10.97.0.1)
			b=$(has_gid lb v4 10.97.0.2)
		else
			soon has_gid la v6 fd97::1
			soon has_gid lb v6 fd97::2
			a=$(has_gid la v6 fd97::1)
			b=$(has_gid lb v6 fd97::2)
		fi
		before=$(packets_of va.7)
		smoke --gid-index "$a" --peer-gid-index "$b"
		[ $(($(packets_of va.7) - before)) -gt 50 ] || {
			echo "the packets of $version did not take the VLAN"
			return 1
		}
	done
	smoke
	no_vlans
	soon no_gid la v4 10.97.0.1
	soon no_gid la v6 fd97::1
	smoke
}

vlan_removed_under_traffic()
{
	add_pair
	start_traffic
	local i
	for i in 1 2; do
		vlans
		soon has_gid la v4 10.97.0.1
		no_vlans
		soon no_gid la v4 10.97.0.1
	done
	goes_on
	stop_traffic
}

# rdma core makes no GIDs for a device whose interface is a VLAN itself: such a
# device could not be reached. Its addresses are GIDs of the device below.
vlan_device_refused()
{
	local log mark="life: VLAN $RANDOM"
	vlans
	echo "$mark" >/dev/kmsg
	refused add la va.7
	absent la
	log=$(dmesg)
	log=${log##*"$mark"}
	[[ $log == *"pavo: va.7: a VLAN's addresses are GIDs of"* ]] || {
		echo "the kernel said:$log"
		return 1
	}
	add la va
	soon has_gid la v4 10.97.0.1
	soon has_gid la v6 fd97::1
	no_vlans
}

netdev_renamed()
{
	add_pair
	start_traffic
	ip link set va down
	ip link set va name vz
	ip link set vz up
	policy_routing vz vb
	cross_routes vz vb 10.9.0 fd09
	netdev_is la vz
	goes_on
	stop_traffic
	smoke
	ip link set vz down
	ip link set vz name va
	ip link set va up
}

# net_of DEVICE: the interfaces that sysfs shows above it
net_of()
{
	ls "/sys/class/infiniband/$1/device/net"
}

parent_follows()
{
	local parent
	add_pair
	[ "$(net_of la)" = va ]
	[ /sys/class/infiniband/la/device/net/va -ef /sys/class/net/va ]
	parent=$(readlink -f /sys/class/infiniband/la/device)
	ip link set va down
	ip link set va name vz
	[ "$(net_of la)" = vz ]
	[ /sys/class/infiniband/la/device/net/vz -ef /sys/class/net/vz ]
	ip link set vz name va
	ip link set va up
	[ "$(net_of la)" = va ]
	ip netns add n1
	# the device can be seen there, its interface cannot
	[ -z "$(ip netns exec n1 ls /sys/class/infiniband/la/device/net)" ]
	ip netns del n1
	delete la
	soon test ! -e "$parent"
	ip link del va
	soon absent lb
	soon test ! -e /sys/devices/virtual/pavo
	veth_pair va vb 9000
}

# Both interfaces of a pair go together.
netdev_removed()
{
	local i
	for i in 1 2; do
		add_pair
		ip link del va
		soon absent la
		soon absent lb
		veth_pair va vb 9000
	done
	add_pair
	smoke
}

netdev_removed_while_held()
{
	add_pair
	watch la
	ip link del va
	soon absent la
	watcher_told
	end_watch
	veth_pair va vb 9000
	add_pair
	smoke
}

netdev_removed_under_traffic()
{
	local i
	for i in 1 2; do
		add_pair
		start_traffic
		ip link del va
		traffic_fails
		soon absent la
		soon absent lb
		veth_pair va vb 9000
	done
}

# ask_all STOP: everything that tells of la and its interface, until there is a file STOP
ask_all()
{
	local file
	while [ ! -e "$1" ]; do
		for file in /sys/class/infiniband/la/ports/1/{state,rate,phys_state,gids/0,gid_attrs/ndevs/0}; do
			read -r _ <"$file" || true
		done 2>/dev/null
		ibv_devinfo -v -d la >/dev/null 2>&1 || true
		rdma -d link show >/dev/null 2>&1 || true
	done
}

# The interface goes, its adapter is deleted, and processes ask for both, all at once.
netdev_removed_in_company()
{
	local i stop=$work/stop.$RANDOM askers=()
	for i in 1 2; do
		ask_all "$stop" &
		askers+=($!)
	done
	for ((i = 0; i < 6; i++)); do
		add la va
		soon active la
		if ((i % 2)); then
			delete la &
			ip link del va
			wait $! || true
		else
			ip link del va &
			delete la || true
			wait $!
		fi
		soon absent la
		veth_pair va vb 9000
	done
	touch "$stop"
	wait "${askers[@]}"
	rm "$stop"
	add_pair
	smoke
}

netdev_tests()
{
	life "interface: down and up" down_and_up
	life "interface: down when the device is added" down_at_first
	life "interface: down and up under traffic" down_and_up_under_traffic
	life "MTU: the active MTU follows" mtu_followed
	life "MTU: changed under traffic" mtu_under_traffic
	life "MTU: too small for a moment" mtu_too_small_for_a_moment
	life "MTU: too small for management datagrams" \
		mtu_too_small_for_management
	if [ "$type" = pavo ]; then
		life "interface: its queue is full" queue_full
		life "interface: its queue is full of answers" \
			queue_full_of_answers
	fi
	life "addresses: the GID table follows" addresses_followed
	if [ "$type" = pavo ]; then
		life "addresses: they fill the GID table" \
			addresses_fill_the_table
		life "speed and width: those of the interface" speed_followed
	fi
	life "addresses: others come and go under traffic" addresses_under_traffic
	life "addresses: its own goes and comes back" own_address_away
	if [ "$type" = pavo ]; then
		life "interface: sysfs leads from the device to it" \
			parent_follows
		life "VLAN: a device on the VLAN interface itself is refused" \
			vlan_device_refused
	fi
	life "VLAN: its addresses as GIDs of the device below" vlan_gids
	life "VLAN: comes and goes under traffic" vlan_removed_under_traffic
	life "interface: renamed under traffic" netdev_renamed
	life "interface: removed" netdev_removed
	life "interface: removed while an application holds it" \
		netdev_removed_while_held
	life "interface: removed under traffic" netdev_removed_under_traffic
	life "interface: removed while the link is deleted and reported" \
		netdev_removed_in_company
}
