// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* verbs_end.cpp - see verbs_end.hpp. */
#include "verbs_end.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <pavo/device.hpp>

namespace examples {

namespace {

[[noreturn]] void fail(int error, const std::string &what)
{
	throw std::system_error(error, std::generic_category(), what);
}

/* The object, or the reason why there is none. */
template <class T> T *made(T *object, const char *what)
{
	if (!object)
		fail(errno, what);
	return object;
}

ibv_context *open_adapter(const std::string &name)
{
	std::unique_ptr<ibv_device *, void (*)(ibv_device **)> list(
		ibv_get_device_list(nullptr), ibv_free_device_list);

	for (ibv_device **at = list.get(); at && *at; at++)
		if (name == ibv_get_device_name(*at))
			return made(ibv_open_device(*at), name.c_str());
	throw std::runtime_error(
		name + ": there is no such adapter (see ibv_devices; "
		       "IBV_DRIVERS names a provider that is not installed)");
}

/* Numbers that the ends exchange. */
struct Card {
	pavo::Gid gid;
	uint32_t qpn;
	uint32_t mtu;
};

} // namespace

Memory::Memory(ibv_pd *pd, size_t length, bool shared) : length_(length)
{
	void *at = mmap(nullptr, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int access = IBV_ACCESS_LOCAL_WRITE;

	if (at == MAP_FAILED)
		fail(errno, "memory");
	if (shared)
		access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	data_ = static_cast<std::byte *>(at);
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

VerbsEnd::VerbsEnd(const std::string &adapter, pavo::Group &group)
	: context_(open_adapter(adapter)),
	  pd_(made(ibv_alloc_pd(context_.get()), "protection domain")),
	  channel_(made(ibv_create_comp_channel(context_.get()), "channel")),
	  cq_(made(ibv_create_cq(context_.get(), sends + receives, nullptr,
				 channel_.get(), 0),
		   "completion queue"))
{
	ibv_qp_init_attr attr = {};

	attr.send_cq = cq_.get();
	attr.recv_cq = cq_.get();
	attr.cap = {sends, receives, 1, 1, message_size};
	attr.qp_type = IBV_QPT_RC;
	qp_.reset(made(ibv_create_qp(pd_.get(), &attr), "queue pair"));
	messages_ = std::make_unique<Memory>(pd_.get(),
					     size_t(receives) * message_size);
	connect(adapter, group);
}

void VerbsEnd::connect(const std::string &adapter, pavo::Group &group)
{
	const pavo::AdapterAddress address =
		pavo::Device::open(adapter)
			.and_then([](const pavo::Device &device) {
				return device.address();
			})
			.value();
	ibv_qp_attr attr = {};
	ibv_port_attr port = {};
	int error = ibv_query_port(context_.get(), 1, &port);

	if (error)
		fail(error, "port");
	const Card mine = {address.gid, qp_->qp_num, uint32_t(port.active_mtu)};
	const Card theirs = group.exchange(mine).value()[1 - group.rank()];

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	error = ibv_modify_qp(qp_.get(), &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS);
	for (uint64_t slot = 0; !error && slot < receives; slot++)
		post_receive(slot);

	attr = {};
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = ibv_mtu(
		std::min<uint32_t>(theirs.mtu, uint32_t(port.active_mtu)));
	attr.dest_qp_num = theirs.qpn;
	attr.max_dest_rd_atomic = 8;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.sgid_index = uint8_t(address.index);
	attr.ah_attr.grh.hop_limit = 64;
	memcpy(&attr.ah_attr.grh.dgid, theirs.gid.data(), theirs.gid.size());
	if (!error)
		error = ibv_modify_qp(qp_.get(), &attr,
				      IBV_QP_STATE | IBV_QP_AV |
					      IBV_QP_PATH_MTU |
					      IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					      IBV_QP_MAX_DEST_RD_ATOMIC |
					      IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 8;
	if (!error)
		error = ibv_modify_qp(qp_.get(), &attr,
				      IBV_QP_STATE | IBV_QP_TIMEOUT |
					      IBV_QP_RETRY_CNT |
					      IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					      IBV_QP_MAX_QP_RD_ATOMIC);
	if (error)
		fail(error, "the queue pair cannot be connected");
	group.barrier().value(); /* both are */
}

void VerbsEnd::post_receive(uint64_t slot)
{
	ibv_sge sge = {messages_->address(slot * message_size), message_size,
		       messages_->lkey()};
	ibv_recv_wr wr = {}, *bad;

	wr.wr_id = slot;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	int error = ibv_post_recv(qp_.get(), &wr, &bad);

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
	int error = ibv_post_send(qp_.get(), &wr, &bad);

	if (error)
		fail(error, "send");
}

void VerbsEnd::take_bytes(const ibv_wc &wc, void *to, uint32_t length)
{
	if (wc.byte_len != length || wc.wr_id >= receives)
		throw std::runtime_error("the other program sent a message of "
					 "another length: is it the same "
					 "version?");
	memcpy(to, messages_->at(wc.wr_id * message_size), length);
	post_receive(wc.wr_id);
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
	int error = ibv_post_send(qp_.get(), &wr, &bad);

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
	if (wc.status != IBV_WC_SUCCESS)
		throw std::runtime_error(std::string("a request failed: ") +
					 ibv_wc_status_str(wc.status));
	return wc;
}

ibv_wc VerbsEnd::next()
{
	for (;;) {
		ibv_cq *cq;
		void *context;
		std::optional<ibv_wc> wc = poll();

		if (wc)
			return *wc;
		int error = ibv_req_notify_cq(cq_.get(), 0);

		if (error)
			fail(error, "notification");
		/* A completion that came before it raises no event. */
		wc = poll();
		if (wc)
			return *wc;
		if (ibv_get_cq_event(channel_.get(), &cq, &context))
			fail(errno, "event");
		ibv_ack_cq_events(cq, 1);
	}
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
