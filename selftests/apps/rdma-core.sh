# shellcheck shell=bash disable=SC2154  # variables of guest.sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The apps of rdma-core: pingpongs of every service, rdma_cm's examples, multicast,
# sockets over RDMA. Sourced by guest.sh.

# pingpong PROGRAM v4|v6 ARGUMENTS...
pingpong()
{
	local gid=$gid4
	case $2 in v6) gid=$gid6 ;; esac
	local line="$here/pingpong $1 -d rdma0 -g $gid ${*:3}"
	between "$*" "listening 18515" "$line" "$line @"
}

# cm PROGRAM SERVER-LINE CLIENT-LINE: over IPv4 and IPv6
cm()
{
	between "$1 over IPv4" cm_listening "${@:2}"
	net=$net6 between "$1 over IPv6" cm_listening "${@:2}"
}

pingpong ibv_rc_pingpong v4 -c -s 4096 -n 200
pingpong ibv_rc_pingpong v6 -c -s 10001 -n 100
pingpong ibv_rc_pingpong v4 -c -s 1000 -n 100 -e
pingpong ibv_rc_pingpong v4 -c -s 70000 -m 1024 -n 30
pingpong ibv_uc_pingpong v4 -c -s 10001 -n 50 -e
pingpong ibv_ud_pingpong v6 -c -s 1000 -n 50 -e
pingpong ibv_srq_pingpong v4 -c -s 10001 -n 50 -e
pingpong ibv_xsrq_pingpong v4 -s 10001 -n 50 -e

# The server is a member, the other one sends. The group has two users when
# rdma_cm has joined and the queue pair is attached. Not for IPv6: the kernel's
# rdma_cm joins no such group of RoCE v2 (ENOTSUPP).
line="mckey -b $net$NODE -m 239.77.0.1 -C 20"
each=1 between "mckey" "ip maddr show dev eth0 | grep -q '239.77.0.1 users 2'" \
	"$line" "$line -s"

cm "rping, verified" "$here/rping-server 20 -a @ -S 1000" \
	"$here/rping-client 20 -a @ -S 1000"
cm "rping, verified, 60000 bytes" "$here/rping-server 4 -a @ -S 60000" \
	"$here/rping-client 4 -a @ -S 60000"
cm "ucmatose, 5 connections" "ucmatose -b @ -c 5 -C 10 -S 4096" \
	"ucmatose -s @ -c 5 -C 10 -S 4096"
cm "rdma_server/rdma_client" "rdma_server -s @ -p 7471" \
	"rdma_client -s @ -p 7471"
# The server listens at IPv4 addresses only, and has no option for another.
between "rdma_xserver/rdma_xclient" cm_listening "rdma_xserver -p 7471" \
	"rdma_xclient -s @ -p 7471"
cm "udaddy, 3 connections" "udaddy -b @ -c 3 -C 10 -S 1000" \
	"udaddy -s @ -c 3 -C 10 -S 1000"
cm "cmtime, 20 connections" "$here/endless serve cmtime-@ cmtime -b @ -c 20" \
	"$here/endless use cmtime-@ cmtime -s @ -c 20"

# The same device over a VLAN of its interface: a GID more. A neighbour is asked from the
# link-local address, so that one must be usable at once, too.
vlan()
{
	modprobe 8021q
	ip link add link eth0 name eth0.9 type vlan id 9 &&
		echo 0 >/proc/sys/net/ipv6/conf/eth0.9/accept_dad &&
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
net=192.168.79. net6=fd00:79:: \
	cm "rping on a VLAN" "$here/rping-server 20 -a @ -S 1000" \
	"$here/rping-client 20 -a @ -S 1000"
net=192.168.79. net6=fd00:79:: \
	cm "ucmatose on a VLAN" "ucmatose -b @ -c 5 -C 10 -S 4096" \
	"ucmatose -s @ -c 5 -C 10 -S 4096"

# Sockets over RDMA, verified.
options="-T v -S 20000 -C 20 -I 20"
cm "rstream, verified" "rstream -b @ $options" "rstream -s @ $options"
cm "riostream, verified" "riostream -b @ $options" "riostream -s @ $options"
# Not with -T a: at the end its client may see the server hang up beside the last
# data, and takes that for a failure.
options="-T v -S 1000000 -C 4 -I 2"
wide cm "rstream, verified, 1 MB" "rstream -b @ $options" "rstream -s @ $options"
between "rcopy, compared" cm_listening "$here/copied take rcopy-@" \
	"$here/copied give rcopy-@ @"

needs nc.traditional netcat-traditional &&
	between "netcat under librspreload" cm_listening "$here/socket-file give @" \
		"$here/socket-file take @"

line="$ordinary ibv_rc_pingpong -d rdma0 -g $gid4 -c -s 4096 -n 100"
between "ibv_rc_pingpong of an ordinary user" "listening 18515" "$line" "$line @"
between "rping of an ordinary user" cm_listening \
	"$ordinary $here/rping-server 20 -a @ -S 1000" \
	"$ordinary $here/rping-client 20 -a @ -S 1000"
