# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about the module and `rdma link`, with and without applications.
# Sourced by guest.sh; world.sh says what the words mean.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

# netdev_is DEVICE INTERFACE
netdev_is()
{
	local link
	link=$(rdma link show "$1/1")
	[[ "$link " == *" netdev $2 "* ]]
}

load_and_unload()
{
	local i
	for i in 1 2 3; do
		unload
		refused loaded
		load
	done
}

add_and_delete()
{
	local i
	local guid list
	for i in 1 2 3; do
		add la va
		present la
		netdev_is la va
		soon active la
		list=$(ibv_devices)
		[[ $list == *" la "* ]]
		read -r guid </sys/class/infiniband/la/node_guid
		[ "$guid" != 0000:0000:0000:0000 ]
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
	refused rdma link add lx type nonsense netdev vb
	refused add lx va
	absent lx
	add lb vb
	smoke
}

several_adapters()
{
	local i
	[ -d /sys/module/dummy ] || modprobe dummy numdummies=0
	for i in 1 2 3 4; do
		ip -batch - <<-END
			link add dum$i type dummy
			link set dum$i up
			addr replace 10.80.$i.1/24 dev dum$i
		END
		add ld$i dum$i
	done
	add_pair
	for i in 1 2 3 4; do
		netdev_is ld$i dum$i
		soon active ld$i
		soon has_gid ld$i v4 10.80.$i.1
		no_gid la v4 10.80.$i.1
	done
	delete ld3
	delete ld1
	smoke
	delete ld4
	delete ld2
	for i in 1 2 3 4; do
		ip link del dum$i
	done
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
	watcher_told
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

# slices: of packets inside a namespace that ended with packets that wait, in $slices
slices()
{
	local fields
	read -r _ _ slices fields < <(grep '^loopback ' /sys/kernel/debug/pavo/budgets)
}

more_slices_than()
{
	local slices
	slices
	((slices > $1))
}

# Packets of many queue pairs wait in the module at any time from here on.
start_flood()
{
	local slices
	start_traffic --flood 16
	slices
	soon more_slices_than $((slices + 4))
}

# The packets that wait are dropped or executed before the code that would do it is gone, also those
# of an application that is gone itself.
unload_while_packets_wait()
{
	local round
	for round in 1 2 3 4; do
		add_pair
		start_flood
		if ((round % 2)); then
			unload
			traffic_fails
		else
			kill -9 "$traffic_pid"
			unload
			wait "$traffic_pid" || true
		fi
		load
	done
	add_pair
	smoke
}

delete_while_held()
{
	add_pair
	watch la
	delete la
	absent la
	watcher_told
	# its name is free again although the application lives on
	add la va
	soon active la
	soon has_gid la v4 10.9.0.1
	soon has_gid la v6 fd09::1
	smoke
	kill -0 "$watch_pid"
	end_watch
}

delete_under_traffic()
{
	local which
	for which in la lb; do
		add_pair
		# The end that stays gives up after three seconds, not after 25.
		start_traffic --timeout 15
		delete $which
		traffic_fails
		if present la; then delete la; fi
		if present lb; then delete lb; fi
		nothing_left
	done
}

# worker_in PID STATES: the thread that takes its doorbells is in one of these states (proc(5))
worker_in()
{
	local task name fields
	for task in /proc/"$1"/task/*; do
		read -r name <"$task/comm" || continue
		[ "$name" = pavo-doorbells ] || continue
		read -r fields <"$task/stat" || continue
		[[ $fields == *") "[$2]" "* ]] && return 0
	done 2>/dev/null
	return 1
}

no_worker()
{
	! worker_in "$1" A-Za-z
}

# Workers are in calls of the device's file. These end, asleep or awake, when it goes.
gone_while_polled()
{
	local how
	for how in "delete la" unload; do
		add_pair
		export PAVO_POLL=1000000
		start_traffic --timeout 15
		export PAVO_POLL=1
		watch la
		unset PAVO_POLL
		soon worker_in "$traffic_pid" RSD
		soon worker_in "$watch_pid" S
		$how
		traffic_fails
		watcher_told
		soon no_worker "$watch_pid"
		kill -0 "$watch_pid"
		end_watch
		loaded || load
		delete_all
	done
	add_pair
	smoke
}

# A thread in a call of the module ends with its process, before the module can go.
killed_while_polled()
{
	local idle
	for idle in 1000000 1; do
		add_pair
		export PAVO_POLL=$idle
		start_traffic
		watch la
		unset PAVO_POLL
		soon worker_in "$traffic_pid" RSD
		soon worker_in "$watch_pid" RS
		kill -9 "$traffic_pid" "$watch_pid"
		wait "$traffic_pid" "$watch_pid" || true
		soon no_pins
		unload
		load
	done
}

# Pinned while in use, and given back when the application dies in any way.
memory_given_back()
{
	local i
	add_pair
	for i in 1 2; do
		start_traffic
		# the kernel adds up what its CPUs counted once a second
		soon more_pins
		soon more_areas
		kill -9 "$traffic_pid"
		wait "$traffic_pid" || true
		soon no_pins
	done
	smoke
	soon no_pins
}

# rdma core counts the same objects before and after.
resources_given_back()
{
	local before
	add_pair
	before=$(rdma resource show)
	start_traffic
	[ "$(rdma resource show)" != "$before" ]
	kill -9 "$traffic_pid"
	wait "$traffic_pid" || true
	soon resources_are "$before" || {
		printf 'before:\n%s\nafter:\n' "$before"
		rdma resource show
		return 1
	}
}

resources_are()
{
	[ "$(rdma resource show)" = "$1" ]
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

# Steps in a random order; single steps may be refused, none may hang.
any_order()
{
	local step pids=()
	RANDOM=$1
	for ((step = 0; step < 20; step++)); do
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
		esac || true
	done
	for step in "${pids[@]}"; do
		kill -9 "$step" || true
		wait "$step" || true
	done
	load
	delete_all
	soon devices_gone
	add_pair
	smoke
}

# A value that cannot be is refused with its range, not replaced by another one.
ranges_told()
{
	local setting name
	unload
	for setting in window_workers=0 window_quantum=0 window_quantum=5000 max_windows=0 \
		max_windows=99999999 max_rcxts=0 max_rcxts=4000000000 job_slots=0 \
		job_small_tables=0 tce_small_entries=0 backlog_per_user=0 share_per_user=101 \
		quantum=1 send_credits=-1 loopback_bytes=1 jobs_per_user=-2 rcxts_per_user=x; do
		refused insmod "$PAVO_KO" $setting || return 1
		name=${setting%=*}
		[[ $(dmesg | tail -n 3) == *"parameter $name: give "*" to "* ]] || {
			echo "$setting: $(dmesg | tail -n 3)"
			return 1
		}
	done
	load
	name=/sys/module/pavo/parameters
	refused eval "echo 0 >$name/window_workers"
	[ "$(<$name/window_workers)" = 4 ]
	echo 8 >$name/window_workers
	[ "$(<$name/window_workers)" = 8 ]
	echo 4 >$name/window_workers
	[ "$(<$name/jobs_per_user)" = -1 ]
}

# The user that loads the module may lower what an adapter may have of each kind.
lower_limits()
{
	unload
	refused insmod "$PAVO_KO" max_mr=7
	[[ $(dmesg | tail -n 5) == *"parameter max_mr: give 8 to "* ]]
	refused insmod "$PAVO_KO" max_qp=262145
	refused insmod "$PAVO_KO" max_cq=-1
	insmod "$PAVO_KO" max_qp=20 max_cq=25 max_pd=30 max_ah=35 max_mr=40 \
		max_mw=45 max_srq=50 max_xrcd=55 max_total_mcast_qp_attach=12
	add_pair
	[[ $(ibv_devinfo -v -d la) =~ max_qp:[[:space:]]+20[[:space:]] ]]
	[[ $(ibv_devinfo -v -d la) =~ max_mcast_qp_attach:[[:space:]]+12[[:space:]] ]]
	smoke --only limit.objects --only limit.share --only mcast.total
	says "$work/smoke" " limit.objects: as many"
	says "$work/smoke" " limit.share: a user"
	says "$work/smoke" " mcast.total: as many"
	delete_all
	unload
	load
}

# Sockets at the port of RDMA, in this namespace.
port_taken()
{
	grep -q ':12B7 ' /proc/net/udp || grep -q ':12B7 ' /proc/net/udp6
}

port_free()
{
	! port_taken
}

# An addition that fails leaves no socket, or those of the adapter that was there before it:
# in a namespace, too, which can go then.
failed_adds_leave_nothing()
{
	local dummy=/sys/module/dummy
	port_free
	refused add lx lo
	port_free
	add la va
	port_taken
	refused add la vb
	refused add lx va
	delete la
	soon port_free
	[ -d $dummy ] || modprobe dummy numdummies=0
	ip netns add n1
	ip -n n1 -batch - <<-END
		link set lo up
		link add dum1 type dummy
		link set dum1 up
	END
	refused inside n1 rdma link add lx type pavo netdev lo
	inside n1 rdma link add lx type pavo netdev dum1
	refused inside n1 rdma link add lx type pavo netdev dum1
	port_free
	ip netns del n1
	soon absent lx
}

queued()
{
	[[ $(tc -s qdisc show dev "$1" root) =~ backlog\ [0-9A-Za-z]+\ ([0-9]+)p ]] &&
		((BASH_REMATCH[1]))
}

not_queued()
{
	! queued "$1"
}

# start_queue: packets that wait in the queue of va for longer than the test takes. Not
# netem's, which takes packets from their sockets.
start_queue()
{
	add_pair
	start_traffic
	goes_on
	tc qdisc add dev va root tbf rate 1kbit burst 100000 limit 1000000
	soon queued va
}

# Packets outlive their queue pair, adapter and module. They arrive where no adapter is any
# more, or go with the interface that has them.
packets_outlive_all()
{
	local end
	for end in sent interface; do
		start_queue
		delete la
		traffic_fails
		queued va
		delete lb
		soon devices_gone
		unload
		queued va
		case $end in
		sent)
			# the queue looks again when a packet comes
			wide change va
			say 10.9.0.2 9
			soon not_queued va
			tc qdisc del dev va root
			;;
		interface)
			ip link del va
			veth_pair va vb 9000
			;;
		esac
		load
		no_pins
	done
	add_pair
	smoke
}

device_tests()
{
	life "module: loaded and unloaded" load_and_unload
	[ "$type" != pavo ] ||
		life "module: loaded with lower limits" lower_limits
		life "module: refuses parameters out of their ranges" ranges_told
	life "link: added and deleted" add_and_delete
	life "link: wrong additions are refused" refused_adds
	[ "$type" != pavo ] || life "link: refused additions leave no socket" \
		failed_adds_leave_nothing
	life "link: several adapters on one node" several_adapters
	life "module: unloaded with devices" unload_with_devices
	life "module: unloaded while an application holds a device" unload_while_held
	life "module: unloaded under traffic" unload_under_traffic
	[ "$type" != pavo ] ||
		life "module: unloaded while packets wait" unload_while_packets_wait
	life "link: deleted while an application holds it" delete_while_held
	if [ "$type" = pavo ]; then
		life "polling: link deleted, module unloaded" gone_while_polled
		life "polling: applications killed, module unloaded" killed_while_polled
	fi
	life "link: deleted under traffic" delete_under_traffic
	[ "$type" != pavo ] ||
		life "packets that wait in a queue: link, module, interface go" \
			packets_outlive_all
	life "application killed: pinned memory is given back" memory_given_back
	life "application killed: resources are given back" resources_given_back
	life "device renamed under traffic" device_renamed
	life "any order, first" any_order 1
	life "any order, second" any_order 2
	life "any order, third" any_order 3
}
