#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Both nodes of the apps pair run this: programs of rdma-core and perftest with
# data checks where they have them. Node 1 prints TAP.
# usage: guest.sh TYPE [NAME-PART]
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"

load_driver "$1" || exit 1
rdma link add rdma0 type "$1" netdev eth0 || exit 1
wait_for active rdma0
wait_for gid_index rdma0 v4
wait_for gid_index rdma0 v6
gid4=$(gid_index rdma0 v4) gid6=$(gid_index rdma0 v6)
slow_kernel && PAIR_LIMIT=300

part=${2:-}
step()
{
	[[ $1 != *"$part"* ]] || pair_step "$@"
}

# Each program with node 1 as the server, then with node 2.
# pingpong PROGRAM v4|v6 ARGUMENTS...
pingpong()
{
	local gid=$gid4 s
	case $2 in v6) gid=$gid6 ;; esac
	for s in 1 2; do
		local line="$1 -d rdma0 -g $gid ${*:3}"
		step "$*, server is node $s" $s \
			"listening 18515" "$line" "$line 192.168.77.$s"
	done
}

# cm PROGRAM SERVER-ARGUMENTS CLIENT-ARGUMENTS: @ is the server's address in
# $net4 or $net6
net4=192.168.77 net6=fd00:77
cm()
{
	local s version address
	for s in 1 2; do
		for version in 4 6; do
			address=$net4.$s
			[ $version = 6 ] && address=$net6::$s
			step "$1 over IPv$version, server is node $s" $s \
				cm_listening "${2//@/$address}" \
				"${3//@/$address}"
		done
	done
}

# perf TOOL ARGUMENTS...: the nodes take turns at being the server. Between two
# devices of the same kind that is enough; the interop group has each both ways.
perf()
{
	local line="$1 -d rdma0 -x $gid4 -F ${*:2}" ready="listening 18515"
	[[ $line == *" -R "* ]] && ready=cm_listening
	perf_server=$((3 - perf_server))
	step "$*, server is node $perf_server" $perf_server "$ready" \
		"$line" "$line 192.168.77.$perf_server"
}
perf_server=2

[ "$NODE" = 1 ] && echo "TAP version 13"
pavo-barrier ready 300 || exit 1

pingpong ibv_rc_pingpong v4 -c -s 4096 -n 200
pingpong ibv_rc_pingpong v6 -c -s 10001 -n 100
pingpong ibv_rc_pingpong v4 -c -s 1000 -n 100 -e
pingpong ibv_rc_pingpong v4 -c -s 70000 -m 1024 -n 30
pingpong ibv_uc_pingpong v4 -s 10001 -n 50 -e
pingpong ibv_ud_pingpong v6 -s 1000 -n 50 -e
pingpong ibv_srq_pingpong v4 -c -s 10001 -n 50 -e
pingpong ibv_xsrq_pingpong v4 -s 10001 -n 50 -e

# Each node is a member in turn; the other one sends. The group has two users
# when rdma_cm has joined and the queue pair is attached.
for s in 1 2; do
	step "mckey, receiver is node $s" $s \
		"ip maddr show dev eth0 | grep -q '239.77.0.$s users 2'" \
		"mckey -b $net4.$s -m 239.77.0.$s -C 20" \
		"mckey -b $net4.$((3 - s)) -m 239.77.0.$s -C 20 -s"
done

cm "rping, verified" "rping -s -a @ -v -C 20 -S 1000" \
	"$here/rping-client 20 -a @ -S 1000"
cm "rping, verified, 60000 bytes" "rping -s -a @ -v -C 4 -S 60000" \
	"$here/rping-client 4 -a @ -S 60000"
cm "ucmatose, 5 connections" "ucmatose -b @ -c 5 -C 10 -S 4096" \
	"ucmatose -s @ -c 5 -C 10 -S 4096"
cm "rdma_server/rdma_client" "rdma_server -s @ -p 7471" \
	"rdma_client -s @ -p 7471"

# The same device over a VLAN of its interface: a GID more.
vlan()
{
	modprobe 8021q
	ip link add link eth0 name eth0.9 type vlan id 9 &&
		ip link set eth0.9 up &&
		ip address add "192.168.79.$NODE/24" dev eth0.9 &&
		ip address add "fd00:79::$NODE/64" dev eth0.9 nodad
}

# shellcheck disable=SC2317  # called by until_true
gid_on_vlan()
{
	grep -qs eth0.9 /sys/class/infiniband/rdma0/ports/1/gid_attrs/ndevs/*
}

vlan || exit 1
wait_for gid_on_vlan
net4=192.168.79 net6=fd00:79 \
	cm "rping on a VLAN" "rping -s -a @ -v -C 20 -S 1000" \
	"$here/rping-client 20 -a @ -S 1000"
net4=192.168.79 net6=fd00:79 \
	cm "ucmatose on a VLAN" "ucmatose -b @ -c 5 -C 10 -S 4096" \
	"ucmatose -s @ -c 5 -C 10 -S 4096"

perf ib_write_bw -s 65536 -n 20
perf ib_read_bw -s 65536 -n 20
perf ib_send_lat -s 64 -n 50
perf ib_write_bw -R -s 4096 -n 50
perf ib_send_bw -R -s 4096 -n 50 -b

pavo-barrier end 300 || exit 1
[ "$NODE" = 1 ] && tap_end
exit 0
