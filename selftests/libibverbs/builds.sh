# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Builds of the provider, each with the header of a Debian release. Sourced by run.sh and
# run-roots.sh, which have set here and tree.
# shellcheck disable=SC2034,SC2154 # of the scripts that source this
# For check and its like; nothing here is a guest.
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
# shellcheck source=qemu-scripts/archive.sh
. "$here/../../qemu-scripts/archive.sh"
builds=${PAVO_BUILD:-$tree/build}/libibverbs
cache=${PAVO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pavo}/libibverbs
arch=$(gcc -print-multiarch)
declare -A number

# Packages of a release: the library, and all that its loader looks for to run a program.
wanted=(libibverbs1 libibverbs-dev libnl-3-200 libnl-route-3-200 libc6 libgcc-s1 libstdc++6)

# Begins the output of a group. Waits until no other one fetches or builds.
begin_builds()
{
	if ! find_archive >/dev/null 2>&1; then
		echo "1..0 # SKIP apt knows no archive of Debian"
		exit 4
	fi
	mkdir -p "$cache" "$builds"
	exec 9>"$cache/lock"
	flock 9
	echo "TAP version 13"
}

# Unpacks the packages of a release again if any has another version than last time.
fetch_release()
{
	local root=$cache/$1 debs=$cache/debs versions

	set_up_apt "$cache/apt/$1" "$1"
	versions=$(apt-cache "${apt[@]}" show --no-all-versions "${wanted[@]}" |
		sed -n 's/^Filename: //p' | sort)
	[ "$(wc -l <<<"$versions")" = ${#wanted[@]} ]
	[ "$(cat "$root.versions" 2>/dev/null)" != "$versions" ] || return 0
	rm -rf "$root" "$root.versions" "$debs"
	mkdir -p "$root" "$debs"
	(cd "$debs" && apt-get "${apt[@]}" -qq download "${wanted[@]}")
	for deb in "$debs"/*.deb; do
		dpkg-deb -x "$deb" "$root"
	done
	rm -rf "$debs"
	echo "$versions" >"$root.versions"
}

# The header and the library of the release, for pkg-config; a build finds no others.
configure_build()
{
	local root=$cache/$1 build=$builds/$1 libraries=$cache/$1/usr/lib/$arch

	rm -rf "$build" "$build.pc"
	mkdir -p "$build.pc"
	cat >"$build.pc/libibverbs.pc" <<-END
	libdir=$libraries
	Name: libibverbs
	Description: of $1
	$(grep ^Version: "$libraries/pkgconfig/libibverbs.pc")
	Libs: -L$libraries -libverbs
	Cflags: -isystem $root/usr/include
	END
	# The library of a later release wants symbols of its own libc.
	PKG_CONFIG_PATH=$build.pc LDFLAGS=-Wl,--allow-shlib-undefined \
		meson setup "$build" "$tree"
}

build_provider()
{
	ninja -C "$builds/$1" "userspace/provider/libpavo-rdmav${number[$1]}.so" \
		selftests/provider/provider-{abi-test,test}
}

# Fetches, configures and builds, each as a check of the release; sets its number.
check_build()
{
	check "$1: libibverbs and its header" fetch_release "$1"
	check "$1: a build with them" configure_build "$1"
	number[$1]=$("$tree/userspace/provider/abi-number.sh" \
		"$cache/$1/usr/lib/$arch/libibverbs.so.1")
	check "$1: the provider for the number ${number[$1]}" build_provider "$1"
}
