# shellcheck shell=bash disable=SC2154  # variables of guest.sh
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The kernel's own users of RDMA: block devices, files and datagrams of the other node, their
# data verified. Sourced by guest.sh.

# storage NAME PROGRAM PACKAGE MODULES...: storage/NAME `serve` on one node, `use`
# on the other.
storage()
{
	local module PAIR_LIMIT=$((${PAIR_LIMIT:-240} * 3))
	needs "$2" "$3" || return 0
	for module in "${@:4}"; do
		modinfo "$module" >/dev/null 2>&1 && continue
		[ "$NODE" != 1 ] || tap_skip "$1" "no $module in this kernel"
		return 0
	done
	between "$1, verified" cm_listening "$here/storage/$1 serve @ $1-@" \
		"$here/storage/$1 use @ $1-@"
}

export PAVO_WIDE=$wide
storage nvme nvme nvme-cli nvmet-rdma nvme-rdma brd
storage nfs mount.nfs nfs-common nfsd rpcrdma
storage iser iscsiadm open-iscsi ib_isert ib_iser brd
storage rds python3 python3 rds_rdma sch_netem
