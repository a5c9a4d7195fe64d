#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Looks, in a system that systemd has just booted, for the adapter that its unit is to make: the
# adapter comes with its interface, goes with it, returns, and moves data. Leaves its findings in
# /var/lib/pavo-boot, in a file for each boot; after the first one it reboots, then it powers off.
# Copied into the root, and started by a unit, by boot.sh.
# usage: boot-guest.sh INTERFACE ADAPTER ADDRESS
# shellcheck disable=SC2317 # called by until_so
set -u
interface=$1 adapter=$2 address=$3
folder=/var/lib/pavo-boot
number=$(find $folder -name 'boot.*' | wc -l)
exec >"$folder/boot.$((number + 1))" 2>&1
class=/sys/class/infiniband/$adapter

finish()
{
	sync
	systemctl --no-block "$([ "$number" = 0 ] && echo reboot || echo poweroff)"
	exit 0
}

# until_so COMMAND...: within a minute, or this boot has no more to say
until_so()
{
	local i
	for ((i = 0; i < 300; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.2
	done
	echo "never: $*"
	systemctl --no-pager --full status "pavo@$interface.service"
	dmesg | tail -n 30
	finish
}

has_adapter()
{
	[ -e "$class/pavo_abi" ]
}

has_none()
{
	[ ! -e "$class" ]
}

# udev may be later than the unit.
has_properties()
{
	udevadm info -q property "$class" | grep -x ID_RDMA_ROCE=1
}

# Prints the index of the GID of the address.
gid_index()
{
	local bytes gid file
	IFS=. read -ra bytes <<<"$address"
	gid=$(printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' "${bytes[@]}")
	for file in "$class"/ports/1/gids/*; do
		[ "$(<"$file")" = "$gid" ] && grep -q v2 "${file/gids/gid_attrs/types}" &&
			echo "${file##*/}" && return
	done
	return 1
}

# The device of an interface, as the bus knows it: it is unplugged, and found again.
replug()
{
	local bus_device
	bus_device=$(readlink -f "/sys/class/net/$interface/device/..")
	echo 1 >"$bus_device/remove"
	until_so has_none
	echo "goes"
	echo 1 >/sys/bus/pci/rescan
	until_so has_adapter
	echo "returns"
}

move_data()
{
	local options
	until_so gid_index
	options=(-d "$adapter" -g "$(gid_index)" -n 50 -s 8192 --chk)
	ibv_rc_pingpong "${options[@]}" &
	until_so eval 'ss -ltn | grep -q :18515'
	ibv_rc_pingpong "${options[@]}" localhost && wait $! && echo "moves data"
}

echo "first process: $(</proc/1/comm)"
echo "kernel: $(uname -r)"
echo "boot: $(</proc/sys/kernel/random/boot_id)"
until_so systemctl -q is-active "pavo@$interface.service"
until_so has_adapter
echo "comes"
echo "module: $(modinfo -n pavo)"
echo "quantum: $(<"$class/quantum")"
until_so has_properties
echo "has properties"
move_data
replug
pavo status
finish
