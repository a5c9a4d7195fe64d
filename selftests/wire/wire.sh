# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The wire of the groups wire and wirefuzz, in a guest. Sourced by their guest.sh.

# make_wire: wdut carries the device under test and all addresses; wtool carries nothing,
# and the peers that the test speaks for exist only as permanent neighbours behind it.
make_wire()
{
	local mac peer
	[ -d /sys/module/veth ] || modprobe veth
	ip link add wdut mtu 9000 type veth peer name wtool mtu 9000 || return 1
	sysctl -q -w net.ipv6.conf.wtool.disable_ipv6=1 \
		net.ipv6.conf.wdut.accept_dad=0 || return 1
	# A wire keeps the order of packets; a veth pair does so only if each end is served
	# by one CPU, whichever CPU sent.
	if [ "$(nproc)" -gt 1 ]; then
		echo 1 >/sys/class/net/wtool/queues/rx-0/rps_cpus
		echo 2 >/sys/class/net/wdut/queues/rx-0/rps_cpus
	fi
	# The tool reads frames as the wire would have them: no segmentation left undone.
	ip link set dev wdut gso_max_segs 1 &&
		ip link set dev wtool up &&
		ip link set dev wdut up &&
		ip address add 10.9.0.1/24 dev wdut &&
		ip address add fd00:9::1/64 dev wdut nodad || return 1
	mac=$(cat /sys/class/net/wtool/address)
	for peer in 10.9.0.2 10.9.0.77 fd00:9::2; do
		ip neighbour replace "$peer" lladdr "$mac" nud permanent dev wdut ||
			return 1
	done
}
