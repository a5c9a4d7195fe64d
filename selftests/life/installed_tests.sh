# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Life tests about what `make install` installs: modprobe, rdma and libibverbs find
# it without being told where. Sourced by guest.sh; world.sh and command_tests.sh
# say what the words mean. Comes last: from here on it is installed in the guest.
# shellcheck disable=SC2154,SC2317  # set and called elsewhere

# The files of `make install` ($PAVO_INSTALLED, of run.sh) in their places. The
# folder of modules is read-only with some kernels, and much to copy: a layer on it.
put_in_place()
{
	local modules
	modules=lib/modules/$(uname -r)
	rm -f /etc/libibverbs.d/pavo.driver
	tar -C "$PAVO_INSTALLED" --exclude ./lib -c . |
		tar -C / -x --keep-directory-symlink
	mount -t overlay -o "lowerdir=$PAVO_INSTALLED/$modules:/$modules" \
		overlay "/$modules"
}

pingpong()
{
	local server
	ibv_rc_pingpong -d lb -g "$(has_gid lb v4 10.9.0.2)" -n 100 \
		>"$work/pingpong" &
	server=$!
	soon listening 18515
	ibv_rc_pingpong -d la -g "$(has_gid la v4 10.9.0.1)" -n 100 10.9.0.2
	wait $server
}

installed_by_hand()
{
	local file
	unload
	put_in_place
	modprobe pavo
	loaded
	read -r file < <(modinfo -n pavo)
	[[ $file == */updates/pavo.ko* ]]
	modprobe -r pavo
	refused loaded
	modprobe pavo
}

# The kernel asks modprobe for the type of link it does not know.
installed_loads_itself()
{
	modprobe -r pavo
	refused loaded
	add la va
	loaded
	present la
}

installed_is_found()
{
	local json value
	unset IBV_DRIVERS
	add_pair
	[[ $(ibv_devices) == *" la "*" lb "* ]]
	[[ $(ibv_devinfo) == *"hca_id:"*la*PORT_ACTIVE*"hca_id:"*lb*PORT_ACTIVE* ]]
	watch la
	says "/proc/$watch_pid/maps" /libibverbs/libpavo-rdmav
	refused says "/proc/$watch_pid/maps" "$PAVO_TREE"
	end_watch
	pingpong
	[ "$(command -v pavo)" = /usr/bin/pavo ]
	json=$(pavo status --json la)
	value "$json" 0 netdev && [ "$value" = va ]
}

installed_tests()
{
	[ "$type" = pavo ] || return 0
	# modprobe -r takes along what insmod would then miss
	load()
	{
		loaded || modprobe pavo
	}
	life "installed: modprobe loads and unloads" installed_by_hand
	life "installed: rdma link add loads the module" installed_loads_itself
	life "installed: stock tools find the provider" installed_is_found
}
