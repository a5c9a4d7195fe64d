#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: rdma-core's test-suite on one device of each TYPE in turn, all on
# the same interface. Started by run.sh; leaves TYPE.jsonl in $PAVO_OUT.
# usage: guest.sh CHECKOUT SECONDS-PER-TEST "TYPE..." [TEST...]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
checkout=$1 seconds=$2 types=$3 out=$PAVO_OUT
shift 3

# Some tests want pages of 2 MiB.
have_huge_pages 64
self_wire py0 py1 || exit 1

module_of()
{
	case $1 in
	rxe) echo rdma_rxe ;;
	*) echo "$1" ;;
	esac
}

for type in $types; do
	load_driver "$type" || exit 1
	rdma link add py-rdma type "$type" netdev py0 || exit 1
	wait_for active py-rdma
	wait_for gid_index py-rdma v4
	python3 "$here/suite.py" "$checkout" "$out/$type.jsonl" py-rdma \
		"$(gid_index py-rdma v4)" "$seconds" "$@" \
		>"$out/$type.log" 2>&1 || exit 1
	rdma link delete py-rdma
	# both want the same UDP port
	until_true 60 rmmod "$(module_of "$type")" || exit 1
done
