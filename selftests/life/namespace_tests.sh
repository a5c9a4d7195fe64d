# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about network namespaces: devices in two of them talk, namespaces
# go with a device in them, an interface moves. rdma_rxe (6.1) works in the
# first namespace only, so that these are about pavo. Sourced by guest.sh.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

# inside NAMESPACE COMMAND...: also functions
inside()
{
	local name=$1
	shift
	# shellcheck disable=SC2016 # expanded there
	ip netns exec "$name" bash -c '"$@"' - "$@"
}
export -f active gid_entry gid_of has_gid present absent

two_namespaces()
{
	ip netns add n1
	ip netns add n2
	ip link add x1 mtu 9000 netns n1 type veth peer name x2 mtu 9000 netns n2
	ip -n n1 -batch - <<-END
		addr add 10.66.0.1/24 dev x1
		addr add fd66::1/64 dev x1 nodad
		link set lo up
		link set x1 up
	END
	ip -n n2 -batch - <<-END
		addr add 10.66.0.2/24 dev x2
		addr add fd66::2/64 dev x2 nodad
		link set lo up
		link set x2 up
	END
	inside n1 rdma link add la type "$type" netdev x1
	inside n2 rdma link add lb type "$type" netdev x2
	soon inside n1 active la
	soon inside n2 active lb
	soon inside n1 has_gid la v4 10.66.0.1
	soon inside n2 has_gid lb v4 10.66.0.2
}

talk()
{
	local server status=0
	ip netns exec n2 "$verbs" --dev lb --server 2>"$work/server" &
	server=$!
	soon says "$work/server" serving
	ip netns exec n1 "$verbs" --dev la --connect 10.66.0.2 \
		--only data.send.mtu_4096 --only order.mixed_operations \
		--only rnr.late_send >"$work/smoke" || {
		cat "$work/smoke"
		status=1
	}
	kill $server
	wait $server || true
	return $status
}

namespaces_talk()
{
	two_namespaces
	talk
}

# rping_between ADDRESS: n2 serves there, n1 asks
rping_between()
{
	local server status=0
	ip netns exec n2 "$rping_server" 5 -a "$1" -S 5000 \
		>"$work/rping" 2>&1 &
	server=$!
	soon inside n2 cm_listening
	ip netns exec n1 "$rping_client" 5 \
		-a "$1" -S 5000 >"$work/rping-client" 2>&1 || status=$?
	wait $server || status=$?
	[ $status = 0 ] || tail -n 5 "$work/rping" "$work/rping-client"
	return $status
}

# sent_by INTERFACE: packets of n1's, in $value
sent_by()
{
	value=$(inside n1 cat "/sys/class/net/$1/statistics/tx_packets")
}

namespaces_connect()
{
	local value before
	two_namespaces
	sent_by x1 && before=$value
	rping_between 10.66.0.2
	rping_between fd66::2
	sent_by x1 && ((value > before + 40))
}

# In shared mode a device is seen in every namespace, and an application of any may
# use it; what it sends goes where the interface is. Addresses are those of the
# application's own namespace all the same.
shared_is_seen_everywhere()
{
	local value before
	two_namespaces
	for space in n1 n2; do
		inside $space listed la
		inside $space listed lb
		inside $space present la
		inside $space present lb
	done
	listed la
	listed lb
	sent_by x1 && before=$value
	smoke
	sent_by x1 && ((value > before + 20))
	# its address is not there: rdma_cm does not bind to it
	refused ip netns exec n1 rping -s -a 10.66.0.2 -C 1
	refused rping -s -a 10.66.0.2 -C 1
	# and a device needs an interface of the namespace it is made in
	refused inside n1 rdma link add lc type "$type" netdev va
}

# The file that an application opens for the device, seen from its namespace
uverbs_of()
{
	local file
	for file in /sys/class/infiniband_verbs/uverbs*; do
		if says "$file/ibdev" "$1"; then
			echo "/dev/infiniband/${file##*/}"
			return
		fi
	done
	return 1
}
export -f says uverbs_of

opened()
{
	: <>"$1"
}
export -f opened

listed()
{
	rdma -j dev show | grep -q "\"$1\""
}
export -f listed

exclusive_sees_its_own()
{
	local file_a file_b
	rdma system set netns exclusive
	two_namespaces
	inside n1 listed la
	inside n2 listed lb
	refused inside n1 listed lb
	refused inside n2 listed la
	refused listed la
	refused listed lb
	inside n1 absent lb
	inside n2 absent la
	absent la
	absent lb
	file_a=$(inside n1 uverbs_of la)
	file_b=$(inside n2 uverbs_of lb)
	inside n1 opened "$file_a"
	inside n2 opened "$file_b"
	refused inside n1 opened "$file_b"
	refused inside n2 opened "$file_a"
	refused opened "$file_a"
	leave_exclusive
}

exclusive_talks()
{
	rdma system set netns exclusive
	two_namespaces
	talk
	leave_exclusive
}

# A device is moved by hand, as any adapter can be, and is of no use there.
exclusive_moves_by_hand()
{
	rdma system set netns exclusive
	two_namespaces
	inside n1 rdma dev set la netns n2
	inside n2 listed la
	refused inside n1 listed la
	inside n2 rdma dev set la netns n1
	inside n1 listed la
	talk
	leave_exclusive
}

