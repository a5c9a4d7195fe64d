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
	value "$json" 0 resources qp && [ "$value" = 1 ]
	value "$json" 0 queue_pairs 0 type && [ "$value" = GSI ]
	value "$json" 0 queue_pairs 0 details sq_completed && [ "$value" -ge 0 ]
	value "$json" 0 counters tx_packets && sent=$value
	[ "$sent" -gt 0 ]
	read -r value </sys/class/infiniband/la/ports/1/hw_counters/tx_packets
	[ "$sent" -le "$value" ]
	json=$("$pavo" status --json)
	value "$json" 1 name && [ "$value" = lb ]
	[[ $("$pavo" status -q -c) == *"la: ACTIVE"*"tx_packets"*"GSI"* ]]
	fails_with 1 "there is no device lc" "$pavo" status lc
	fails_with 2 "" "$pavo" status --no-such-option
	fails_with 2 "" "$pavo"
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
	[[ $value == *rx_rnr_naks*"posts receives too late"* ]]
	[[ $("$pavo" status) == *"worth knowing"*rx_rnr_naks*"too late"* ]]
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
	[[ $("$pavo" top -n 2 -i 0.1) == *ADAPTER*la*lb*ADAPTER*la*lb* ]]
	stop_traffic
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
		"pavo_retransmit: la qp" "pavo_timer: la qp" \
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
	life "pavo top: counts" top_counts
	if [ -d $tracing/events ] || mount -t tracefs none $tracing; then
		life "tracepoints: tell what happens to a message" traces_tell
	else
		tap_skip "tracepoints" "this kernel has no tracing"
	fi
}
