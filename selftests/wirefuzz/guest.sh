#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: an adapter on one end of a veth pair, pavo-wirefuzz on the other; the
# dialogues of the corpus, then new ones, then new ones while allocations fail; at last
# all objects are gone, and so is the module. Started by run.sh; pavo-vm judges the
# console.
# usage: guest.sh PROGRAM PAVO SEED SECONDS [DIALOGUE...]; PAVO: the tool; 0 seconds: the
# corpus alone
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
# shellcheck source=selftests/wire/wire.sh
. "$here/../wire/wire.sh"
program=$1 pavo=$2 seed=$3 seconds=$4
shift 4

# How many objects of each kind the adapter has. "rdma resource" says it in one line.
objects()
{
	rdma resource show wf0
}

# fuzz NAME ARGUMENT...: one run of the program is one test; it says what it reached.
fuzz()
{
	local name=$1 status
	shift
	"$program" --device wf0 --interface wtool --netif wi0 --patience "$patience" \
		--out "$PAVO_OUT" --seed "$seed" "$@"
	status=$?
	if [ $status = 0 ]; then
		tap_ok "$name"
	else
		tap_not_ok "$name"
		echo "# status $status, seed $seed"
	fi
}

# shellcheck disable=SC2317 # called by until_true
has_as_before()
{
	[ "$(objects)" = "$before" ]
}

# shellcheck disable=SC2317 # called by check
back_to_the_beginning()
{
	until_true 30 has_as_before && return
	echo "before: $before"
	echo "now: $(objects)"
	return 1
}

# shellcheck disable=SC2317 # called by check
goes()
{
	rdma link delete wf0 || return 1
	rmmod pavo || return 1
	ip link delete wdut
}

# Dialogues take objects away all the time: a grace period takes longer than the rest.
[ ! -w /sys/kernel/rcu_expedited ] || echo 1 >/sys/kernel/rcu_expedited
# fuzz_scarce DIALOGUE: nodes of radix trees and XArrays alone are scarce.
fuzz_scarce()
{
	local filter=/sys/kernel/debug/failslab/cache-filter marked
	read -r marked </sys/kernel/slab/radix_tree_node/failslab
	if [ "$marked" != 1 ]; then
		tap_skip "dialogues while tables lack memory" \
			"not booted with slub_debug=A,radix_tree_node"
		return
	fi
	echo Y >"$filter"
	fuzz "dialogues while tables lack memory" --failures "$@"
	echo N >"$filter"
}

patience=30
slow_kernel && patience=240
make_wire || exit 1
load_driver pavo || exit 1
rdma link add wf0 type pavo netdev wdut || exit 1
wait_for active wf0
# Numbers as in tool/interface.cpp. Its packets go to the peer alone.
"$pavo" interface add wf0 --name wi0 --job 79 --key 0x5ec2e7 --node 2 --window 300 \
	--peer 1=10.9.0.2/512 >/dev/null || exit 1
ip link set wi0 addrgenmode none
before=$(objects)

[ $# = 0 ] || fuzz "dialogues of the corpus" "$@"
if [ "$seconds" != 0 ]; then
	mkdir -p "$PAVO_OUT/pool"
	fuzz "new dialogues" --seconds $((seconds * 2 / 3)) \
		--save "$PAVO_OUT/pool" "$@"
	if [ -e /sys/kernel/debug/failslab ]; then
		fuzz "new dialogues while allocations fail" --failures \
			--seconds $((seconds / 3)) "$@"
		fuzz_scarce "$here"/scarce/*.txt "$here"/scarce/*.txt
	else
		tap_skip "new dialogues while allocations fail" \
			"this kernel's allocations do not fail on demand"
	fi
fi
check "the adapter has the objects that it had" back_to_the_beginning
check "adapter and module go" goes
tap_end
