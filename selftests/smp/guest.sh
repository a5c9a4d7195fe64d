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
		--only odp.never_raced --only odp.vetted_ --only persistent. --only odp.no_fault --only odp.huge_pages \
		--only region.secret --only region.physical --only ext.atomic --only comp_cntr. --only direct.io_fails \
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

# filter PROGRAM PATTERN...: the option for GoogleTest. Fails where a pattern names no test.
filter()
{
	local program=$1 pattern
	shift
	for pattern; do
		"$program" --gtest_list_tests --gtest_filter="$pattern" | grep -q '^  ' && continue
		echo "$program has no test $pattern" >&2
		return 1
	done
	printf -- '--gtest_filter=%s' "$(IFS=: && echo "$*")"
}

translate()
{
	local program=$programs/translate/pavo-translate chosen
	chosen=$(filter "$program" 'LargePages.*' Limits.MemoryWithoutAMappingInTheKernel) || return 1
	bash "$tests/translate/guest.sh" "$program" "$chosen"
}

# Workers at the same time as their callers, and huge pages.
window()
{
	local program=$programs/window/pavo-window chosen
	chosen=$(
		filter "$program" Message.WindowsTakeTurns Message.MarkedSlotsAreUsedAgainAtOnce \
			'Snapshot.*' AdapterGone.IsReportedByRdma 'Live.*' 'Workers.*' 'Disabled.*' \
			'Closed.*' '*RegionEnd.*' 'Quantum/*' 'Polled.*' 'Witness.*'
	) || return 1
	bash "$tests/window/guest.sh" "$program" "$chosen" || return 1
	# Workers of two CPUs, where windows wait for their rounds.
	clear_guest || return 1
	chosen=$(filter "$program" Message.WindowsTakeTurns 'Workers.*' 'Polled.*' 'Closed.*' \
		Witness.HasTheCpuWhileAWindowMovesMemory) || return 1
	bash "$tests/window/guest.sh" --weights '0:1 1:2' "$program" "$chosen"
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
