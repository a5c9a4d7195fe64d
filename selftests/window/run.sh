#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The window group: windows between two adapters of one guest, the examples between two
# guests, and several that come to one among three. Called by selftests/run, or by hand
# after `make`.
# usage: run.sh [--nodes | --three | arguments for pavo-window (GoogleTest)...]; --nodes,
# --three: those of two and three guests only.
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
examples=$PAVO_BUILD/userspace/examples programs=$PAVO_BUILD/selftests/window
status=0

# nodes N SCRIPT ARGUMENTS...: so many guests run the script.
nodes()
{
	"$PAVO_VM" cluster "$1" -q --smp 1 --mem 512M --timeout "$(limit 240)" -- bash \
		"$here/$2" "${@:3}" || status=$?
}

case ${1:-} in
--nodes) nodes 2 nodes.sh "$examples" "$programs" ;;
--three) nodes 3 three-nodes.sh "$examples" "$programs" ;;
*)
	# What is traced and why from the start: event_tests.cpp.
	# Huge pages of the boot are side by side: large_page.h.
	"$PAVO_VM" run -q --mem 1G --append "hugepages=64 trace_event=sched:sched_waking" \
		--timeout "$(limit 480)" -- bash "$here/guest.sh" \
		"$programs/pavo-window" "$@" || status=$?
	if [ $# = 0 ]; then
		nodes 2 nodes.sh "$examples" "$programs"
		nodes 3 three-nodes.sh "$examples" "$programs"
	fi
	;;
esac
exit $status
