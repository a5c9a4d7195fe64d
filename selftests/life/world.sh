# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The world of the life tests: module, interfaces, devices la and lb on the
# veth pair va and vb, applications, and what must be left when all are gone.
# Sourced by guest.sh after lib.sh.
#
# Nothing here limits the commands themselves: what hangs in the kernel cannot
# be killed. The guest's own limit ends it and says what is blocked.
# shellcheck disable=SC2154  # type, programs, pinned_before: set there

case $type in
pavo) module=pavo ;;
rxe) module=rdma_rxe ;;
esac
# shellcheck disable=SC2154
verbs=$programs/pavo-verbs traffic=$programs/pavo-traffic
# shellcheck disable=SC2034
rping_client=${BASH_SOURCE[0]%/*}/../apps/rping-client
# shellcheck disable=SC2034
rping_server=${BASH_SOURCE[0]%/*}/../apps/rping-server
work=$(mktemp -d)

# How long what must come may take, and what a connection bears without a word
# from the other end: 8 times 4.096 us * 2^loss_timeout.
patience=30 loss_timeout=18
if slow_kernel; then
	patience=120 loss_timeout=20
fi

# soon COMMAND...: becomes true. The limit is for hangs, not for speed.
soon()
{
	until_true $patience "$@" || {
		echo "never came true: $*"
		return 1
	}
}

# says FILE TEXT: it is in the file
says()
{
	local text=
	read -rd '' text <"$1" || true # ends without a NUL
	[[ $text == *"$2"* ]]
}

# --- module and devices --------------------------------------------------------

loaded()
{
	[ -d "/sys/module/$module" ]
}

# The first time with all it needs (lib.sh), later as users do it.
load()
{
	loaded || case $type in
	pavo) insmod "$PAVO_KO" ;;
	*) modprobe "$module" ;;
	esac
}

unload()
{
	rmmod "$module"
}

references()
{
	local n
	read -r n <"/sys/module/$module/refcnt"
	echo "$n"
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
	says "/sys/class/infiniband/$1/ports/1/state" DOWN
}

add()
{
	rdma link add "$1" type "$type" netdev "$2"
}

delete()
{
	rdma link delete "$1"
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
	rdma -b - <<-END
		link add la type $type netdev va
		link add lb type $type netdev vb
	END
	soon active la
	soon active lb
	# an address is a GID a moment later
	soon has_gid la v4 10.9.0.1
	soon has_gid lb v4 10.9.0.2
	soon has_gid la v6 fd09::1
	soon has_gid lb v6 fd09::2
}

# gid_of v4|v6 ADDRESS: sets $gid as sysfs writes it; an IPv6 address with ::
gid_of()
{
	local left right
	gid=
	case $1 in
	v4)
		IFS=. read -ra left <<<"$2"
		printf -v gid '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' \
			"${left[@]}"
		;;
	v6)
		IFS=: read -ra left <<<"${2%%::*}"
		IFS=: read -ra right <<<"${2##*::}"
		while ((${#left[@]} + ${#right[@]} < 8)); do
			left+=(0)
		done
		printf -v gid '%04x:' "${left[@]/#/0x}" "${right[@]/#/0x}"
		gid=${gid%:}
		;;
	esac
}

# has_gid DEVICE v4|v6 ADDRESS: prints the index of its RoCE v2 entry
has_gid()
{
	local gid
	gid_of "$2" "$3"
	gid_entry "$1" "$gid"
}

no_gid()
{
	! has_gid "$@"
}

active_mtu()
{
	local text
	text=$(ibv_devinfo -d "$1")
	text=${text##*active_mtu:}
	read -r text _ <<<"$text"
	echo "$text"
}

mtu_is()
{
	[ "$(active_mtu "$1")" = "$2" ]
}

# --- applications ----------------------------------------------------------------

# A short part of the matrix: every kind of operation, both directions.
smoke()
{
	"$verbs" --dev la --peer lb --patience 30 --only data.send.mtu_1024 \
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
	"$traffic" --dev la --peer lb --patience $patience \
		--timeout $loss_timeout "$@" >"$traffic_log" 2>&1 &
	traffic_pid=$!
	soon says "$traffic_log" ready || {
		cat "$traffic_log"
		return 1
	}
}

# How far it has come, in $count.
count()
{
	local text=
	read -rd '' text <"$traffic_log" || true
	count=0
	[[ $text == *"count "* ]] || return 0
	text=${text##*count }
	count=${text%%$'\n'*}
}

counted_more_than()
{
	local count
	count
	((count > $1))
}

# The traffic makes progress from here on.
goes_on()
{
	local count
	count
	soon counted_more_than $((count + 2)) || {
		echo "the traffic does not go on"
		cat "$traffic_log"
		return 1
	}
}

# counted DEVICE COUNTER: it has moved since the adapter was made
counted()
{
	local value
	counter_of "$1" "$2"
	((value))
}

# ended PID: also of a child that the shell has not reaped yet, which kill -0 still finds
ended()
{
	[ ! -e "/proc/$1" ] || grep -q '^State:.*Z' "/proc/$1/status"
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
	soon ended "$traffic_pid" || {
		echo "the application hangs"
		return 1
	}
	wait "$traffic_pid" || status=$?
	if [ $status != 3 ] ||
		! says "$traffic_log" "local catastrophic error"; then
		echo "status $status"
		cat "$traffic_log"
		return 1
	fi
}

# watch DEVICE: an application that has it open and prints events
watch()
{
	watch_log=$work/watch.$RANDOM
	ibv_asyncwatch -d "$1" >"$watch_log" 2>&1 &
	watch_pid=$!
	soon holds "$watch_pid"
}

holds()
{
	local file device
	for file in /proc/"$1"/fd/*; do
		for device in /dev/infiniband/uverbs*; do
			[ "$file" -ef "$device" ] && return 0
		done
	done
	return 1
}

# The watching application has seen that its device is gone.
watcher_told()
{
	soon says "$watch_log" DEVICE_FATAL || {
		echo "the application was not told:"
		cat "$watch_log"
		return 1
	}
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
	local name value acquired=0 released=0
	while read -r name value; do
		case $name in
		nr_foll_pin_acquired) acquired=$value ;;
		nr_foll_pin_released) released=$value ;;
		esac
	done </proc/vmstat
	echo $((acquired - released))
}

more_pins()
{
	[ "$(pinned)" -gt "$pinned_before" ]
}

no_pins()
{
	[ "$(pinned)" = "$pinned_before" ]
}

no_references()
{
	! loaded || [ "$(references)" = 0 ]
}

# Areas of vmalloc that the module asked for: rings, doorbell pages, tables. While no
# adapter is there it has none. (kmemleak finds smaller memory, on the sanitizer kernel.)
areas()
{
	grep -c "\[$module\]" /proc/vmallocinfo || true
}

more_areas()
{
	[ "$(areas)" -gt 0 ]
}

no_areas()
{
	[ "$(areas)" = 0 ]
}

devices_gone()
{
	! compgen -G '/sys/class/infiniband/*'
}

nothing_left()
{
	soon devices_gone || {
		echo "devices left: $(ls /sys/class/infiniband)"
		return 1
	}
	soon no_references || {
		echo "references left: $(references)"
		return 1
	}
	soon no_pins || {
		echo "pages still pinned: $(pinned), before: $pinned_before"
		return 1
	}
	soon no_areas || {
		echo "areas of vmalloc left: $(grep "\[$module\]" /proc/vmallocinfo)"
		return 1
	}
}

# --- the beginning again -----------------------------------------------------------

# Applications of these tests that run, in $running.
running_applications()
{
	local file name
	running=()
	for file in /proc/[0-9]*/comm; do
		read -r name <"$file" || continue
		case $name in
		pavo-traffic | pavo-verbs | pavo-stuck | pavo-direct | ibv_asyncwatch)
			file=${file%/comm}
			running+=("${file##*/}")
			;;
		esac
	done
}

