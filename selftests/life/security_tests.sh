# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about users who may not: of another user and network namespace, of sockets,
# of a VLAN that was moved, of what is shown to administrators only. Sourced by guest.sh;
# world.sh and namespace_tests.sh say what the words mean.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

# stranger COMMAND...: an ordinary user, root of a user and a network namespace of its own
stranger()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups \
		unshare --user --map-root-user --net --mount bash -c '
		mount -t sysfs sysfs /sys && "$@"' - "$@"
}

# Every command of rdma (iproute2) that changes something.
try_commands()
{
	local command
	for command in 'dev set la name stolen' 'dev set la adaptive-moderation on' \
		'dev set la netns 1' 'link delete la' \
		'link add lc type pavo netdev lo' 'system set netns exclusive' \
		'statistic qp set link la/1 auto type on' \
		'statistic qp bind link la/1 lqpn 1' \
		'statistic set link la/1 optional-counters cc_rx_ce_pkts'; do
		# shellcheck disable=SC2086 # words
		if rdma $command 2>/dev/null; then
			echo "an ordinary user did: rdma $command"
			return 1
		fi
	done
	for command in 'dev show' 'link show' 'resource show' 'resource show qp' \
		'resource show cq' 'resource show mr' 'resource show pd' \
		'resource show cm_id' 'resource show ctx' 'resource show srq' \
		'statistic show' 'statistic qp show'; do
		# shellcheck disable=SC2086
		timeout 10 rdma -d -d $command >/dev/null 2>&1
	done
	return 0
}
export -f try_commands

recoveries()
{
	cat "/sys/class/infiniband/$1/recover"
}

# The adapter's attributes are the same everywhere, and only administrators of its network
# change them.
strangers_are_harmless()
{
	local seen
	add_pair
	start_traffic
	echo 1 >/sys/class/infiniband/la/recover
	[ "$(recoveries la)" = 1 ]
	seen=$(stranger cat /sys/class/infiniband/la/recover)
	[ "$seen" = 1 ] || {
		echo "read from another namespace: $seen"
		return 1
	}
	stranger "${BASH_SOURCE[0]%/*}/try-attributes" /sys/class/infiniband/la/ \
		/sys/class/infiniband_verbs/ /sys/kernel/debug/ >"$work/tried"
	stranger try_commands
	[ "$(recoveries la)" = 1 ]
	# root of the machine, but not of its network
	ip netns add n1
	refused ip netns exec n1 setpriv --bounding-set -net_admin --inh-caps -net_admin \
		bash -c 'echo 1 >/sys/class/infiniband/la/recover'
	[ "$(recoveries la)" = 1 ]
	ip netns exec n1 bash -c 'echo 1 >/sys/class/infiniband/la/recover'
	[ "$(recoveries la)" = 2 ]
	ip netns exec n1 bash -c 'cat /sys/class/infiniband/la/recover' | grep -qx 2
	ip netns del n1
	goes_on
	stop_traffic
}

# Everything that commands of rdma can set, but for counts that move
state_of_rdma()
{
	rdma system show
	rdma -d dev show
	rdma -d link show
	rdma resource show
	rdma statistic mode
	rdma statistic qp mode
}

