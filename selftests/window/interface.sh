#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# All nodes of a cluster run this: a network interface over a window of each, and IP over it.
# Node 1 prints TAP. Called by run-interface.sh.
# usage: interface.sh FOLDER-OF-TOOLS
#
# shellcheck disable=SC2317 # steps are functions that on_all reaches by name
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
pavo=$1/pavo/pavo
clients=$((NODES - 1))

# make_interface: pv0 over rdma0, with all nodes of the cluster.
make_interface()
{
	local node peers=()
	for ((node = 1; node <= NODES; node++)); do
		((node == NODE)) || peers+=(--peer "$node=192.168.77.$node")
	done
	"$pavo" interface add rdma0 --name pv0 --job 77 --key 0x5ec2e7 --node "$NODE" \
		--window 700 "${peers[@]}" >/dev/null &&
		ip addr add "10.77.0.$NODE/24" brd 10.77.0.255 dev pv0 &&
		ip addr add "fd77::$NODE/64" dev pv0 nodad && ip link set pv0 up
}

# counter NAME [INTERFACE]: of `ethtool -S`.
counter()
{
	ethtool -S "${2:-pv0}" | awk -v name="$1:" '$1 == name { print $2 }'
}

# traffic NAME SERVER MODE ADDRESS: one node serves, the others come to it.
traffic()
{
	pair_step "$1" "$2" "listening 7490" \
		"python3 $here/interface.py $3 serve 7490 $clients $4" \
		"python3 $here/interface.py $3 client 7490 192.168.77.$2 $4"
}

# on_all NAME COMMAND: all nodes run it, and it ends well on each.
on_all()
{
	pair_step "$1" 1 true "bash -c '$2'" "bash -c '$2'"
}

# used COUNTER...: each of them has counted.
used()
{
	local name
	for name in "$@"; do
		(($(counter "$name") > 0)) || {
			echo "$name is 0"
			ethtool -S pv0
			return 1
		}
	done
}

# iperf_serve: one server for each client, of one test.
iperf_serve()
{
	local node pid pids=()
	for ((node = 2; node <= NODES; node++)); do
		iperf3 --server --one-off --port "750$node" >/dev/null &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || return 1
	done
}

# iperf_visit BYTES OPTION...: so many bytes go there. Half of the datagrams arrive at least; of a stream
# the server ends to count before the last byte has come.
iperf_visit()
{
	local bytes=$1 said
	shift
	said=$(iperf3 --client 10.77.0.1 --port "750$NODE" --bytes "$bytes" --json "$@") || {
		echo "$said"
		return 1
	}
	python3 -c "
import json, sys
end = json.load(sys.stdin)['end']
sent, came = (end.get('sum_' + what, end['sum'] if 'sum' in end else {})
              for what in ('sent', 'received'))
print(sent, came)
sys.exit(not (sent['bytes'] >= $bytes and came['bytes'] > 0 and
              came.get('lost_percent', 0) < 50))" <<<"$said"
}

# iperf NAME BYTES OPTION...: all nodes come to the first at the same time.
iperf()
{
	local name=$1
	shift
	pair_step "$name" 1 "listening 7502 && listening 7503" \
		"bash -c iperf_serve" "bash -c 'iperf_visit $*'"
}

# ssh_serve: logins without a password, until all clients have had theirs.
ssh_serve()
{
	local node
	sed -i 's/^root:[^:]*:/root::/' /etc/shadow
	# The server looks for its clients' names, which no other machine here knows.
	for ((node = 2; node <= NODES; node++)); do
		echo "10.77.0.$node node$node" >>/etc/hosts
	done
	dropbearkey -t ed25519 -f "$PAVO_OUT/hostkey" >/dev/null 2>&1 || return 1
	dropbear -B -r "$PAVO_OUT/hostkey" -p 10.77.0.1:7510 -P "$PAVO_OUT/dropbear" || return 1
	for ((node = 2; node <= NODES; node++)); do
		pavo-get "ssh-$node" 100 >/dev/null || return 1
	done
	kill "$(<"$PAVO_OUT/dropbear")"
}

