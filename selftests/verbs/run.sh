#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The verbs group: pavo-verbs in one guest with two pavo devices. Called by
# selftests/run (which sets PAVO_*), or by hand after `make`.
# usage: run.sh [arguments for pavo-verbs...]; TYPE=rxe tests the peer instead.
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/host-lib.sh"

# two locked copies of the largest message, and room
exec "$PAVO_VM" run -q --mem 2G --timeout "$(limit 480)" -- \
	bash "$here/guest.sh" "$TYPE" "$PAVO_BUILD/selftests/verbs/pavo-verbs" "$@"
