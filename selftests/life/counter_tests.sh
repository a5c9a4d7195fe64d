# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about counters: `rdma statistic` shows all of them, and those that belong
# to some queue pairs only, as `rdma statistic qp` binds them, count right and are not
# lost to the adapter. Sourced by guest.sh; world.sh and command_tests.sh say what the words
# mean.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

# The output of `rdma statistic` for la, in $counters by name
shown()
{
	local words i
	read -ra words <<<"$(rdma statistic show link la/1)"
	[ "${words[*]:0:2}" = "link la/1" ]
	counters=()
	for ((i = 2; i < ${#words[@]}; i += 2)); do
		counters[${words[i]}]=${words[i + 1]}
	done
}

# Two sources, one set of counters with one set of values. Nothing is under way.
shown_as_in_sysfs()
{
	local file name value files=0
	local -A counters
	shown
	for file in /sys/class/infiniband/la/ports/1/hw_counters/*; do
		name=${file##*/}
		[ "$name" != lifespan ] || continue # of values, for sysfs
		read -r value <"$file"
		[ "${counters[$name]:-none}" = "$value" ] || {
			echo "$name is $value, shown: ${counters[$name]:-not at all}"
			return 1
		}
		files=$((files + 1))
	done
	((files > 50 && files == ${#counters[@]})) || {
		echo "$files in sysfs, ${#counters[@]} shown"
		return 1
	}
}

all_are_shown()
{
	local before
	local -A counters
	add_pair
	soon shown_as_in_sysfs || shown_as_in_sysfs
	shown
	before=${counters[tx_packets]}
	smoke
	soon shown_as_in_sysfs || shown_as_in_sysfs
	shown
	((counters[tx_packets] > before + 100))
	((counters[rx_packets] > 100))
}

# Read the port's counters as exporters do: each file is a number, and names that they know move.
tools_find_them()
{
	add_pair
	smoke
	soon counted lb rx_write_requests
	python3 - "$here/../lint" /sys/class/infiniband/lb/ports/1/hw_counters <<'END'
import os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import counters
values = {name: int(open(f"{sys.argv[2]}/{name}").read()) for name in os.listdir(sys.argv[2])}
known = [name for name in counters.KNOWN_TO_TOOLS if name in values]
print(len(known), {name: values[name] for name in known})
assert len(known) >= 21
assert values["rx_write_requests"] and values["rx_read_requests"] and values["rx_atomic_requests"]
assert not values["rx_icrc_encapsulated"] and not values["req_transport_retries_exceeded"]
END
}

# port_counter DEVICE NAME: of those that InfiniBand has, in $value
port_counter()
{
	read -r value <"/sys/class/infiniband/$1/ports/1/counters/$2"
}

# same_traffic DEVICE: it has the packets and data, in words of four bytes, of hw_counters.
same_traffic()
{
	local value name of
	for name in xmit:tx rcv:rx; do
		of=${name#*:}
		counter_of "$1" "${of}_packets"
		((of_packets = value))
		counter_of "$1" "${of}_bytes"
		((of_words = value / 4))
		port_counter "$1" "port_${name%:*}_packets"
		((value == of_packets && value > 100)) || return 1
		port_counter "$1" "port_${name%:*}_data"
		((value == of_words)) || return 1
	done
}

# Nothing comes while the interface is down, and that is counted.
has_port_counters()
{
	local value of_packets of_words before name
	add_pair
	smoke
	soon same_traffic la
	soon same_traffic lb
	port_counter la link_downed
	before=$value
	ip link set vb down
	soon port_down la
	ip link set vb up
	soon active la
	port_counter la link_downed
	((value == before + 1))
	for name in port_rcv_errors symbol_error port_xmit_discards; do
		port_counter lb $name
		((value == 0))
	done
}

# exported METRIC DEVICE [PREFIX]: what node_exporter shows of it, in $value
exported()
{
	value=$(python3 -c 'import sys, urllib.request
text = urllib.request.urlopen("http://127.0.0.1:9100/metrics").read().decode()
print(*[int(float(line.split()[-1])) for line in text.splitlines()
        if line.startswith(sys.argv[3] + sys.argv[1] + "{")
        and f"device=\"{sys.argv[2]}\"" in line])' "$1" "$2" "${3-node_infiniband_}")
}

exporter_answers()
{
	exported info la 2>/dev/null
}

# The series that dashboards of InfiniBand show. Data are bytes there.
exporter_finds_them()
{
	local value of_packets pid name
	add_pair
	smoke
	mkdir -p "$work/text"
	"$pavo" metrics --output "$work/text/pavo.prom"
	prometheus-node-exporter --collector.disable-defaults --collector.infiniband \
		--collector.textfile --collector.textfile.directory="$work/text" \
		--web.listen-address=127.0.0.1:9100 >"$work/exporter" 2>&1 &
	pid=$!
	soon exporter_answers
	counter_of lb rx_packets
	of_packets=$value
	exported port_packets_received_total lb
	((value == of_packets))
	exported port_data_received_bytes_total lb
	((value > 1000))
	# the file of `pavo metrics`, which the exporter parses
	exported rx_packets_total lb pavo_
	((value == of_packets))
	for name in state_id physical_state_id rate_bytes_per_second link_downed_total \
		port_errors_received_total port_discards_transmitted_total; do
		exported $name la
		[ -n "$value" ] || {
			echo "no $name"
			return 1
		}
	done
	kill $pid
	wait $pid || true
}

# The number of la's queue pair that is connected, in $value.
connected_qp()
{
	value=$(rdma -j resource show qp link la/1 | python3 -c 'import json, sys
print(*[qp["lqpn"] for qp in json.load(sys.stdin) if qp["type"] == "RC"][:1])')
	[ -n "$value" ]
}

# bound INDEX NAME...: of la's counters that were bound, in $value
bound()
{
	value "$(rdma -j statistic qp show link la/1)" "$@"
}

none_bound()
{
	[[ $(rdma -j statistic qp show link la/1) != *cntn* ]]
}

counted_by_hand()
{
	local value qp number before
	add_pair
	none_bound
	start_traffic
	connected_qp
	qp=$value
	rdma statistic qp bind link la/1 lqpn "$qp"
	goes_on
	bound 0 cntn
	number=$value
	bound 0 lqpn 0 && [ "$value" = "$qp" ]
	bound 0 tx_packets && before=$value
	[ "$before" -gt 0 ]
	bound 0 rx_packets && [ "$value" -gt 0 ]
	bound 0 rx_icrc_encapsulated && [ "$value" = 0 ]
	goes_on
	bound 0 tx_packets && [ "$value" -gt "$before" ]
	refused rdma statistic qp bind link la/1 lqpn "$qp"
	refused rdma statistic qp bind link la/1 lqpn 16777214
	counter_of la tx_packets && before=$value
	rdma statistic qp unbind link la/1 cntn "$number" lqpn "$qp"
	none_bound
	counter_of la tx_packets && [ "$value" -ge "$before" ]
	goes_on
	stop_traffic
}

# Everything came that la and lb sent since $sent_a, $came_a, $sent_b, $came_b.
all_arrived()
{
	local value tx_a tx_b
	counter_of la tx_packets && tx_a=$value
	counter_of lb tx_packets && tx_b=$value
	((tx_a > sent_a + 100)) &&
		counter_of lb rx_packets &&
		((tx_a - sent_a == value - came_b)) &&
		counter_of la rx_packets &&
		((tx_b - sent_b == value - came_a))
}

# Counts of bound queue pairs stay with the adapter when they are gone.
counted_by_rule()
{
	local value sent_a sent_b came_a came_b rule
	add_pair
	for rule in type pid type,pid; do
		counter_of la tx_packets && sent_a=$value
		counter_of la rx_packets && came_a=$value
		counter_of lb tx_packets && sent_b=$value
		counter_of lb rx_packets && came_b=$value
		rdma statistic qp set link la/1 auto $rule on
		start_traffic
		goes_on
		bound 0 tx_packets && [ "$value" -gt 0 ]
		smoke
		stop_traffic
		soon none_bound
		soon all_arrived
		rdma statistic qp set link la/1 auto off
	done
}

# The adapter goes while queue pairs count for themselves.
counted_to_the_end()
{
	local value
	add_pair
	start_traffic
	connected_qp
	rdma statistic qp bind link la/1 lqpn "$value"
	goes_on
	delete la
	traffic_fails
	delete lb
	add_pair
	smoke
}

# A packet that a filter forbids is lost and counted, and comes again when it may.
forbidden()
{
	local value before
	add_pair
	start_traffic
	goes_on
	counter_of la tx_drop_filtered && [ "$value" = 0 ]
	nft 'table inet pavo_test { chain out { type filter hook output priority 0;
		oifname va udp dport 4791 drop; }; }'
	soon counted la tx_drop_filtered
	nft delete table inet pavo_test
	counter_of la tx_drop_filtered && before=$value
	goes_on
	stop_traffic
	counter_of la tx_drop_filtered && [ "$value" -ge "$before" ]
	! counted lb tx_drop_filtered
}

counter_tests()
{
	[ "$type" = pavo ] || return 0
	life "counters: rdma statistic shows what sysfs does" all_are_shown
	life "counters: tools find the names that they know" tools_find_them
	life "counters: of the port, as InfiniBand has them" has_port_counters
	if command -v prometheus-node-exporter >/dev/null; then
		life "counters: node_exporter shows them" exporter_finds_them
	elif [[ "counters: node_exporter shows them" =~ $part ]]; then
		tap_skip "counters: node_exporter shows them" "no prometheus-node-exporter"
	fi
	life "counters of a queue pair: by hand" counted_by_hand
	life "counters of a queue pair: by rule" counted_by_rule
	life "counters of a queue pair: until its adapter goes" counted_to_the_end
	life "counters: packets that a filter forbids" forbidden
}
