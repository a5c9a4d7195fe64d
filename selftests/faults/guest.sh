#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: two pavo devices on a veth pair, then the hostile tests between
# them. Started by run.sh; the guest's console is judged by who booted it.
# usage: guest.sh PROGRAM [arguments for PROGRAM...]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
program=$1
shift

veth_pair va vb 9000 || exit 1
load_driver pavo || exit 1
rdma link add va0 type pavo netdev va || exit 1
rdma link add vb0 type pavo netdev vb || exit 1
wait_for active va0
wait_for active vb0

common=(--dev va0 --peer vb0)
slow_kernel && common+=(--patience 120)
exec "$program" "${common[@]}" "$@"
