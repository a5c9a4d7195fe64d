#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Two guests on one wire: a forger in the one tries numbers of a connection that the other
# has, and docs/security.md says how many it needs. Called by selftests/run, or by hand
# after `make`.
# usage: run-blind.sh
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
exec "$PAVO_VM" cluster 2 -q --smp 1 --mem 512M --timeout "$(limit 120)" -- bash \
	"$here/blind.sh" "$PAVO_BUILD/selftests/verbs/pavo-verbs"
