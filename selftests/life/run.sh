#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The life group: loading, unloading, adding, deleting, and everything that can
# happen to the interface below, with and without applications, in one guest.
# Called by selftests/run, or by hand after `make`. TYPE=rxe tries the tests
# themselves.
# usage: run.sh [REGEX]: only the tests whose name it matches
# PAVO_WIDE=1 (make test-full): adapters are unplugged a hundred times.
set -u
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=selftests/verbs/host-lib.sh
. "$here/../verbs/host-lib.sh"

# The files of `make install`, for the tests that want it installed. depmod knows all
# modules of the kernel by links, which are not for the guest.
installed=$PAVO_BUILD/test-install/${PAVO_KERNEL:-default}
install_here()
{
	local kernel modules link
	kernel=$(dirname "$("$PAVO_VM" kernels --headers "${PAVO_KERNEL:-default}")")
	modules=$installed/lib/modules/${kernel##*/}
	rm -rf "$installed"
	make -C "$PAVO_TREE" --no-print-directory BUILD="$PAVO_BUILD" \
		KERNEL="${PAVO_KERNEL:-default}" DESTDIR="$installed" install &&
		for link in kernel modules.builtin modules.builtin.modinfo modules.order; do
			ln -s "$kernel/$link" "$modules/"
		done &&
		depmod -b "$installed" "${kernel##*/}" &&
		find "$modules" -type l -delete
}
if [ "$TYPE" = pavo ]; then
	install_here >&2 || {
		echo 'Bail out! pavo cannot be installed'
		exit 1
	}
fi
seconds=900
[ -z "${PAVO_WIDE:-}" ] || seconds=2700
exec "$PAVO_VM" run -q --mem 1G --timeout "$(limit $seconds)" \
	--env PAVO_INSTALLED="$installed" --env PAVO_WIDE="${PAVO_WIDE:-}" -- \
	bash "$here/guest.sh" "$TYPE" "$PAVO_BUILD/selftests/verbs" "$@"
