#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The apps group: programs that others wrote, between two guests with pavo
# devices: rdma_cm's examples, ibv_rc_pingpong, perftest. Called by
# selftests/run, or by hand after `make`. TYPE=rxe tries the tests themselves.
# usage: run.sh [NAME-PART]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

for tool in rping ucmatose rdma_server ibv_rc_pingpong ib_write_bw; do
	command -v $tool >/dev/null || {
		echo "1..0 # SKIP $tool is not installed (rdmacm-utils," \
			"ibverbs-utils, perftest)"
		exit 4
	}
done
exec "$PAVO_VM" cluster 2 -q --mem 1G --mtu 9000 --timeout "$(limit 900)" -- \
	bash "$here/guest.sh" "$TYPE" "$@"
