#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: the adapters that programs of pavo-callfuzz play with, made where they are
# missing; what they are goes to /run/callfuzz-world. Called by pavo-callfuzz (world.cpp).
# usage: world.sh make PID-WHOSE-NAMESPACES-ARE-THE-OTHER'S
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
holder=$2

there()
{
	nsenter -t "$holder" -n "$@"
}

# The pair fa, fb here.
make_pair()
{
	[ -e /sys/class/net/fa ] ||
		ip link add fa mtu 9000 type veth peer name fb mtu 9000 || return 1
	loose fa fb
	ip link set fa mtu 9000 up
	ip link set fb mtu 9000 up
	policy_routing fa fb
	cross_routes fa fb 10.10.0 fd10
}

# The pair fd here, fc there.
make_far_pair()
{
	local mac_c mac_d
	if ! there ip link show fc >/dev/null 2>&1; then
		[ ! -e /sys/class/net/fd ] || ip link del fd
		ip link add fd mtu 9000 type veth peer name fc mtu 9000 || return 1
		ip link set fc netns "$holder" || return 1
	fi
	loose fd
	there ip link set lo up
	there ip link set fc mtu 9000 up
	ip link set fd mtu 9000 up
	read -r mac_d <"/sys/class/net/fd/address"
	mac_c=$(there ip -o link show fc | sed 's/.*ether \([^ ]*\).*/\1/')
	ip -force -batch - <<-END
		addr replace 10.11.0.1/24 dev fd
		addr replace fd11::1/64 dev fd nodad
		neigh replace 10.11.0.2 lladdr $mac_c dev fd nud permanent
		neigh replace fd11::2 lladdr $mac_c dev fd nud permanent
	END
	there ip -force -batch - <<-END
		addr replace 10.11.0.2/24 dev fc
		addr replace fd11::2/64 dev fc nodad
		neigh replace 10.11.0.1 lladdr $mac_d dev fc nud permanent
		neigh replace fd11::1 lladdr $mac_d dev fc nud permanent
	END
}

# A tunnel of C to here, of which the inner protocol is C's to choose.
make_tunnel()
{
	there ip link show gi >/dev/null 2>&1 && return
	there ip link add gi type geneve id 1 remote 10.11.0.1 innerprotoinherit &&
		there ip link set gi up
}

# Those that have no other name, and no more.
make_adapters()
{
	local name i
	for i in /sys/class/infiniband/*; do
		name=${i##*/}
		case $name in
		wa0 | wb0) ;;
		fa0 | fb0 | fc0 | fd0)
			# on another interface, or on one that is gone
			[ -e "$i/device/net/${name%0}" ] || [ "$name" = fc0 ] ||
				rdma link delete "$name" ;;
		*) rdma link delete "$name" ;;
		esac
	done
	for name in fa fb fd; do
		[ -e "/sys/class/infiniband/${name}0" ] ||
			rdma link add "${name}0" type pavo netdev "$name" || return 1
	done
	[ -e /sys/class/infiniband/fc0 ] ||
		there rdma link add fc0 type pavo netdev fc
}

number_of()
{
	local i name
	for i in /sys/class/infiniband_verbs/uverbs*; do
		read -r name <"$i/ibdev" && [ "$name" = "$1" ] &&
			echo "${i##*uverbs}" && return 0
	done
	return 1
}

# A line for each: numbers of netlink and uverbs, indexes of both addresses, addresses.
describe()
{
	local name number index four six gid4 gid6
	for name in fa0 fb0 fc0 fd0; do
		index=$(rdma dev show "$name") && index=${index%%:*} || return 1
		number=$(number_of "$name") || return 1
		wait_for gid_index "$name" v4
		wait_for gid_index "$name" v6
		four=$(gid_index "$name" v4)
		six=$(gid_index "$name" v6)
		read -r gid4 <"/sys/class/infiniband/$name/ports/1/gids/$four"
		read -r gid6 <"/sys/class/infiniband/$name/ports/1/gids/$six"
		echo "$index" "$number" "$four" "$six" "$gid4" "$gid6"
	done
}

# Writes the commands that mend the links of this namespace when they were down, for world.cpp.
write_links()
{
	local mac_a mac_b mac_c
	read -r mac_a </sys/class/net/fa/address
	read -r mac_b </sys/class/net/fb/address
	mac_c=$(there ip -o link show fc | sed 's/.*ether \([^ ]*\).*/\1/')
	cat >/run/callfuzz-links <<-END
		link set fa mtu 9000 up
		link set fb mtu 9000 up
		link set fd mtu 9000 up
		addr replace 10.10.0.1/24 dev fa
		addr replace 10.10.0.2/24 dev fb
		addr replace 10.11.0.1/24 dev fd
		addr replace fd10::1/64 dev fa nodad
		addr replace fd10::2/64 dev fb nodad
		addr replace fd11::1/64 dev fd nodad
		neigh replace 10.10.0.2 lladdr $mac_b dev fa nud permanent
		neigh replace 10.10.0.1 lladdr $mac_a dev fb nud permanent
		neigh replace fd10::2 lladdr $mac_b dev fa nud permanent
		neigh replace fd10::1 lladdr $mac_a dev fb nud permanent
		neigh replace 10.11.0.2 lladdr $mac_c dev fd nud permanent
		neigh replace fd11::2 lladdr $mac_c dev fd nud permanent
		route replace 10.10.0.2/32 dev fa src 10.10.0.1 table 100
		route replace 10.10.0.1/32 dev fb src 10.10.0.2 table 100
		route replace fd10::2/128 dev fa src fd10::1 table 100
		route replace fd10::1/128 dev fb src fd10::2 table 100
	END
}

make_pair && make_far_pair && make_tunnel && make_adapters && write_links &&
	describe >/run/callfuzz-world && chmod a+rw /dev/infiniband/uverbs*
