#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a guest: two adapters on a wire, then the tests; at last with few windows.
# usage: guest.sh [--wide] [--weights WEIGHTS] PROGRAM [--record | arguments for PROGRAM...]
# --weights: of both adapters, so that windows wait for rounds (DRR)
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
if [ "$1" = --wide ]; then
	export PAVO_WIDE=1
	shift
fi
weights=
if [ "$1" = --weights ]; then
	weights=$2
	shift 2
fi
program=$1
shift
export PAVO_TOOL=${program%/*}/../../userspace/tools/pavo/pavo
export PAVO_DEV=wa0 PAVO_PEER=wb0 PAVO_WIRE_SCRIPT=$here/second-wire
echo 0 >/sys/kernel/tracing/tracing_on
veth_pair va vb 1500 || exit 1
echo 10000 >/proc/sys/net/core/netdev_max_backlog
status=0 ran=

# tests FILTER: runs those.
tests()
{
	ran+=$(names "$1")$'\n'
	"$program" --gtest_filter="$1" || status=$?
}

# names FILTER: of those tests, one a line; of those that are only run on demand none.
names()
{
	"$program" --gtest_list_tests --gtest_filter="$1" |
		awk '/^[^ ]/ { suite = $1 } /^ / && !/DISABLED_/ { print suite $1 }'
}

# all_ran: no filter has left a test out.
all_ran()
{
	local left
	left=$(comm -23 <(names '*' | sort) <(sort -u <<<"$ran"))
	[ -z "$left" ] || printf 'in no filter of guest.sh: %s\n' "$left" >&2
	[ -z "$left" ]
}

# record NAME PACKETS TEST: what comes by at vb while a test runs.
record()
{
	local capture=$PAVO_OUT/$1.pcap pid
	tshark -q -i vb -f "udp port 4791" -F pcap -c "$2" -w "$capture" &
	pid=$!
	wait_for test -s "$capture"
	"$program" --gtest_also_run_disabled_tests --gtest_filter="*$3" || return 1
	wait "$pid"
}

# has_gid DEVICE NET: it has an address in 10.9.NET.
has_gid()
{
	# shellcheck disable=SC2317 # it is reached by wait_for
	gid_entry "$1" "0000:0000:0000:0000:0000:ffff:0a09:0$2"
}

# more_ways: second addresses of both adapters, and a second wire with two more; for tests
# named Routes and Striping.
more_ways()
{
	cross_routes va vb 10.9.1 fd0a || return 1
	wait_for has_gid wa0 1
	wait_for has_gid wb0 1
	"$PAVO_WIRE_SCRIPT" make
}

no_more_ways()
{
	"$PAVO_WIRE_SCRIPT" unmake
	ip addr delete 10.9.1.1/24 dev va && ip addr delete 10.9.1.2/24 dev vb
	ip addr delete fd0a::1/64 dev va && ip addr delete fd0a::2/64 dev vb
}

load_pair wa0 wb0 || exit 1
need_part windows
if [ -n "$weights" ]; then
	for adapter in wa0 wb0; do
		echo "$weights" >/sys/class/infiniband/$adapter/weights || exit 1
	done
fi
if [[ ${1:-} == --record ]]; then
	record messages 7 SevenForARecord && record rdma 15 FifteenForARecord
	exit
fi
if (($#)); then
	[[ $* != *Rout* && $* != *Strip* ]] || more_ways || exit 1
	exec "$program" "$@"
fi
tests '-*TheAdapter*:*LeavesPacketsBehind:Congested.*:Routes.*:Striping.*'
more_ways || exit 1
tests 'Routes.*:Striping.*'
no_more_ways || exit 1
wait_for gid_index wa0 v4
wait_for gid_index wb0 v4
"${program%/*}/pavo-c-api" wa0 "$(gid_index wa0 v4)" wb0 "$(gid_index wb0 v4)" || status=$?
# Lost packets stay lost; all else is as it was.
for side in va vb; do
	tc qdisc add dev $side root netem limit 10000 delay 2ms 2ms loss 5% duplicate 5% \
		reorder 25% || status=1
done
PAVO_LOSSY=1 tests 'Network.*'
for side in va vb; do
	tc qdisc delete dev $side root
done
# About seven packets fit, and leave slowly enough for any kernel.
tc qdisc add dev va root tbf rate 2mbit burst 4kb limit 10kb || status=1
tests 'Congested.*'
tc qdisc delete dev va root
# Two lives of the module, alike but for what is random.
load_pair wa0 wb0 || exit 1
tests '*LeavesPacketsBehind'
load_pair wa0 wb0 || exit 1
tests '*OfALifeBeforeTheAdapter*'
load_pair wa0 wb0 max_windows=3 max_rcxts=8 || exit 1
tests '*TheAdapter*-Failover.*'
all_ran || status=1
exit $status
