# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about classes of traffic: how service level and traffic class of a path mark
# packets for the interface below. Sourced by guest.sh; world.sh says what the words mean.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

# Messages and their answers in both directions, and datagrams.
services=(--dev la --peer lb --patience 30 --only data.bidirectional --only uc.order
	--only ud.send)

# marked INTERFACE LINE ARGUMENTS...: the frames that leave it have just this tag.
marked()
{
	local interface=$1 line=$2 seen
	shift 2
	seen=$("${BASH_SOURCE[0]%/*}/priorities.py" "$interface" \
		"$verbs" "${services[@]}" "$@" 2>"$work/service") || {
		cat "$work/service"
		return 1
	}
	[ "$seen" = "$line" ] || {
		echo "$interface sent $seen, not $line ($*)"
		return 1
	}
}

# By the map of the VLAN, a service level is the PCP of requests, answers and datagrams. A
# traffic class counts where there is no service level.
vlan_priorities()
{
	local a b interface
	vlans
	ip link set va.7 type vlan egress-qos-map 5:6 3:1 4:2 6:7
	ip link set vb.7 type vlan egress-qos-map 5:6 3:1 4:2 6:7
	add_pair
	soon has_gid la v4 10.97.0.1
	soon has_gid lb v4 10.97.0.2
	a=$(has_gid la v4 10.97.0.1)
	b=$(has_gid lb v4 10.97.0.2)
	for interface in va vb; do
		marked $interface "none none" --sl 5
		marked $interface "7 6" --sl 5 --gid-index "$a" --peer-gid-index "$b"
		marked $interface "7 1" --sl 3 --traffic-class 16 \
			--gid-index "$a" --peer-gid-index "$b"
		# minimal delay (0x10): interactive (6); throughput (0x08): bulk (2), not in the map
		marked $interface "7 7" --traffic-class 16 \
			--gid-index "$a" --peer-gid-index "$b"
		marked $interface "7 0" --traffic-class 8 \
			--gid-index "$a" --peer-gid-index "$b"
		marked $interface "7 0" --sl 7 --gid-index "$a" --peer-gid-index "$b"
	done
	no_vlans
}

# band_sent CLASS: packets that a band of the qdisc of va has sent, in $sent
band_sent()
{
	local text
	text=$(tc -s class show dev va)
	text=${text#*class prio 1:"$1" }
	[[ $text =~ Sent\ [0-9]+\ bytes\ ([0-9]+)\ pkt ]]
	sent=${BASH_REMATCH[1]}
}

# Service levels go to the bands of a qdisc that has one for each.
prio_bands()
{
	local sl sent band
	local -A before
	[ -d /sys/module/sch_prio ] || modprobe sch_prio
	tc qdisc add dev va root handle 1: prio bands 4 \
		priomap 0 3 3 1 3 2 3 3 3 3 3 3 3 3 3 1
	add_pair
	for sl in 0:1 3:2 5:3 15:2; do
		for band in 1 2 3 4; do
			band_sent $band
			before[$band]=$sent
		done
		smoke --sl "${sl%:*}"
		for band in 1 2 3; do
			band_sent $band
			if [ $band = "${sl#*:}" ]; then
				((sent - before[$band] > 50))
			else
				# neighbours are looked up now and then
				((sent - before[$band] < 10))
			fi || {
				echo "service level $sl: $((sent - before[$band])) in band $band"
				return 1
			}
		done
	done
	tc qdisc del dev va root
}

# Service levels have four bits.
levels_checked()
{
	add_pair
	"$verbs" "${services[@]}" --sl 15 >"$work/service"
	refused "$verbs" "${services[@]}" --sl 16 >"$work/service"
	# one line for each service
	[ "$(grep -c '^not ok' "$work/service")" = 3 ]
}

class_tests()
{
	[ "$type" = pavo ] || return 0
	life "class: the PCP of a VLAN" vlan_priorities
	life "class: bands of a queue" prio_bands
	life "class: a level beyond the last is refused" levels_checked
}
