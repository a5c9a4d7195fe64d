#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The guest's part of `run --mode native`: lists of messages between two network
# namespaces, and between queue pairs of one adapter, by each driver in turn; the kernel's
# TCP on the same wire. Run through pavo-vm on a kernel at native speed, as root in a guest
# of its own; results go to $PAVO_OUT.
#
# See docs/performance.md.
#
# usage: native-guest.sh PROGRAMS ROUNDS TYPES GROUP...
#   TYPES  of pavo,pavo-rules,rxe,siw,tcp,tcp-zerocopy,before; their order turns round
#   GROUP  of tests, NAME:OPERATIONS:SIZES:QUEUE-PAIRS; the name loopback is one adapter's, wire-cut
#          that of interfaces without segmentation of tunnels, path-... and lat-... of make_path, setup
#          what a queue pair takes until it is connected
# environment: BENCH_MODULES  folder of the modules of modules/build; BENCH_BEFORE  pavo.ko of
#   the type before; BENCH_SCALE  so many times the messages; BENCH_SYMBOLS=1  also leaves
#   TYPE.kallsyms
# leaves: environment; ROUND-TYPE.jsonl for each measurement, for TCP ROUND-TYPE.SIZE.json; ROUND-TYPE.counters of the
#   ports of both ends, for a path and an operation ROUND-TYPE.PATH.OPERATION.counters and the same with
#   .before; paths: what netem has sent and dropped; in finished the names of those that came to their end
set -euo pipefail
# shellcheck source=selftests/bench/lib.sh
. "$(dirname "$(readlink -f "$0")")/lib.sh"

bench=$1/pavo-bench rounds=$2
IFS=, read -ra types <<<"$3"
groups=("${@:4}")

# rdma_rxe has its sockets in the first namespace alone, where rules make the wire one.
enter_wire()
{
	near=() far=() peer=()
	case $1 in
	rxe | pavo-rules) return ;;
	esac
	near=(ip netns exec near) far=(ip netns exec far) peer=(--peer-namespace far)
}

# merging on|off: of received packets (GRO). veth does that only for a sender that does not segment TCP.
merging()
{
	local tso=off
	[ "$1" = on ] || tso=on
	"${near[@]}" ethtool -K va tso $tso gro "$1"
	"${far[@]}" ethtool -K vb tso $tso gro "$1"
} >/dev/null

# latency OPERATIONS SIZE: by a consumer in the kernel, for which each end's namespace has a process
latency()
{
	local parameters=/sys/module/bench_latency/parameters
	[ -e "${BENCH_MODULES:-}/bench-latency.ko" ] || return 0
	dmesg --clear
	"${far[@]}" insmod "$BENCH_MODULES/bench-latency.ko" "size=$2" \
		"count=$((4000 * ${BENCH_SCALE:-1}))"
	"${near[@]}" bash -c "echo 1 >$parameters/run" || dmesg >&2
	rmmod bench-latency
	dmesg | sed -n 's/.*latency: {/{/p' | grep -E "\"(${1//,/|})\"" || true
}

# set_deferred_icrc Y|N: of pavo, if that is loaded; N makes all packets single
set_deferred_icrc()
{
	local parameter=/sys/module/pavo/parameters/deferred_icrc
	[ ! -e "$parameter" ] || echo "$1" >"$parameter"
}

# make_path NAME|none: of both directions the delay and the faults that a name like path-1ms-0.1% or
# path-1ms-reorder says. Packets are single there, so each has a fate of its own. With reorder a quarter
# of them has no delay at all.
make_path()
{
	local rtt kind us faults=()
	"${near[@]}" tc -s qdisc show dev va >>"$PAVO_OUT/paths"
	"${far[@]}" tc -s qdisc show dev vb >>"$PAVO_OUT/paths"
	"${near[@]}" tc qdisc del dev va root 2>/dev/null || true
	"${far[@]}" tc qdisc del dev vb root 2>/dev/null || true
	set_deferred_icrc Y
	[ "$1" != none ] || return 0
	set_deferred_icrc N
	IFS=- read -r _ rtt kind <<<"$1"
	us=$((${rtt%ms} * 500))
	case $kind in
	reorder) faults=(delay "${us}us" reorder 25%) ;;
	*) faults=(delay "${us}us" loss "$kind") ;;
	esac
	"${near[@]}" tc qdisc add dev va root netem limit 100000 "${faults[@]}"
	"${far[@]}" tc qdisc add dev vb root netem limit 100000 "${faults[@]}"
}

# show_counters: of the ports of both ends
show_counters()
{
	grep -sH . /sys/class/infiniband/bench[01]/ports/1/hw_counters/* |
		sed 's|.*/infiniband/||; s|/ports/1/hw_counters/| |; s|:| |' | grep -v ' 0$' || true
}

