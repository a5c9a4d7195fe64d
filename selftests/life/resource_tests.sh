# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about `rdma resource show`: the objects of a running process, as it
# made them, in the numbers of rdma core and of the driver. Sourced by guest.sh;
# world.sh, command_tests.sh and netdev_tests.sh say what the words mean.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

resources_told()
{
	add_pair
	start_traffic
	"${BASH_SOURCE[0]%/*}/resources.py" "$traffic_log" "$traffic_pid"
	goes_on
	"${BASH_SOURCE[0]%/*}/resources.py" "$traffic_log" "$traffic_pid"
	stop_traffic
}

# written DEVICE: to the CQs of the traffic so far, in $value
written()
{
	value=$(rdma -jdd resource show cq | python3 -c 'import json, sys
print(sum(cq["drv_written"] for cq in json.load(sys.stdin)
          if cq["ifname"] == sys.argv[1] and cq["comm"] == "pavo-traffic"))' "$1")
}

completions_counted()
{
	local i value before
	add_pair
	start_traffic
	for i in la lb; do
		written "$i"
		before=$value
		goes_on
		written "$i"
		[ "$value" -gt "$before" ]
	done
	stop_traffic
}

# cm_ids PID FIELD...: what is shown of that process's, in $value
cm_ids()
{
	value=$(rdma -j resource show cm_id | python3 -c 'import json, sys
for one in json.load(sys.stdin):
    if one.get("pid") == int(sys.argv[1]):
        print(*(one.get(field) for field in sys.argv[2:]))' "$@" | sort)
}

connected_pid()
{
	local value
	cm_ids "$1" state
	[[ $value == *CONNECT* ]]
}

# An identifier that listens, and the two of a connection.
identifiers_told()
{
	local value client
	add_pair
	rping_server 1000000
	cm_ids "$server_pid" ifname port state ps comm src-addr
	[ "$value" = "la 1 LISTEN TCP rping 10.9.0.1:7174" ]
	[[ $(rdma resource show cm_id) == *"link la/1 "*" state LISTEN ps TCP "* ]]
	rping -c -a 10.9.0.1 -C 1000000 >"$work/rping-client" 2>&1 &
	client=$!
	soon connected_pid "$client"
	cm_ids "$server_pid" ifname state qp-type src-addr
	[ "$value" = "la CONNECT RC 10.9.0.1:7174
la LISTEN None 10.9.0.1:7174" ]
	cm_ids "$client" ifname state qp-type dst-addr
	[ "$value" = "lb CONNECT RC 10.9.0.1:7174" ]
	# the queue pair that it names is the process's
	cm_ids "$client" lqpn
	[[ $(rdma resource show qp) == *"link lb/1 lqpn $value "*" pid $client "* ]]
	kill -KILL "$client" "$server_pid"
	wait "$client" "$server_pid" || true
}

# of_driver NAME COMMAND: one that reads what the driver says of its objects. A kernel
# for machines that need aligned numbers pads them, and rdma (iproute2) ends there.
of_driver()
{
	if [ "$PAVO_ACCEL" = native ]; then
		[[ ! $1 =~ $part ]] || tap_skip "$1" "rdma does not read padded numbers"
		return 0
	fi
	life "$@"
}

resource_tests()
{
	[ "$type" = pavo ] || return 0
	of_driver "resources: CQs, regions and domains as a process made them" \
		resources_told
	of_driver "resources: completions are counted" completions_counted
	life "resources: identifiers of rdma_cm" identifiers_told
}
