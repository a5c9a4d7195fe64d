#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest with two CPUs: chosen tests of other groups, each by the guest script of its
# group, which finds the guest as it was after the boot. Started by run.sh.
# usage: guest.sh [--wide] FOLDER-OF-PROGRAMS SECONDS-OF-FUZZ verbs|faults|translate|...
# shellcheck disable=SC2317  # groups are called by their names
set -u
tests=$(dirname "$(dirname "$(readlink -f "$0")")")
# In a plain run fewer races than the program makes by itself. With --wide many more, the longest
# messages and the most queue pairs.
wide=() races=(--races 10000) most=()
# A kernel with checkers is several times slower.
[ ! -e /sys/kernel/debug/kmemleak ] || races=(--races 5000)
if [ "$1" = --wide ]; then
	wide=(--wide) races=()
	most=(--only data.huge --only scale. --only armed.crowd --only rkm.other_traffic)
	export PAVO_WIDE=1
	shift
fi
programs=$1 fuzz=$2
shift 2
if [ "$(nproc)" -lt 2 ]; then
	echo "1..0 # SKIP a guest with one CPU"
	exit 4
fi

# clear_guest: no adapter, no module, no interfaces of the script before.
clear_guest()
{
	local device
	for device in /sys/class/infiniband/*; do
		[ ! -e "$device" ] || rdma link delete "${device##*/}" || return 1
	done
	[ ! -d /sys/module/pavo ] || rmmod pavo || return 1
	[ ! -e /sys/class/net/va ] || ip link delete va
}

# Threads and processes, races with the end of a key or of memory, doorbells that a worker takes
# on the other CPU, slices and pieces of loops, a CPU that goes offline, a huge page, and memory
# that User-Mode Linux has not (secret, physical, failed, persistent).
verbs()
{
	bash "$tests/verbs/guest.sh" "${wide[@]}" pavo "$programs/verbs/pavo-verbs" \
		"${races[@]}" "${most[@]}" --two-cpus --only thread. --only process. --only mr.huge_pages \
		--only odp.never_raced --only odp.vetted_ --only odp.no_fault --only odp.huge_pages \
		--only region.secret --only region.physical --only ext.atomic \
		--only budget.loopback_counted --only budget.full --only budget.resize \
		--only budget.flush --only budget.timers --only budget.walks \
		--only budget.many_reads --only budget.faults --only budget.links \
		--only poll.no_calls --only poll.around --only poll.flags --only paced.
}

# Shared memory, written at random while others work.
faults()
{
	bash "$tests/faults/guest.sh" "$programs/faults/pavo-faults" \
		--seconds "$fuzz" --only fuzz: --only 'mapping: of what goes meanwhile'
}

translate()
{
	bash "$tests/translate/guest.sh" "$programs/translate/pavo-translate" \
		--gtest_filter='LargePages.*:Limits.MemoryWithoutAMappingInTheKernel'
}

# Workers at the same time as their callers, and huge pages.
window()
{
	bash "$tests/window/guest.sh" "$programs/window/pavo-window" --gtest_filter="$(
		printf '%s:' Message.WindowsTakeTurns Message.MarkedSlotsAreUsedAgainAtOnce 'Snapshot.*' \
			AdapterGone.IsToldByRdma 'Live.*' 'Workers.*' \
			'Disabled.*' 'Closed.*' '*RegionEnd.*' 'Quantum/*' 'Polled.*' 'Witness.*')"
}

# The driver's attributes of its objects; VRFs, which a native kernel lacks.
life()
{
	bash "$tests/life/guest.sh" pavo "$programs/verbs" \
		'resources: (CQs|completions|PSNs)|^VRF: '
}

status=0
for group; do
	clear_guest || exit 1
	"$group" || status=$?
done
exit $status
