# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The world of the life tests: module, interfaces, devices la and lb on the
# veth pair va and vb, applications, and what must be left when all are gone.
# Sourced by guest.sh after lib.sh.
# shellcheck disable=SC2154  # type, programs, pinned_before: set there

case $type in
pavo) module=pavo ;;
rxe) module=rdma_rxe ;;
esac
# shellcheck disable=SC2154
verbs=$programs/pavo-verbs traffic=$programs/pavo-traffic
work=$(mktemp -d)

# --- module and devices --------------------------------------------------------

loaded()
{
	[ -d "/sys/module/$module" ]
}

load()
{
	loaded || pavo-load "$type"
}

unload()
{
	timeout 30 rmmod "$module"
}

references()
{
	cat "/sys/module/$module/refcnt"
}

present()
{
	[ -e "/sys/class/infiniband/$1" ]
}

absent()
{
	! present "$1"
}

port_down()
{
	grep -q DOWN "/sys/class/infiniband/$1/ports/1/state"
}

add()
{
	timeout 20 rdma link add "$1" type "$type" netdev "$2"
}

delete()
{
	timeout 20 rdma link delete "$1"
}

delete_all()
{
	local d
	for d in /sys/class/infiniband/*; do
		[ ! -e "$d" ] || delete "${d##*/}"
	done
}

add_pair()
{
	add la va
	add lb vb
	until_true 5 active la
	until_true 5 active lb
	# an address is a GID a moment later
	until_true 5 has_gid la v4 10.9.0.1
	until_true 5 has_gid lb v4 10.9.0.2
	until_true 5 has_gid la v6 fd09::1
	until_true 5 has_gid lb v6 fd09::2
}

# gid_of v4|v6 ADDRESS: as sysfs writes it
gid_of()
{
	python3 -c 'import ipaddress, sys
a = ipaddress.ip_address(sys.argv[1])
a = a if a.version == 6 else ipaddress.ip_address("::ffff:" + str(a))
print(a.exploded)' "$2"
}

# has_gid DEVICE v4|v6 ADDRESS: prints the index of its RoCE v2 entry
has_gid()
{
	local port=/sys/class/infiniband/$1/ports/1 want i
	want=$(gid_of "$2" "$3")
	for i in $(cd "$port/gids" && grep -ls "^$want\$" -- * | sort -n); do
		if [ "$(cat "$port/gid_attrs/types/$i")" = "RoCE v2" ]; then
			echo "$i"
			return 0
		fi
	done
	return 1
}

no_gid()
{
	! has_gid "$@"
}

active_mtu()
{
	ibv_devinfo -d "$1" | awk '/active_mtu/ { print $2 }'
}

mtu_is()
{
	[ "$(active_mtu "$1")" = "$2" ]
}

# --- applications ----------------------------------------------------------------

# A short part of the matrix: every kind of operation, both directions.
smoke()
{
	"$verbs" --dev la --peer lb --patience 10 --only data.send.mtu_1024 \
		--only order.mixed_operations --only data.bidirectional "$@" \
		>"$work/smoke" || {
		cat "$work/smoke"
		return 1
	}
}

# start_traffic [arguments]: pid in $traffic_pid, output in $traffic_log
start_traffic()
{
	traffic_log=$work/traffic.$RANDOM
	"$traffic" --dev la --peer lb "$@" >"$traffic_log" 2>&1 &
	traffic_pid=$!
	until_true 20 grep -q ready "$traffic_log" || {
		cat "$traffic_log"
		return 1
	}
}

count()
{
	awk '/^count/ { n = $2 } END { print n + 0 }' "$traffic_log"
}

counted_more_than()
{
	[ "$(count)" -gt "$1" ]
}

# The traffic makes progress from here on.
goes_on()
{
	until_true 15 counted_more_than $(($(count) + 5)) || {
		echo "the traffic does not go on"
		cat "$traffic_log"
		return 1
	}
}

ended()
{
	! kill -0 "$1"
}

# Ends it by request: everything must have been right.
stop_traffic()
{
	kill -TERM "$traffic_pid"
	wait "$traffic_pid" || {
		cat "$traffic_log"
		return 1
	}
}

# It ends by itself, because its device did: with an error, not by a signal.
traffic_fails()
{
	local status=0
	until_true 25 ended "$traffic_pid" || {
		echo "the application hangs"
		return 1
	}
	wait "$traffic_pid" || status=$?
	grep -E '^(error|async)' "$traffic_log"
	[ $status = 3 ]
}

# watch DEVICE: an application that has it open and prints events
watch()
{
	watch_log=$work/watch.$RANDOM
	ibv_asyncwatch -d "$1" >"$watch_log" 2>&1 &
	watch_pid=$!
	until_true 10 holds "$watch_pid"
}

holds()
{
	find "/proc/$1/fd" -lname '/dev/infiniband/uverbs*' | grep -q .
}

end_watch()
{
	kill "$watch_pid"
	wait "$watch_pid" || true
}

# --- what is left ------------------------------------------------------------------

# Pages pinned for long and not released, in the whole machine.
pinned()
{
	awk '$1 == "nr_foll_pin_acquired" { n += $2 }
	     $1 == "nr_foll_pin_released" { n -= $2 }
	     END { print n }' /proc/vmstat
}

no_pins()
{
	[ "$(pinned)" = "$pinned_before" ]
}

no_references()
{
	! loaded || [ "$(references)" = 0 ]
}

# Objects in caches of the module's own, after the empty slabs are gone.
cached_objects()
{
	local cache total=0
	for cache in /sys/kernel/slab/"$module"*; do
		[ -e "$cache/shrink" ] || continue
		echo 1 >"$cache/shrink"
		total=$((total + $(awk '{ print $1 }' "$cache/objects")))
	done
	echo $total
}

no_cached_objects()
{
	[ "$(cached_objects)" = 0 ]
}

devices_gone()
{
	! compgen -G '/sys/class/infiniband/*'
}

nothing_left()
{
	until_true 10 devices_gone || {
		echo "devices left: $(ls /sys/class/infiniband)"
		return 1
	}
	[ -z "$(rdma resource show)" ] || {
		rdma resource show
		return 1
	}
	until_true 10 no_references || {
		echo "references left: $(references)"
		return 1
	}
	until_true 10 no_pins || {
		echo "pages still pinned: $(pinned), before: $pinned_before"
		return 1
	}
	until_true 10 no_cached_objects || {
		echo "objects left in caches: $(cached_objects)"
		return 1
	}
}

none_runs()
{
	! pgrep -x "$1"
}

# Back to: module loaded, no device, both interfaces as at first.
reset_world()
{
	local d
	for d in pavo-traffic ibv_asyncwatch pavo-verbs; do
		pkill -KILL -x $d
		until_true 10 none_runs $d
	done
	delete_all
	for d in n1 n2; do
		ip netns del $d
	done
	if ! ip link show va || ! ip link show vb; then
		ip link del va
		ip link del vz
		veth_pair va vb 9000
	fi
	ip link set va mtu 9000 up
	ip link set vb mtu 9000 up
	cross_routes va vb 10.9.0 fd09
	load
	return 0
}
