#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The wire tests: boots one guest, gives it a device of type TYPE (pavo, or rxe for
# rdma_rxe) and runs all scripts against it.
#
# Called by selftests/run and by hand; prints TAP. Needs a built tree. Arguments are
# passed on to pavo-wire: run.sh --only gap --trace
# environment: TYPE, LIMIT (seconds for the guest), PAVO_BUILD, PAVO_KO, PAVO_KERNEL,
# PAVO_VM, IBV_DRIVERS, PAVO_LOGS
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
type=${TYPE:-pavo}
build=${PAVO_BUILD:-$tree/build}
vm=${PAVO_VM:-$tree/qemu-scripts/pavo-vm}
tool=$build/selftests/wire/pavo-wire
export IBV_DRIVERS=${IBV_DRIVERS:-$build/userspace/provider/libpavo}

if [ ! -x "$tool" ]; then
	echo "run.sh: $tool is not there: build the tree first" >&2
	exit 1
fi
if [ "$type" = pavo ] && [ -z "${PAVO_KO:-}" ]; then
	headers=$("$vm" kernels --headers "${PAVO_KERNEL:-default}")
	release=$(sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' \
		"$headers/include/generated/utsrelease.h")
	PAVO_KO=$build/kernel/$release/pavo.ko
fi
export PAVO_KO=${PAVO_KO:-}

options=(--quiet --timeout "${LIMIT:-600}" --env PAVO_KO --env IBV_DRIVERS)
[ -z "${PAVO_KERNEL:-}" ] || options+=(--kernel "$PAVO_KERNEL")
[ -z "${PAVO_LOGS:-}" ] || options+=(--logs "$PAVO_LOGS/guest")
exec "$vm" run "${options[@]}" -- \
	"$here/guest.sh" "$type" "$tool" "$@" "$here/scripts"
