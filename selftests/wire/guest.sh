#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Prepares a guest for the wire tests and runs them: loads the device's module, makes
# the veth pair and the RDMA device, then becomes pavo-wire.
#
# Called by run.sh in a guest, as root; changes that guest's network.
# usage: guest.sh TYPE TOOL [pavo-wire arguments...]; TYPE is pavo or rxe
# environment, for pavo only: PAVO_KO, the module; IBV_DRIVERS, the provider
set -euo pipefail

type=$1 tool=$2
shift 2

case $type in
pavo)
	modprobe -a ib_uverbs rdma_cm ib_cm udp_tunnel ip6_udp_tunnel 2>/dev/null || true
	insmod "$PAVO_KO"
	;;
rxe)
	modprobe rdma_rxe
	unset IBV_DRIVERS
	;;
*)
	echo "guest.sh: no device type $type" >&2
	exit 2
	;;
esac
modprobe ib_uverbs

# wdut carries the device under test and all addresses; wtool carries nothing, and the
# peers the scripts speak for exist only as permanent neighbours behind it.
ip link add wdut mtu 9000 type veth peer name wtool mtu 9000
sysctl -q -w net.ipv6.conf.wtool.disable_ipv6=1 net.ipv6.conf.wdut.accept_dad=0
# A wire keeps the order of packets; a veth pair does so only if each end is served by
# one CPU, whichever CPU sent.
if [ "$(nproc)" -gt 1 ]; then
	echo 1 >/sys/class/net/wtool/queues/rx-0/rps_cpus
	echo 2 >/sys/class/net/wdut/queues/rx-0/rps_cpus
fi
# The tool reads frames as the wire would have them: no segmentation left undone.
ip link set dev wdut gso_max_segs 1
ip link set dev wtool up
ip link set dev wdut up
ip address add 10.9.0.1/24 dev wdut
ip address add fd00:9::1/64 dev wdut nodad
mac=$(cat /sys/class/net/wtool/address)
for peer in 10.9.0.2 10.9.0.77 fd00:9::2; do
	ip neighbour replace "$peer" lladdr "$mac" nud permanent dev wdut
done
rdma link add wire0 type "$type" netdev wdut

exec "$tool" --type "$type" --device wire0 --interface wtool --kmsg "$@"
