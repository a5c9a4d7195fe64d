#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Both nodes of the interop pair run this. Node 1 has the device under test and
# prints TAP, node 2 has the peer, serves, and captures what passes the wire.
# usage: guest.sh TYPE PEER-TYPE PAVO-VERBS
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
program=$3
type=$1
[ "$NODE" = 2 ] && type=$2
wait_long=3000
port4=18600 port6=18601
slow=()
if slow_kernel; then
	slow=(--patience 120 --limit 900)
	PAIR_LIMIT=300
fi

load_driver "$type" || exit 1
rdma link add rdma0 type "$type" netdev eth0 || exit 1
wait_for active rdma0
wait_for gid_index rdma0 v4
wait_for gid_index rdma0 v6

# Tests that both roles go through over IPv4: their outcome depends on what the
# two ends say to each other. The verbs group tests what an end does on its own account
# (states, flushing, its own keys).
groups=(data. sgl. order. atomic. event. rnr. retry. remote_access.
	receive_error. uc. ud. srq.)
one_ended=(data.huge uc.not_allowed uc.states uc.flush uc.sqe uc.drain
	ud.too_long srq.full srq.sizes srq.limit_edges srq.refused srq.pd)
# A peer that does not know pavo's own operations.
unknowing=()
[ "$1" = pavo ] && [ "$2" = rxe ] && unknowing=(ext_peer.)
# 20 s of waiting for what rdma_rxe never does, in that role: events, and taking the
# Q_Key of the queue pair where that of the request has its top bit set.
declare -A never=(
	[passive]="remote_access.responder_fate srq.last_wqe"
	[active]=ud.qkey)
brief=(data.send.mtu_256 data.write_with_immediate.mtu_1024
	data.read.mtu_4096 data.zero data.padding data.bidirectional sgl. atomic.
	order.psn_wrap order.mixed rnr.late_send retry.peer_destroyed
	remote_access.wrong_rkey receive_error.too_small uc.order ud.send)

# each OPTION WORD...: OPTION before each of the words
each()
{
	printf -- "--$1 %s " "${@:2}"
}

# known_of ROLE: how rdma_rxe of this kernel is known to fail; a fourth field is the
# beginning of the only kernels that it holds for.
known_of()
{
	awk -F ' *[|] *' -v kernel="$(uname -r)" '!/^#/ && NF >= 3 &&
		(NF < 4 || index(kernel, $4) == 1) { print $1 " | " $2 " | " $3 }' \
		"$here/rxe-$1.known"
}

# matrix PORT GID KNOWN arguments...
matrix()
{
	local port=$1 gid=$2 known=$3
	shift 3
	echo "# matrix over $gid, active: $known is the peer's role"
	# shellcheck disable=SC2046,SC2086
	"$program" --dev rdma0 --connect 192.168.77.2 --port "$port" \
		--gid "$gid" --large $((4 << 20)) --limit 300 \
		$(each skip "${one_ended[@]}" ${never[$known]}) "${slow[@]}" \
		--known <(known_of "$known") "$@" || tap_failed=1
}

if [ "$NODE" = 2 ]; then
	dumpcap -q -P -B 128 -i eth0 -f 'udp port 4791' -w "$PAVO_OUT/wire.pcap" \
		2>"$PAVO_OUT/dumpcap.log" &
	capture=$!
	wait_for test -s "$PAVO_OUT/wire.pcap"
	"$program" --dev rdma0 --gid v4 --server --port $port4 &
	"$program" --dev rdma0 --gid v6 --server --port $port6 &
	wait_for listening $port4
	wait_for listening $port6
fi
pavo-barrier served 300 || exit 1

if [ "$NODE" = 1 ]; then
	# shellcheck disable=SC2046
	{
	matrix $port4 v4 passive $(each only "${groups[@]}" "${unknowing[@]}")
	matrix $port4 v4 active --swap $(each only "${groups[@]}")
	matrix $port6 v6 passive $(each only "${brief[@]}")
	matrix $port6 v6 active --swap $(each only "${brief[@]}")
	}
fi
pavo-barrier matrix $wait_long || exit 1

