# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about the command pavo(1): what it shows is what is there. Sourced
# by guest.sh; world.sh says what the words mean.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

pavo=$programs/../../userspace/tools/pavo/pavo

# value JSON PATH...: of what the command printed, in $value
value()
{
	value=$(python3 -c 'import json, sys
at = json.loads(sys.argv[1])
for step in sys.argv[2:]:
    at = at[int(step) if isinstance(at, list) else step]
print(json.dumps(at) if isinstance(at, (dict, list)) else at)' "$@")
}

# fails_with STATUS TEXT COMMAND...: with that status, and says TEXT
fails_with()
{
	local expected=$1 text=$2 status=0 said
	shift 2
	said=$("$@" 2>&1) || status=$?
	[ "$status" = "$expected" ] && [[ $said == *"$text"* ]] && return
	echo "status $status instead of $expected, said: $said"
	return 1
}

# The numbers of the table of docs/applications.md
limits_are_documented()
{
	local info name value row
	info=$(ibv_devinfo -v -d la)
	for name in max_qp_wr max_sge max_cqe max_srq_wr max_qp max_qp_rd_atom; do
		[[ $info =~ [[:space:]]$name:[[:space:]]+([0-9]+) ]]
		value=${BASH_REMATCH[1]}
		row=$(grep "^| \`$name\` | $value |" "$PAVO_TREE/docs/applications.md") || {
			echo "$name is $value"
			return 1
		}
	done
}

status_tells()
{
	local json sent value
	fails_with 1 "there is no adapter" "$pavo" status
	add_pair
	smoke
	json=$("$pavo" status --json la)
	value "$json" 0 netdev && [ "$value" = va ]
	value "$json" 0 netdev_mtu && [ "$value" = 9000 ]
	value "$json" 0 state && [ "$value" = ACTIVE ]
	limits_are_documented
	value "$json" 0 resources qp && [ "$value" = 1 ]
	value "$json" 0 queue_pairs 0 type && [ "$value" = GSI ]
	value "$json" 0 queue_pairs 0 details sq_completed && [ "$value" -ge 0 ]
	value "$json" 0 counters tx_packets && sent=$value
	[ "$sent" -gt 0 ]
	counter_of la tx_packets
	[ "$sent" -le "$value" ]
	json=$("$pavo" status --json)
	value "$json" 1 name && [ "$value" = lb ]
	[[ $("$pavo" status -q -c) == *"la: ACTIVE"*"tx_packets"*"GSI"* ]]
	fails_with 1 "there is no device lc" "$pavo" status lc
	[[ $("$pavo" status la) == *"GID "*" 10.9.0.1 "* ]]
	value "$json" 0 gids && [[ $value == *'"address": "fd09::1"'* ]]
	fails_with 2 "" "$pavo" status --no-such-option
	fails_with 2 "" "$pavo"
	fails_with 2 "frob (commands: check, status" "$pavo" frob
	[ "$("$pavo" --version)" = "pavo $(</sys/module/pavo/version)" ]
	"$pavo" status --help
}

# The command names a fault together with its remedy.
status_advises()
{
	local json value
	add_pair
	[[ $("$pavo" status) != *"worth knowing"* ]]
	smoke --only rnr.late_send
	json=$("$pavo" status --json)
	value "$json"
	[[ $value == *rnr_nak_retry_err*"posts receives too late"* ]]
	[[ $("$pavo" status) == *"worth knowing"*rnr_nak_retry_err*"too late"* ]]
}

top_counts()
{
	local json value
	add_pair
	start_traffic
	json=$("$pavo" top --json -n 1 -i 0.5 la)
	value "$json" 0 name && [ "$value" = la ]
	value "$json" 0 per_second tx_packets && [ "${value%.*}" -gt 0 ]
	value "$json" 0 resources qp && [ "$value" -gt 1 ]
	json=$("$pavo" top --json -q -n 1 -i 0.5 la)
	value "$json" 0 queue_pairs 0 requests_per_second && [ "${value%.*}" -gt 0 ]
	value "$json" 0 queue_pairs 0 details cwnd && [ "$value" -ge 4 ]
	[[ $("$pavo" top -q -n 1 -i 0.5 la) == *QPN*cwnd*rtt*pavo-traffic* ]]
	[[ $("$pavo" top -n 2 -i 0.1) == *ADAPTER*la*lb*ADAPTER*la*lb* ]]
	stop_traffic
}

# found WHAT ADAPTER: check and status both say so, with a status of their own
found()
{
	fails_with 3 "\"what\": \"$1\"" "$pavo" check --json "$2"
	fails_with 3 "\"what\": \"$1\"" "$pavo" status --json "$2"
}

well()
{
	"$pavo" check "$@"
	"$pavo" status "$@"
}

check_finds()
{
	local remedy
	add_pair
	well
	ip link set va down
	soon port_down la
	found link_down la
	found no_carrier lb
	remedy=$("$pavo" check la | sed -n 's/^ *# //p')
	[ "$remedy" = "ip link set va up" ]
	$remedy
	soon active la
	ip addr flush dev va
	soon no_gid la v4 10.9.0.1
	[[ $("$pavo" check la || true) == *"ip addr add ADDRESS/24 dev va"* ]]
	ip addr add 10.9.0.1/24 dev va
	ip addr add fd09::1/64 dev va nodad
	soon has_gid la v4 10.9.0.1
	well
}

# The command that is advised mends it.
check_finds_filter()
{
	local remedy
	add_pair
	nft 'table inet pavo_test {
		chain in {
			type filter hook input priority 0; policy drop;
			iifname "lo" accept
		}
	}'
	found filtered_in la
	remedy=$("$pavo" check la | sed -n 's/^ *# //p' | head -n 1)
	$remedy
	well
	nft delete table inet pavo_test
	nft 'table inet pavo_test {
		chain out {
			type filter hook output priority 0;
			oifname "vb" udp dport 4791 drop
		}
	}'
	found filtered_out lb
	well la
	nft delete table inet pavo_test
}

