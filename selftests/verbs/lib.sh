# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Shell functions for guest scripts of the verbs, interop, life and apps groups:
# loading a driver, a veth pair whose traffic really crosses it, waiting for
# conditions, TAP lines. Sourced in a guest as root; changes that guest only.

# Here they are functions, which start no programs.
if [ -n "${PAVO_SHARE:-}" ]; then
	# shellcheck source=qemu-scripts/guest/pavo-sync
	. "$PAVO_SHARE/guest/pavo-sync"
fi

# have_huge_pages N: at least so many. Never fewer than before: those of the boot lie side by
# side (translate/large_page.h), and tests of other groups in the same guest need that.
have_huge_pages()
{
	local count=/proc/sys/vm/nr_hugepages
	[ ! -e "$count" ] || [ "$(<"$count")" -ge "$1" ] || echo "$1" >"$count"
}

# load_driver TYPE: makes `rdma link add ... type TYPE` possible.
load_driver()
{
	[ -d "/sys/module/$1" ] || [ -d "/sys/module/rdma_$1" ] ||
		pavo-load "$1" || return 1
	modprobe ib_umad
}

# load_pair A B [PARAMETER=VALUE...]: pavo, loaded anew if it was there, with adapter A on
# interface va and B on vb; everybody may open them.
load_pair()
{
	local a=$1 b=$2
	shift 2
	if [ -d /sys/module/pavo ]; then
		rdma link delete "$a" && rdma link delete "$b" && rmmod pavo
		insmod "$PAVO_KO" "$@" || return 1
	else
		load_driver pavo || return 1
	fi
	rdma link add "$a" type pavo netdev va || return 1
	rdma link add "$b" type pavo netdev vb || return 1
	wait_for test -c /dev/infiniband/uverbs1
	chmod a+rw /dev/infiniband/uverbs*
	wait_for active "$a"
	wait_for active "$b"
}

# has_part windows|direct: the loaded module has windows with jobs, or direct windows: a build may
# leave them out. Each has a file of its name in debugfs.
has_part()
{
	[ -e "/sys/kernel/debug/pavo/$1" ]
}

# need_part windows|direct: else the whole group is skipped, for node 1 of several tells.
need_part()
{
	has_part "$1" && return
	[ "${NODE:-1}" != 1 ] || echo "1..0 # SKIP the module was built without $1"
	exit 4
}

# Functions that are called often start no programs where bash can do it: under
# emulation a program takes a tenth of a second to start.

# policy_routing A B: local addresses are looked up last, so that packets
# between addresses of this machine leave by A or B instead of the loopback.
policy_routing()
{
	local f i have rules
	for f in -4 -6; do
		have=$(ip $f rule show)
		rules=
		for i in "$1" "$2"; do
			[[ $have == *"iif $i lookup local"* ]] ||
				rules+="rule add pref 10 iif $i lookup local"$'\n'
		done
		[[ $have == *$'\n30:'* ]] ||
			rules+="rule add pref 30 lookup local
				rule add pref 20 lookup 100
				rule del pref 0"
		[ -z "$rules" ] || ip $f -batch - <<<"$rules"
	done
}

# cross_routes A B NET4 NET6: addresses NET4.1 and NET6::1 on A, .2 and ::2 on
# B, with routes across and fixed neighbours. May be called again after A or B
# were down, which makes the kernel forget routes and neighbours.
cross_routes()
{
	local a=$1 b=$2 four=$3 six=$4 mac_a mac_b
	read -r mac_a <"/sys/class/net/$a/address"
	read -r mac_b <"/sys/class/net/$b/address"
	ip -force -batch - <<-END
		addr replace $four.1/24 dev $a
		addr replace $four.2/24 dev $b
		addr replace $six::1/64 dev $a nodad
		addr replace $six::2/64 dev $b nodad
		neigh replace $four.2 lladdr $mac_b dev $a nud permanent
		neigh replace $four.1 lladdr $mac_a dev $b nud permanent
		neigh replace $six::2 lladdr $mac_b dev $a nud permanent
		neigh replace $six::1 lladdr $mac_a dev $b nud permanent
		route replace $four.2/32 dev $a src $four.1 table 100
		route replace $four.1/32 dev $b src $four.2 table 100
		route replace $six::2/128 dev $a src $six::1 table 100
		route replace $six::1/128 dev $b src $six::2 table 100
	END
}

# loose INTERFACE...: lets packets of this machine's own addresses in.
loose()
{
	local i
	for i in all default "$@"; do
		echo 0 >"/proc/sys/net/ipv4/conf/$i/rp_filter"
	done
	for i in "$@"; do
		echo 1 >"/proc/sys/net/ipv4/conf/$i/accept_local"
		echo 0 >"/proc/sys/net/ipv6/conf/$i/accept_dad"
		echo 1 >"/proc/sys/net/ipv6/conf/$i/keep_addr_on_down"
	done
}

