#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In a native guest: the RDMA test of a built Valkey over one adapter, whose driver changes. For each round and
# driver ($PAVO_OUT/ROUND-DRIVER.jsonl): a row as pavo-bench has them.
# usage: valkey-guest.sh PROGRAMS ROUNDS VALKEY KEYS THREADS DRIVER...   as valkey --help says; PROGRAMS is not used
set -euo pipefail
# shellcheck source=selftests/bench/lib.sh
. "$(dirname "$(readlink -f "$0")")/lib.sh"
# shellcheck source=qemu-scripts/guest/pavo-sync
. "$PAVO_SHARE/guest/pavo-sync"
rounds=$2 valkey=$3 keys=$4 threads=$5
drivers=("${@:6}")
address=10.9.0.1
server=

is_serving()
{
	rdma resource show cm_id | grep -q "state LISTEN.*$address:6379"
}

# start_server LOG: with nothing in it. The test saves its keys once.
start_server()
{
	rm -f /tmp/dump.rdb
	"$valkey/src/valkey-server" --port 0 --protected-mode no --appendonly no --save "" \
		--dir /tmp --rdma-port 6379 --rdma-bind "$address" >"$1" 2>&1 &
	server=$!
	pavo-until 20 is_serving
}

stop_server()
{
	kill "$server"
	wait "$server" 2>/dev/null || true
}

# count NAME: of the adapter; null if the driver has no such counter
count()
{
	cat "/sys/class/infiniband/bench0/ports/1/hw_counters/$1" 2>/dev/null || echo null
}

# measure ROUND DRIVER: each thread sets all its keys, then reads them, with one request at a time
measure()
{
	local file=$PAVO_OUT/$1-$2 begin
	load_module "$2"
	rdma link add bench0 type "$2" netdev va
	[ "$1" -gt 1 ] || driver_environment "$2" >>"$PAVO_OUT/environment"
	start_server "$file.server"
	begin=$(date +%s%N)
	"$valkey/tests/rdma/rdma-test" --host "$address" --minkeys "$keys" --maxkeys $((keys + 1)) \
		--thread "$threads" >"$file.client" 2>&1
	printf '{"op": "keys", "test": "valkey", "size": 1024, "messages": %d, "total_ns": %d, "drops": 0, "retransmits": %s}\n' \
		$((2 * keys * threads)) $(($(date +%s%N) - begin)) "$(count tx_retransmits)" >"$file.jsonl"
	stop_server
	rdma link delete bench0
	rmmod "$(module_of "$2")"
}

environment >"$PAVO_OUT/environment"
ip link set lo up
ip link add va mtu "$mtu" type veth peer name vb mtu "$mtu"
ip link set va up
ip link set vb up
ip address add "$address/24" dev va
modprobe -a rdma_ucm rdma_cm
in_turn "$rounds" "${drivers[@]}"
