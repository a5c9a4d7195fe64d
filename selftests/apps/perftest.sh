# shellcheck shell=bash disable=SC2154  # variables of guest.sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# perftest's and qperf's measurements, for what they do, not for their figures.
# Sourced by guest.sh.

# perf TOOL ARGUMENTS...
perf()
{
	local line="$1 -d rdma0 -x $gid4 -F $perf_patience ${*:2}"
	between "$*" "listening 18515" "$line" "$line @"
}

# crowd COMMAND...: of so many queue pairs that an answer may wait in the interface's queue
# for longer than perftest's own 67 ms, or be dropped there. With those they give up once
# in some dozens of runs (with 268 ms once on a busy host); rdma_rxe's do so each time.
crowd()
{
	perf_patience=${perf_patience:--u 18} "$@"
}

# perf_cm TOOL ARGUMENTS...: connected by rdma_cm
perf_cm()
{
	local key=perf-$((++perf_cms))
	local line="$1 -d rdma0 -F -R $perf_patience ${*:2}"
	between "$1 -R ${*:2}" true "$here/perftest-cm serve $key-@ $line" \
		"$here/perftest-cm use $key-@ $line @"
}
perf_cms=0

perf ib_write_bw -s 65536 -n 20
perf ib_read_bw -s 65536 -n 20
perf ib_send_lat -s 64 -n 50
perf_cm ib_write_bw -s 4096 -n 50
perf_cm ib_send_bw -s 4096 -n 50 -b
perf ib_atomic_bw -A FETCH_AND_ADD -n 50
perf ib_atomic_lat -A CMP_AND_SWAP -n 50
wide perf ib_write_lat -s 4096 -n 50
wide perf ib_read_lat -s 4096 -n 50

# the other services
perf ib_write_bw -c UC -s 65536 -n 20
perf ib_send_lat -c XRC -s 64 -n 50
perf ib_read_bw -c XRC -s 65536 -n 20
perf ib_send_bw -c UD -s 4096 -n 100
wide perf ib_send_lat -c UD -s 64 -n 50
wide perf ib_send_bw -c UC -s 65536 -n 20
wide perf ib_send_lat -c UC -s 64 -n 50
wide perf ib_write_lat -c UC -s 64 -n 50
wide perf ib_send_bw -c XRC -s 65536 -n 20
wide perf ib_write_bw -c XRC -s 65536 -n 20
wide perf ib_write_lat -c XRC -s 64 -n 50
wide perf ib_atomic_bw -c XRC -n 50

# shared receive queues, events in place of polling, many queue pairs, both
# directions at once, chains of work requests, memory that is not pinned
perf ib_send_bw --use-srq -s 4096 -n 100 -q 8
perf ib_send_bw -e -s 65536 -n 20
perf ib_write_bw -q 64 -s 4096 -n 20
perf ib_read_bw -b -q 4 -s 65536 -n 20
perf ib_write_bw --odp -s 65536 -n 20
wide perf ib_send_bw -c UD --use-srq -s 1024 -n 100
wide perf ib_send_lat -e -s 4096 -n 50
wide perf ib_read_bw -e -s 65536 -n 20
crowd perf ib_write_bw -b -q 16 -s 65536 -n 20
crowd wide perf ib_read_bw -b -q 16 -s 65536 -n 20
crowd wide perf ib_send_bw -b -q 16 -s 65536 -n 20
wide perf ib_write_bw -l 16 -s 2048 -n 160

# far COMMAND...: on a wire of 100 ms. For a server that tells its client where to
# connect a moment before it listens there: so it listens in time.
far()
{
	tc qdisc add dev eth0 root netem delay 100ms
	"$@"
	tc qdisc del dev eth0 root
}

# qperf_run TESTS...: over RC only, the others find their peer by a LID, which
# Ethernet has not. `quit` ends the server.
qperf_run()
{
	far between "qperf $*" "listening 19765" qperf "qperf @ -cm 1 -t 1 $* quit"
}

if needs qperf qperf; then
	qperf_run rc_bw rc_lat rc_rdma_read_bw ver_rc_fetch_add
	wide qperf_run rc_bi_bw rc_rdma_write_bw rc_rdma_write_poll_lat \
		rc_rdma_read_lat
	wide qperf_run rc_compare_swap_mr rc_fetch_add_mr ver_rc_compare_swap
fi