# self_wire A B: interface A, with 10.9.0.1 and fd09::1, whose adapter speaks with itself.
self_wire()
{
	[ -d /sys/module/veth ] || modprobe veth
	ip link add "$1" mtu 4200 type veth peer name "$2" mtu 4200 || return 1
	# Datagrams of rdma_cm's multicast groups leave by the device.
	ip -batch - <<-END
		addr add 10.9.0.1/24 dev $1
		addr add fd09::1/64 dev $1 nodad
		link set $1 up
		link set $2 up
		route add 224.0.0.0/4 dev $1
	END
}

# veth_pair A B MTU: two interfaces with 10.9.0.1/.2 and fd09::1/::2 whose
# traffic crosses the pair.
veth_pair()
{
	[ -d /sys/module/veth ] || modprobe veth
	ip link add "$1" mtu "$3" type veth peer name "$2" mtu "$3" || return 1
	loose "$1" "$2"
	ip -batch - <<-END
		link set $1 up
		link set $2 up
	END
	policy_routing "$1" "$2"
	cross_routes "$1" "$2" 10.9.0 fd09
}

# A short rest, without a program: nothing is ever written to this pipe.
nap()
{
	[ -n "${nap_pipe:-}" ] || exec {nap_pipe}<> <(:)
	read -rt 0.03 -u "$nap_pipe" || true
}

# until_true SECONDS COMMAND...: repeats until it succeeds or time is up.
until_true()
{
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS > end)) && return 1
		nap
	done
}

# wait_for COMMAND...: what has to hold before tests make sense; a slow machine
# gets the time it needs.
wait_for()
{
	until_true 120 "$@" && return
	echo "Bail out! in two minutes not: $*"
	exit 1
}

# active DEVICE: its port is up.
active()
{
	local state
	read -r state <"/sys/class/infiniband/$1/ports/1/state" &&
		[[ $state == *ACTIVE* ]]
}

# refused COMMAND...: succeeds when the command fails.
refused()
{
	if "$@"; then
		echo "was not refused: $*"
		return 1
	fi
}

# A kernel with checkers is several times slower.
slow_kernel()
{
	[ -e /sys/kernel/debug/kmemleak ] || [ -e /sys/kernel/debug/kcsan ]
}

# For perftest, whose queue pairs give up after half a second: on a slow kernel an
# answer may wait behind more than that.
perf_patience=
if slow_kernel; then
	# shellcheck disable=SC2034
	perf_patience="-u 18"
fi

# packets_of INTERFACE: sent so far; proves that traffic crossed a wire.
packets_of()
{
	local packets
	read -r packets <"/sys/class/net/$1/statistics/tx_packets"
	echo "$packets"
}

# gid_entry DEVICE START: the index of its first RoCE v2 entry that starts so.
# The lowest free entry is filled first, and no test makes as many as these.
gid_entry()
{
	local port=/sys/class/infiniband/$1/ports/1 gid kind i
	for ((i = 0; i < 64; i++)); do
		read -r gid <"$port/gids/$i" || return 1
		[[ $gid == "$2"* ]] || continue
		# an entry that is going has no type any more
		read -r kind 2>/dev/null <"$port/gid_attrs/types/$i" &&
			[ "$kind" = "RoCE v2" ] && echo "$i" && return 0
	done
	return 1
}

# gid_index DEVICE v4|v6: the GID of this node's wire address.
gid_index()
{
	case $2 in
	v4) gid_entry "$1" 0000:0000:0000:0000:0000:ffff: ;;
	v6) gid_entry "$1" fd ;;
	esac
}

# listening PORT: a TCP server waits there; cm_listening [NUMBER]: rdma_cm ones do.
listening()
{
	local file lines line port
	printf -v port :%04X "$1"
	for file in /proc/net/tcp /proc/net/tcp6; do
		[ -e $file ] || continue
		mapfile -t lines <$file
		for line in "${lines[@]}"; do
			# "number: local address, remote one, state": 0A is LISTEN
			[[ $line != *"$port "*:0000\ 0A\ * ]] || return 0
		done
	done
	return 1
}

cm_listening()
{
	rdma resource show cm_id |
		awk -v least="${1:-1}" '/state LISTEN/ { n++ } END { exit n < least }'
}

# log_end FILE: its last lines; programs that print their data make long ones.
log_end()
{
	tail -n 15 "$1" | cut -c 1-160
}

