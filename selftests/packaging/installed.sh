# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests of installed packages: the module, the provider, the library and the tools, until
# nothing of them is left. Sourced by run.sh; roots.sh says what root,
# in_root and apt are.
# shellcheck disable=SC2154,SC2317 # set by run.sh; called by check
# shellcheck disable=SC2046 # words that become arguments

here_files=$here/files.txt

# debs VERSION: the packages as the root sees them, without debug information
debs()
{
	(cd "$packages" && find "$1" -name '*.deb' ! -name '*-dbgsym_*' -printf '/packages/%p\n')
}

names()
{
	sed -n 's/^Package: //p' "$tree/packaging/debian/control"
}

# Files of the root that packages of ours could leave behind. Those of apt and dpkg, logs,
# and the key by which DKMS signs are others'; so is what depmod writes.
all_files()
{
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o \
		-path ./packages -o -path ./tmp -o -path ./root -o -path ./var/log -o \
		-path ./run -o -path ./var/cache -o -path ./var/lib/apt -o -path ./var/lib/dpkg -o \
		-path './lib/modules/*/modules.*' -o -path './usr/lib/modules/*/modules.*' -o \
		-path '*/__pycache__' -o -path './var/lib/dkms/mok.*' \) -prune -o -print) | sort
}

# Sets kernel and headers. check has each test in a subshell, so this is no part of one.
find_headers()
{
	kernel=$(cd "$root/lib/modules" && echo *)
	# A link of the root, relative on Debian 13; here it would lead to folders of this machine.
	headers=$(in_root readlink -f "/lib/modules/$kernel/build")
}

# Headers come first: packages of ours find a kernel. Then what they depend on, so that
# what is there before and after differs by ours alone.
prepare_machine()
{
	local others
	apt update update
	apt headers install linux-headers-amd64 linux-image-amd64 initramfs-tools man-db systemd \
		udev g++ make cmake pkgconf ibverbs-utils
	others=$(in_root apt-get -s --no-install-recommends install $(debs "$version") |
		sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep -vxF "$(names)")
	# shellcheck disable=SC2086 # names
	apt others install $others
	find_headers
	[ -d "$root$headers" ]
	in_root depmod "$kernel"
	all_files >"$logs/files.before"
	refused grep pavo "$logs/files.before"
}

# install_all NAME VERSION
install_all()
{
	apt "$1" install $(debs "$2")
	[ "$(in_root dpkg-query -W -f '${Version}\n' $(names) | sort -u)" = "$2" ]
	[ -z "$(in_root dpkg --audit)" ]
}

# Prints the files of each package, with names of the architecture, version and number left out.
listed()
{
	local name path arch
	arch=$(in_root dpkg-architecture -q DEB_HOST_MULTIARCH 2>/dev/null || echo x86_64-linux-gnu)
	for name in $(names); do
		in_root dpkg -L "$name" | while read -r path; do
			[ -d "$root$path" ] && [ ! -L "$root$path" ] || echo "$name $path"
		done
	done | sed "s,/$arch/,/ARCH/,; s,/pavo-$version/,/pavo-VERSION/,
		s,^\(\S* \)/lib/,\1/usr/lib/," | LC_ALL=C sort
}

# Folders of the tree that a package has as they are: PACKAGE PLACE FOLDER
whole_folders()
{
	cat <<-END
	pavo-dkms /usr/src/pavo-VERSION/kernel kernel
	pavo-dkms /usr/src/pavo-VERSION/uapi uapi
	pavo-tools /usr/share/pavo/qemu-scripts qemu-scripts
	pavo-doc /usr/share/doc/pavo/docs docs
	pavo-doc /usr/share/doc/pavo/examples userspace/examples
	libpavo-dev /usr/include/pavo userspace/libpavo/include/pavo
	libpavo-dev /usr/include/pavo userspace/provider/include/pavo
	libpavo-dev /usr/include/rdma uapi/rdma
	END
}

expected()
{
	local package place folder section
	grep -v '^#' "$here_files"
	whole_folders | while read -r package place folder; do
		(cd "$tree/$folder" && find . -name man -prune -o -name __pycache__ -prune -o \
			! -type d ! -name meson.build -printf "$package $place/%P\n")
	done
	for section in 3 7; do
		(cd "$tree/docs/man" && printf "libpavo-dev /usr/share/man/man$section/%s.gz\n" \
			*."$section" $("$tree/packaging/man-names" *."$section" | cut -d' ' -f1))
	done
	for package in $(names); do
		printf "$package /usr/share/doc/$package/%s\n" changelog.gz copyright
	done
}

files_in_their_places()
{
	listed >"$logs/files.listed"
	expected | LC_ALL=C sort -u >"$logs/files.expected"
	[ "$(wc -l <"$logs/files.listed")" -gt 200 ]
	diff "$logs/files.expected" "$logs/files.listed"
}

