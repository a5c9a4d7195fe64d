// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* command.cpp - calls of methods of the uverbs file; see command.hpp. */
#include "command.hpp"

#include <sys/ioctl.h>

#include <cassert>
#include <cerrno>
#include <cstring>

#include <rdma/ib_user_ioctl_verbs.h>

namespace pavo {

Command::Command(uint16_t object, uint16_t method)
{
	header().object_id = object;
	header().method_id = method;
	/* The kernel has given pavo no number of its own. */
	header().driver_id = RDMA_DRIVER_UNKNOWN;
}

ib_uverbs_attr &Command::add(uint16_t attr, uint16_t length)
{
	assert(header().num_attrs < most);
	ib_uverbs_attr &added = header().attrs[header().num_attrs++];
	added.attr_id = attr;
	added.len = length;
	added.flags = UVERBS_ATTR_F_MANDATORY;
	return added;
}

Command &Command::handle(uint16_t attr, uint32_t value)
{
	add(attr, 0).data = value;
	return *this;
}

Command &Command::new_handle(uint16_t attr)
{
	new_ = header().num_attrs;
	return handle(attr, 0);
}

Command &Command::read(uint16_t attr, const void *value, uint16_t length)
{
	ib_uverbs_attr &added = add(attr, length);

	if (length <= sizeof(added.data)) {
		uint64_t data = 0;

		memcpy(&data, value, length);
		added.data = data;
	} else {
		added.data = reinterpret_cast<uintptr_t>(value);
	}
	return *this;
}

Command &Command::write(uint16_t attr, void *value, uint16_t length)
{
	add(attr, length).data = reinterpret_cast<uintptr_t>(value);
	return *this;
}

int Command::run(int fd)
{
	header().length =
		sizeof(header()) + header().num_attrs * sizeof(ib_uverbs_attr);
	return ioctl(fd, RDMA_VERBS_IOCTL, &header()) ? errno : 0;
}

uint32_t Command::made()
{
	return header().attrs[new_].data;
}

} // namespace pavo
