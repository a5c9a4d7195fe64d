# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The kernel's target of NVMe over fabrics, and its host: what the storage programs and the
# benchmark of direct windows share. Sourced in a guest, behind selftests/verbs/lib.sh.
nqn=nqn.2026-11.org.pavo:test
host=nqn.2014-08.org.nvmexpress:uuid:6d2f4d5c-0f1e-4c38-9b36-94d1b0c6a001
config=/sys/kernel/config/nvmet

# set_to FILE VALUE, without the new line that some attributes keep.
set_to()
{
	printf %s "$2" >"$1"
}

# nvmet_gives DEVICE ADDRESS: to all hosts, over RDMA.
nvmet_gives()
{
	modprobe nvmet-rdma
	mkdir "$config/subsystems/$nqn"
	set_to "$config/subsystems/$nqn/attr_allow_any_host" 1
	mkdir "$config/subsystems/$nqn/namespaces/1"
	set_to "$config/subsystems/$nqn/namespaces/1/device_path" "$1"
	set_to "$config/subsystems/$nqn/namespaces/1/enable" 1
	mkdir "$config/ports/1"
	set_to "$config/ports/1/addr_trtype" rdma
	set_to "$config/ports/1/addr_adrfam" ipv4
	set_to "$config/ports/1/addr_traddr" "$2"
	set_to "$config/ports/1/addr_trsvcid" 4420
	ln -s "$config/subsystems/$nqn" "$config/ports/1/subsystems/$nqn"
}

nvmet_ends()
{
	rm "$config/ports/1/subsystems/$nqn"
	rmdir "$config/subsystems/$nqn/namespaces/1" "$config/ports/1" \
		"$config/subsystems/$nqn"
}

# nvme_connect ADDRESS ARGUMENTS...: over RDMA.
nvme_connect()
{
	nvme connect -t rdma -a "$1" -s 4420 -n $nqn --hostnqn=$host \
		--hostid="${host##*:}" "${@:2}"
}
