#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: the life of devices. Every test starts from the same world, ends
# with "nothing is left", and is one TAP line. A kernel complaint on the console
# fails the guest (pavo-vm), leaks too on a sanitizer kernel.
# usage: guest.sh TYPE FOLDER-OF-PROGRAMS [REGEX]
set -u
here=$(dirname "$(readlink -f "$0")")
type=$1 programs=$2 part=${3:-.}
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
# shellcheck source=selftests/life/command_tests.sh
. "$here/command_tests.sh"
# shellcheck source=selftests/life/counter_tests.sh
. "$here/counter_tests.sh"
# shellcheck source=selftests/life/installed_tests.sh
. "$here/installed_tests.sh"
# shellcheck source=selftests/life/boot_tests.sh
. "$here/boot_tests.sh"
# shellcheck source=selftests/life/resource_tests.sh
. "$here/resource_tests.sh"
# shellcheck source=selftests/life/security_tests.sh
. "$here/security_tests.sh"
# shellcheck source=selftests/life/class_tests.sh
. "$here/class_tests.sh"
# shellcheck source=selftests/life/direct_tests.sh
. "$here/direct_tests.sh"
# shellcheck source=selftests/life/stacked_tests.sh
. "$here/stacked_tests.sh"
# No locale to be searched for by every program
export LC_ALL=C

life()
{
	local name=$1 began=${EPOCHREALTIME/./} now status
	shift
	[[ $name =~ $part ]] || return 0
	# not as a condition, which would end its own checks (set -e)
	check "$name" ending_clean "$@"
	status=$?
	if [ $status != 0 ] || ! world_is_whole 2>/dev/null; then
		make_world >"$work/world" 2>&1 || {
			echo "# not all is as at first:"
			sed 's/^/#   /' "$work/world"
		}
	fi
	now=${EPOCHREALTIME/./}
	echo "# $(((now - began) / 1000)) ms"
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
load_driver "$type" || exit 1
veth_pair va vb 9000 || exit 1
pinned_before=$(pinned)

device_tests
netdev_tests
class_tests
namespace_tests
command_tests
direct_tests
counter_tests
security_tests
stacked_tests
installed_tests
boot_tests
resource_tests
check "the module leaves at the end" unload
tap_end
