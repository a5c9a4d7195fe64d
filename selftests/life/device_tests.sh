# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about the module and `rdma link`, with and without applications.
# Sourced by guest.sh; world.sh says what the words mean.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

load_and_unload()
{
	local i
	for i in 1 2 3 4 5 6; do
		unload
		loaded && return 1
		load
	done
}

add_and_delete()
{
	local i
	for i in 1 2 3 4 5 6; do
		add la va
		present la
		rdma link show la/1 | grep -q 'netdev va'
		until_true 5 active la
		ibv_devices | grep -qw la
		[ "$(cat /sys/class/infiniband/la/node_guid)" != \
			0000:0000:0000:0000 ]
		delete la
		absent la
	done
}

refused_adds()
{
	add la va
	refused add la vb
	refused add lx nosuchdev
	refused add lx lo
	refused timeout 20 rdma link add lx type nonsense netdev vb
	absent lx
	add lb vb
	smoke
}

second_on_one_netdev()
{
	add_pair
	if add lc va; then
		delete lc
	fi
	smoke
}

several_adapters()
{
	local i
	modprobe dummy numdummies=0
	for i in 1 2 3 4 5 6; do
		ip link show dum$i >/dev/null 2>&1 ||
			ip link add dum$i type dummy
		ip link set dum$i up
		ip addr replace 10.80.$i.1/24 dev dum$i
		add ld$i dum$i
	done
	add_pair
	for i in 1 2 3 4 5 6; do
		rdma link show ld$i/1 | grep -q "netdev dum$i"
		until_true 5 active ld$i
		until_true 5 has_gid ld$i v4 10.80.$i.1
		no_gid la v4 10.80.$i.1
	done
	for i in 5 1 3; do
		delete ld$i
	done
	smoke
	for i in 6 2 4; do
		delete ld$i
		ip link del dum$i
	done
	ip link del dum1
	ip link del dum3
	ip link del dum5
}

unload_with_devices()
{
	add_pair
	smoke
	unload
	absent la
	absent lb
	load
}

# An open device does not hold the module (it can be taken from its applications),
# so unloading is as orderly as deleting: they are told, and go on without it.
unload_while_held()
{
	add_pair
	watch la
	unload
	absent la
	until_true 10 grep -q DEVICE_FATAL "$watch_log" || {
		echo "the application was not told:"
		cat "$watch_log"
		return 1
	}
	load
	add_pair
	smoke
	kill -0 "$watch_pid"
	end_watch
}

unload_under_traffic()
{
	add_pair
	start_traffic
	unload
	traffic_fails
	load
	add_pair
	smoke
}

delete_while_held()
{
	add_pair
	watch la
	delete la
	absent la
	until_true 10 grep -q DEVICE_FATAL "$watch_log" || {
		echo "the application was not told:"
		cat "$watch_log"
		return 1
	}
	# its name is free again although the application lives on
	add la va
	until_true 5 active la
	until_true 5 has_gid la v4 10.9.0.1
	until_true 5 has_gid la v6 fd09::1
	smoke
	kill -0 "$watch_pid"
	end_watch
}

delete_under_traffic()
{
	local which
	for which in la lb; do
		add_pair
		start_traffic
		delete $which
		traffic_fails
		if present la; then delete la; fi
		if present lb; then delete lb; fi
		nothing_left
	done
}

# Pinned while in use, and given back when the application dies in any way.
memory_given_back()
{
	local i
	add_pair
	for i in 1 2 3 4; do
		start_traffic
		[ "$(pinned)" -gt "$pinned_before" ]
		kill -9 "$traffic_pid"
		wait "$traffic_pid" || true
		until_true 5 no_pins
	done
	smoke
	until_true 5 no_pins
}

# What rdma core counts is the same before and after.
resources_given_back()
{
	local before after
	add_pair
	before=$(rdma resource show)
	start_traffic
	[ "$(rdma resource show)" != "$before" ]
	kill -9 "$traffic_pid"
	wait "$traffic_pid" || true
	after=$(rdma resource show)
	[ "$before" = "$after" ] || {
		printf 'before:\n%s\nafter:\n%s\n' "$before" "$after"
		return 1
	}
}

device_renamed()
{
	add_pair
	start_traffic
	rdma dev set la name lx
	present lx
	goes_on
	stop_traffic
	rdma dev set lx name la
	smoke
}

# Steps in an order nobody planned; single steps may be refused, none may hang.
any_order()
{
	local step pids=() status
	RANDOM=$1
	for ((step = 0; step < 40; step++)); do
		status=0
		case $((RANDOM % 12)) in
		0) unload ;;
		1 | 2) load ;;
		3 | 4) add la va ;;
		5) add lb vb ;;
		6) delete la ;;
		7) delete lb ;;
		8)
			"$traffic" --dev la --peer lb --patience 2 \
				>/dev/null 2>&1 &
			pids+=($!)
			;;
		9) [ ${#pids[@]} = 0 ] || kill -9 "${pids[-1]}" ;;
		10)
			ip link del va
			veth_pair va vb 9000
			;;
		11)
			ip link set va down
			ip link set va up
			cross_routes va vb 10.9.0 fd09
			;;
		esac || status=$?
		[ $status != 124 ] || {
			echo "step $step hangs"
			return 1
		}
	done
	for step in "${pids[@]}"; do
		kill -9 "$step" || true
		wait "$step" || true
	done
	load
	for step in la lb; do
		absent $step || delete $step
	done
	add_pair
	smoke
}

device_tests()
{
	life "module: loaded and unloaded" load_and_unload
	life "link: added and deleted" add_and_delete
	life "link: wrong additions are refused" refused_adds
	life "link: a second adapter on one interface" second_on_one_netdev
	life "link: several adapters on one node" several_adapters
	life "module: unloaded with devices" unload_with_devices
	life "module: unloaded while an application holds a device" unload_while_held
	life "module: unloaded under traffic" unload_under_traffic
	life "link: deleted while an application holds it" delete_while_held
	life "link: deleted under traffic" delete_under_traffic
	life "application killed: pinned memory is given back" memory_given_back
	life "application killed: resources are given back" resources_given_back
	life "device renamed under traffic" device_renamed
	life "any order, first" any_order 1
	life "any order, second" any_order 2
	life "any order, third" any_order 3
}
