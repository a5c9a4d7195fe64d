// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * connection.cpp - connecting by rdma_cm, posting and waiting.
 *
 * Owns nothing beyond its class; called by sender.cpp and receiver.cpp.
 */
#include "connection.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>

#include "protocol.h"
#include "transfer.h"

namespace copy {
namespace {

constexpr int RESOLVE_MS = 5000;
constexpr size_t PAGE = 4096;
/* Of struct ib_cm_rej_event_param: "invalid service id" */
constexpr int NO_LISTENER = 8;
constexpr uint64_t LAST_MESSAGE = 1; /* wr_id; others have 0 */

using Info = std::unique_ptr<rdma_addrinfo, decltype(&rdma_freeaddrinfo)>;

Info look_up(const Where &where, int flags)
{
	rdma_addrinfo hints = {};
	rdma_addrinfo *result = nullptr;

	hints.ai_flags = flags;
	hints.ai_port_space = RDMA_PS_TCP;
	int error = rdma_getaddrinfo(where.host.empty() ? nullptr :
							  where.host.c_str(),
				     where.port.c_str(), &hints, &result);

	/* -1: errno has the reason; else it is one of getaddrinfo() */
	if (error == -1)
		fail_errno("address " + where.host);
	if (error)
		throw Error(where.host + ": " + gai_strerror(error));
	return Info(result, rdma_freeaddrinfo);
}

[[noreturn]] void fail_without_manager()
{
	int error = errno;

	if (access("/dev/infiniband/rdma_cm", F_OK))
		throw Error("there is no RDMA connection manager: "
			    "modprobe rdma_ucm");
	if (error == ENODEV)
		throw Error(
			"there is no RDMA adapter: rdma link add pavo0 "
			"type pavo netdev INTERFACE (pavo check says more)");
	throw Error(std::string("RDMA connection manager: ") + strerror(error));
}

void set_nonblocking(int fd)
{
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		fail_errno("fcntl");
}

} // namespace

void fail_errno(const std::string &what)
{
	throw Error(what + ": " + strerror(errno), errno);
}

Connection::Connection(int timeout_ms)
	: timeout_ms_(timeout_ms), channel_(rdma_create_event_channel()),
	  buffer_(nullptr, [](std::byte *memory) { std::free(memory); })
{
	if (!channel_)
		fail_without_manager();
	set_nonblocking(channel_->fd);
}

Connection::~Connection()
{
	if (id_ && id_->qp)
		rdma_destroy_qp(id_.get());
}

/* The next connection event, or null after timeout_ms (-1: wait for ever). */
rdma_cm_event *Connection::next_event(int timeout_ms)
{
	rdma_cm_event *event = nullptr;
	pollfd fd = {channel_->fd, POLLIN, 0};

	while (rdma_get_cm_event(channel_.get(), &event)) {
		if (errno != EAGAIN)
			fail_errno("connection event");
		if (poll(&fd, 1, timeout_ms) == 0)
			return nullptr;
	}
	return event;
}

void Connection::keep_peer_data(const rdma_cm_event &event)
{
	const auto &conn = event.param.conn;

	peer_size_ =
		std::min<size_t>(conn.private_data_len, sizeof(peer_bytes_));
	if (conn.private_data)
		memcpy(peer_bytes_, conn.private_data, peer_size_);
	else
		peer_size_ = 0;
	peer_data_ = std::span(peer_bytes_, peer_size_);
}

void Connection::expect(rdma_cm_event_type type, int timeout_ms)
{
	rdma_cm_event *event = next_event(timeout_ms);
	std::string wanted = rdma_event_str(type);

	if (!event)
		throw Error("no answer: waited in vain for " + wanted);
	rdma_cm_event_type got = event->event;
	int status = event->status;

	if (got == RDMA_CM_EVENT_REJECTED)
		keep_peer_data(*event);
	if (got == type && (type == RDMA_CM_EVENT_ESTABLISHED ||
			    type == RDMA_CM_EVENT_CONNECT_REQUEST)) {
		/* the passive side's "established" carries nothing new */
		if (!listener_ || type == RDMA_CM_EVENT_CONNECT_REQUEST)
			keep_peer_data(*event);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			id_.reset(event->id);
	}
	rdma_ack_cm_event(event);
	if (got != type)
		fail_connecting(got, status);
}

/* In words what the event says; the other side's own words if it has sent some. */
void Connection::fail_connecting(rdma_cm_event_type got, int status)
{
	std::string reason = read_reason(peer_data_);

	if (got == RDMA_CM_EVENT_REJECTED && !reason.empty())
		throw Error("the other side refused: " + reason);
	if (got == RDMA_CM_EVENT_REJECTED && status == NO_LISTENER)
		throw Error("no program receives at that port there");
	if (got == RDMA_CM_EVENT_REJECTED)
		throw Error("the other side refused (reason " +
			    std::to_string(status) + ")");
	if (got == RDMA_CM_EVENT_UNREACHABLE ||
	    got == RDMA_CM_EVENT_ADDR_ERROR || got == RDMA_CM_EVENT_ROUTE_ERROR)
		throw Error("the other side does not answer: is there an "
			    "adapter at that address, and lets its filter UDP "
			    "port 4791 in? (pavo check)");
	if (got == RDMA_CM_EVENT_DISCONNECTED)
		throw Error("the other side ended the connection");
	throw Error(std::string("connecting failed: ") + rdma_event_str(got) +
		    " (" + std::to_string(status) + ")");
}

void Connection::resolve(const Where &where)
{
	Info info = look_up(where, 0);
	rdma_cm_id *id;

	if (rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP))
		fail_errno("rdma_create_id");
	id_.reset(id);
	if (rdma_resolve_addr(id, info->ai_src_addr, info->ai_dst_addr,
			      RESOLVE_MS))
		fail_errno("no RDMA device towards " + where.host);
	expect(RDMA_CM_EVENT_ADDR_RESOLVED, 2 * RESOLVE_MS);
	if (rdma_resolve_route(id, RESOLVE_MS))
		fail_errno("no route to " + where.host);
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED, 2 * RESOLVE_MS);
}