# ssh_visit: a file goes there and comes back.
ssh_visit()
{
	local good=1
	head -c 400001 /dev/urandom >"$PAVO_OUT/there"
	dbclient -y -y -p 7510 root@10.77.0.1 cat <"$PAVO_OUT/there" >"$PAVO_OUT/back" &&
		cmp "$PAVO_OUT/there" "$PAVO_OUT/back" && good=0
	pavo-put "ssh-$NODE" "done"
	return "$good"
}

# refused_on_itself: no adapter on pv0, nor on what is above it, and none comes to be there.
refused_on_itself()
{
	refused rdma link add bad0 type pavo netdev pv0 || return 1
	grep -q "errno 40" /sys/class/pavo/refusal || return 1
	ip link add mv1 link pv0 type macvlan mode private || return 1
	refused rdma link add bad0 type pavo netdev mv1 || return 1
	ip link add br1 type bridge && ip link add vl1 type veth peer name vl2 || return 1
	ip link set vl1 master br1 && rdma link add up0 type pavo netdev br1 || return 1
	refused ip link set mv1 master br1 || return 1
	# With another interface between them.
	ip link add br2 type bridge && ip link set mv1 master br2 || return 1
	ip link add link br2 name vlan2 type vlan id 2 || return 1
	refused ip link set vlan2 master br1 || return 1
	rdma link delete up0 && ip link set vlan2 master br1 || return 1
	refused rdma link add up0 type pavo netdev br1 || return 1
	ip link delete br1 && ip link delete br2 && ip link delete mv1 && ip link delete vl1
}

# looks_right: what tools say of it.
looks_right()
{
	local address
	address=$(</sys/class/net/pv0/address)
	[ "$address" = "$(printf '02:00:%02x:00:02:bc' "$NODE")" ] || return 1
	ethtool -i pv0 | grep -q '^driver: pavo$' || return 1
	ip -d link show pv0 | grep -q pavo_window || return 1
	"$pavo" interface show --json | grep -q "\"known\": $clients" || return 1
	refused ip link add pv9 type pavo_window
}

# down_and_up: it forgets nothing that it needs.
down_and_up()
{
	for _ in 1 2 3; do
		ip link set pv0 down && ip link set pv0 up || return 1
	done
	ip addr add "fd77::$NODE/64" dev pv0 nodad 2>/dev/null
	return 0
}

# has_carrier INTERFACE 0|1
has_carrier()
{
	local carrier
	carrier=$(<"/sys/class/net/$1/carrier") && [ "$carrier" = "$2" ]
}

# follows_the_port: an interface whose adapter has no link has none.
follows_the_port()
{
	ip link add link eth0 name mv0 type macvlan mode bridge &&
		ip addr add "192.168.78.$NODE/24" dev mv0 && ip link set mv0 up &&
		rdma link add rdma1 type pavo netdev mv0 && until_true 20 active rdma1 &&
		until_true 20 has_gid rdma1 || return 1
	"$pavo" interface add rdma1 --name pv1 --job 78 --key 1 --node 1 &&
		ip link set pv1 up && until_true 20 has_carrier pv1 1 || return 1
	ip link set mv0 down && until_true 20 has_carrier pv1 0 || return 1
	ip link set mv0 up && until_true 20 has_carrier pv1 1 || return 1
	"$pavo" interface delete pv1 && [ ! -e /sys/class/net/pv1 ] || return 1
	rdma link delete rdma1 && ip link delete mv0
}

# is_in_its_namespace: an interface is where its adapter's interface is, and ends there.
is_in_its_namespace()
{
	ip netns add n1 && ip link add vx type veth peer name vy netns n1 &&
		ip link set vx up && ip -n n1 addr add 192.168.79.1/24 dev vy &&
		ip -n n1 link set vy up && ip netns exec n1 rdma link add rdma2 type pavo netdev vy &&
		until_true 20 active rdma2 && until_true 20 has_gid rdma2 || return 1
	"$pavo" interface add rdma2 --name pv2 --job 79 --key 1 --node 1 || return 1
	[ ! -e /sys/class/net/pv2 ] && ip -n n1 link set pv2 up || return 1
	"$pavo" interface show rdma2 | grep -q '^pv2: ' || return 1
	refused ip -n n1 link set pv2 netns 1 || return 1
	ip netns delete n1 && until_true 20 test ! -e /sys/class/infiniband/rdma2
}

