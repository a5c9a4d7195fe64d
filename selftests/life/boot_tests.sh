# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests of set-up at boot: systemd as the first process of a PID namespace, with udev, starts
# the unit of an interface from what `make install` has installed. Sourced by guest.sh; comes
# after installed_tests.sh. A boot ends by a reboot, which the namespace does not survive.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

units=/etc/systemd/system
boot_adapter=vz_boot

# Runs in the booted system, and leaves its findings in /mnt: the adapter comes with its interface,
# goes with it, returns, and comes back when another interface has taken the place of its own at
# each of MOMENTS: "any", or a command of the unit.
# usage: write_boot_script MOMENTS
write_boot_script()
{
	mkdir -p "$work/boot"
	cat >"$work/boot/script" <<-END
	#!/bin/bash
	exec >/mnt/findings 2>&1
	wait_until()
	{
		for ((i = 0; i < 300; i++)); do
			"\$@" && return
			sleep 0.1
		done
		echo "never: \$*"
		systemctl --no-pager status pavo@vz.service sys-subsystem-net-devices-vz.device
		exit 1
	}
	there()
	{
		[ -e /sys/class/infiniband/$boot_adapter/pavo_abi ]
	}
	gone()
	{
		! there
	}
	is_replaced()
	{
		! compgen -G '/run/replace-at-*' >/dev/null
	}
	is_of_this_vz()
	{
		cmp -s /sys/class/net/vz/ifindex \
			/sys/class/infiniband/$boot_adapter/device/net/vz/ifindex
	}
	# udev may be later than the unit.
	has_properties()
	{
		udevadm info -q property /sys/class/infiniband/$boot_adapter |
			grep -qx ID_RDMA_ROCE=1
	}
	wait_until systemctl -q is-active pavo@vz.service
	there && echo comes
	wait_until has_properties
	echo has properties
	ip link delete vz
	wait_until gone
	echo goes
	ip link add vz type dummy
	ip link set vz up
	wait_until there
	echo returns
	for moment in $1; do
		touch /run/replace-at-\$moment
		/mnt/replace any
		wait_until is_replaced
		wait_until is_of_this_vz
		wait_until systemctl -q is-active pavo@vz.service
		echo replaced at \$moment
	done
	END
	cat >"$work/boot/replace" <<-END
	#!/bin/bash
	# Replaces the interface, if that moment has been chosen. The unit may be stopped meanwhile.
	trap '' TERM
	# systemd hears of what happened from StartPre on when the unit has started.
	[ \$1 = StartPost ] && udevadm control --start-exec-queue
	rm /run/replace-at-\$1 2>/dev/null || [ \$1 = any ] || exit 0
	[ \$1 = StartPre ] && udevadm control --stop-exec-queue
	ip link delete vz
	ip link add vz type dummy
	ip link set vz up
	END
	chmod +x "$work/boot/script" "$work/boot/replace"
}

write_units()
{
	cat >"$units/pavo-boot.target" <<-END
	[Unit]
	Description=what the test of a boot needs
	Requires=sysinit.target
	After=sysinit.target
	Wants=pavo-boot.service
	END
	cat >"$units/pavo-boot.service" <<-END
	[Unit]
	Description=looks for the adapter, and reboots
	DefaultDependencies=no
	After=sysinit.target
	SuccessAction=reboot
	FailureAction=reboot
	[Service]
	Type=oneshot
	TimeoutStartSec=300
	ExecStart=/mnt/script
	END
	mkdir -p "$units/pavo@.service.d"
	printf "Exec%s=+/mnt/replace %s\n" StartPre StartPre StartPost StartPost Stop Stop \
		StopPost StopPost >"$units/pavo@.service.d/replace.conf"
	sed -i '1i [Service]' "$units/pavo@.service.d/replace.conf"
}

# Boots, until the reboot: that ends the first process by a signal (reboot(2)).
boot_once()
{
	local group=/sys/fs/cgroup/pavo-boot
	rm -f "$work/boot/findings" /.dockerenv
	ip link add vz type dummy
	ip link set vz up
	mkdir -p $group
	# shellcheck disable=SC2016 # of the inner shell
	bash -c 'echo $$ >"$1/cgroup.procs"
	exec unshare --pid --fork --kill-child --mount --cgroup --ipc --uts bash -c '\''
		mount -t proc proc /proc
		mount --bind "$1" /mnt
		mount -t tmpfs tmpfs /tmp
		umount /sys/fs/cgroup
		mount -t cgroup2 cgroup2 /sys/fs/cgroup
		mount -t tmpfs -o mode=755 tmpfs /run
		exec /lib/systemd/systemd --system --unit=pavo-boot.target \
			--show-status=no --log-target=console --log-level=notice
	'\'' boot "$2"' boot $group "$work/boot" >"$work/boot/log" 2>&1 || true
	ip link delete vz 2>/dev/null || true
	# Its processes are gone a moment later.
	until_true 10 find $group -depth -type d -exec rmdir {} +
	cat "$work/boot/findings" || {
		tail -n 40 "$work/boot/log"
		return 1
	}
}

boots_with_adapter()
{
	local moments findings
	unload
	write_units
	echo "vz $boot_adapter quantum=64" >>/etc/pavo/pavo.conf
	systemctl enable pavo@vz.service
	for moments in "any StartPre StartPost Stop StopPost" any; do
		refused loaded
		write_boot_script "$moments"
		boot_once
		findings=$(<"$work/boot/findings")
		[[ $findings == *comes*"has properties"*goes*returns*"at ${moments##* }" ]] || {
			tail -n 40 "$work/boot/log"
			return 1
		}
		# The unit removes its adapter as the system goes down.
		refused present $boot_adapter
		unload
	done
	systemctl disable pavo@vz.service
	rm -r "$units"/pavo-boot.* "$units/pavo@.service.d"
}

boot_tests()
{
	[ "$type" = pavo ] || return 0
	if [ ! -x /lib/systemd/systemd ] || ! grep -qw cgroup2 /proc/mounts; then
		[[ boot =~ $part ]] && tap_skip "boot: systemd starts an adapter" "no systemd"
		return 0
	fi
	life "boot: an adapter comes, goes and returns with its interface, at each of two boots" \
		boots_with_adapter
}
