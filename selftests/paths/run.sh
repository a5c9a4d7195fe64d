#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The paths group: packets with a deferred ICRC and super-packets between two adapters of one machine,
# over paths that every kernel has; one guest. Called by selftests/run (which sets PAVO_*), or by hand
# after `make`.
# usage: run.sh [NAME...]: only paths whose name contains one of these, of all kernels
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

kernels=any
[ $# -eq 0 ] || kernels=all
exec "$PAVO_VM" run -q --timeout "$(limit 400)" -- \
	bash "$here/guest.sh" $kernels "$PAVO_BUILD/selftests/verbs/pavo-verbs" "$@"
