// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * netlink.cpp - see netlink.h. Made with libmnl; attributes are those of
 * rdma/rdma_netlink.h.
 */
#include "netlink.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>

#include "device.h"

namespace pavo {

struct Netlink::Socket {
	mnl_socket *socket;
	uint32_t sequence = 0;
};

namespace {

constexpr size_t BUFFER = 64 * 1024;

using OnMessage = std::function<void(const nlmsghdr *)>;
using OnAttribute = std::function<void(const nlattr *)>;

[[noreturn]] void failed(const char *what, int error)
{
	throw Error(fmt::format("RDMA netlink: {}: {}", what, strerror(error)));
}

int on_message(const nlmsghdr *header, void *data)
{
	(*static_cast<OnMessage *>(data))(header);
	return MNL_CB_OK;
}

/* Sends a request, and passes every message of the response on. */
void send_request(mnl_socket *socket, uint32_t sequence, uint32_t command,
		  bool dump, std::optional<uint32_t> device, OnMessage use)
{
	std::array<char, BUFFER> buffer;
	nlmsghdr *header = mnl_nlmsg_put_header(buffer.data());
	unsigned int port = mnl_socket_get_portid(socket);
	ssize_t n;
	int more;

	header->nlmsg_type =
		static_cast<uint16_t>(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command));
	header->nlmsg_flags = static_cast<uint16_t>(
		NLM_F_REQUEST | (dump ? NLM_F_DUMP : NLM_F_ACK));
	header->nlmsg_seq = sequence;
	if (device)
		mnl_attr_put_u32(header, RDMA_NLDEV_ATTR_DEV_INDEX, *device);
	if (mnl_socket_sendto(socket, header, header->nlmsg_len) < 0)
		failed("send", errno);
	do {
		n = mnl_socket_recvfrom(socket, buffer.data(), buffer.size());
		if (n < 0)
			failed("receive", errno);
		more = mnl_cb_run(buffer.data(), static_cast<size_t>(n),
				  sequence, port, on_message, &use);
		if (more < 0)
			failed("answer", errno);
	} while (more > 0);
}

int on_attribute(const nlattr *attribute, void *data)
{
	(*static_cast<OnAttribute *>(data))(attribute);
	return MNL_CB_OK;
}

void attributes(const nlmsghdr *header, OnAttribute use)
{
	mnl_attr_parse(header, 0, on_attribute, &use);
}

void nested(const nlattr *attribute, OnAttribute use)
{
	mnl_attr_parse_nested(attribute, on_attribute, &use);
}

/* Attributes of the driver: repeatedly a name, an optional print type, a value. */
void take_details(QueuePair &qp, const nlattr *table)
{
	std::string name;

	nested(table, [&](const nlattr *a) {
		switch (mnl_attr_get_type(a)) {
		case RDMA_NLDEV_ATTR_DRIVER_STRING:
			name = mnl_attr_get_str(a);
			break;
		case RDMA_NLDEV_ATTR_DRIVER_U32:
			qp.details[name] = mnl_attr_get_u32(a);
			break;
		case RDMA_NLDEV_ATTR_DRIVER_U64:
			qp.details[name] = mnl_attr_get_u64(a);
			break;
		}
	});
}

const char *state_name(uint8_t state)
{
	static constexpr std::array NAMES = {"RESET", "INIT", "RTR", "RTS",
					     "SQD",   "SQE",  "ERR"};

	return state < NAMES.size() ? NAMES[state] : "?";
}

/* enum ib_qp_type of the kernel */
const char *type_name(uint8_t type)
{
	static constexpr std::array NAMES = {
		"SMI",	    "GSI",	     "RC", "UC",	 "UD",
		"RAW_IPV6", "RAW_ETHERTYPE", "?",  "RAW_PACKET", "XRC_INI",
		"XRC_TGT"};

	return type < NAMES.size() ? NAMES[type] : "?";
}

std::string program_of(uint32_t pid)
{
	std::ifstream in(fmt::format("/proc/{}/comm", pid));
	std::string name;

	std::getline(in, name);
	return name;
}

QueuePair take_queue_pair(const nlattr *entry)
{
	QueuePair qp;

	nested(entry, [&](const nlattr *a) {
		switch (mnl_attr_get_type(a)) {
		case RDMA_NLDEV_ATTR_RES_LQPN:
			qp.number = mnl_attr_get_u32(a);
			break;
		case RDMA_NLDEV_ATTR_RES_RQPN:
			qp.remote = mnl_attr_get_u32(a);
			break;
		case RDMA_NLDEV_ATTR_RES_TYPE:
			qp.type = type_name(mnl_attr_get_u8(a));
			break;
		case RDMA_NLDEV_ATTR_RES_STATE:
			qp.state = state_name(mnl_attr_get_u8(a));
			break;
		case RDMA_NLDEV_ATTR_RES_PID:
			qp.pid = mnl_attr_get_u32(a);
			qp.owner = program_of(qp.pid);
			break;
		case RDMA_NLDEV_ATTR_RES_KERN_NAME:
			qp.owner = mnl_attr_get_str(a);
			break;
		case RDMA_NLDEV_ATTR_DRIVER:
			take_details(qp, a);
			break;
		}
	});
	return qp;
}

} // namespace

