#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: a device on a veth pair, the module that uses it, and its results
# from the kernel's log. Started by run.
# usage: guest.sh TYPE MODULE
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"

veth_pair va vb 9000 || exit 1
load_driver "$1" || exit 1
rdma link add va0 type "$1" netdev va || exit 1
wait_for active va0
echo 'TAP version 13'
insmod "$2" dev=va0
status=$?
dmesg | sed -n 's/.*kverbs: //p'
exit $status
