# shellcheck shell=bash disable=SC2154  # variables of guest.sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Valkey over RDMA, of the source tree $VALKEY (valkey-keys). Sourced by guest.sh.
if [ -x "${VALKEY:-}/src/valkey-server" ]; then
	each=1 between "valkey, verified" cm_listening \
		"$here/endless serve valkey-@ $here/valkey-keys serve @" \
		"$here/endless use valkey-@ $here/valkey-keys use @"
elif [ "$NODE" = 1 ]; then
	tap_skip valkey "VALKEY names no built source tree"
fi
