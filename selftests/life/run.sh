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
# A program at the same address again need not be translated again (emulation).
exec "$PAVO_VM" run -q --mem 1G --timeout "$(limit 900)" --append norandmaps -- bash \
	"$here/guest.sh" "$TYPE" "$PAVO_BUILD/selftests/verbs" "$@"