# contained NAMESPACE DEVICE COMMAND...: as containers have it: namespaces of their own
# for processes and mounts too, and of /dev/infiniband this device and rdma_cm
contained()
{
	local space=$1 file
	file=$(inside "$1" uverbs_of "$2")
	# shellcheck disable=SC2016 # expanded there
	ip netns exec "$space" unshare --mount --pid --fork --kill-child \
		bash -c '
		mount -t proc proc /proc &&
		mkdir -p /run/given &&
		mount -t tmpfs given /run/given &&
		for file in "$1" /dev/infiniband/rdma_cm; do
			touch "/run/given/${file##*/}" &&
				mount --bind "$file" "/run/given/${file##*/}" ||
				exit
		done &&
		mount --rbind /run/given /dev/infiniband || exit
		"${@:2}"' - "$file" "${@:3}"
}

# only_has FILE DEVICE: in a container, this and nothing else
only_has()
{
	local devices minor
	[ "$(ls /dev/infiniband)" = "rdma_cm
${1##*/}" ] || return
	devices=$(ibv_devices)
	[[ $devices == *" $2 "* ]] || return
	ibv_devinfo -d "$2" >/dev/null || return
	# a node that it makes itself opens nothing either
	for minor in 192 193; do
		[ $minor = $((0x$(stat -c %T "$1"))) ] ||
			mknod "/run/other" c "0x$(stat -c %t "$1")" $minor
	done
	[ -c /run/other ] || return
	! opened /run/other 2>/dev/null || return
	rm /run/other
}
export -f only_has

containers()
{
	local server
	rdma system set netns exclusive
	two_namespaces
	contained n1 la only_has "$(inside n1 uverbs_of la)" la
	contained n2 lb only_has "$(inside n2 uverbs_of lb)" lb
	refused contained n1 la ibv_devinfo -d lb
	contained n2 lb "$verbs" --dev lb --server --once 2>"$work/server" &
	server=$!
	soon says "$work/server" serving
	contained n1 la "$verbs" --dev la --connect 10.66.0.2 \
		--only data.send.mtu_4096 --only order.mixed_operations
	wait $server
	contained n2 lb "$rping_server" 5 -a 10.66.0.2 -S 5000 >"$work/rping" &
	server=$!
	soon inside n2 cm_listening
	contained n1 la "$rping_client" 5 -a 10.66.0.2 -S 5000
	wait $server
	leave_exclusive
}

# The mode can be changed only while there is one namespace.
shared_again()
{
	rdma system set netns shared
}

leave_exclusive()
{
	ip netns del n1
	ip netns del n2
	soon shared_again
	soon absent la
	soon absent lb
}

namespace_goes()
{
	two_namespaces
	ip netns del n1
	soon absent la
	ip netns del n2
	soon absent lb
}

namespace_goes_while_held()
{
	two_namespaces
	watch la
	ip netns del n1
	soon absent la
	watcher_told
	end_watch
	ip netns del n2
	soon absent lb
}

# The mode can be changed only while there is one namespace: others are gone to the last reference.
one_namespace()
{
	rdma system set netns exclusive && rdma system set netns shared
}

# Packets of an adapter to itself wait when its namespace ends. The application is in another
# one, which does not end.
namespace_goes_while_packets_wait()
{
	local round
	for round in 1 2 3; do
		ip netns add n1
		ip link add x1 mtu 9000 netns n1 type veth \
			peer name x2 mtu 9000 netns n1
		ip -n n1 -batch - <<-END
			addr add 10.66.0.1/24 dev x1
			link set lo up
			link set x1 up
			link set x2 up
		END
		inside n1 rdma link add la type "$type" netdev x1
		soon inside n1 active la
		soon inside n1 has_gid la v4 10.66.0.1
		start_flood
		if ((round % 2 == 0)); then
			kill -9 "$traffic_pid"
		fi
		ip netns del n1
		if ((round % 2)); then
			traffic_fails
		else
			wait "$traffic_pid" || true
		fi
		soon absent la
		soon one_namespace
	done
}

# For the namespace it leaves, an interface that moves away is gone.
netdev_moves()
{
	ip netns add n1
	add_pair
	ip link set va netns n1
	soon absent la
	inside n1 rdma link add la type "$type" netdev va
	present la
	delete la
	ip netns del n1
	soon absent lb
	veth_pair va vb 9000
	add_pair
	smoke
}

namespace_tests()
{
	[ "$type" = pavo ] || return 0
	life "namespaces: devices in two of them talk" namespaces_talk
	life "namespaces: rdma_cm connects two of them" namespaces_connect
	life "namespaces, shared: devices are seen in all, addresses are not" \
		shared_is_seen_everywhere
	life "namespaces: one goes with its device" namespace_goes
	life "namespaces: one goes while an application holds its device" \
		namespace_goes_while_held
	life "namespaces: one goes while packets of its device wait" \
		namespace_goes_while_packets_wait
	life "namespaces: an interface with a device moves" netdev_moves
	life "namespaces, exclusive: each sees its own device and opens no other" \
		exclusive_sees_its_own
	life "namespaces, exclusive: devices in two of them talk" exclusive_talks
	life "namespaces, exclusive: a device is moved there and back" \
		exclusive_moves_by_hand
	life "namespaces, exclusive: containers use their own device, nothing else" \
		containers
}
