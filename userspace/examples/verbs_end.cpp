// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* verbs_end.cpp - see verbs_end.hpp. */
#include "verbs_end.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace examples {

void fail(int error, const std::string &what)
{
	throw std::system_error(error, std::generic_category(), what);
}

CmChannel::CmChannel() : channel_(rdma_create_event_channel())
{
	if (!channel_)
		fail(errno, access("/dev/infiniband/rdma_cm", F_OK) ?
				    "connection manager (modprobe rdma_ucm)" :
				    "connection manager");
	if (fcntl(fd(), F_SETFL, fcntl(fd(), F_GETFL) | O_NONBLOCK))
		fail(errno, "connection manager");
}

CmId CmChannel::make_id() const
{
	rdma_cm_id *id;

	if (rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP))
		fail(errno, "connection");
	return CmId(id);
}

CmEvent CmChannel::next(int timeout_ms) const
{
	rdma_cm_event *event;
	pollfd look{fd(), POLLIN, 0};

	if (::poll(&look, 1, timeout_ms) < 0 && errno != EINTR)
		fail(errno, "events of connections");
	if (!rdma_get_cm_event(channel_.get(), &event))
		return CmEvent(event);
	if (errno != EAGAIN)
		fail(errno, "events of connections");
	return {};
}

CmEvent CmChannel::expect(rdma_cm_event_type type, int timeout_ms) const
{
	CmEvent event = next(timeout_ms);

	if (!event)
		fail(ETIMEDOUT, rdma_event_str(type));
	if (event->event != type)
		throw std::runtime_error(
			std::string(rdma_event_str(event->event)) +
			" in place of " + rdma_event_str(type));
	return event;
}

Memory::Memory(ibv_pd *pd, size_t length, bool shared, uint64_t at)
	: length_(length)
{
	void *map = mmap(
		reinterpret_cast<void *>(at), length, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0),
		-1, 0);
	int access = IBV_ACCESS_LOCAL_WRITE;

	if (map == MAP_FAILED)
		fail(errno, "memory");
	if (shared)
		access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	data_ = static_cast<std::byte *>(map);
	region_.reset(ibv_reg_mr(pd, data_, length, access));
	if (!region_) {
		int error = errno;

		munmap(data_, length);
		fail(error, "memory cannot be registered (`ulimit -l` says how "
			    "much may be locked)");
	}
}

Memory::~Memory()
{
	region_.reset();
	munmap(data_, length_);
}

VerbsEnd::VerbsEnd(CmId id, ibv_pd *pd, ibv_comp_channel *channel,
		   void *context)
	: id_(std::move(id)),
	  cq_(made(ibv_create_cq(id_->verbs, sends + receives, context, channel,
				 0),
		   "completion queue")),
	  messages_(
		  std::make_unique<Memory>(pd, size_t(receives) * message_size))
{
	ibv_qp_init_attr attr = {};

	/* With its retries: a program that is silent for some four seconds is gone. */
	uint8_t timeout = 17;

	if (rdma_set_option(id_.get(), RDMA_OPTION_ID,
			    RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
			    sizeof(timeout)))
		fail(errno, "timeout");
	attr.send_cq = cq_.get();
	attr.recv_cq = cq_.get();
	attr.cap = {sends, receives, 1, 1, message_size};
	attr.qp_type = IBV_QPT_RC;
	if (rdma_create_qp(id_.get(), pd, &attr))
		fail(errno, "queue pair");
	for (uint64_t slot = 0; slot < receives; slot++)
		post_receive(slot);
	arm();
}

VerbsEnd::~VerbsEnd()
{
	if (id_->qp)
		rdma_destroy_qp(id_.get());
}

rdma_conn_param VerbsEnd::parameters(const void *data, size_t bytes)
{
	rdma_conn_param param = {};

	param.private_data = data;
	param.private_data_len = uint8_t(bytes);
	param.responder_resources = 8;
	param.initiator_depth = 8;
	param.retry_count = 7;
	param.rnr_retry_count = 7;
	return param;
}

void VerbsEnd::post_receive(uint64_t slot)
{
	ibv_sge sge = {messages_->address(slot * message_size), message_size,
		       messages_->lkey()};
	ibv_recv_wr wr = {}, *bad;

	wr.wr_id = receive_mark | slot;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	int error = ibv_post_recv(qp(), &wr, &bad);

	if (error)
		fail(error, "receive");
}

void VerbsEnd::send_bytes(const void *from, uint32_t length, uint64_t id)
{
	ibv_sge sge = {reinterpret_cast<uintptr_t>(from), length, 0};
	ibv_send_wr wr = {}, *bad;

	wr.wr_id = id;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	int error = ibv_post_send(qp(), &wr, &bad);

	if (error)
		fail(error, "send");
}

void VerbsEnd::take_bytes(const ibv_wc &wc, void *to, uint32_t length)
{
	const uint64_t slot = wc.wr_id & ~receive_mark;

	if (wc.byte_len != length || slot >= receives)
		throw std::runtime_error("the other program sent a message of "
					 "another length: is it the same "
					 "version?");
	memcpy(to, messages_->at(slot * message_size), length);
	post_receive(slot);
}

ibv_send_wr VerbsEnd::request(ibv_wr_opcode opcode, ibv_sge &local,
			      uint64_t remote, uint32_t rkey, uint64_t id)
{
	ibv_send_wr wr = {};

	wr.wr_id = id;
	wr.sg_list = &local;
	wr.num_sge = 1;
	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = remote;
	wr.wr.rdma.rkey = rkey;
	return wr;
}

void VerbsEnd::move(ibv_wr_opcode opcode, const ibv_sge &local, uint64_t remote,
		    uint32_t rkey, uint64_t id)
{
	ibv_sge sge = local;
	ibv_send_wr wr = request(opcode, sge, remote, rkey, id), *bad;
	int error = ibv_post_send(qp(), &wr, &bad);

	if (error)
		fail(error, "RDMA");
}

void VerbsEnd::probe(uint64_t id)
{
	ibv_sge none = {};
	ibv_send_wr wr = request(IBV_WR_RDMA_WRITE, none, 0, 0, id), *bad;

	wr.num_sge = 0;
	const int error = ibv_post_send(qp(), &wr, &bad);

	if (error)
		fail(error, "RDMA");
}

std::optional<ibv_wc> VerbsEnd::poll()
{
	ibv_wc wc;
	int found = ibv_poll_cq(cq_.get(), 1, &wc);

	if (found < 0)
		fail(EIO, "completion queue");
	if (!found)
		return {};
	return wc;
}

void VerbsEnd::arm()
{
	int error = ibv_req_notify_cq(cq_.get(), 0);

	if (error)
		fail(error, "notification");
}

void *VerbsEnd::take_event(ibv_comp_channel *channel)
{
	ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(channel, &cq, &context))
		fail(errno, "event");
	ibv_ack_cq_events(cq, 1);
	return context;
}

std::vector<std::pair<std::string, uint64_t>>
counters_of(const std::string &adapter, const std::string &begin)
{
	const std::string folder =
		"/sys/class/infiniband/" + adapter + "/hw_counters";
	std::vector<std::pair<std::string, uint64_t>> found;

	/* A number may be 10 ms old. */
	usleep(20'000);
	for (const auto &file : std::filesystem::directory_iterator(folder)) {
		const std::string name = file.path().filename();
		uint64_t value;

		if (name.starts_with(begin) &&
		    std::ifstream(file.path()) >> value)
			found.emplace_back(name, value);
	}
	std::ranges::sort(found);
	return found;
}

} // namespace examples
