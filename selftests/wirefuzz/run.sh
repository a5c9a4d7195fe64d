#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The wirefuzz group: pavo-wirefuzz in one guest. Called by selftests/run, and by hand
# after the build; prints TAP. Dialogues that were wrong are left in PAVO_LOGS, or else in
# the folder of the run, which pavo-vm names.
# usage: run.sh [DIALOGUE...]; those, once each. Without any: the corpus, and then
# SECONDS_OF_WIREFUZZ seconds (0) of new ones, by WIREFUZZ_SEED (by the clock).
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

seconds=${SECONDS_OF_WIREFUZZ:-0}
seed=${WIREFUZZ_SEED:-$(date +%s)}
dialogues=("$@")
if [ $# = 0 ]; then
	dialogues=("$here"/corpus/*.txt)
else
	seconds=0
fi
echo "# seed $seed"
# No complaints: that an allocation failed, which was asked for; and that an XArray of rdma
# core which lost the memory for its second node keeps the first (lib/xarray.c), so that
# it is not empty when the adapter goes. Any other fault has a line of its own, too.
options=()
if [ "$seconds" != 0 ] && is_slow; then
	options=(--append 'slub_debug=A,radix_tree_node'
		--allow-console 'page allocation failure: '
		--allow-console ' at drivers/infiniband/core/restrack.c.* rdma_restrack_clean'
		--allow-console '\[ cut here \]')
fi
exec "$PAVO_VM" run -q "${options[@]}" \
	--timeout $(($(limit 240) + 2 * seconds)) -- \
	bash "$here/guest.sh" "$PAVO_BUILD/selftests/wirefuzz/pavo-wirefuzz" \
	"$PAVO_BUILD/userspace/tools/pavo/pavo" "$seed" "$seconds" "${dialogues[@]}"
