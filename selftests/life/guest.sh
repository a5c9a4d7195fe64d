#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: the life of devices. Every test starts from the same world, ends
# with "nothing is left", and is one TAP line. A kernel complaint on the console
# fails the guest (pavo-vm), leaks too on a sanitizer kernel.
# usage: guest.sh TYPE FOLDER-OF-PROGRAMS [NAME-PART]
set -u
here=$(dirname "$(readlink -f "$0")")
type=$1 programs=$2 part=${3:-}
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
# shellcheck source=selftests/life/world.sh
. "$here/world.sh"
# shellcheck source=selftests/life/device_tests.sh
. "$here/device_tests.sh"
# shellcheck source=selftests/life/netdev_tests.sh
. "$here/netdev_tests.sh"
# shellcheck source=selftests/life/namespace_tests.sh
. "$here/namespace_tests.sh"

life()
{
	local name=$1
	shift
	[[ $name == *$part* ]] || return 0
	reset_world >"$work/reset" 2>&1
	check "$name" ending_clean "$@"
	reset_world >"$work/reset" 2>&1
}

# shellcheck disable=SC2317  # called by check
# The test, then everything deleted, then nothing may be left.
ending_clean()
{
	"$@"
	delete_all
	nothing_left
}

echo "TAP version 13"
veth_pair va vb 9000 || exit 1
load || exit 1
pinned_before=$(pinned)

device_tests
netdev_tests
namespace_tests
reset_world >"$work/reset" 2>&1
check "the module leaves at the end" unload
tap_end
