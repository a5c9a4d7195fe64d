#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# rdma-core's own test-suite over pavo and over rdma_rxe, side by side. Called by
# `make test-pyverbs`, or by hand after `make`. Nothing of the suite is in this
# tree: RDMA_CORE_SRC names a checkout. Writes build/pyverbs[-KERNEL].json.
# usage: run.sh [TEST...]: only tests whose name contains one of these
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

# as rdma-core's tags have it: without the distribution's revision
version=$(dpkg-query -W -f '${Version}' python3-pyverbs 2>/dev/null)
version=${version%%-*}
if [ ! -f "${RDMA_CORE_SRC:-/nowhere}/tests/run_tests.py" ]; then
	cat >&2 <<END
RDMA_CORE_SRC must name a folder with rdma-core's tests/, of the version of the
installed python3-pyverbs (${version:-not installed}):
    git clone --depth 1 -b v${version:-44.0} https://github.com/linux-rdma/rdma-core
    make test-pyverbs RDMA_CORE_SRC=\$PWD/rdma-core
END
	exit 1
fi
if [ -z "$version" ]; then
	echo "python3-pyverbs is not installed: apt-get install python3-pyverbs" >&2
	exit 1
fi

result=$PAVO_BUILD/pyverbs${PAVO_KERNEL:+-$PAVO_KERNEL}.json
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
"$PAVO_VM" run -q --mem 2G --logs "$logs" --timeout "$(limit 2400)" -- bash \
	"$here/guest.sh" "$(realpath "$RDMA_CORE_SRC")" "$(limit 120)" \
	"pavo rxe" "$@" || {
	status=$?
	cat "$logs"/share/node1/out/*.log "$logs"/*.console
	exit $status
}
python3 "$here/report.py" "$logs"/share/node1/out/{pavo,rxe}.jsonl "$result" \
	"$here/must-pass" "$@"
