#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The verbs group: pavo-verbs in one guest with two pavo devices. Called by
# selftests/run (which sets PAVO_*), or by hand after `make`.
# usage: run.sh [arguments for pavo-verbs...]; TYPE=rxe tests the peer instead.
# PAVO_WIDE=1 (make test-full): also the longest messages there are, and the most
# queue pairs.
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/host-lib.sh"

# two locked copies of the largest message, and room
mem=2G seconds=480 wide=
if [ -n "${PAVO_WIDE:-}" ]; then
	mem=6G seconds=2400 wide=--wide
fi
# shellcheck disable=SC2086  # none or one
exec "$PAVO_VM" run -q --mem $mem --timeout "$(limit $seconds)" -- \
	bash "$here/guest.sh" $wide "$TYPE" "$PAVO_BUILD/selftests/verbs/pavo-verbs" "$@"