# Without an adapter the port may be another driver's: no advice that would fail.
check_finds_rxe()
{
	local json said
	modprobe rdma_rxe
	rdma link add rx type rxe netdev va
	said=$("$pavo" status 2>&1 || true)
	[[ $said == *"there is no adapter"*"rdma link delete rx"* ]]
	[[ $said != *"type pavo"* ]]
	fails_with 3 "port_taken_by_rxe" "$pavo" check --json
	json=$("$pavo" check --json || true)
	eval "$(python3 -c 'import json, sys
print(json.loads(sys.argv[1])["machine"][0]["commands"])' "$json")"
	refused loaded_rxe
	fails_with 3 "rdma link add pavo0 type pavo netdev va" "$pavo" check
	add_pair
	well
}

loaded_rxe()
{
	[ -d /sys/module/rdma_rxe ]
}

check_finds_memlock()
{
	add_pair
	(
		ulimit -l 64
		fails_with 3 "may register 64.0 KiB" setpriv --reuid=65534 \
			--clear-groups "$pavo" check
	)
}

# Old trouble is forgotten, new trouble is not.
status_forgets()
{
	add_pair
	smoke --only remote_access.wrong_rkey
	fails_with 3 "resp_remote_access_errors" "$pavo" status lb
	well_forgotten=$("$pavo" status --forget)
	[[ $well_forgotten != *resp_remote_access_errors* ]]
	well
	smoke --only remote_access.wrong_rkey
	fails_with 3 "(counters since " "$pavo" status lb
	rm /run/pavo/counters.json
}

last_refusal=/sys/class/pavo/refusal

# refused_for SAID REASON DEVICE INTERFACE: rdma(8) says the one, `pavo status` both
refused_for()
{
	local said
	said=$(rdma link add "$3" type pavo netdev "$4" 2>&1) && return 1
	[[ $said == *"$1"* ]] || {
		echo "$4: rdma said $said"
		return 1
	}
	said=$("$pavo" status 2>&1 || true)
	[[ $said == *"refused "*" s ago: $3 on $4: $2 ($1)"* ]] || {
		echo "$4: pavo said $said"
		return 1
	}
}

# Each reason has an errno of its own: rdma core passes no text on.
refusals_told()
{
	[ -z "$(<$last_refusal)" ]
	refused_for "Operation not supported" \
		"the loopback interface cannot carry an adapter" lx lo
	fails_with 1 "there is no adapter" "$pavo" status
	vlans
	refused_for "Invalid cross-device link" "a VLAN's addresses are GIDs of \
an adapter on the interface below" lx va.7
	no_vlans
	add la va
	[ -z "$(<$last_refusal)" ]
	refused_for "File exists" \
		"an RDMA device has that name, here or in another namespace" la vb
	refused_for "Device or resource busy" \
		"the interface has an adapter already" lx va
	if ip link add tun1 type nlmon 2>/dev/null; then
		refused_for "Wrong medium type" "not an Ethernet interface" lx tun1
		ip link del tun1
	fi
	add lb vb
	[[ $("$pavo" status) != *refused* ]]
}

