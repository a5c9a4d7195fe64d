# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Packages of any release of Debian, by a package system beside the host's own: nothing is
# installed, and the host's lists stay as they are. Sourced by fetch-kernel, fetch-toolchain
# and by groups of tests that unpack packages of other releases.

# Prints the name of the host's release.
host_release()
{
	sed -n "s/^VERSION_CODENAME=//p" /etc/os-release
}

# Prints where the host has its packages from: other releases come from there, too.
find_archive()
{
	local archive

	# shellcheck disable=SC2016 # apt's variables, not the shell's
	archive=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(ORIGIN)' |
		awk -v c="$(host_release)" \
			'$3 == "Debian" && ($2 == c || $2 == "stable") { print $1; exit }')
	if [ -z "$archive" ]; then
		echo "apt knows no archive of $(host_release); add one to" \
			"/etc/apt/sources.list and run apt-get update" >&2
		return 1
	fi
	echo "$archive"
}

# set_up_apt STATE SUITE...: sets `apt`, arguments of apt-get and apt-cache that see those suites
# and no installed package. STATE, a folder, keeps the lists.
set_up_apt()
{
	local state=$1 archive suite key=/usr/share/keyrings/debian-archive-keyring.gpg

	shift
	archive=$(find_archive) || return
	mkdir -p "$state"/{lists/partial,archives/partial}
	for suite; do
		echo "deb [signed-by=$key] $archive $suite main"
	done >"$state/sources.list"
	: >"$state/status"
	apt=(-o "Dir::Etc::SourceList=$state/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null
		-o "Dir::State::Lists=$state/lists" -o "Dir::State::Status=$state/status"
		-o "Dir::Cache=$state" -o APT::Sandbox::User= -o Debug::NoLocking=1)
	apt-get "${apt[@]}" -qq update
}

# unpack_root STATE ROOT PACKAGE...: unpacks packages, and all that they depend on, into ROOT, if it
# has others; `apt` is set. No script of a package runs.
unpack_root()
{
	local state=$1 root=$2 files name file

	shift 2
	# Each line: 'address' file size checksum
	files=$(apt-get "${apt[@]}" install --print-uris -qq --no-install-recommends "$@") || return
	[ "$(cat "$root/.files" 2>/dev/null)" != "$files" ] || return 0
	apt-get "${apt[@]}" install --download-only -qq -y --no-install-recommends "$@" >&2 || return
	rm -rf "$root"
	mkdir -p "$root"/usr/{bin,sbin,lib,lib64} "$root"/{proc,dev,sys,tmp}
	for name in bin sbin lib lib64; do
		ln -s "usr/$name" "$root/$name"
	done
	while read -r _ file _; do
		# The links of /bin and its like stay: Debian 12 has files there.
		dpkg-deb --fsys-tarfile "$state/archives/$file" |
			tar -x -C "$root" --keep-directory-symlink --no-same-owner || return
	done <<<"$files"
	rm -f "$state"/archives/*.deb
	# Programs expect these, which scripts of packages make.
	[ -e "$root/usr/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
	ln -sf mawk "$root/usr/bin/awk"
	echo "$files" >"$root/.files"
}
