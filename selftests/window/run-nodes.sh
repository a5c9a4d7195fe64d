#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The window group between two guests: the examples, and what libpavo does between
# machines. Called by selftests/run, or by hand after `make`.
# In native guests the examples, since run-three.sh has the rest between three machines; in
# emulated ones a few of all.
# usage: run-nodes.sh [all|examples|few]
# PAVO_WIDE=1 (make test-full): all
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
part=few
case ${PAVO_KERNEL:-} in native*) part=examples ;; esac
[ -z "${PAVO_WIDE:-}" ] || part=all
exec "$PAVO_VM" cluster 2 -q --smp 1 --mem "$(memory_of_node 512M)" --timeout "$(limit 600)" -- bash \
	"$here/nodes.sh" "${1:-$part}" "$PAVO_BUILD/userspace/examples" "$PAVO_BUILD/selftests/window"
