# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about network namespaces: devices in two of them talk, namespaces
# go with a device in them, an interface moves. rdma_rxe (6.1) works in the
# first namespace only, so that these are about pavo. Sourced by guest.sh.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

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
	ip netns exec n1 rdma link add la type "$type" netdev x1
	ip netns exec n2 rdma link add lb type "$type" netdev x2
	soon active la
	soon active lb
	soon has_gid la v4 10.66.0.1
	soon has_gid lb v4 10.66.0.2
}

namespaces_talk()
{
	local server status=0
	two_namespaces
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
	ip netns exec n1 rdma link add la type "$type" netdev va
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
}
