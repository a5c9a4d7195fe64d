#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The disks group between two guests: the examples io_unit and io_host, on disks with
# controllers of their own. Called by selftests/run (which sets PAVO_*), or by hand after `make`.
# usage: run-nodes.sh
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/disks/host-disks.sh
. "$here/host-disks.sh"

add_disks
exec "$PAVO_VM" cluster 2 -q --smp 1 --mem 512M --mtu 9000 --timeout "$(limit 300)" \
	"${arguments[@]}" -- bash "$here/nodes.sh" "$PAVO_BUILD/userspace/examples"