# counter_of DEVICE NAME: a counter of its port or of the device, in $value
counter_of()
{
	local device=/sys/class/infiniband/$1
	read -r value 2>/dev/null <"$device/ports/1/hw_counters/$2" ||
		read -r value <"$device/hw_counters/$2"
}

# network_state: what this node counted and knows of its neighbours; zeros are left out.
network_state()
{
	grep -r . /sys/class/infiniband/*/ports/1/hw_counters /sys/class/infiniband/*/hw_counters \
		2>/dev/null | sed -n 's,.*/infiniband/\([^/]*\)/.*/,\1: ,; s/:\([1-9]\)/ \1/p'
	ip -s link
	ip neigh
	tc -s qdisc
}

# losses_of FILE: of what network_state has written there, what tells of packets that were lost.
losses_of()
{
	grep -E 'drop|timeout|retrans|naks|exceeded|errors' "$1" |
		grep -Ev 'RX|TX|dropped 0,'
}

# serves PID READY: that process has come so far, or has ended.
serves()
{
	! kill -0 "$1" 2>/dev/null || eval "$2"
}

# run_step COMMAND: in place of the shell, with a time limit. pair_step calls it in a shell
# of its own.
run_step()
{
	eval "exec timeout ${PAIR_LIMIT:-240} $1"
}

# pair_step NAME SERVER READY SERVER-COMMAND CLIENT-COMMAND: called on all
# nodes of a cluster: node SERVER runs its command in the background until READY
# holds, then the other node (all others, if there are more) runs the client. Node 1
# prints the TAP line; all commands must end well. It starts hardly any programs beside
# these: in a guest each takes longer than what most commands do.
pair_step()
{
	local name=$1 server=$2 ready=$3 line rc=0 peer other said='' log pid tail=''
	local key=step-$((++pair_steps))
	log=$PAVO_OUT/$key.log
	if [ "$NODE" = "$server" ]; then
		line=$4
		(run_step "$line") >"$log" 2>&1 &
		pid=$!
		until_true 120 serves $pid "$ready" || echo "server never ready" >>"$log"
		pavo-barrier "$key" 150 || return 1
		wait $pid || rc=$?
	else
		line=$5
		pavo-barrier "$key" 150 || return 1
		(run_step "$line") >"$log" 2>&1 || rc=$?
	fi
	pavo-put "$key-$NODE" "$rc"
	for ((peer = 1; peer <= NODES; peer++)); do
		((peer != NODE)) || continue
		other=$(pavo-get "$key-$peer" 300) || return 1
		[ "$other" = 0 ] || rc="$rc, and there"
	done
	# Each node tells what it saw, once one of them is known to have failed.
	if [ "$rc" != 0 ]; then
		network_state >"$PAVO_OUT/$key.network" 2>&1
		tail="$(log_end "$log")
$(losses_of "$PAVO_OUT/$key.network")"
		pavo-put "$key-said-$NODE" "$rc: $line
$tail"
	fi
	[ "$NODE" = 1 ] || return 0
	if [ "$rc" = 0 ]; then
		tap_ok "$name"
		return
	fi
	for ((peer = 2; peer <= NODES; peer++)); do
		other=$(pavo-get "$key-said-$peer" 300) || return 1
		said+="there, $other"$'\n'
	done
	tap_not_ok "$name"
	printf 'here, %s\n%s\n%s' "$rc: $line" "$tail" "$said" | sed 's/^/#   /'
}
pair_steps=0
export -f nap until_true listening cm_listening

# --- TAP ---------------------------------------------------------------------

tap_number=0
tap_failed=0
tap_passed=0

tap_ok()
{
	tap_passed=$((tap_passed + 1))
	echo "ok $((++tap_number)) $*"
}

tap_not_ok()
{
	tap_failed=$((tap_failed + 1))
	echo "not ok $((++tap_number)) $*"
}

tap_skip()
{
	local name=$1
	shift
	echo "ok $((++tap_number)) $name # SKIP $*"
}

# check NAME COMMAND...: one TAP line; what the command said, if it failed. A
# function as COMMAND ends at its first command that fails.
check()
{
	local name=$1 said status
	shift
	said=$(
		set -eE
		trap 'echo "failed: $BASH_COMMAND (${FUNCNAME[0]:-}, line $LINENO)"' ERR
		"$@" 2>&1
	)
	status=$?
	if [ $status = 0 ]; then
		tap_ok "$name"
	else
		tap_not_ok "$name"
		echo "# status $status of: $*"
		tail -n 30 <<<"$said" | sed 's/^/#   /'
		return 1
	fi
}

# tap_end: prints the plan (TAP allows it last) and leaves with its status.
tap_end()
{
	echo "1..$tap_number"
	if ((tap_failed)); then
		exit 1
	elif ((tap_passed == 0)); then
		exit 4
	fi
	exit 0
}
