#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The wire tests: boots one guest, gives it a device of type TYPE (pavo, or rxe for
# rdma_rxe) and runs the scripts against it.
#
# Called by selftests/run, for one case of each script, unless PAVO_WIDE=1 (make test-full): group
# unit has all cases, without a guest (../engine). Called by hand for all. Prints TAP. Needs a
# built tree. Arguments are passed on to pavo-wire: run.sh --only gap --trace
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

tool=$PAVO_BUILD/selftests/wire/pavo-wire
if [ ! -x "$tool" ]; then
	echo "run.sh: $tool is not there: build the tree first" >&2
	exit 1
fi
sample=
[ -z "${PAVO_GROUP:-}" ] || [ -n "${PAVO_WIDE:-}" ] || sample=--sample
# shellcheck disable=SC2086  # none or one
exec "$PAVO_VM" run -q --timeout "$(limit 600)" -- \
	"$here/guest.sh" "$TYPE" "$tool" $sample "$@" "$here/scripts"
