#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The interop group: two guests on a wire, pavo in the first, rdma_rxe in the
# second; the matrix of RC, UC, UD and shared receive queues with both roles and both
# IP versions, rping, perftest's tools, and afterwards what was on the wire is
# examined. Called by selftests/run, or by hand after `make`. TYPE=rxe tries the tests themselves.
# usage: run.sh
# One CPU each: two guests with more of them wait for each other on a host of two.
# PAVO_WIDE=1: two CPUs each.
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

for tool in tshark dumpcap ib_write_bw; do
	command -v $tool >/dev/null || {
		echo "1..0 # SKIP $tool is not installed (tshark, perftest)"
		exit 4
	}
done

logs=$(mktemp -d "${PAVO_LOGS:-/tmp}/interop-XXXXXX")
keep=${PAVO_LOGS:-}
trap '[ -n "$keep" ] || rm -rf "$logs"' EXIT

# rdma_rxe of 6.1 looks one pointer beyond a region's table when a message ends
# with a page of it: KASAN reports the peer, on the peer's node.
peers_own='KASAN: slab-out-of-bounds in rxe_mr_copy'

status=0
cpus=1
[ -z "${PAVO_WIDE:-}" ] || cpus=2
"$PAVO_VM" cluster 2 -q --smp $cpus --mem 1G --mtu 9000 \
	--timeout "$(limit 900)" --allow-console "$peers_own" --logs "$logs/guests" -- \
	bash "$here/guest.sh" "$TYPE" rxe "$PAVO_BUILD/selftests/verbs/pavo-verbs" ||
	status=$?

capture=$logs/guests/share/node2/out/wire.pcap
python3 "$here/examine.py" "$capture" "${capture%/*}/dumpcap.log" \
	52:54:00:77:00:01 || status=$?
# A capture is large, and worth keeping only when it shows something.
[ $status -ne 0 ] || rm -f "$capture"
exit $status
