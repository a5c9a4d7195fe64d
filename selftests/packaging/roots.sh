# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Roots of Debian for the group packaging: one of each release with nothing installed,
# made by debootstrap, and layers on it that a test fills. Sourced by run.sh, which sets
# cache (kept between runs), work, release and logs.
# shellcheck disable=SC2154 # set by run.sh

# make_base: the root that all layers of this release lie on
make_base()
{
	local proxy base=$work/base
	mkdir -p "$cache/archives/partial" "$cache/ccache" "$base"
	debootstrap --variant=minbase --cache-dir="$cache/archives" \
		"$release" "$base" "$(find_archive)" >"$logs/debootstrap" 2>&1 ||
		{ tail "$logs/debootstrap"; return 1; }
	cp /etc/resolv.conf /etc/hosts "$base/etc/"
	for proxy in http https; do
		apt-config dump --format '%F "%v";%n' "Acquire::$proxy::Proxy"
	done >"$base/etc/apt/apt.conf.d/proxy"
	# Files that do not outlive the test need not be safe on the disk.
	echo force-unsafe-io >"$base/etc/dpkg/dpkg.cfg.d/packaging"
	# Documentation is what some packages are made of.
	rm -f "$base/etc/dpkg/dpkg.cfg.d/docker"
	# No service starts in a root.
	printf '#!/bin/sh\nexit 101\n' >"$base/usr/sbin/policy-rc.d"
	chmod +x "$base/usr/sbin/policy-rc.d"
}

# open_root NAME [LOWER]: sets root to a layer on the base, or on that of a root which is left, with
# what its programs expect. Packages that are fetched, and what ccache knows, lie in the cache.
open_root()
{
	local lower=$work/base
	[ $# = 1 ] || lower=$work/$2.upper:$lower
	root=$work/$1
	mkdir -p "$root" "$work/$1.upper" "$work/$1.work" "$packages"
	mount -t overlay -o "lowerdir=$lower,upperdir=$work/$1.upper,workdir=$work/$1.work" \
		overlay "$root"
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t devpts -o newinstance devpts "$root/dev/pts"
	mkdir -p "$root/packages" "$root/var/cache/ccache" "$root/var/cache/apt/archives"
	mount --bind "$packages" "$root/packages"
	mount --bind "$cache/ccache" "$root/var/cache/ccache"
	mount --bind "$cache/archives" "$root/var/cache/apt/archives"
}

# Processes that a package has started may end a little later.
leave_root()
{
	until_true 30 umount -R "$root"
}

close_root()
{
	leave_root
	rm -rf --one-file-system "$root" "$root.upper" "$root.work"
}

# in_root COMMAND...: as root of the root
in_root()
{
	env -i HOME=/root PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C \
		DEBIAN_FRONTEND=noninteractive CCACHE_DIR=/var/cache/ccache CCACHE_BASEDIR=/pavo CCACHE_NOHASHDIR=1 \
		DEB_BUILD_OPTIONS="parallel=${PAVO_SEATS:-$(nproc)}" \
		chroot "$root" "$@"
}

# apt LOG ARGUMENT...: apt-get, which says why it fails
apt()
{
	local log=$logs/$1
	shift
	in_root apt-get -y --no-install-recommends "$@" >"$log" 2>&1 </dev/null || {
		grep -A3 -E '^(E:|dpkg: error|Error)' "$log" || tail -n 25 "$log"
		return 1
	}
}
