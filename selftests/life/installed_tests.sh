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

# Without debug information, which is most of what was built.
installed_is_stripped()
{
	local file
	for file in "$(modinfo -n pavo)" /usr/bin/pavo /usr/lib/*/libpavo.so.1; do
		[[ $(readelf -SW "$file") != *.debug_info* ]] || {
			echo "$file has debug information"
			return 1
		}
	done
	[ "$(modinfo -F version pavo)" = "$(pavo --version | cut -d " " -f 2)" ]
	[ "$(pavo-vm --version)" = "pavo-vm $(modinfo -F version pavo)" ]
}

# Programs find in it what is theirs alone.
installed_exports()
{
	local symbols
	symbols=$(nm -DC --defined-only /usr/lib/*/libpavo.so.1)
	[[ $symbols == *" pavo_mr_cache_"*"@@PAVO_1"* ]]
	[[ $symbols == *" pavo::Window::"* ]]
	refused grep -E " [TWVBDRu] (std::|__gnu|operator)" <<<"$symbols"
}

# Of a copy, since modules are read-only here.
uninstall_leaves_nothing()
{
	local all=$work/installed
	cp -a "$PAVO_INSTALLED" "$all"
	[ -e "$all/usr/bin/pavo-vm" ] && compgen -G "$all/lib/modules/*/updates/pavo.ko*"
	compgen -G "$all/usr/share/bash-completion/completions/pavo"
	compgen -G "$all/usr/lib/*/wireshark/plugins/pavo.lua"
	compgen -G "$all/usr/share/doc/pavo/examples/verbs_end.cpp"
	[ -e "$all/usr/lib/systemd/system/pavo@.service" ] && [ -e "$all/etc/pavo/pavo.conf" ]
	echo "eth0 mine" >>"$all/etc/modprobe.d/pavo.conf"
	"$PAVO_TREE/qemu-scripts/uninstall" "$programs/../.." "$all"
	# a file that was changed stays
	grep -x "eth0 mine" "$all/etc/modprobe.d/pavo.conf" && rm "$all/etc/modprobe.d/pavo.conf"
	refused grep . < <(find "$all" ! -type d ! -name 'modules.*')
	refused grep . < <(find "$all" -type d -name 'pavo*')
	rm -r "$all"
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
	life "installed: without debug information, of one version" installed_is_stripped
	life "installed: the library exports its own symbols only" installed_exports
	life "make uninstall: leaves nothing" uninstall_leaves_nothing
}
