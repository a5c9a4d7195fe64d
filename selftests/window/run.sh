#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The window group: windows between two adapters of one guest. Between two and three
# guests: run-nodes.sh, run-three.sh. Called by selftests/run, or by hand after `make`.
# PAVO_WIDE=1 (make test-full): ten thousand rounds of flags on the bad wire
# usage: run.sh [arguments for pavo-window (GoogleTest)...]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
wide=() most=480
[ -z "${PAVO_WIDE:-}" ] || wide=(--wide) most=900
# event_tests.cpp says why wakings are traced, and from the start.
# Huge pages of the boot are side by side: large_page.h.
exec "$PAVO_VM" run -q --mem 1G --append "hugepages=64 trace_event=sched:sched_waking" \
	--timeout "$(limit "$most")" -- bash "$here/guest.sh" "${wide[@]}" \
	"$PAVO_BUILD/selftests/window/pavo-window" "$@"
