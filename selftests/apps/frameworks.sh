# shellcheck shell=bash disable=SC2154  # variables of guest.sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The libraries between RDMA and most of its users: UCX, libfabric, Open MPI. No
# environment variable helps any of them to find the adapter. Sourced by guest.sh.
# Each also runs as an ordinary user: $as is what it is started by, or nothing.
as=

# uct TRANSPORT TEST ARGUMENTS...: UCX's transport layer.
uct()
{
	local line="$as ucx_perftest -d rdma0:1 -x $1 -t $2 ${*:3}"
	between "UCX, $*${as:+, ordinary user}" "listening 13337" "$line" "$line @"
}

# ucp TEST SIZE COUNT: UCX's protocol layer, which chooses devices by itself.
ucp()
{
	local line="$as $here/over-rdma $(($2 * $3)) ucx_perftest -t $1 -s $2 -n $3 -w 5"
	between "UCX chooses, $*${as:+, ordinary user}" "listening 13337" "$line" "$line @"
}

if needs ucx_perftest ucx-utils; then
	for transport in rc_verbs ud_verbs; do
		uct $transport am_bw -D zcopy -s 4000 -n 200 -w 10
		wide uct $transport am_lat -s 8 -n 100 -w 10
		wide uct $transport am_bw -D bcopy -s 2000 -n 500 -w 10
	done
	uct rc_verbs get -D zcopy -s 65536 -n 50 -w 5
	wide uct rc_verbs put_lat -s 8 -n 100 -w 10
	wide uct rc_verbs put_bw -D zcopy -s 65536 -n 50 -w 5
	wide uct rc_verbs fadd -s 8 -n 50 -w 5
	wide uct rc_verbs cswap -s 8 -n 50 -w 5
	ucp tag_bw 1000000 20
	ucp ucp_fadd 8 50
	as=$ordinary ucp tag_bw 1000000 5
	wide ucp tag_lat 64 200
	wide ucp tag_bw 8000 200
	wide ucp ucp_put_bw 65536 50
	wide ucp ucp_get 65536 50
	wide ucp stream_bw 8000 100
	wide ucp ucp_am_bw 100000 50
fi

# fabric PROVIDER ENDPOINT: libfabric's pingpong with data checks.
fabric()
{
	local line="$as $here/fabric-pingpong -p '$1' -e $2 -c"
	between "libfabric, $1 $2, verified${as:+, ordinary user}" "listening 47592" "$line" "$line @"
}

if needs fi_pingpong libfabric-bin; then
	fabric verbs msg
	fabric verbs dgram
	fabric "verbs;ofi_rxm" rdm
	as=$ordinary fabric "verbs;ofi_rxm" rdm
fi

# mpi NAME ARGUMENTS...: ranks on both nodes, started from the client. Two on a node poll
# the one CPU of their guest in turns, which takes minutes. Debian's configuration of Open MPI
# turns its RDMA parts off; mpirun is told otherwise.
mpi()
{
	local key=mpi-$((++mpi_jobs)) ranks=2
	[ -z "$wide" ] || ranks=4
	between "Open MPI, $1, verified${as:+, ordinary user}" "listening 7000" \
		"$here/mpi-agent serve $key-@ $as" \
		"$here/mpi-agent run $key-@ $as $here/over-rdma 3000000 mpirun \
		--allow-run-as-root -np $ranks --host 192.168.77.1:$((ranks / 2)),192.168.77.2:$((ranks / 2)) \
		--mca plm_rsh_agent $here/mpi-agent ${*:2} $mpi_program $ranks"
}
mpi_jobs=0

if needs mpirun openmpi-bin && needs "$mpi_program" libopenmpi-dev; then
	wide mpi "over UCX" --mca pml ucx --mca osc ucx
	as=$ordinary mpi "over UCX" --mca pml ucx --mca osc ucx
fi
