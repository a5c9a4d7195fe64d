# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The common part of nodes.sh and three-nodes.sh: adapters, a good wire and a bad one, and
# the tests that are the same for any number of machines. Sourced by all nodes, after
# verbs/lib.sh.

# usable ADAPTER: it has a link and an address.
usable()
{
	wait_for active "$1"
	wait_for gid_index "$1" v4
}

# two_adapters: rdma0 on eth0, which has two addresses; and on the same wire rdma1, for
# what goes over several.
two_adapters()
{
	load_driver pavo || return 1
	need_part windows
	ip addr add "192.168.79.$NODE/24" dev eth0 || return 1
	rdma link add rdma0 type pavo netdev eth0 || return 1
	# A node that looks for one of two interfaces on a wire does not get the other's answer.
	sysctl -qw net.ipv4.conf.all.arp_ignore=1 || return 1
	modprobe macvlan
	ip link add link eth0 name mv0 type macvlan mode bridge &&
		ip addr add "192.168.78.$NODE/24" dev mv0 && ip link set mv0 up &&
		rdma link add rdma1 type pavo netdev mv0 || return 1
	usable rdma0
	usable rdma1
	# shellcheck disable=SC2034  # of pair_step
	slow_kernel && PAIR_LIMIT=300
	return 0
}

# between PROGRAM NAME SERVER TEST [INTERFACE]: a test of pavo-nodes, with its adapters; all
# other nodes come to SERVER.
between()
{
	pair_step "$2, node $3 serves" "$3" "listening 7480" \
		"$1 $4 $((NODES - 1))" "$1 $4 192.168.77.$3 ${5:-}"
}

# rounds_between PROGRAM SERVER: packets leave in the order in which the adapter sends them. A queue
# with flows of its own (fq_codel) changes it, where an interface stops its queue (from 6.11 on
# virtio-net does, by byte queue limits).
rounds_between()
{
	tc qdisc replace dev eth0 root pfifo
	between "$1" "windows send in rounds" "$2" "rounds rdma0"
	tc qdisc delete dev eth0 root
}

# between_nodes PROGRAM WHERE SERVER: all of them. PROGRAM: pavo-nodes
between_nodes()
{
	between "$1" "messages of all lengths$2" "$3" "messages rdma0"
	between "$1" "events of messages$2" "$3" "events rdma0"
	between "$1" "RDMA, memory and FIFOs$2" "$3" "rdma rdma0"
	between "$1" "recoveries in the middle of RDMA$2" "$3" "recovery rdma0"
	between "$1" "notifications of RDMA$2" "$3" "notified rdma0"
	between "$1" "violations abroad and at home$2" "$3" "violations rdma0"
	between "$1" "cancels in the middle of RDMA$2" "$3" "cancel rdma0"
	between "$1" "what an adapter drops$2" "$3" "rules rdma0"
	between "$1" "packets of before a recovery$2" "$3" "replay rdma0" eth0
	between "$1" "tables, and the pool of contexts$2" "$3" "tables rdma0"
	# The order of packets that a bad wire changes is not the sender's.
	[ -n "$2" ] || rounds_between "$1" "$3"
	between "$1" "flags wait for writes, and recoveries$2" "$3" "flags rdma0"
	between "$1" "third-party RDMA, and recoveries in its middle$2" "$3" "third rdma0"
	# Two clients at least: the one that serves is no end of an operation.
	((NODES < 3)) ||
		between "$1" "controllers of third-party RDMA are killed$2" "$3" "third-killed rdma0"
	between "$1" "coroutines, and the header for C$2" "$3" "library rdma0"
	between "$1" "messages by two addresses$2" "$3" "messages-by-two rdma0"
	between "$1" "RDMA by two addresses$2" "$3" "rdma-by-two rdma0"
	between "$1" "windows end under traffic$2" "$3" "snapshot rdma0"
}

# striped_nodes PROGRAM WHERE SERVER: messages over two adapters, of which the clients lose
# the second, or both begin anew. It is there again behind each.
striped_nodes()
{
	between "$1" "two adapters recover$2" "$3" "striped-recovery rdma0,rdma1"
	between "$1" "one link of two goes down$2" "$3" "striped rdma0,rdma1" mv0
	ip link set mv0 up
	usable rdma1
	between "$1" "one adapter of two is taken away$2" "$3" \
		"striped-without rdma0,rdma1"
	[ "$NODE" = "$3" ] || rdma link add rdma1 type pavo netdev mv0
	usable rdma1
}

# on_a_good_wire COMMAND: what is to be done by all nodes. Does not return.
on_a_good_wire()
{
	[ "$NODE" = 1 ] && echo "TAP version 13"
	pavo-barrier ready 300 || exit 1
	"$1"
	pavo-barrier end 300 || exit 1
	[ "$NODE" = 1 ] && tap_end
	exit 0
}

# on_both_wires GOOD BAD: what is to be done by all nodes, once on a wire that is good and
# once on one that is not: all_of_them WHERE and that argument. Does not return.
on_both_wires()
{
	[ "$NODE" = 1 ] && echo "TAP version 13"
	pavo-barrier ready 300 || exit 1
	all_of_them '' "$1"
	tc qdisc add dev eth0 root netem limit 10000 delay 1ms 1ms loss 5% \
		duplicate 5% reorder 25% || exit 1
	pavo-barrier lossy 300 || exit 1
	all_of_them ' on a bad wire' "$2"
	tc -s qdisc show dev eth0 root | grep -q 'dropped [1-9]' || exit 1
	pavo-barrier end 300 || exit 1
	[ "$NODE" = 1 ] && tap_end
	exit 0
}
