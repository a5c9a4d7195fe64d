# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Boots of a root with the packages: the release's own kernel, initramfs and systemd, in QEMU. The
# root is a folder of the host, so what one boot leaves the next one finds. Sourced by run.sh.
# shellcheck disable=SC2154,SC2317 # set by run.sh; called by check

boot_adapter=boot0
boot_address=10.97.0.1
boot_limit=600

# The system's initramfs has what reaches the root, and no more: it is unpacked under emulation.
prepare_boot()
{
	local folder=$root/var/lib/pavo-boot
	printf '%s\n' virtio_pci 9p 9pnet_virtio >>"$root/etc/initramfs-tools/modules"
	sed -i 's/^MODULES=.*/MODULES=list/' "$root/etc/initramfs-tools/initramfs.conf"
	in_root update-initramfs -c -k "$kernel" >"$logs/initramfs" 2>&1
	mkdir -p "$folder"
	cp "$here/boot-guest.sh" "$folder/look"
	echo "eth0 $boot_adapter quantum=64" >>"$root/etc/pavo/pavo.conf"
	cat >"$root/etc/systemd/network/eth0.network" <<-END
	[Match]
	Name=eth0
	[Network]
	Address=$boot_address/24
	END
	cat >"$root/etc/systemd/system/pavo-boot.service" <<-END
	[Unit]
	Description=looks for the adapter
	[Service]
	Type=oneshot
	ExecStart=/var/lib/pavo-boot/look eth0 $boot_adapter $boot_address
	[Install]
	WantedBy=multi-user.target
	END
	in_root systemctl enable pavo@eth0 pavo-boot systemd-networkd
	in_root systemctl set-default multi-user.target
}

# Its console is $logs/console. It ends when the system powers off.
start_machine()
{
	timeout "$boot_limit" qemu-system-x86_64 -M q35,vmport=off -accel tcg,thread=multi \
		-cpu max,la57=off -smp 2 -m 2G -nodefaults -no-user-config -display none \
		-serial "file:$logs/console" \
		-kernel "$root/boot/vmlinuz-$kernel" -initrd "$root/boot/initrd.img-$kernel" \
		-append "console=ttyS0 root=hostroot rw rootfstype=9p rootflags=trans=virtio,version=9p2000.L,msize=512000,cache=mmap net.ifnames=0 mitigations=off init=/lib/systemd/systemd" \
		-fsdev "local,id=root,path=$root,security_model=passthrough,multidevs=remap" \
		-device virtio-9p-pci,fsdev=root,mount_tag=hostroot \
		-device virtio-rng-pci -nic user,restrict=on,model=virtio-net-pci
}

# Two kernels have booted, and reported nothing; prints the lines of the console that are reports.
console_is_clean()
{
	[ "$(grep -ac 'Linux version' "$logs/console")" = 2 ] || return
	PYTHONPATH=$tree/qemu-scripts python3 - "$logs/console" <<-'END'
	import pathlib, sys
	from pavovm import console
	lines = console.read(pathlib.Path(sys.argv[1]))
	found = console.complaints(lines)
	print("\n".join(lines[i] for i in found))
	sys.exit(bool(found))
	END
}

# is_right FILE: all that a boot is to find
is_right()
{
	local line
	for line in "first process: systemd" "kernel: $kernel" comes "quantum: 64" \
		"has properties" "moves data" goes returns; do
		grep -Fx "$line" "$1" || { echo "not there: $line"; return 1; }
	done
	grep -E '^module: .*/updates/dkms/pavo\.ko' "$1"
}

boots_twice()
{
	local found=$root/var/lib/pavo-boot
	prepare_boot
	start_machine || { tail -n 40 "$logs/console"; return 1; }
	cp "$found"/boot.* "$logs/"
	[ "$(find "$found" -name 'boot.*' | wc -l)" = 2 ]
	is_right "$logs/boot.1" || { cat "$logs/boot.1"; return 1; }
	is_right "$logs/boot.2" || { cat "$logs/boot.2"; return 1; }
	[ "$(grep -h '^boot: ' "$logs"/boot.? | sort -u | wc -l)" = 2 ]
	console_is_clean
}

# On a layer of its own: a boot leaves files that no package has.
test_boot()
{
	local name="$release: systemd boots it twice, and the adapter is there"
	if ! command -v qemu-system-x86_64 >/dev/null; then
		tap_skip "$name" "no qemu-system-x86_64"
		return
	fi
	leave_root
	open_root boot machine
	check "$name" boots_twice
	close_root
	open_root machine
}
