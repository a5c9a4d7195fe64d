#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# number_test.sh - abi/number.sh accepts the installed library and refuses
# others with a message that says what to do.
#
# Usage: number_test.sh NUMBER_SH LIBIBVERBS EXPECTED_NUMBER. Prints TAP.
set -u

script=$1
library=$2
expected=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
count=0

report() { # result name
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count $2"
	else
		echo "not ok $count $2"
		failed=1
	fi
}

# says what_it_must_mention...: the last refusal mentions all of it
says() {
	for text in "$@"; do
		grep -q -- "$text" "$folder/message" || return 1
	done
}

echo "TAP version 13"
echo "1..4"

[ "$("$script" "$library")" = "$expected" ]
report $? "the installed library's number"

echo 'IBVERBS_PRIVATE_9999 { global: x; local: *; };' >"$folder/map"
echo 'int x(void) { return 0; }' >"$folder/x.c"
cc -shared -fPIC -Wl,--version-script="$folder/map" -o "$folder/new.so" "$folder/x.c"
! "$script" "$folder/new.so" 2>"$folder/message" &&
	says 9999 "$expected" abi.h rdma-core
report $? "an unknown number is refused, with what is known and what to do"

cc -shared -fPIC -o "$folder/none.so" "$folder/x.c"
! "$script" "$folder/none.so" 2>"$folder/message" && says IBVERBS_PRIVATE_NN
report $? "a library without a number is refused"

! "$script" "$folder/absent.so" 2>"$folder/message" && says libibverbs-dev
report $? "a missing library is named, with its package"
exit $failed
