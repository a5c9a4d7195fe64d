#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The window group between three guests, network interfaces over windows. Called by
# selftests/run, or by hand after `make`.
# usage: run-interface.sh
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
exec "$PAVO_VM" cluster 3 -q --smp 1 --mem "$(memory_of_node 512M)" --timeout "$(limit 300)" -- bash \
	"$here/interface.sh" "$PAVO_BUILD/userspace/tools"
