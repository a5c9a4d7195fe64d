#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The window group between three guests: the examples, and what libpavo does between
# machines. Called by selftests/run, or by hand after `make`.
# usage: run-three.sh
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
exec "$PAVO_VM" cluster 3 -q --smp 1 --mem 512M --timeout "$(limit 600)" -- bash \
	"$here/three-nodes.sh" "$PAVO_BUILD/userspace/examples" "$PAVO_BUILD/selftests/window"
