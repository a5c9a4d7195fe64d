// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * netlink.cpp - see netlink.h.
 */
#include "netlink.h"

#include <cerrno>
#include <cstring>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <unistd.h>

namespace callfuzz {

/* Answers that are read at most. */
constexpr int most_answers = 8;

void add_attribute(Bytes &bytes, unsigned type, const void *value, size_t size)
{
	const nlattr attr = {uint16_t(sizeof(attr) + size), uint16_t(type)};
	const auto *header = reinterpret_cast<const uint8_t *>(&attr);
	const auto *from = static_cast<const uint8_t *>(value);

	bytes.insert(bytes.end(), header, header + sizeof(attr));
	bytes.insert(bytes.end(), from, from + size);
	bytes.resize((bytes.size() + 3) & ~size_t{3});
}

void add_text(Bytes &bytes, unsigned type, const std::string &text)
{
	add_attribute(bytes, type, text.c_str(), text.size() + 1);
}

const uint8_t *find_attribute(const uint8_t *at, size_t size, unsigned type)
{
	nlattr attr;

	while (size >= sizeof(attr)) {
		memcpy(&attr, at, sizeof(attr));
		if (attr.nla_len < sizeof(attr) || attr.nla_len > size)
			break;
		if ((attr.nla_type & NLA_TYPE_MASK) == type)
			return at + sizeof(attr);
		const size_t whole = NLA_ALIGN(attr.nla_len);
		if (whole > size)
			break;
		at += whole;
		size -= whole;
	}
	return nullptr;
}

/* Return: 0 or the error that is in one of the messages. */
static int
read_messages(const uint8_t *at, size_t size,
	      const std::function<void(const uint8_t *, size_t)> &each)
{
	nlmsghdr header;
	int error = 0;

	while (size >= sizeof(header)) {
		memcpy(&header, at, sizeof(header));
		if (header.nlmsg_len < sizeof(header) ||
		    header.nlmsg_len > size)
			break;
		if (header.nlmsg_type == NLMSG_ERROR) {
			memcpy(&error, at + sizeof(header), sizeof(error));
			error = -error;
		} else if (each && header.nlmsg_type != NLMSG_DONE) {
			each(at + sizeof(header),
			     header.nlmsg_len - sizeof(header));
		}
		const size_t whole = NLMSG_ALIGN(header.nlmsg_len);
		if (whole > size)
			break;
		at += whole;
		size -= whole;
	}
	return error;
}

int ask_nldev(unsigned command, unsigned flags, const Bytes &attributes,
	      const std::function<void(const uint8_t *, size_t)> &each)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	Bytes bytes(sizeof(nlmsghdr)), answer(32768);
	nlmsghdr header = {};
	int error = 0;

	bytes.insert(bytes.end(), attributes.begin(), attributes.end());
	header.nlmsg_len = uint32_t(bytes.size());
	header.nlmsg_type = uint16_t(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
	header.nlmsg_flags = uint16_t(flags);
	memcpy(bytes.data(), &header, sizeof(header));
	if (fd < 0 || send(fd, bytes.data(), bytes.size(), 0) < 0)
		error = errno;
	/* A dump goes on as it is read. */
	for (int i = 0; !error && i < most_answers; i++) {
		const ssize_t size =
			recv(fd, answer.data(), answer.size(), MSG_DONTWAIT);

		if (size <= 0)
			break;
		error = read_messages(answer.data(), size_t(size), each);
	}
	if (fd >= 0)
		close(fd);
	return error;
}

} // namespace callfuzz
