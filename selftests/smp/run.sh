#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The smp group: tests of other groups that the native kernel cannot run, since they need
# two CPUs, huge pages or a kernel as distributions have it; all in one guest. Called by
# selftests/run, or by hand after `make`.
# usage: run.sh [verbs|faults|translate|window|life...]: tests of these groups only
# PAVO_WIDE=1 (make test-full): more races, the longest messages, the most queue pairs.
# SECONDS_OF_FUZZ: 8, or so many.
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

[ $# -gt 0 ] || set -- verbs faults translate window life
fuzz=${SECONDS_OF_FUZZ:-8}
mem=2G seconds=$((480 + fuzz)) wide=
if [ -n "${PAVO_WIDE:-}" ]; then
	mem=6G seconds=$((2400 + fuzz)) wide=--wide
fi
# window/event_tests.cpp says why wakings are traced, and from the start.
# Huge pages of the boot are side by side: translate/large_page.h.
# Memory that the kernel has no mapping of: verbs/odp_vetted_tests.cpp; persistent memory: verbs/persistent_memory.h.
# Calls are preempted, where the kernel can: window/round_tests.cpp.
arguments="hugepages=64 trace_event=sched:sched_waking preempt=full"
arguments+=" secretmem.enable=1 memmap=16M!1G"
# shellcheck disable=SC2086  # none or one
exec "$PAVO_VM" run -q --mem $mem --append "$arguments" \
	--timeout "$(limit $seconds)" -- \
	bash "$here/guest.sh" $wide "$PAVO_BUILD/selftests" "$fuzz" "$@"