# All that can say its version says that of Kbuild.
is_version()
{
	local said=$logs/versions-$1 program
	for program in pavo pavo-copy pavo-vm; do
		in_root "$program" --version
	done >"$said"
	in_root modinfo -k "$kernel" -F version pavo >>"$said"
	in_root pkg-config --modversion libpavo >>"$said"
	in_root pkg-config --modversion pavodv >>"$said"
	[ "$(wc -l <"$said")" = 6 ]
	refused grep -vE "(^| )${1//./\\.}\$" "$said"
}

# --- the module ---------------------------------------------------------------------------

module_is_built()
{
	local file
	in_root dkms status pavo | tee "$logs/dkms"
	grep "pavo/$1, $kernel, x86_64: installed" "$logs/dkms"
	[ "$(wc -l <"$logs/dkms")" = 1 ]
	file=$(in_root modinfo -k "$kernel" -n pavo)
	[[ $file == */updates/dkms/pavo.ko* ]]
	[[ $(in_root modinfo -k "$kernel" -F vermagic pavo) == "$kernel "* ]]
	in_root modinfo -k "$kernel" -F alias pavo | grep -x rdma-link-pavo
	cp "$root$file" "$logs/"
	[[ $file != *.xz ]] || xz -df "$logs/${file##*/}"
	# without debug information
	refused grep debug_info < <(readelf -SW "$logs/pavo.ko")
}

# left_out KERNEL FOLDER: DKMS does not build for that kernel, and says why
left_out()
{
	local status=0
	in_root dkms build pavo/"$version" -k "$1" --kernelsourcedir "$2" \
		>"$logs/left-out" 2>&1 || status=$?
	cat "$logs/left-out"
	grep BUILD_EXCLUSIVE "$logs/left-out"
	refused in_root test -e "/var/lib/dkms/pavo/$version/$1"
	[ $status != 0 ]
}

without_option()
{
	rm -rf "$root/tmp/headers"
	mkdir "$root/tmp/headers"
	grep -v "^$1=" "$root$headers/.config" >"$root/tmp/headers/.config"
	left_out 6.1.0-without /tmp/headers
}