# Commands of netlink, attribute by attribute: refused, told nothing that helps to forge.
netlink_is_harmless()
{
	local program=${BASH_SOURCE[0]%/*}/try-netlink
	add_pair
	start_traffic
	state_of_rdma >"$work/before"
	"$program" la record "$work/secrets"
	chmod a+rx "$work" && chmod a+r "$work/secrets"
	# it need not hurry, but be there
	kill -STOP "$traffic_pid"
	stranger "$program" la try "$work/secrets"
	state_of_rdma >"$work/after"
	kill -CONT "$traffic_pid"
	diff "$work/before" "$work/after"
	goes_on
	stop_traffic
}

# say ADDRESS [PORT]: a datagram of this machine's user, which is no RDMA packet
say()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups \
		bash -c 'printf hello >"/dev/udp/$1/$2"' - "$1" "${2:-4791}" 2>/dev/null
}

# shorts_are A B: datagrams that adapters la and lb have taken and found too short
shorts_are()
{
	local value
	counter_of la rx_drop_short && [ "$value" = "$1" ] &&
		counter_of lb rx_drop_short && [ "$value" = "$2" ]
}

sockets_are_kept_away()
{
	local value to parameter=/sys/module/pavo/parameters/allow_user_packets
	add_pair
	# The interface of the other one, the own address, and from another namespace.
	for to in 10.9.0.2 fd09::2 10.9.0.1 fd09::1; do
		refused say "$to"
	done
	counter_of la tx_drop_user_socket && [ "$value" -ge 2 ]
	shorts_are 0 0
	# Other ports are none of RDMA's.
	say 10.9.0.2 4790
	say fd09::2 4792
	# The rule is there to be left: then it is delivered.
	echo Y >"$parameter"
	say 10.9.0.2
	say fd09::2
	echo N >"$parameter"
	soon shorts_are 0 2
	refused say 10.9.0.2
	start_traffic
	goes_on
	stop_traffic
	# Without an adapter the port is as any other.
	delete la
	delete lb
	say 10.9.0.2
}

# A user of another namespace whose interface leads here sends nothing either.
sockets_abroad_are_kept_away()
{
	local value
	add_pair
	ip netns add n1
	ip link add mv1 link vb netns n1 type macvlan mode bridge
	ip -n n1 -batch - <<-END
		addr add 10.9.0.9/24 dev mv1
		link set mv1 up
	END
	refused ip netns exec n1 bash -c 'printf hello >/dev/udp/10.9.0.1/4791'
	shorts_are 0 0
	ip netns del n1
}

# seen_by COUNTER: packets that a rule of nft has counted, in $seen
seen_by()
{
	[[ $(nft list counter inet pavo_test "$1") =~ packets\ ([0-9]+) ]] &&
		seen=${BASH_REMATCH[1]} && ((seen))
}

# Rules that ask for the owner of a socket do not match packets of RDMA, which have none;
# rules that ask for the port do. That rules can ask for owners at all: another datagram.
owners_are_unknown()
{
	local seen
	add_pair
	nft 'table inet pavo_test {
		counter port { }
		counter owner { }
		counter known { }
		chain out {
			type filter hook output priority 0;
			oifname va udp dport 4791 counter name port
			oifname va udp dport 4791 meta skuid 0-4294967294 counter name owner
			oifname va udp dport 4790 meta skuid 65534 counter name known
		}
	}'
	start_traffic
	goes_on
	say 10.9.0.2 4790
	seen_by known
	seen_by port
	refused seen_by owner
	nft delete table inet pavo_test
	stop_traffic
}

# The traffic of a VLAN that another namespace has is not the adapter's: not what comes by
# it, and it sends none by it. In this namespace it is.
moved_vlan_is_anothers()
{
	local value before dummy=/sys/module/dummy
	vlans
	add_pair
	soon has_gid la v4 10.97.0.1
	echo Y >/sys/module/pavo/parameters/allow_user_packets
	say 10.97.0.1
	soon shorts_are 1 0
	ip netns add n1
	ip link set va.7 netns n1
	[ -d $dummy ] || modprobe dummy numdummies=0
	# Its sockets are there because of another adapter.
	ip -n n1 -batch - <<-END
		link add dum1 type dummy
		link set dum1 up
		link set lo up
		addr add 10.97.0.1/24 dev va.7
		link set va.7 up
	END
	inside n1 rdma link add ld type pavo netdev dum1
	soon inside n1 heard_from vb.7 10.97.0.1
	shorts_are 1 0
	counter_of ld rx_drop_short && [ "$value" = 0 ]
	echo N >/sys/module/pavo/parameters/allow_user_packets
	soon has_gid la v4 10.97.0.1
	gid_is_useless la v4 10.97.0.1
	ip netns del n1
	soon absent ld
	ip link del vb.7
}

# Datagrams sent until the interface in this namespace has seen one to that address.
heard_from()
{
	local before after
	before=$(awk '$1 == "Udp:" && $2 ~ /[0-9]/ { print $2 + $3 + $4 }' /proc/net/snmp)
	nsenter --net=/proc/1/ns/net bash -c 'printf hello >"/dev/udp/$1/4791"' - "$2"
	after=$(awk '$1 == "Udp:" && $2 ~ /[0-9]/ { print $2 + $3 + $4 }' /proc/net/snmp)
	[ "$after" -gt "$before" ] || received_by va.7
}

received_by()
{
	local n
	read -r n <"/sys/class/net/$1/statistics/rx_packets"
	((n > 0))
}
export -f heard_from received_by

# Facts that help to forge packets are for administrators.
secrets_are_kept()
{
	add_pair
	start_traffic
	[[ $(rdma -dd resource show qp) == *drv_next_psn* ]]
	[[ $(rdma -dd resource show mr) == *drv_iova* ]]
	for kind in qp mr cq; do
		setpriv --reuid 65534 --regid 65534 --clear-groups \
			rdma -dd resource show $kind >"$work/shown-$kind"
	done
	says "$work/shown-qp" drv_sq_size
	says "$work/shown-cq" drv_size
	refused grep -qE 'drv_[a-z_]*(psn|msn)|[rs]q-psn [1-9]' "$work/shown-qp"
	refused grep -qE 'iova|rkey|lkey' "$work/shown-mr"
	stop_traffic
}

# start_stuck: an application whose queue pair waits for a page that never comes
start_stuck()
{
	[ -d /sys/module/fuse ] || modprobe fuse
	mkdir -p "$work/never"
	"$programs/pavo-stuck" la lb "$work/never" >"$work/stuck" 2>&1 &
	stuck_pid=$!
	soon says "$work/stuck" asked || {
		cat "$work/stuck"
		return 1
	}
	soon counted lb odp_faults
}

# It hangs nowhere.
end_stuck()
{
	kill -KILL $stuck_pid
	soon ended $stuck_pid
	wait $stuck_pid || true
	umount -l "$work/never"
}

# Each takes away something below a fault that does not end. The thread that waits for it
# is left, and with it the module.
stuck_links()
{
	add_pair
	start_stuck
	delete lb
	absent lb
	delete la
	soon devices_gone
	end_stuck
}

stuck_interface()
{
	add_pair
	start_stuck
	ip link del va
	soon absent la
	soon absent lb
	end_stuck
	veth_pair va vb 9000
}

stuck_namespace()
{
	two_namespaces
	start_stuck
	ip netns del n2
	soon absent lb
	ip netns del n1
	soon absent la
	end_stuck
}

# It says that it is in use, at once, and goes when the page is given up.
stuck_module()
{
	add_pair
	start_stuck
	refused unload
	delete lb
	refused unload
	end_stuck
	soon unload
	load
	add_pair
	smoke
}

stuck_killed()
{
	add_pair
	start_stuck
	end_stuck
	smoke
}

# As many at a time as a process may have, and one of another process.
stuck_many()
{
	local first_pid
	add_pair
	start_stuck
	first_pid=$stuck_pid
	smoke --only odp.data
	kill -0 "$first_pid"
	end_stuck
}

security_tests()
{
	[ "$type" = pavo ] || return 0
	life "a page that never comes: links are deleted" stuck_links
	life "a page that never comes: the interface goes" stuck_interface
	life "a page that never comes: the namespace ends" stuck_namespace
	life "a page that never comes: the module is unloaded" stuck_module
	life "a page that never comes: the application is killed" stuck_killed
	life "a page that never comes: another application has its own" stuck_many
	life "strangers: of another user and network namespace, change nothing" \
		strangers_are_harmless
	life "strangers: commands of netlink, attribute by attribute" 		netlink_is_harmless
	life "sockets: no process sends to the port of RDMA" sockets_are_kept_away
	life "sockets: nor from another namespace" sockets_abroad_are_kept_away
	life "filters: by port they match packets of RDMA, by owner they do not" \
		owners_are_unknown
	life "VLAN: in another namespace it is another's" moved_vlan_is_anothers
	of_driver "resources: PSNs and addresses are shown to administrators" \
		secrets_are_kept
}