# measure_path SEED TYPE NAME OPERATIONS SIZES QUEUE-PAIRS END...: one operation after the other, each
# with the counters before and behind it
measure_path()
{
	local seed=$1 type=$2 name=$3 sizes=$5 pairs=$6 op file

	# 64 MiB: the slowest drivers take half a minute for them
	local what=(--tests list --scale 0.5)
	# 3,000 messages of which each waits for the one before
	[[ $name != lat-* ]] || what=(--tests latency --scale 15)
	segmentation off "${near[*]}" "${far[*]}"
	make_path "$name"
	for op in ${4//,/ }; do
		file=$PAVO_OUT/$seed-$type.$name.$op.counters
		show_counters >"$file.before"
		"${near[@]}" "$bench" "${what[@]}" --name "$name" --ops "$op" --sizes "$sizes" \
			--queue-pairs "$pairs" --seed "$seed" "${@:7}"
		show_counters >"$file"
	done
	make_path none
	segmentation on "${near[*]}" "${far[*]}"
}

# measure_groups SEED TYPE: the rows of a driver that is there
measure_groups()
{
	local group name ops sizes pairs ends

	for group in "${groups[@]}"; do
		IFS=: read -r name ops sizes pairs <<<"$group"
		ends=(bench0 bench1 "${peer[@]}")
		[ "$name" != loopback ] || ends=(bench0 bench0)
		if [ "$name" = latency ]; then
			latency "$ops" "$sizes"
			continue
		fi
		if [ "$name" = setup ]; then
			"${near[@]}" "$bench" --tests setup --name setup --sizes "$sizes" "${ends[@]}"
			continue
		fi
		if [[ $name = path-* || $name = lat-* ]]; then
			measure_path "$1" "$2" "$name" "$ops" "$sizes" "$pairs" "${ends[@]}"
			continue
		fi
		[[ $name != wire-cut* ]] || segmentation off "${near[*]}" "${far[*]}"
		[ "$name" != wire-cut-gro ] || merging on
		"${near[@]}" "$bench" --tests list --name "$name" --ops "$ops" \
			--sizes "$sizes" --queue-pairs "$pairs" --scale "${BENCH_SCALE:-1}" \
			--seed "$1" "${ends[@]}"
		[ "$name" != wire-cut-gro ] || merging off
		segmentation on "${near[*]}" "${far[*]}"
	done
}

# offloads on|off: of TCP, by both ends. It makes super-packets for interfaces without GSO, too, which
# netem would lose as one.
offloads()
{
	local segments=65535
	[ "$1" = on ] || segments=1
	"${near[@]}" ethtool -K va tso "$1" gro "$1"
	"${far[@]}" ethtool -K vb tso "$1" gro "$1"
	"${near[@]}" ip link set va gso_max_segs $segments
	"${far[@]}" ip link set vb gso_max_segs $segments
} >/dev/null

# measure_tcp_path ROUND TYPE PATH: a stream of writes of 64 KiB
measure_tcp_path()
{
	local algorithm=cubic
	[ "$2" != tcp-bbr ] || algorithm=bbr
	[ "$2" = tcp-offloads ] || offloads off
	"${near[@]}" sysctl -q "net.ipv4.tcp_congestion_control=$algorithm"
	make_path "$3"
	tcp_stream "$PAVO_OUT/$1-$2.65536@$3.json" near far 10.9.0.2 65536 --bytes 64M
	make_path none
	"${near[@]}" sysctl -q net.ipv4.tcp_congestion_control=cubic
	offloads on
}

# One stream for each size of writes, of which the host reads the report. Without the copy of the
# sender the data are pages of a file.
measure_tcp()
{
	local group size words=()
	for group in "${groups[@]}"; do
		[[ $group != path-* || $2 = tcp-zerocopy ]] ||
			measure_tcp_path "$1" "$2" "${group%%:*}"
	done
	[[ $2 = tcp || $2 = tcp-zerocopy ]] && [[ " ${groups[*]}" = *" wire:"* ]] || return 0
	[ "$2" = tcp ] || words=(--zerocopy)
	for size in 65536 1048576; do
		tcp_stream "$PAVO_OUT/$1-$2.$size.json" near far 10.9.0.2 "$size" "${words[@]}"
	done
}

measure()
{
	if [[ $2 = tcp* ]]; then
		measure_tcp "$1" "$2"
	else
		enter_wire "$2"
		load_measured "$1" "$2" "${near[*]}" "${far[*]}"
		measure_groups "$1" "$2" >"$PAVO_OUT/$1-$2.jsonl"
		show_counters >"$PAVO_OUT/$1-$2.counters"
		unload "$2"
	fi
}

# Load what a kernel would choose on this CPU.
be_a_machine()
{
	local copies=memcpy_orig
	if [ -e "${BENCH_MODULES:-}/um-crc32-pclmul.ko" ] && grep -qw pclmulqdq /proc/cpuinfo; then
		modprobe crc32
		insmod "$BENCH_MODULES/um-crc32-pclmul.ko"
	fi
	if [ -e "${BENCH_MODULES:-}/um-copies.ko" ] && grep -qw fsrm /proc/cpuinfo; then
		insmod "$BENCH_MODULES/um-copies.ko"
		copies='rep movsb'
	fi
	echo "copies=$copies" >>"$PAVO_OUT/environment"
}

has()
{
	case $1 in
	before | pavo | pavo-rules) ;;
	tcp-bbr) insmod "${BENCH_MODULES:-}/tcp_bbr.ko" || why='there is no tcp_bbr' ;;
	tcp*) command -v iperf3 >/dev/null || why='iperf3 is not installed' ;;
	*) modinfo "$(module_of "$1")" >/dev/null || why='the kernel has no such module' ;;
	esac
	[ -z "$why" ] || echo "$1_absent=$why" >>"$PAVO_OUT/environment"
	[ -z "$why" ]
}

wire
environment >"$PAVO_OUT/environment"
be_a_machine
wire_of_namespaces
here=()
for type in "${types[@]}"; do
	why=
	! has "$type" || here+=("$type")
done
in_turn "$rounds" "${here[@]}"
