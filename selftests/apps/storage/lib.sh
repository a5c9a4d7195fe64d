# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The common part of the storage programs. Each is called as `NAME serve|use ADDRESS KEY`;
# `serve` stays until KEY is put, which `use` does after a failure as well. Sourced.
set -eEu
trap 'echo "failed: $BASH_COMMAND (in ${FUNCNAME[*]}, lines ${BASH_LINENO[*]})"' ERR
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../../verbs/lib.sh"
# shellcheck source=selftests/apps/storage/target.sh
. "$here/target.sh"

# verified DEVICE ARGUMENTS...: fio writes at random, reads back and compares.
verified()
{
	local size=8M
	[ -z "${PAVO_WIDE:-}" ] || size=32M
	fio --name=verify --filename="$1" --ioengine=libaio --direct=1 \
		--iodepth=16 --size=$size --rw=randwrite --bsrange=4k-256k \
		--verify=crc32c --verify_fatal=1 --output-format=terse \
		--terse-version=3 "${@:2}" >/dev/null
}

# has_moved BYTES SINCE: so many since the adapter had carried SINCE.
has_moved()
{
	(($("$here/../carried") - $2 >= $1))
}

# The serving node waits for this.
key=$3
[ "$1" != use ] || trap 'pavo-put "$key" over' EXIT
