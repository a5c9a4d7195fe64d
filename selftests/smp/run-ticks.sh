#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A part of the smp group: tests of the CPU time that the kernel spends, in an emulated guest
# whose time counts instructions. Called by selftests/run, or by hand after `make`.
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

exec "$PAVO_VM" run -q --icount --mem 2G --timeout "$(limit 480)" -- \
	bash "$here/../verbs/guest.sh" pavo "$PAVO_BUILD/selftests/verbs/pavo-verbs" --only cpu.
