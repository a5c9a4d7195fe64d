#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The apps group: programs that others wrote, between two guests with pavo devices:
# rdma-core's and perftest's, UCX, libfabric, Open MPI; run-storage.sh: NVMe, NFS, iSER. Called by
# selftests/run (which sets PAVO_*), or by hand after `make`.
# usage: run.sh [--name NAME-PART] [PARTS...]; TYPE=rxe tries the tests themselves; VALKEY=TREE is for
# the part valkey.
# PAVO_WIDE=1 (make test-full): more variants.
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
options=()
if [ "${1:-}" = --name ]; then
	options=("$1" "$2")
	shift 2
fi
seconds=900
if [ -n "${PAVO_WIDE:-}" ]; then
	options+=(--wide)
	seconds=2400
fi
# To the module the frameworks are more of the same, and slow under a sanitizer.
if [ $# = 0 ]; then
	set -- rdma-core perftest
	is_slow || set -- "$@" frameworks
fi
# The program that Open MPI runs is built where Open MPI is.
if command -v mpicxx >/dev/null; then
	mpi_program=$PAVO_BUILD/selftests/apps/pavo-mpi-check
	mkdir -p "${mpi_program%/*}"
	mpicxx -std=c++20 -O1 -Wall -Wextra -DOMPI_SKIP_MPICXX -o "$mpi_program" \
		"$here/mpi_check.cpp" || {
		echo "1..0 # mpicxx cannot build mpi_check.cpp"
		exit 1
	}
	options+=(--mpi "$mpi_program")
fi
# One CPU each: two guests with more of them wait for each other on a host of two.
exec "$PAVO_VM" cluster 2 -q --smp 1 --mem 1G --mtu 9000 \
	--env VALKEY="${VALKEY:-}" --timeout "$(limit $seconds)" -- bash \
	"$here/guest.sh" "${options[@]}" "$TYPE" "$@"
