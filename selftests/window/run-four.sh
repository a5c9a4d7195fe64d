#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The window group between four guests: RDMA to a group that three of them are in, and the tool
# that copies a file to many. In native guests only. Called by selftests/run, or by hand after
# `make`.
# usage: run-four.sh
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"
exec "$PAVO_VM" cluster 4 -q --smp 1 --mem "$(memory_of_node 384M)" --timeout "$(limit 300)" -- bash \
	"$here/four-nodes.sh" "$PAVO_BUILD/selftests/window" "$PAVO_BUILD/userspace/tools/pavo-copy"