# counts INTERFACE NAME STATION TYPE LENGTH: such a packet moves that counter.
counts()
{
	local before
	before=$(counter "$2" "$1") && python3 "$here/interface.py" raw "$1" "$3" "$4" "$5" &&
		(($(counter "$2" "$1") > before))
}

# counts_what_it_drops: a long packet to all that is no IP, one for a node that it does not know, and
# one by RDMA for a node that does not answer.
counts_what_it_drops()
{
	counts pv0 tx_drop_too_long ff:ff:ff:ff:ff:ff 0x88b5 4000 &&
		counts pv0 tx_drop_node 02:00:63:00:02:bc 0x0800 100 || return 1
	"$pavo" interface add rdma0 --name pv3 --job 80 --key 1 --node "$NODE" --window 703 \
		--peer 9=192.168.77.250 && ip link set pv3 up || return 1
	# The first ones are lost while the link comes up; attempts take a while.
	until_true 60 counts pv3 tx_drop_rdma 02:00:09:00:02:bf 0x0800 20000 || {
		ip -d link show pv3
		ethtool -S pv3 | grep -v ": 0$"
		return 1
	}
	"$pavo" interface delete pv3
}

# has_gid ADAPTER: it has its IPv4 address.
has_gid()
{
	grep -qs ffff:c0a8 "/sys/class/infiniband/$1"/ports/1/gids/*
}

# ends_with_the_adapter, and another one is made.
ends_with_the_adapter()
{
	rdma link delete rdma0 || return 1
	[ ! -e /sys/class/net/pv0 ] || return 1
	rdma link add rdma0 type pavo netdev eth0 || return 1
	until_true 20 active rdma0 && until_true 20 has_gid rdma0 || return 1
	make_interface
}

recover()
{
	echo 1 >/sys/class/infiniband/rdma0/recover
}

# fragments_are_valid FILE: what tshark says of the packets that came to pv0: all are in order, and
# there are datagrams of 60 kB of both families. One node's is enough: tshark takes seconds in a guest.
fragments_are_valid()
{
	[ "$NODE" = 2 ] || return 0
	tshark -r "$1" -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE -T fields \
		-E "separator=;" -e udp.length -e ip.checksum.status -e udp.checksum.status \
		-e _ws.malformed -e ip.fragment.error -e ip.fragment.overlap 2>/dev/null |
		awk -F ";" "
			\$1 == 60009 || \$1 == 65515 { whole++; six += \$2 == \"\" }
			\$2 == \"0\" || \$3 == \"0\" || \$4 \$5 \$6 != \"\" { print; bad++ }
			END { exit bad || whole < 5 || !six }"
}

# record: the nodes that receive record, until stop_record.
record()
{
	tcpdump -Z root -U -i pv0 -w "$PAVO_OUT/pv0.pcap" udp >/dev/null 2>&1 &
	tcpdump_pid=$!
	wait_for test -s "$PAVO_OUT/pv0.pcap"
}

# send_for_ever NODE: datagrams of all kinds to a node and to all. While there is no interface, or no
# route by it, the next one is tried.
send_for_ever()
{
	exec python3 -c "
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
while True:
    for to in ('10.77.0.$1', '10.77.0.255'):
        for n in (10, 5000, 60000):
            try:
                s.sendto(bytes(n), (to, 9))
            except OSError:
                time.sleep(0.001)"
}

# has_grown N: more than N packets went by RDMA.
has_grown()
{
	(($(counter tx_rdma) > $1))
}

# unload: the module goes while all nodes send to each other.
unload()
{
	local node before pids=()
	# A step that fails leaves no sender behind.
	trap 'kill "${pids[@]}" 2>/dev/null' EXIT
	for ((node = 1; node <= NODES; node++)); do
		((node == NODE)) && continue
		send_for_ever "$node" &
		pids+=($!)
	done
	until_true 60 used tx_rdma tx_fragments tx_stops || return 1
	ip link set pv0 down && before=$(counter tx_rdma) && ip link set pv0 up || return 1
	# All of them go on: a sender that had ended would leave the module in peace.
	until_true 60 has_grown "$before" || return 1
	# RDMA needs the peers' modules, so none goes before all nodes have seen theirs at work.
	pavo-barrier unload 150 || return 1
	rmmod pavo || return 1
	kill "${pids[@]}" || return 1
	wait "${pids[@]}" 2>/dev/null
	[ ! -e /sys/class/net/pv0 ]
}
export -f counts counts_what_it_drops is_in_its_namespace has_carrier follows_the_port has_gid ends_with_the_adapter active
export -f make_interface counter used refused refused_on_itself looks_right down_and_up recover \
	fragments_are_valid send_for_ever has_grown unload iperf_serve iperf_visit ssh_serve ssh_visit
export here pavo NODE NODES clients

load_driver pavo || exit 1
need_part windows
rdma link add rdma0 type pavo netdev eth0 || exit 1
wait_for active rdma0
wait_for gid_index rdma0 v4
make_interface || exit 1
[ "$NODE" = 1 ] && echo "TAP version 13"
pavo-barrier ready 300 || exit 1

on_all "an interface looks right" looks_right
on_all "no adapter on an interface over a window" refused_on_itself
traffic "echo requests, IPv4" 1 ping 10.77.0.1
traffic "echo requests, IPv6" 2 ping fd77::2
traffic "a TCP stream both ways" 1 tcp 10.77.0.1
traffic "a TCP stream both ways, IPv6" 2 tcp fd77::2
traffic "datagrams of all lengths" 3 udp 10.77.0.3
record
traffic "60 kB to the broadcast address" 1 many 10.77.0.255
traffic "60 kB to a multicast group" 2 many 239.77.0.1
traffic "60 kB to a multicast group, IPv6" 3 many ff05::77
kill "$tcpdump_pid"
wait "$tcpdump_pid"
on_all "fragments are valid" "fragments_are_valid $PAVO_OUT/pv0.pcap"
on_all "packets went by frames, fragments and RDMA" "used tx_rdma rx_rdma tx_split tx_fragments"
iperf "iperf3, TCP" 3000000
iperf "iperf3, UDP in frames" 400000 --udp --bitrate 4M --length 1300
iperf "iperf3, UDP by RDMA" 2000000 --udp --bitrate 10M --length 32000
pair_step "files by ssh" 1 "listening 7510" "bash -c ssh_serve" "bash -c ssh_visit"
on_all "down and up" down_and_up
traffic "a TCP stream after that" 2 tcp 10.77.0.2
on_all "the link follows the adapter's port" follows_the_port
on_all "an interface is in its adapter's namespace" is_in_its_namespace
on_all "it counts what it drops" counts_what_it_drops
on_all "a recovery" recover
traffic "datagrams after a recovery" 1 udp 10.77.0.1
traffic "a TCP stream after a recovery" 1 tcp 10.77.0.1
tc qdisc add dev eth0 root netem limit 10000 delay 1ms 1ms loss 5% duplicate 5% reorder 25%
pavo-barrier lossy 300 || exit 1
traffic "a TCP stream on a bad wire" 2 tcp 10.77.0.2
traffic "datagrams of all lengths on a bad wire" 1 udp 10.77.0.1
traffic "3 kB to the broadcast address on a bad wire" 3 few 10.77.0.255
traffic "3 kB to a multicast group on a bad wire, IPv6" 1 few ff05::77
tc qdisc delete dev eth0 root
pavo-barrier good 300 || exit 1
on_all "an interface ends with its adapter" ends_with_the_adapter
traffic "a TCP stream over the next one" 3 tcp 10.77.0.3
on_all "unload under load" unload
pavo-barrier end 300 || exit 1
[ "$NODE" = 1 ] && tap_end
exit 0