module_is_left_out()
{
	local option
	for option in CONFIG_INFINIBAND CONFIG_INFINIBAND_VIRT_DMA CONFIG_INET \
		CONFIG_NET_UDP_TUNNEL; do
		grep -q "^$option=[ym]" "$root$headers/.config"
		without_option "$option"
	done
	left_out 5.10.0-30-amd64 "$headers"
	left_out 6.0.0-6-amd64 "$headers"
	# what is right with one name is wrong with the other
	[[ $(in_root bash -c '. /usr/src/pavo-'"$version"'/dkms.conf
		for k in 6.1.0-56-amd64 6.12 6.12.9 6.18.1+ 7.3~rc7-amd64 7.3.0 10.0.1; do
			[[ $k =~ $BUILD_EXCLUSIVE_KERNEL ]] || echo "$k"
		done
		for k in 5.15.0 6.0 6.0.12 4.19 7 16; do
			[[ ! $k =~ $BUILD_EXCLUSIVE_KERNEL ]] || echo "$k"
		done') == "" ]]
}

# --- the library and the provider -----------------------------------------------------------

examples=/usr/share/doc/pavo/examples

# says_no_adapter PROGRAM: it runs as far as it can without the module
says_no_adapter()
{
	local said
	said=$(in_root "$1" none 2>&1) && return 1
	echo "$said"
	[[ $said == *none* ]]
	in_root ldd "$1" | grep -E 'libpavo.so.1 => (/usr)?/lib/[^/]*/libpavo.so.1'
	refused grep 'not found' < <(in_root ldd "$1")
}

# A program that asks for an adapter at once; the examples look for each other before.
write_opens()
{
	cat >"$root/tmp/opens.cpp" <<-'END'
	#include <cstdio>
	#include <pavo/device.hpp>
	int main(int, char **argv)
	{
		auto device = pavo::Device::open(argv[1]);
		if (!device)
			fprintf(stderr, "%s: %s\n", argv[1], device.error().message().c_str());
		return !device;
	}
	END
}

links_by_pkg_config()
{
	write_opens
	in_root sh -ec "cd /tmp && c++ -std=c++20 -Wall -Wextra -o opens opens.cpp \
		\$(pkg-config --cflags --libs libpavo)"
	says_no_adapter /tmp/opens
	# the provider's functions, which lie in no folder of the loader
	in_root sh -ec "cd /tmp && c++ -std=c++20 -Wall -Wextra -o linked \
		$examples/shared_lock.cpp \$(pkg-config --cflags --libs libpavo pavodv)"
	in_root ldd /tmp/linked | grep -E 'libpavo-rdmav[0-9]+.so => /usr/lib/.*/libibverbs/'
	printf '%s\n' '#include <pavo/pavo.h>' '#include <pavo/mr_cache.h>' \
		'int main(int argc, char **argv)' \
		'{ return argc > 1 && argv && !pavo_mr_cache_create(0, 0, 0); }' >"$root/tmp/c.c"
	in_root sh -ec 'cd /tmp && cc -Wall -Wextra -Wpedantic -Werror -o c c.c \
		$(pkg-config --cflags --libs libpavo) && ./c'
}

links_by_cmake()
{
	write_opens
	rm -rf "$root/tmp/cmake"
	mkdir "$root/tmp/cmake"
	cat >"$root/tmp/cmake/CMakeLists.txt" <<-END
	cmake_minimum_required(VERSION 3.25)
	project(user CXX)
	find_package(pavo 99 QUIET)
	if(pavo_FOUND)
	  message(FATAL_ERROR "a later version is found")
	endif()
	find_package(pavo ${version%.*} REQUIRED)
	message(STATUS "version \${pavo_VERSION}.")
	add_executable(opens /tmp/opens.cpp)
	target_link_libraries(opens PRIVATE pavo::pavo)
	add_executable(linked $examples/shared_lock.cpp)
	target_link_libraries(linked PRIVATE pavo::pavo pavo::dv)
	END
	in_root sh -ec 'cd /tmp/cmake && cmake -B b && cmake --build b' >"$logs/cmake" 2>&1 || {
		tail -n 20 "$logs/cmake"
		return 1
	}
	grep -F -- "-- version $version." "$logs/cmake"
	says_no_adapter /tmp/cmake/b/opens
	in_root ldd /tmp/cmake/b/linked | grep /libibverbs/libpavo-rdmav
}

# libibverbs loads a provider for its own number alone, so the package needs the release.
provider_loads()
{
	local file depends release
	file=$(in_root dpkg -L ibverbs-provider-pavo | grep '/libpavo-rdmav[0-9]*\.so$')
	refused grep undefined < <(in_root ldd -r "$file" 2>&1)
	release=$(in_root dpkg-query -W -f '${Version}' libibverbs1)
	release=${release%%.*}
	depends=$(in_root dpkg-query -W -f '${Depends}' ibverbs-provider-pavo)
	echo "$depends"
	[[ $depends == *"libibverbs1 (>= $release), libibverbs1 (<< $((release + 1))~)"* ]]
}

# --- going ---------------------------------------------------------------------------------

upgraded()
{
	echo 'eth0 mine' >>"$root/etc/pavo/pavo.conf"
	install_all upgrade "$later"
	grep -x 'eth0 mine' "$root/etc/pavo/pavo.conf"
	is_version "$later"
	module_is_built "$later"
	refused test -e "$root/usr/src/pavo-$version"
	[ -L "$root/etc/systemd/system/$wanted_by/pavo@eth0.service" ]
}

# Files of the administrator's stay, as dpkg has it.
removed()
{
	apt remove remove $(names)
	refused in_root modinfo -k "$kernel" pavo
	[ -z "$(in_root dkms status pavo)" ]
	all_files >"$logs/files.removed"
	comm -13 "$logs/files.before" "$logs/files.removed" |
		grep -v -x -e ./etc/pavo -e "./etc/systemd/system/$wanted_by" \
			-e "./etc/systemd/system/$wanted_by/pavo@eth0.service" \
			>"$logs/files.stay"
	printf './etc/%s\n' libibverbs.d/pavo.driver modprobe.d/pavo.conf \
		modules-load.d/pavo.conf pavo/pavo.conf | diff - "$logs/files.stay"
}

purged()
{
	in_root dpkg --purge $(names) >"$logs/purge" 2>&1
	all_files >"$logs/files.after"
	diff "$logs/files.before" "$logs/files.after"
	refused in_root dpkg-query -W $(names)
}

test_installed()
{
	check "$release: a machine with headers of a kernel" prepare_machine || return
	find_headers
	check "$release: packages are installed" install_all install "$version" || return
	check "$release: each file is in its place" files_in_their_places
	check "$release: all say one version" is_version "$version"
	check "$release: DKMS has built the module" module_is_built "$version"
	check "$release: DKMS leaves out kernels without what it needs" module_is_left_out
	check "$release: programs link by pkg-config" links_by_pkg_config
	check "$release: programs link by CMake" links_by_cmake
	check "$release: the provider is complete, and for this rdma-core" provider_loads
	test_system
	test_boot
	check "$release: an upgrade keeps what the administrator changed" upgraded
	check "$release: removed, but for files of the administrator's" removed
	check "$release: purged, and nothing is left" purged
}
