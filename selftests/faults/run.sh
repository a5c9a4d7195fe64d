#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The faults group: pavo-faults in one guest with two pavo devices. Called by
# selftests/run (which sets PAVO_*), or by hand after the build.
# usage: run.sh [arguments for pavo-faults...]; SECONDS_OF_FUZZ for longer runs
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

fuzz=${SECONDS_OF_FUZZ:-20}
exec "$PAVO_VM" run -q --timeout "$(limit $((600 + fuzz)))" -- \
	bash "$here/guest.sh" "$PAVO_BUILD/selftests/faults/pavo-faults" \
	--seconds "$fuzz" "$@"
