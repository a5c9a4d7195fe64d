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
	life "namespaces: one goes with its device" namespace_goes
	life "namespaces: one goes while an application holds its device" \
		namespace_goes_while_held
	life "namespaces: an interface with a device moves" netdev_moves
	life "namespaces, exclusive: each sees its own device and opens no other" \
		exclusive_sees_its_own
	life "namespaces, exclusive: devices in two of them talk" exclusive_talks
	life "namespaces, exclusive: a device is moved there and back" \
		exclusive_moves_by_hand
}