Netlink::Netlink() : socket_(new Socket{mnl_socket_open(NETLINK_RDMA)})
{
	int error = errno;

	if (socket_->socket &&
	    mnl_socket_bind(socket_->socket, 0, MNL_SOCKET_AUTOPID) == 0)
		return;
	if (socket_->socket)
		mnl_socket_close(socket_->socket);
	delete socket_;
	failed("open", error);
}

Netlink::~Netlink()
{
	mnl_socket_close(socket_->socket);
	delete socket_;
}

uint32_t Netlink::index_of(const std::string &device)
{
	std::optional<uint32_t> found;

	send_request(socket_->socket, ++socket_->sequence, RDMA_NLDEV_CMD_GET,
		     true, {}, [&](const nlmsghdr *header) {
			     std::string name;
			     uint32_t index = 0;

			     attributes(header, [&](const nlattr *a) {
				     switch (mnl_attr_get_type(a)) {
				     case RDMA_NLDEV_ATTR_DEV_INDEX:
					     index = mnl_attr_get_u32(a);
					     break;
				     case RDMA_NLDEV_ATTR_DEV_NAME:
					     name = mnl_attr_get_str(a);
					     break;
				     }
			     });
			     if (name == device)
				     found = index;
		     });
	if (!found)
		throw Error(fmt::format("{} was removed", device));
	return *found;
}

Resources Netlink::resources(const std::string &device)
{
	uint32_t index = index_of(device);
	Resources resources;

	auto take = [&](const nlattr *entry) {
		std::string name;

		nested(entry, [&](const nlattr *a) {
			switch (mnl_attr_get_type(a)) {
			case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME:
				name = mnl_attr_get_str(a);
				break;
			case RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR:
				resources[name] = mnl_attr_get_u64(a);
				break;
			}
		});
	};
	send_request(socket_->socket, ++socket_->sequence,
		     RDMA_NLDEV_CMD_RES_GET, false, index,
		     [&](const nlmsghdr *header) {
			     attributes(header, [&](const nlattr *a) {
				     if (mnl_attr_get_type(a) ==
					 RDMA_NLDEV_ATTR_RES_SUMMARY)
					     nested(a, take);
			     });
		     });
	return resources;
}

std::vector<QueuePair> Netlink::queue_pairs(const std::string &device)
{
	uint32_t index = index_of(device);
	std::vector<QueuePair> all;

	send_request(
		socket_->socket, ++socket_->sequence, RDMA_NLDEV_CMD_RES_QP_GET,
		true, index, [&](const nlmsghdr *header) {
			attributes(header, [&](const nlattr *a) {
				if (mnl_attr_get_type(a) !=
				    RDMA_NLDEV_ATTR_RES_QP)
					return;
				nested(a, [&](const nlattr *entry) {
					all.push_back(take_queue_pair(entry));
				});
			});
		});
	return all;
}

} // namespace pavo
