#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two guests on one wire, both with pavo: what pavo's own operations promise between machines,
# and a forger in the one that tries numbers of a connection which the other has
# (docs/security.md says how many it needs). Called by selftests/run, or by hand after `make`.
# usage: run-pavo.sh
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
exec "$PAVO_VM" cluster 2 -q --smp 1 --mem 512M --timeout "$(limit 240)" -- bash \
	"$here/pavo.sh" "$PAVO_BUILD/selftests/verbs/pavo-verbs"
