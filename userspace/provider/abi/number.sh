#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# number.sh - finds the number of the installed libibverbs' private interface.
#
# Called by meson.build as: number.sh LIBRARY. Reads the number from the library's
# symbol version IBVERBS_PRIVATE_NN and prints it if there is a header NN.h beside this
# script; otherwise it prints advice.
set -eu

library=$1
here=$(dirname "$0")
known=
for header in "$here"/[0-9]*.h; do
	known="$known $(basename "$header" .h)"
done

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
if [ ! -e "$here/$number.h" ]; then
	cat >&2 <<-END
	$library has the private interface number $number.
	The provider has declarations for:$known
	To support it, describe it in userspace/provider/abi/$number.h (the newest of
	the others is the model, selftests/provider/abi_test.cpp checks the result),
	or install an rdma-core with a known number: 44 to 56 have 34.
	END
	exit 1
fi
echo "$number"
