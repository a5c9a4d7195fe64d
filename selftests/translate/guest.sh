#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: two adapters, then the tests: with the tables as they are by default,
# with tables so small that they can be filled, and across loads of the module.
# usage: guest.sh PROGRAM [arguments for PROGRAM...]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
program=$1
shift
export PAVO_DEV=ta0 PAVO_PEER=tb0 PAVO_NOTES=$PAVO_OUT/pvo
veth_pair va vb 1500 || exit 1
status=0

# tests ARGUMENTS...: what of the program's they select.
tests()
{
	"$program" "$@" || status=$?
}

load_pair ta0 tb0 || exit 1
if (($#)); then
	exec "$program" "$@"
fi
has_part windows || {
	tests --gtest_also_run_disabled_tests --gtest_filter='*OfAModuleWithoutThem'
	tests --gtest_filter='Verbs.*:MrCache*:Allocations.*-Verbs.ARegionAndAMapping*'
	tap_skip "jobs, mappings and tables" "the module was built without windows and jobs"
	echo "1..$tap_number"
	exit $status
}
tests --gtest_filter=-Limits.OfTheTables
tests --gtest_also_run_disabled_tests --gtest_filter='*IsWrittenDown'
load_pair ta0 tb0 || exit 1
tests --gtest_also_run_disabled_tests --gtest_filter='*OfAnEarlierLoadIsStale'
load_pair ta0 tb0 job_slots=1 job_large_tables=1 job_small_tables=2 tce_small_entries=16 \
	tce_large_entries=1 || exit 1
tests --gtest_filter='Limits.OfTheTables:Exhaustion.*:Job.GetsNoSlot*'

cgroups=/run/cgroup2 few=/run/cgroup2/few

# shellcheck disable=SC2317  # called by check
# in_cgroup N COMMAND...: with no more than N RDMA objects, of which none may be left
in_cgroup()
{
	echo +rdma >"$cgroups/cgroup.subtree_control"
	mkdir "$few"
	echo "ta0 hca_object=$1" >"$few/rdma.max"
	bash -c "echo \$\$ >$few/cgroup.procs && exec \"\$@\"" cgroup "${@:2}"
	grep -q "^ta0 .*hca_object=0" "$few/rdma.current"
	# Linux 6.1 frees a group's limits too late if they are still there
	echo "ta0 hca_object=max" >"$few/rdma.max"
	rmdir "$few"
}

# of_cgroup NAME N TEST: what it limits.
of_cgroup()
{
	check "$1" in_cgroup "$2" "$program" --gtest_also_run_disabled_tests \
		--gtest_filter="$3"
}

# shellcheck disable=SC2317  # called by check
# in_memory_cgroup COMMAND...: in one of its own, which it is told of, as of a small one
in_memory_cgroup()
{
	local own=$cgroups/own small=$cgroups/small

	echo +memory >"$cgroups/cgroup.subtree_control"
	mkdir "$own" "$small"
	echo 2M >"$small/memory.max"
	[ ! -e "$small/memory.swap.max" ] || echo 0 >"$small/memory.swap.max"
	PAVO_CGROUP=$own PAVO_SMALL=$small bash -c \
		"echo \$\$ >$own/cgroup.procs && exec \"\$@\"" cgroup "$@" &&
		rmdir "$own" "$small"
}

mkdir -p $cgroups
if mount -t cgroup2 none $cgroups && grep -qw rdma $cgroups/cgroup.controllers; then
	of_cgroup "the rdma cgroup limits jobs and mappings" 3 '*OfTheCgroup'-Verbs.*
	of_cgroup "the rdma cgroup limits objects of verbs" 3 'Verbs.*OfTheCgroup'
else
	tap_skip "the rdma cgroup limits jobs and mappings" "there is none"
fi
if grep -qw memory $cgroups/cgroup.controllers; then
	check "rings are charged to a memory cgroup" in_memory_cgroup "$program" \
		--gtest_also_run_disabled_tests --gtest_filter='Verbs.*ChargedToTheCgroup'
	check "objects are charged to a memory cgroup" in_memory_cgroup "$program" \
		--gtest_also_run_disabled_tests --gtest_filter='*Charged.*'
else
	tap_skip "rings are charged to a memory cgroup" "there is none"
	tap_skip "objects are charged to a memory cgroup" "there is none"
fi
check "more tables than a PVO can name are refused" refused bash -c "
	rdma link delete ta0; rdma link delete tb0; rmmod pavo
	insmod $PAVO_KO job_slots=6 2>&1"
load_pair ta0 tb0 || exit 1
((status)) && exit $status
tap_end
