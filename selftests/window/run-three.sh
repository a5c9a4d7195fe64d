#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The window group between three guests: the examples, and what libpavo does between
# machines. Called by selftests/run, or by hand after `make`.
# usage: run-three.sh; on a bad wire, since run-nodes.sh has a good one between two machines
# PAVO_WIDE=1 (make test-full): on a good one, too
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
wide=()
[ -z "${PAVO_WIDE:-}" ] || wide=(--wide)
exec "$PAVO_VM" cluster 3 -q --smp 1 --mem "$(memory_of_node 512M)" --timeout "$(limit 600)" -- bash \
	"$here/three-nodes.sh" "${wide[@]}" "$PAVO_BUILD/userspace/examples" "$PAVO_BUILD/selftests/window"
