#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The window group: windows between two adapters of one guest, and the examples between
# two guests. Called by selftests/run, or by hand after `make`.
# usage: run.sh [--nodes | arguments for pavo-window (GoogleTest)...]; --nodes: the
# examples only.
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
status=0
if [ "${1:-}" != --nodes ]; then
	"$PAVO_VM" run -q --mem 1G --timeout "$(limit 240)" -- bash "$here/guest.sh" \
		"$PAVO_BUILD/selftests/window/pavo-window" "$@" || status=$?
	[ $# = 0 ] || exit $status
fi
"$PAVO_VM" cluster 2 -q --smp 1 --mem 512M --timeout "$(limit 240)" -- bash \
	"$here/nodes.sh" "$PAVO_BUILD/userspace/examples" || status=$?
exit $status
