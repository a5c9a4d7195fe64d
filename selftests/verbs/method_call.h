/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A method of uverbs, called by ioctl() without libibverbs: also of kernels that are newer than the
 * library.
 */
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>

namespace pv {

struct Attribute {
	uint16_t id;
	size_t size; /* 0: a handle. An input of up to 8 bytes stands in @value */
	uint64_t value; /* a handle that the method makes is here afterwards */
};

/* Return: errno. At most 16 attributes. */
inline int call_method(const ibv_context &context, uint16_t object,
		       uint16_t method, std::vector<Attribute> &attributes)
{
	alignas(8) char bytes[sizeof(ib_uverbs_ioctl_hdr) +
			      16 * sizeof(ib_uverbs_attr)] = {};
	auto *call = reinterpret_cast<ib_uverbs_ioctl_hdr *>(bytes);

	for (const Attribute &attribute : attributes) {
		ib_uverbs_attr &to = call->attrs[call->num_attrs++];

		to.attr_id = attribute.id;
		to.len = uint16_t(attribute.size);
		to.flags = UVERBS_ATTR_F_MANDATORY;
		to.data = attribute.value;
	}
	call->length = uint16_t(sizeof(*call) +
				call->num_attrs * sizeof(call->attrs[0]));
	call->object_id = object;
	call->method_id = method;
	/* The device is of RDMA_DRIVER_UNKNOWN. */
	if (ioctl(context.cmd_fd, RDMA_VERBS_IOCTL, call))
		return errno;
	for (size_t i = 0; i < attributes.size(); i++)
		attributes[i].value = call->attrs[i].data;
	return 0;
}

} // namespace pv
