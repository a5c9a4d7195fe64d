#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The translate group: jobs, TCE tables and pinned memory in one guest with two
# adapters. Called by selftests/run, or by hand after `make`.
# usage: run.sh [arguments for pavo-translate (GoogleTest)...]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
# Huge pages of the boot are side by side: large_page.h.
exec "$PAVO_VM" run -q --mem 1G --append hugepages=64 --timeout "$(limit 600)" -- bash \
	"$here/guest.sh" "$PAVO_BUILD/selftests/translate/pavo-translate" "$@"
