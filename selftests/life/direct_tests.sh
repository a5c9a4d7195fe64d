# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about direct windows: adapters and processes go while ranges are in every
# state, and `pavo status` shows them. Sourced by guest.sh; world.sh says what the words mean.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

windows=/sys/kernel/debug/pavo/direct

# hold_window: a process with a window of la; pid in $holder, its output in $held
hold_window()
{
	held=$work/held.$RANDOM
	"$programs/pavo-direct" --dev la --peer lb >"$held" 2>&1 &
	holder=$!
	soon says "$held" ready || {
		cat "$held"
		return 1
	}
}

no_window()
{
	! grep -q window $windows
}

direct_shown()
{
	local json value
	add_pair
	hold_window
	# One range is full all the time; the one that sends again and again may be another.
	[[ $("$pavo" status la) == *"direct window 0: 32 ranges of 4.0 KiB"*"of 32 buffers free"*", "[12]" full"* ]]
	json=$("$pavo" status --json la)
	value "$json" 0 direct_windows 0 buffers && [ "$value" = 32 ]
	value "$json" 0 direct_windows 0 armed && [[ $value == *'"state": "loaded"'* ]]
	value "$json" 0 direct_windows 0 armed 0 total && [ "$value" = 4096 ]
	value "$json" 0 counters direct_copied && [ "$value" -ge 1 ]
	json=$("$pavo" status --json lb)
	value "$json" 0 direct_windows && [ "$value" = '[]' ]
	kill "$holder"
	soon ended "$holder"
	soon no_window
	[[ $("$pavo" status la) != *"direct window"* ]]
}

# The adapter that has the window, or the one that answers, is deleted first; the process lives.
direct_unplugged()
{
	"$programs/pavo-direct" --dev la --peer lb --interfaces va vb \
		--unplugs "$unplugs"
	add_pair
	smoke
}

direct_killed()
{
	local i
	add_pair
	for i in 1 2 3 4 5; do
		hold_window
		kill -9 "$holder"
		soon ended "$holder"
		soon no_window
	done
	smoke
}

direct_unloaded()
{
	add_pair
	hold_window
	kill -9 "$holder"
	soon ended "$holder"
	unload
	load
	add_pair
	smoke
}

direct_tests()
{
	local unplugs=10
	[ "$type" = pavo ] || return 0
	has_part direct || {
		tap_skip "direct windows" "the module was built without them"
		return 0
	}
	[ -z "${PAVO_WIDE:-}" ] || unplugs=100
	life "direct windows: pavo status shows them" direct_shown
	life "direct windows: adapters go, ranges in every state" direct_unplugged
	life "direct windows: processes are killed" direct_killed
	life "direct windows: and the module goes" direct_unloaded
}
