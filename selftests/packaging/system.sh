# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests of the unit, the rule of udev and the files of the administrator's, as far as they
# need no boot. Sourced by run.sh.
# shellcheck disable=SC2154,SC2317 # set by run.sh; called by check

wanted_by=sys-subsystem-net-devices-eth0.device.wants

unit_is_right()
{
	in_root systemd-analyze verify pavo@eth0.service 2>&1 | tee "$logs/verify"
	[ ! -s "$logs/verify" ]
	# It would have said something of a wrong one.
	sed 's/^ExecStart=.*/ExecStart=nowhere/; s/^BindsTo/BindsUpon/' \
		"$root/usr/lib/systemd/system/pavo@.service" >"$root/tmp/wrong@.service"
	in_root systemd-analyze verify --man=no /tmp/wrong@eth0.service >"$logs/wrong" 2>&1 ||
		:
	grep BindsUpon "$logs/wrong"
	grep nowhere "$logs/wrong"
}

unit_is_enabled()
{
	in_root systemctl enable pavo@eth0
	[ "$(in_root systemctl is-enabled pavo@eth0)" = enabled ]
	[ "$(readlink "$root/etc/systemd/system/$wanted_by/pavo@eth0.service")" = \
		/lib/systemd/system/pavo@.service ] ||
		[ "$(readlink "$root/etc/systemd/system/$wanted_by/pavo@eth0.service")" = \
			/usr/lib/systemd/system/pavo@.service ]
}

# udev reads all rules, and names the lines that it does not understand.
rule_is_right()
{
	local rule=usr/lib/udev/rules.d/75-rdma-pavo.rules
	in_root udevadm test /sys/class/net/lo >"$logs/udev" 2>&1
	grep -F 75-rdma-pavo.rules "$logs/udev"
	refused grep -E '75-rdma-pavo.rules:[0-9]+' "$logs/udev"
	cp "$root/$rule" "$root/tmp/rule"
	echo 'ENV{X}=="1", FROB="2"' >>"$root/$rule"
	in_root udevadm test /sys/class/net/lo >"$logs/udev.wrong" 2>&1
	cat "$root/tmp/rule" >"$root/$rule"
	grep -E '75-rdma-pavo.rules:[0-9]+' "$logs/udev.wrong"
}

# Parameters in modprobe.d are some that the module has.
examples_are_right()
{
	local name
	sed 's/^#options/options/' "$root/etc/modprobe.d/pavo.conf" |
		sed -n 's/^options pavo //p' | tr ' ' '\n' | cut -d= -f1 >"$logs/parameters"
	[ "$(wc -l <"$logs/parameters")" -gt 1 ]
	while read -r name; do
		in_root modinfo -k "$kernel" -F parm pavo | grep "^$name:"
	done <"$logs/parameters"
	refused grep -v '^#' "$root/etc/modules-load.d/pavo.conf"
	refused grep -vE '^(#|$)' "$root/etc/pavo/pavo.conf"
}

# --- the script of the unit: it meets a folder in the place of sysfs, and an rdma that makes
# and removes adapters there -------------------------------------------------------------

played()
{
	in_root env PATH="/tmp/played:/usr/sbin:/usr/bin:/sbin:/bin" PAVO_SYSFS=/tmp/played/sys \
		PAVO_CONF=/tmp/played/pavo.conf /usr/libexec/pavo/pavo-adapter "$@" 2>&1
}

play()
{
	rm -rf "$root/tmp/played"
	mkdir -p "$root/tmp/played/sys/class/infiniband"
	cat >"$root/tmp/played/rdma" <<-'END'
	#!/bin/sh
	echo "$@" >>/tmp/played/calls
	cd /tmp/played/sys/class/infiniband || exit
	case $2 in
	add)	[ "$7" != none ] || exit 1
		mkdir -p "$3/device/net/$7" && touch "$3/pavo_abi" "$3/quantum" "$3/weights" ;;
	delete) rm -r "$3" ;;
	esac
	END
	chmod +x "$root/tmp/played/rdma"
	cat >"$root/tmp/played/systemctl" <<-'END'
	#!/bin/sh
	case $1 in
	show)	cat "/tmp/played/$4.${2#--property=}" ;;
	*)	echo "$@" >>/tmp/played/calls ;;
	esac
	END
	chmod +x "$root/tmp/played/systemctl"
	cat >"$root/tmp/played/pavo.conf" <<-END
	# eth0 wrong
	eth0	pavo0	quantum=64 weights=0:1,5:8 # of eth0
	eth1	pavo1
	eth2	pavo2	frob=1
	END
}

calls()
{
	local said
	said=$(cat "$root/tmp/played/calls" 2>/dev/null || :)
	rm -f "$root/tmp/played/calls"
	echo "calls: $said"
	[ "$said" = "$1" ]
}

script_does_what_it_should()
{
	local adapters=$root/tmp/played/sys/class/infiniband gone
	play
	played add eth0
	calls 'link add pavo0 type pavo netdev eth0'
	[ "$(cat "$adapters/pavo0/quantum")" = 64 ]
	[ "$(cat "$adapters/pavo0/weights")" = '0:1 5:8' ]
	# it is there already
	played add eth0
	calls ''
	played delete eth0
	calls 'link delete pavo0'
	# it is gone already
	played delete eth0
	calls ''
	# A unit that is stopped stays so; one whose interface went waits for it.
	echo 2000 >"$root/tmp/played/pavo@eth0.service.InactiveExitTimestampMonotonic"
	for gone in 0 1999 2001; do
		calls ''
		echo $gone >"$root/tmp/played/eth0.device.InactiveEnterTimestampMonotonic"
		played await pavo@eth0.service eth0.device
	done
	calls '--no-block start pavo@eth0.service'
	# no line
	played add br-lan
	calls 'link add pavo_br-lan type pavo netdev br-lan'
	# one of another interface is not taken, and not removed
	mkdir -p "$adapters/pavo1/device/net/eth9"
	touch "$adapters/pavo1/pavo_abi"
	refused played add eth1
	played delete eth1
	calls ''
	# a setting that is not known; and an adapter that the module refuses, without the file
	played add eth2 | grep "no setting 'frob'"
	refused played add eth2
	rm "$root/tmp/played/pavo.conf"
	played add none | grep 'pavo check'
	refused played add none
	refused played frob eth0
}

test_system()
{
	check "$release: systemd takes the unit" unit_is_right
	check "$release: the unit is enabled for an interface" unit_is_enabled
	check "$release: udev takes the rule" rule_is_right
	check "$release: files of the administrator's have right examples" examples_are_right
	check "$release: the unit's script makes and removes an adapter" \
		script_does_what_it_should
}
