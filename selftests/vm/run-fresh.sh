#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Group vm: `make` and `make test ONLY=unit` on a machine with nothing installed. For each
# release of Debian a fresh root made with debootstrap, as root and as an ordinary user:
# all that comes is named before, an ordinary user is told what to ask for, and neither
# needs a kernel's image or QEMU. It takes some minutes: called by selftests/run, it runs
# with PAVO_WIDE=1 only. Writes the cache, where downloaded packages stay.
# usage: run-fresh.sh [RELEASE...]
# shellcheck disable=SC2016,SC2317  # the root's own variables; called by check
set -u
here=$(dirname "$(readlink -f "$0")")
# For check and its like; nothing here is a guest.
# shellcheck source=selftests/verbs/lib.sh
. "$here/../verbs/lib.sh"
# shellcheck source=qemu-scripts/archive.sh
. "$here/../../qemu-scripts/archive.sh"
tree=$(readlink -f "$here/../..")
cache=${PAVO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pavo}/fresh
user=65534

skip_all()
{
	echo "1..0 # SKIP $*"
	exit 4
}

if [ -n "${PAVO_GROUP:-}" ] && [ -z "${PAVO_WIDE:-}" ]; then
	skip_all "fresh machines are for make test-full"
elif [ "$(id -u)" != 0 ]; then
	skip_all "only root makes fresh machines"
elif ! command -v debootstrap >/dev/null; then
	skip_all "no debootstrap; apt-get install debootstrap"
fi
# Mounts and processes that are made here end with it.
if [ -z "${PAVO_FRESH:-}" ]; then
	PAVO_FRESH=1 exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi

