# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The common part of the run.sh of the verbs, interop, life and apps groups on
# the host: where things are when selftests/run did not say so. Sourced.
PAVO_TREE=${PAVO_TREE:-$(dirname "$(dirname "$(dirname \
	"$(readlink -f "${BASH_SOURCE[0]}")")")")}
PAVO_BUILD=${PAVO_BUILD:-$PAVO_TREE/build}
PAVO_VM=${PAVO_VM:-$PAVO_TREE/qemu-scripts/pavo-vm}
if [ -z "${PAVO_KO:-}" ]; then
	PAVO_KO=$PAVO_BUILD/kernel/$("$PAVO_VM" kernels --release \
		"${PAVO_KERNEL:-default}")/pavo.ko
fi
IBV_DRIVERS=${IBV_DRIVERS:-$PAVO_BUILD/userspace/provider/libpavo}
export PAVO_TREE PAVO_BUILD PAVO_VM PAVO_KO IBV_DRIVERS

# The device type under test: pavo, or rxe to try the tests themselves.
# shellcheck disable=SC2034
TYPE=${TYPE:-pavo}

# is_slow: the kernel under test looks for faults of its own.
is_slow()
{
	[[ ${PAVO_KERNEL:-} == *sanitizer* || ${PAVO_KERNEL:-} == *debug* ||
		${PAVO_KERNEL:-} == *kcsan* ]]
}

# memory_of_node SIZE: the memory of one guest of several. KASAN keeps freed memory until a process
# allocates some, so packets that softirqs receive and free meanwhile need much.
memory_of_node()
{
	is_slow && echo 2G || echo "$1"
}

# limit SECONDS: the time limit of a guest that needs at most so long on a quiet
# machine. It ends what hangs; a busy machine, or one that is several times slower, and
# sanitizer kernels get more.
limit()
{
	is_slow && echo $(($1 * 8)) || echo $(($1 * 4))
}