# On a path that loses, repeats and reorders packets each end is the sender: what one holds or sends
# again is nothing that the other does not know. rdma_rxe itself completes atomics without their result
# there, also towards its like (TYPE=rxe: lossy.mixed_20ms of verbs), so as the sender it has none.
lossy=(data.send.mtu_1024 data.send.mtu_4096 data.write.mtu_4096 data.read.mtu_1024
	data.read.mtu_4096)
tc qdisc add dev eth0 root netem limit 10000 delay 1ms loss 2% duplicate 1% reorder 25% || exit 1
pavo-barrier lossy 300 || exit 1
if [ "$NODE" = 1 ]; then
	# shellcheck disable=SC2046
	{
	matrix $port4 v4 passive $(each only "${lossy[@]}" atomic.many_outstanding order.mixed)
	matrix $port4 v4 active --swap $(each only "${lossy[@]}")
	}
fi
pavo-barrier lossless $wait_long || exit 1
tc qdisc del dev eth0 root

if [ "$NODE" = 1 ]; then
	echo "TAP version 13"
	for role in passive active; do
		for name in ${never[$role]}; do
			tap_skip "$name" "rxe never does that as the $role end"
		done
	done
fi
here4=$(gid_index rdma0 v4)

# by_cm NAME SERVER-LINE CLIENT-LINE: by rdma_cm, which makes the queue pairs; once with
# each node as the server, at each address (@) of it below the prefixes $nets.
nets=(192.168.77. fd00:77::)
by_cm()
{
	local server net
	for server in 1 2; do
		for net in "${nets[@]}"; do
			pair_step "$1, server is node $server, $net$server" $server \
				cm_listening "${2//@/$net$server}" "${3//@/$net$server}"
		done
	done
}

rping=("$here/../apps/rping-server 20 -a @ -S 5000" "$here/../apps/rping-client 20 -a @ -S 5000")
by_cm "rping, verified" "${rping[@]}"
by_cm "ucmatose, 5 connections" "ucmatose -b @ -c 5 -C 10 -S 4096" \
	"ucmatose -s @ -c 5 -C 10 -S 4096"
by_cm "rdma_server/rdma_client" "rdma_server -s @ -p 7471" "rdma_client -s @ -p 7471"

# perf TOOL ARGUMENTS...: once with each node as the server
perf()
{
	local line="$1 -d rdma0 -x $here4 -F $perf_patience ${*:2}" server
	for server in 1 2; do
		pair_step "perftest $*, server is node $server" $server \
			"listening 18515" "$line" "$line 192.168.77.$server"
	done
}

perf_all()
{
	perf ib_write_bw -s 65536 -n 20
	perf ib_read_bw -s 65536 -n 20
	perf ib_send_bw -s 65536 -n 20
	perf ib_send_bw -s 1000 -n 100 -e
	perf ib_write_bw -s 4096 -n 50 -q 4 -b
	perf ib_write_lat -s 2 -n 50
	perf ib_read_lat -s 1024 -n 50
	perf ib_send_lat -s 64 -n 50
	perf ib_atomic_lat -A FETCH_AND_ADD -n 50
	perf ib_atomic_bw -A CMP_AND_SWAP -n 50
}

perf_all
if [ "$NODE" = 2 ]; then
	kill -INT "$capture"
	wait "$capture"
	sync
fi

# Behind the capture, whose filter knows no tags. A neighbour is asked from the link-local
# address, so that one must be usable at once, too.
modprobe 8021q
ip link add link eth0 name eth0.9 type vlan id 9 &&
	echo 0 >/proc/sys/net/ipv6/conf/eth0.9/accept_dad &&
	ip link set eth0.9 up &&
	ip address add "192.168.79.$NODE/24" dev eth0.9 &&
	ip address add "fd00:79::$NODE/64" dev eth0.9 nodad || exit 1
wait_for grep -qs eth0.9 /sys/class/infiniband/rdma0/ports/1/gid_attrs/ndevs/*
nets=(192.168.79. fd00:79::)
by_cm "rping on a VLAN, verified" "${rping[@]}"
pavo-barrier end $wait_long || exit 1
[ "$NODE" = 1 ] && tap_end
exit 0
