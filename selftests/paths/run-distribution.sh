#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# A part of the paths group: bonds, filters, tunnels, XDP and taps, which a kernel of a distribution has.
# Called by selftests/run, or by hand after `make`.
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

exec "$PAVO_VM" run -q --timeout "$(limit 300)" -- \
	bash "$here/guest.sh" distribution "$PAVO_BUILD/selftests/verbs/pavo-verbs"
