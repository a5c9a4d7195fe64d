#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# abi-number.sh - finds the number of the installed libibverbs' private interface.
#
# Called by meson.build as: abi-number.sh LIBRARY. Reads the number from the library's
# symbol version IBVERBS_PRIVATE_NN and prints it if abi.h has declarations for it; otherwise
# it prints advice.
set -eu

library=$1
here=$(dirname "$0")
known=$(sed -n 's/.*PAVO_VERBS_ABI == \([0-9]*\)$/\1/p' "$here/abi.h" | tr '\n' ' ')

if [ ! -e "$library" ]; then
	echo "libibverbs is not at $library: install rdma-core's library and its -dev package (Debian: libibverbs-dev)" >&2
	exit 1
fi
number=$(LC_ALL=C readelf -V --wide "$library" |
	 sed -n 's/.*Name: IBVERBS_PRIVATE_\([0-9][0-9]*\).*/\1/p' | head -n 1)
if [ -z "$number" ]; then
	echo "$library has no symbol version IBVERBS_PRIVATE_NN: it is not a libibverbs that loads providers" >&2
	exit 1
fi
case " $known" in
*" $number "*) ;;
*)
	cat >&2 <<-END
	$library has the private interface number $number.
	The provider has declarations for: $known
	To support it, describe in userspace/provider/abi.h what differs from the others
	(selftests/provider/abi_test.cpp checks the result), or install an rdma-core with
	a known number: 39 to 56 have 34, 57 and 58 have 57, 59 to 63 have 59.
	END
	exit 1
	;;
esac
echo "$number"