# For programs, and whatever the name is that was asked for.
refusals_parsed()
{
	local json value
	add_pair
	refused rdma link add lx type pavo netdev va
	json=$("$pavo" status --json)
	value "$json" 1 name && [ "$value" = lb ]
	value "$json" 2 last_refusal device && [ "$value" = lx ]
	value "$json" 2 last_refusal netdev && [ "$value" = va ]
	value "$json" 2 last_refusal errno && [ "$value" = 16 ]
	value "$json" 2 last_refusal seconds_ago && [ "$value" -lt 600 ]
	json=$("$pavo" status --json lb)
	[[ $json != *last_refusal* ]]
	refused rdma link add $'l\nerrno 0' type pavo netdev va
	[ "$(grep -c . $last_refusal)" = 5 ]
	[ "$(grep -c ^errno $last_refusal)" = 1 ]
	delete lb
	add lb vb
}

# A namespace sees its own refusal, and no names of others.
refusals_stay_at_home()
{
	local said
	add la va
	refused rdma link add lx type pavo netdev va
	ip netns add n1
	ip link add dum1 netns n1 type dummy
	[ -z "$(ip netns exec n1 cat $last_refusal)" ]
	# la is to be seen there, too, but not its counters
	said=$(ip netns exec n1 "$pavo" status)
	[[ $said == "la: "*"no counters here"* && $said != *refused* ]]
	refused ip netns exec n1 python3 -c 'import socket, subprocess, sys
taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
taken.bind(("", 4791))
sys.exit(subprocess.call("rdma link add lc type pavo netdev dum1".split()))'
	said=$(ip netns exec n1 "$pavo" status)
	[[ $said == *"lc on dum1: UDP port 4791 is already bound"*"(Address already in use)"* ]]
	grep -q "^device lx" $last_refusal
	ip netns del n1
	delete la
	add la va
	[ -z "$(<$last_refusal)" ]
}

# metric TEXT NAME LABELS: its value, in $value
metric()
{
	value=$(sed -n "s/^$2{$3} //p" <<<"$1")
	[ -n "$value" ] || {
		echo "no $2{$3}"
		return 1
	}
}

# get_page PATH: what `pavo metrics --listen` answers; returns 0, or the status of HTTP less 300
get_page()
{
	python3 -c 'import sys, urllib.request, urllib.error
try:
    answer = urllib.request.urlopen("http://127.0.0.1:9200" + sys.argv[1], timeout=20)
except urllib.error.HTTPError as error:
    sys.exit(error.code - 300)
sys.stdout.write(answer.read().decode())' "$1"
}

page_is_there()
{
	get_page /metrics >"$work/page" 2>/dev/null
}

# A monitoring system gets what sysfs and netlink have, as text, as a file and by HTTP.
metrics_tell()
{
	local text value pid silent status
	text=$("$pavo" metrics)
	[[ $text == *$'\npavo_adapters 0\n'* ]]
	add_pair
	smoke
	text=$("$pavo" metrics)
	counter_of lb rx_packets
	local packets=$value
	metric "$text" pavo_rx_packets_total 'device="lb"'
	((value == packets && value > 0))
	metric "$text" pavo_link_active 'device="la"'
	((value == 1))
	metric "$text" pavo_objects 'device="la",type="pd"'
	((value >= 1))
	fails_with 1 "there is no device none0" "$pavo" metrics none0
	[[ $("$pavo" metrics la) != *'device="lb"'* ]]
	ip link set vb down
	metric "$("$pavo" metrics)" pavo_finding 'device="lb",what="link_down",severity="trouble"'
	ip link set vb up
	fails_with 1 "--output $work/none/x: No such file" "$pavo" metrics -o "$work/none/x"
	fails_with 1 "--listen 1.2.3.4:9200: Cannot assign" "$pavo" metrics -l 1.2.3.4:9200
	"$pavo" metrics -l 127.0.0.1:9200 &
	pid=$!
	soon page_is_there
	metric "$(<"$work/page")" pavo_rx_packets_total 'device="lb"'
	# one that sends nothing keeps no other waiting, and is sent away
	exec {silent}<>/dev/tcp/127.0.0.1/9200
	get_page /metrics | cmp - <("$pavo" metrics)
	get_page /other && status=0 || status=$?
	((status == 104))
	read -r -t 20 -u "$silent" && status=0 || status=$?
	((status == 1))
	exec {silent}>&-
	kill $pid
	wait $pid || true
	# all addresses: of IPv6, and so of IPv4
	"$pavo" metrics -l :9200 &
	pid=$!
	soon page_is_there
	kill $pid
	wait $pid || true
}

