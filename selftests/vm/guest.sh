#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: prints the file DATA and nothing else, copies it, leaves what it was
# given in "facts", and tries to change the host. Started by run.sh.
# usage: guest.sh DATA [arguments to be told of...]
set -eu
data=$1
shift

{
	echo "arguments:$(printf ' <%s>' "$@")"
	echo "folder: $PWD"
	echo "greeting: $GREETING"
	echo "node $NODE of $NODES, user $(id -u), $(nproc) CPU"
	read -r _ memory _ </proc/meminfo
	((memory >= 700 << 10)) || echo "memory: below 700 MiB"
	echo "kernel argument: $(tr ' ' '\n' </proc/cmdline | grep pavovm.test)"
	echo "kernel: $(uname -r)"
} >"$PAVO_OUT/facts"

mkdir "$PAVO_OUT/in a folder"
cp "$data" "$PAVO_OUT/copy"
cp "$data" "$PAVO_OUT/in a folder/copy"
: >"$PAVO_OUT/empty"
cat "$data"

echo changed >"$data"
echo new >"$data.new"
[ "$(<"$data")" = changed ]
echo "<4>WARNING: planted and known" >/dev/kmsg
exit 7
