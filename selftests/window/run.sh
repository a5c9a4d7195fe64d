#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The window group: windows between two adapters of one guest. Called by
# selftests/run, or by hand after `make`.
# usage: run.sh [arguments for pavo-window (GoogleTest)...]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
exec "$PAVO_VM" run -q --mem 1G --timeout "$(limit 240)" -- bash \
	"$here/guest.sh" "$PAVO_BUILD/selftests/window/pavo-window" "$@"