void Connection::listen(const Where &where, bool forever)
{
	Info info = look_up(where, RAI_PASSIVE);
	rdma_cm_id *id;

	if (rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP))
		fail_errno("rdma_create_id");
	listener_.reset(id);
	if (rdma_bind_addr(id, info->ai_src_addr))
		fail_errno("cannot listen at port " + where.port);
	if (rdma_listen(id, 1))
		fail_errno("rdma_listen");
	expect(RDMA_CM_EVENT_CONNECT_REQUEST, forever ? -1 : timeout_ms_);
}

void Connection::set_up(uint32_t depth, size_t size, int access)
{
	ibv_qp_init_attr attr = {};

	pd_.reset(ibv_alloc_pd(id_->verbs));
	comp_.reset(ibv_create_comp_channel(id_->verbs));
	if (!pd_ || !comp_)
		fail_errno("protection domain or completion channel");
	set_nonblocking(comp_->fd);
	cq_.reset(ibv_create_cq(id_->verbs, static_cast<int>(2 * depth),
				nullptr, comp_.get(), 0));
	if (!cq_)
		fail_errno("completion queue");
	attr.send_cq = cq_.get();
	attr.recv_cq = cq_.get();
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 1;
	attr.cap = {depth, depth, 1, 1, 0};
	if (rdma_create_qp(id_.get(), pd_.get(), &attr))
		fail_errno("queue pair");
	size = (size + PAGE - 1) / PAGE * PAGE;
	buffer_.reset(static_cast<std::byte *>(aligned_alloc(PAGE, size)));
	if (!buffer_)
		throw Error("not enough memory for the buffer");
	memset(buffer_.get(), 0, size);
	mr_.reset(ibv_reg_mr(pd_.get(), buffer_.get(), size, access));
	if (!mr_)
		fail_errno("registering the buffer (see ulimit -l)");
}

void Connection::connect(std::span<const std::byte> offer)
{
	rdma_conn_param param = {};

	param.private_data = offer.data();
	param.private_data_len = static_cast<uint8_t>(offer.size());
	param.retry_count = 7;
	param.rnr_retry_count = 7;
	if (rdma_connect(id_.get(), &param))
		fail_errno("rdma_connect");
	expect(RDMA_CM_EVENT_ESTABLISHED, timeout_ms_);
}

void Connection::accept(std::span<const std::byte> answer)
{
	rdma_conn_param param = {};

	param.private_data = answer.data();
	param.private_data_len = static_cast<uint8_t>(answer.size());
	param.rnr_retry_count = 7;
	if (rdma_accept(id_.get(), &param))
		fail_errno("rdma_accept");
	expect(RDMA_CM_EVENT_ESTABLISHED, timeout_ms_);
}