none_runs()
{
	local running
	running_applications
	((${#running[@]} == 0))
}

# A test leaves things as it found them, if it did not fail.
world_is_whole()
{
	local mtu i
	loaded && devices_gone && none_runs || return 1
	for i in va vb; do
		read -r mtu <"/sys/class/net/$i/mtu" && [ "$mtu" = 9000 ] ||
			return 1
		says "/sys/class/net/$i/operstate" up || return 1
	done
	[[ $(rdma system) == *"netns shared"* ]] || return 1
	for i in /run/netns/n{1,2} /sys/class/net/{va.7,vb.7,vz,dum1,red,blue}; do
		[ ! -e "$i" ] || return 1
	done
}

# Back to: module loaded, no device, both interfaces as at first.
make_world()
{
	local i running
	running_applications
	((${#running[@]} == 0)) || kill -KILL "${running[@]}"
	soon none_runs
	delete_all
	for i in n1 n2; do
		[ ! -e /run/netns/$i ] || ip netns del $i
	done
	# an ended namespace is gone a moment later
	[[ $(rdma system) == *"netns shared"* ]] ||
		soon rdma system set netns shared
	for i in va vb vz dum{1..4} r1 b1 red blue; do
		[ ! -e "/sys/class/net/$i" ] || ip link del "$i"
	done
	veth_pair va vb 9000
	load
	world_is_whole
}
