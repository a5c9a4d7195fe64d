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
# Where allocations fail the kernel says so, and which: no complaint.
exec "$PAVO_VM" run -q \
	--allow-console 'page allocation failure: ' \
	--timeout $(($(limit 240) + 2 * seconds)) -- \
	bash "$here/guest.sh" "$PAVO_BUILD/selftests/wirefuzz/pavo-wirefuzz" \
	"$seed" "$seconds" "${dialogues[@]}"
