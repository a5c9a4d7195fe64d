#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The callfuzz group: pavo-callfuzz in one guest. Without SECONDS_OF_CALLFUZZ the corpus
# runs and no more. CALLFUZZ_KEEP is a folder of programs that long runs begin with and
# add to. Called by selftests/run (which sets PAVO_*), or by hand after the build.
# usage: run.sh [arguments for pavo-callfuzz...]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

seconds=${SECONDS_OF_CALLFUZZ:-0}
logs=${PAVO_LOGS:-$(mktemp -d)}/callfuzz.guest
arguments=(--seconds "$seconds" --corpus "$here/corpus" --late "$here/corpus/late_held")
[ -z "${CALLFUZZ_KEEP:-}" ] || {
	mkdir -p "$CALLFUZZ_KEEP"
	arguments+=(--corpus "$(readlink -f "$CALLFUZZ_KEEP")")
}
# Each page of vmalloc() of a native guest is a mapping of one process here.
maps=$(</proc/sys/vm/max_map_count)
if [ "$seconds" -gt 300 ] && [[ ${PAVO_KERNEL:-} == native* ]] && [ "$maps" -lt 1048576 ]; then
	echo "# fork may fail in the guest: sysctl vm.max_map_count=1048576 (now $maps)"
fi
# A third of what the corpus alone reaches: below that KCOV does not work.
is_slow && arguments+=(--least 1000)
rm -rf "$logs"

"$PAVO_VM" run -q --mem 2G --logs "$logs" --timeout $((seconds + $(limit 300))) -- \
	bash "$here/guest.sh" "$PAVO_BUILD/selftests/callfuzz/pavo-callfuzz" \
	"${arguments[@]}" "$@"
status=$?
kept=$logs/share/node1/out/kept
if [ -n "${CALLFUZZ_KEEP:-}" ] && [ -d "$kept" ]; then
	cp -n "$kept"/* "$CALLFUZZ_KEEP"/ 2>/dev/null
fi
exit $status
