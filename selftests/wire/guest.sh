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
# shellcheck source=selftests/wire/wire.sh
. "$(dirname "$(readlink -f "$0")")/wire.sh"

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

make_wire
rdma link add wire0 type "$type" netdev wdut

exec "$tool" --type "$type" --device wire0 --interface wtool --kmsg "$@"