void Connection::reject(std::span<const std::byte> reason)
{
	if (id_)
		rdma_reject(id_.get(), reason.data(),
			    static_cast<uint8_t>(reason.size()));
}

void Connection::disconnect()
{
	if (id_)
		rdma_disconnect(id_.get());
}

std::string Connection::device() const
{
	return ibv_get_device_name(id_->verbs->device);
}

void Connection::post_recv()
{
	ibv_recv_wr wr = {};
	ibv_recv_wr *bad;

	if (int rc = ibv_post_recv(id_->qp, &wr, &bad))
		throw Error(std::string("posting a receive: ") + strerror(rc));
}

void Connection::post(ibv_send_wr &wr)
{
	ibv_send_wr *bad;

	if (int rc = ibv_post_send(id_->qp, &wr, &bad))
		throw Error(std::string("posting a send: ") + strerror(rc));
}

void Connection::post_write(size_t at, uint32_t length, uint64_t address,
			    uint32_t rkey, uint32_t data)
{
	ibv_sge sge = {};
	ibv_send_wr wr = {};

	sge.addr = reinterpret_cast<uintptr_t>(buffer_.get() + at);
	sge.length = length;
	sge.lkey = mr_->lkey;
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.imm_data = htonl(data);
	wr.wr.rdma.remote_addr = address;
	wr.wr.rdma.rkey = rkey;
	post(wr);
}

void Connection::post_message(uint32_t data)
{
	ibv_send_wr wr = {};

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htonl(data);
	post(wr);
}

void Connection::deliver_message(uint32_t data) noexcept
{
	ibv_send_wr wr = {};

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htonl(data);
	wr.wr_id = LAST_MESSAGE;
	try {
		post(wr);
		while (wait_completion().wr_id != LAST_MESSAGE)
			;
	} catch (const Error &) {
		/* the other side learns from the end of the connection that there is a reason */
	}
}

/* Sleeps until the completion channel speaks; a leaving peer is an error. */
void Connection::wait_readable()
{
	pollfd fds[] = {{comp_->fd, POLLIN, 0}, {channel_->fd, POLLIN, 0}};
	ibv_cq *cq;
	void *context;

	if (poll(fds, 2, timeout_ms_) == 0)
		throw Error("the other side has been silent for " +
			    std::to_string(timeout_ms_ / 1000) + " s");
	if (fds[0].revents & POLLIN) {
		if (ibv_get_cq_event(comp_.get(), &cq, &context))
			fail_errno("completion event");
		ibv_ack_cq_events(cq, 1);
		return;
	}
	if (rdma_cm_event *event = next_event(0)) {
		bool left = event->event == RDMA_CM_EVENT_DISCONNECTED;
		std::string name = rdma_event_str(event->event);

		rdma_ack_cm_event(event);
		throw Error(left ? "the other side ended the transfer without "
				   "a reason" :
				   "the transfer ended: " + name);
	}
}

ibv_wc Connection::wait_completion()
{
	ibv_wc wc;

	for (;;) {
		int n = ibv_poll_cq(cq_.get(), 1, &wc);

		if (n == 0) {
			/* arm, poll once more, and only then sleep */
			if (ibv_req_notify_cq(cq_.get(), 0))
				fail_errno("ibv_req_notify_cq");
			n = ibv_poll_cq(cq_.get(), 1, &wc);
		}
		if (n < 0)
			throw Error("polling the completion queue failed");
		if (n > 0)
			break;
		wait_readable();
	}
	if (wc.status != IBV_WC_SUCCESS)
		throw Error(std::string("transfer failed: ") +
			    ibv_wc_status_str(wc.status));
	return wc;
}

void report_failure(Connection &connection, const Error &error)
{
	connection.deliver_message(
		DATA_FAILED |
		(static_cast<uint32_t>(error.code()) & FAILED_ERRNO));
	connection.disconnect();
}

void check_failure(uint32_t data)
{
	int code = static_cast<int>(data & FAILED_ERRNO);

	if (is_failure(data))
		throw Error(std::string("the other side failed") +
			    (code ? std::string(": ") + strerror(code) : ""));
}

void Connection::wait_disconnect()
{
	expect(RDMA_CM_EVENT_DISCONNECTED, timeout_ms_);
}

} // namespace copy
