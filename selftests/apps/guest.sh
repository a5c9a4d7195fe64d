#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Both nodes of the apps pair run this: programs that others wrote, with data
# checks. PARTS are files beside this one. Node 1 prints TAP. Called by run.sh.
# usage: guest.sh [--wide] [--name NAME-PART] [--mpi PROGRAM] TYPE PARTS...
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"

wide='' name_part='' mpi_program=''
while [[ $1 == --* ]]; do
	case $1 in
	--wide) wide=1 ;;
	--name) name_part=$2 && shift ;;
	--mpi) mpi_program=$2 && shift ;;
	esac
	shift
done
load_driver "$1" || exit 1
rdma link add rdma0 type "$1" netdev eth0 || exit 1
wait_for active rdma0
wait_for gid_index rdma0 v4
wait_for gid_index rdma0 v6
gid4=$(gid_index rdma0 v4) gid6=$(gid_index rdma0 v6)
slow_kernel && PAIR_LIMIT=300

# An ordinary user needs nothing but the right to lock the memory.
# shellcheck disable=SC2034  # for the parts
ordinary="setpriv --reuid nobody --regid nogroup --clear-groups env HOME=/tmp" # lint-words: a user of Debian

# wide COMMAND...: only where there is time for it (make test-full)
wide()
{
	[ -z "$wide" ] || "$@"
}

# between NAME READY SERVER-LINE CLIENT-LINE: the nodes take turns at being the
# server, which is enough between two devices of a kind; with $each each is the server.
# In what follows the name, @ is the server's address in $net.
net=192.168.77. net6=fd00:77:: turn=2 each=
between()
{
	local server servers lines=("${@:2}")
	turn=$((3 - turn))
	servers=$turn
	[ -z "$each" ] || servers="1 2"
	[[ $1 == *"$name_part"* ]] || return 0
	for server in $servers; do
		pair_step "$1, server is node $server" "$server" \
			"${lines[@]//@/$net$server}"
	done
}

# needs PROGRAM PACKAGE: what is not installed is skipped by name.
needs()
{
	command -v "$1" >/dev/null && return
	[ "$NODE" != 1 ] || tap_skip "$1" "not installed ($2)"
	return 1
}

[ "$NODE" = 1 ] && echo "TAP version 13"
pavo-barrier ready 300 || exit 1

parts=" ${*:2} "
# shellcheck source=selftests/apps/rdma-core.sh
[[ $parts == *" rdma-core "* ]] && . "$here/rdma-core.sh"
# shellcheck source=selftests/apps/perftest.sh
[[ $parts == *" perftest "* ]] && . "$here/perftest.sh"
# shellcheck source=selftests/apps/frameworks.sh
[[ $parts == *" frameworks "* ]] && . "$here/frameworks.sh"
# shellcheck source=selftests/apps/storage.sh
[[ $parts == *" storage "* ]] && . "$here/storage.sh"
# shellcheck source=selftests/apps/valkey.sh
[[ $parts == *" valkey "* ]] && . "$here/valkey.sh"

pavo-barrier end 300 || exit 1
[ "$NODE" = 1 ] && tap_end
exit 0
