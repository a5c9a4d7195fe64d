#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The life group: loading, unloading, adding, deleting, and everything that can
# happen to the interface below, with and without applications, in one guest.
# Called by selftests/run, or by hand after `make`. TYPE=rxe tries the tests
# themselves.
# usage: run.sh [REGEX]: only the tests whose name it matches
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
exec "$PAVO_VM" run -q --mem 1G --timeout "$(limit 900)" -- bash \
	"$here/guest.sh" "$TYPE" "$PAVO_BUILD/selftests/verbs" "$@"