archive=$(find_archive 2>/dev/null) || skip_all "apt knows no archive of Debian"
[ $# != 0 ] || set -- bookworm trixie

# --- a root ----------------------------------------------------------------------------

# Copies the part of the tree that is kept to /pavo
copy_tree()
{
	mkdir "$root/pavo"
	cd "$tree"
	{ git ls-files -z 2>/dev/null ||
		find . \( -path ./build -o -path ./.git \) -prune -o -type f -print0; } |
		tar -c --null --files-from=- | tar -x -C "$root/pavo" --no-same-owner
}

# Fetched packages lie in the cache. a user who calls make has it.
make_root()
{
	local proxy
	mkdir -p "$cache/archives/partial"
	debootstrap --variant=minbase --include=make --cache-dir="$cache/archives" \
		"$release" "$root" "$archive" >"$logs/debootstrap" 2>&1 ||
		{ tail "$logs/debootstrap"; return 1; }
	cp /etc/resolv.conf /etc/hosts "$root/etc/"
	for proxy in http https; do
		apt-config dump --format '%F "%v";%n' "Acquire::$proxy::Proxy"
	done >"$root/etc/apt/apt.conf.d/proxy"
	mount -t proc proc "$root/proc"
	mount -t devpts -o newinstance devpts "$root/dev/pts"
	mount --bind "$cache/archives" "$root/var/cache/apt/archives"
	install -d -o "$user" -g "$user" "$root/home/user"
	copy_tree
	# Files that do not outlive the test need not be safe on the disk.
	echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fresh"
	packages >"$logs/packages"
}

drop_root()
{
	cd /
	umount "$root/proc" "$root/dev/pts" "$root/var/cache/apt/archives" 2>/dev/null
	rm -rf --one-file-system "$root"
}

# as_root COMMAND..., as_user COMMAND...: in the root, in the tree's folder
as_root()
{
	env -i HOME="${home:-/root}" PATH="${path:-}/usr/sbin:/usr/bin:/sbin:/bin" \
		LC_ALL=C PAVO_FUZZ_SECONDS=2 JOBS="${JOBS:-$(nproc)}" \
		chroot "${who[@]}" "$root" sh -c 'cd /pavo && exec "$@"' - "$@"
}

as_user()
{
	local home=/home/user who=("--userspec=$user:$user")
	as_root "$@"
}
who=()

packages()
{
	as_root dpkg-query -W -f '${Package}\n' | sort
}

# --- what is true of it ------------------------------------------------------------------

# A command that has to fail, for an ordinary user
told()
{
	as_user "$@" >"$logs/told" 2>&1 && return 1
	cat "$logs/told"
	grep -A2 '^Missing packages. As root, run:$' "$logs/told" |
		sed -n 's/^  apt-get install --no-install-recommends //p' | tr ' ' '\n' |
		sort >"$logs/told.packages"
	[ -s "$logs/told.packages" ]
}

# Headers of Debian 13 need the image of their kernel; apt has it so.
no_machines()
{
	local image
	refused grep qemu "$logs/packages"
	while read -r image; do
		as_root dpkg-query -W -f '${Depends}\n' 'linux-headers-*' |
			grep -F "$image"
	done < <(grep '^linux-image' "$logs/packages")
}

# installs NAME COMMAND...: it succeeds, says what comes, and no other package does.
installs()
{
	local log=$logs/$1
	shift
	as_root "$@" >"$log" 2>&1 || { tail -n 25 "$log"; return 1; }
	sed -n 's/^Installing: //p; s/^and [0-9]* that these need: //p' "$log" |
		tr ' ' '\n' | sort >"$log.named"
	packages >"$logs/packages.new"
	comm -13 "$logs/packages" "$logs/packages.new" >"$log.came"
	mv "$logs/packages.new" "$logs/packages"
	[ -s "$log.came" ]
	diff "$log.named" "$log.came"
	no_machines
}

root_makes()
{
	told make
	installs make make
	# what an ordinary user would have asked for is what root got
	sed -n 's/^Installing: //p' "$logs/make" | tr ' ' '\n' | sort |
		diff "$logs/told.packages" -
	compgen -G "$root/pavo/build/kernel/*/pavo.ko"
	compgen -G "$root/pavo/build/userspace/provider/libpavo-rdmav*.so"
}

root_tests()
{
	told make test ONLY=unit
	installs test make test ONLY=unit
	tail -n 1 "$logs/test" | grep ' passed, 0 failed,'
}

# Headers of the running kernel are asked for where they are to be had, and used.
running_kernel()
{
	local other path=/fake: built
	grep '^Module for .*: the newest with headers here; the running one, ' "$logs/make"
	built=$(ls "$root/pavo/build/kernel")
	other=$(as_root apt-cache pkgnames linux-headers- | grep -- '-rt-amd64$' |
		head -n 1)
	[ -n "$built" ] && [ -n "$other" ]
	mkdir -p "$root/fake"
	printf '#!/bin/sh\necho %s\n' "${other#linux-headers-}" >"$root/fake/uname"
	chmod a+x "$root/fake/uname"
	told make
	[ "$(<"$logs/told.packages")" = "$other" ]
	echo "echo $built" >"$root/fake/uname"
	as_user make need-headers | grep -xF "Module for $built: the running kernel."
}

# Something is left to do, and nothing to install.
user_makes()
{
	chown -R "$user:$user" "$root/pavo"
	touch "$root/pavo/kernel/wire/codes.c" "$root/pavo/userspace/provider/kick.cpp"
	as_user make >"$logs/user.make" 2>&1 ||
		{ tail -n 25 "$logs/user.make"; return 1; }
	[ "$(stat -c %u "$root/pavo/build/kernel/"*/pavo.ko)" = "$user" ]
	packages | diff "$logs/packages" -
}

user_tests()
{
	as_user make test ONLY=unit >"$logs/user.test" 2>&1 ||
		{ tail -n 25 "$logs/user.test"; return 1; }
	tail -n 1 "$logs/user.test" | grep ' passed, 0 failed,'
}

echo "TAP version 13"
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
# One that was killed left its own.
rm -rf --one-file-system "$cache"/root.*
work=$(mktemp -d "$cache/root.XXXXXX")
trap 'drop_root; rm -rf "$work"' EXIT
for release in "$@"; do
	root=$work/$release
	logs=${PAVO_LOGS:-${PAVO_BUILD:-$tree/build}/test-logs/vm}/fresh-$release
	mkdir -p "$logs" "$root"
	chmod 755 "$work" "$root"
	if ! check "$release: a root with nothing installed" make_root; then
		drop_root
		continue
	fi
	check "$release: make installs what it names and no more" root_makes &&
		check "$release: make test ONLY=unit does, too" root_tests &&
		check "$release: the module is for the running kernel if it can be" \
			running_kernel &&
		check "$release: an ordinary user makes" user_makes &&
		check "$release: an ordinary user tests" user_tests
	drop_root
done
tap_end
