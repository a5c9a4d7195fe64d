/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers of the methods of completion counters (Linux 7.3: include/uapi/rdma/ib_user_ioctl_cmds.h,
 * ib_user_ioctl_verbs.h), for hosts whose headers are older.
 */
#pragma once

#include <cstdint>

namespace cntr {

/* Of UVERBS_OBJECT_DEVICE and UVERBS_OBJECT_QP; the rest is of the object of counters itself. */
constexpr uint16_t caps_method = 8, attach_method = 2;
constexpr uint16_t object = 19;
enum Method : uint16_t { create, destroy, modify, read };
enum Entry { completed, failed };
enum Change { set, increment };
/* Operations that a counter may be attached to, and all of them. */
enum Op : uint32_t {
	send = 1,
	recv = 2,
	rdma_read = 4,
	remote_read = 8,
	rdma_write = 16,
	remote_write = 32,
	all_ops = 63
};

} // namespace cntr