copy=$programs/../../userspace/tools/pavo-copy/pavo-copy

copy_listens()
{
	[[ $(rdma resource show cm_id) == *LISTEN*:7475* ]]
}

# refused_copy TEXT COMMAND...: both sides fail, and the sender says TEXT
refused_copy()
{
	local text=$1 receiver
	shift
	"$copy" receive -q -b 10.9.0.2 "$1" >"$work/receiver" 2>&1 &
	receiver=$!
	soon copy_listens
	[ $# = 1 ] || "${@:2}"
	fails_with 1 "$text" "$copy" send -q "$work/sent" 10.9.0.2
	refused wait $receiver
	[ ! -e "$1" ] && [ ! -e "$1.part" ]
}

# An ordinary mistake leads to a sentence, at once, at the side that asks.
copy_explains()
{
	fails_with 1 "there is no RDMA adapter: rdma link add" "$copy" receive "$work/x"
	add_pair
	head -c 3000000 /dev/urandom >"$work/sent"
	fails_with 1 "/nosuchdir/: No such file or directory" \
		timeout 20 "$copy" receive /nosuchdir/x
	fails_with 1 "$work: is a folder" timeout 20 "$copy" receive "$work"
	fails_with 2 "--port must be 1 to 65535" "$copy" send -p abc "$work/sent" 10.9.0.2
	fails_with 1 "no.such.host.invalid: " "$copy" send "$work/sent" no.such.host.invalid
	fails_with 1 "no program receives at that port" "$copy" send "$work/sent" 10.9.0.2
	[[ $("$copy" --version) == "pavo-copy "[0-9]* ]]
	mkdir -p "$work/small"
	refused_copy "the other side refused: $work/small/x.part: No such file" \
		"$work/small/x" rmdir "$work/small"
	mkdir "$work/small"
	mount -t tmpfs -o size=1M small "$work/small"
	refused_copy "the other side failed: No space left on device" "$work/small/x"
	umount "$work/small"
	"$copy" receive -q -b 10.9.0.2 "$work/received" &
	soon copy_listens
	"$copy" send -q "$work/sent" 10.9.0.2
	wait $!
	cmp "$work/sent" "$work/received"
}

tracing=/sys/kernel/tracing

# An administrator can watch the fate of a message, and why it waits.
traces_tell()
{
	local word trace
	add_pair
	echo >$tracing/trace
	echo 1 >$tracing/events/pavo/enable
	smoke --only rnr.late_send --only retry.peer_destroyed --only mcast.own
	echo 0 >$tracing/events/pavo/enable
	trace=$(<$tracing/trace)
	echo >$tracing/trace
	for word in "pavo_post: la qp" "pavo_transmit: la qp" \
		"pavo_receive: lb qp" "pavo_ack: la qp" \
		"pavo_retransmit: la qp" "pavo_cwnd: la qp" "pavo_timer: la qp" \
		"INIT -> RTR" "RTS -> ERR" "pavo_count: lb tx_rnr_naks" \
		"pavo_count: lb rx_drop_qpn"; do
		[[ $trace == *"$word"* ]] || {
			echo "nothing of: $word"
			return 1
		}
	done
	# the datagrams that any of these tests sends are to a group
	[[ $trace =~ "pavo_receive: lb qp "[0-9]+" opcode 0x65 " ]]
}

command_tests()
{
	[ "$type" = pavo ] || return 0
	life "pavo status: tells what is there" status_tells
	life "pavo status: names trouble" status_advises
	life "pavo status: forgets trouble that an administrator has seen" status_forgets
	life "pavo check: finds a link that is down, and addresses that miss" check_finds
	life "pavo check: finds a filter on the port" check_finds_filter
	life "pavo check: finds rdma_rxe on the port" check_finds_rxe
	life "pavo check: finds a limit of locked memory" check_finds_memlock
	life "pavo status: says why rdma link add was refused" refusals_told
	life "pavo status: says so to programs" refusals_parsed
	life "pavo status: says nothing of other namespaces" refusals_stay_at_home
	life "pavo top: counts" top_counts
	life "pavo metrics: as text and by HTTP" metrics_tell
	life "pavo-copy: says what went wrong at the other end" copy_explains
	if [ -d $tracing/events ] || mount -t tracefs none $tracing; then
		life "tracepoints: tell what happens to a message" traces_tell
	else
		tap_skip "tracepoints" "this kernel has no tracing"
	fi
}
