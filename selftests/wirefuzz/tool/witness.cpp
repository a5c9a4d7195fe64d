// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The witness: see witness.h.
 */
#include "witness.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <vector>

#include <infiniband/verbs.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../common/connect.h"
#include "../../common/device.h"
#include "../../common/pattern.h"
#include "regions.h"

namespace wf {

namespace {

constexpr size_t message = 6000, half = 8192;
constexpr useconds_t rest_us = 2000;
constexpr int give_up_s = 60;

int64_t seconds_now()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Two queue pairs of one process, connected through the adapter's own address. */
class Talk {
public:
	explicit Talk(const std::string &device)
	{
		context_ = common::open_device(device);
		find_gid();
		need(pd_ = ibv_alloc_pd(context_), "PD");
		need(cq_ = ibv_create_cq(context_, 64, nullptr, nullptr, 0),
		     "CQ");
		memory_.resize(4 * half);
		need(mr_ = ibv_reg_mr(pd_, memory_.data(), memory_.size(),
				      IBV_ACCESS_LOCAL_WRITE |
					      IBV_ACCESS_REMOTE_WRITE |
					      IBV_ACCESS_REMOTE_READ),
		     "MR");
		for (ibv_qp *&qp : qps_)
			need(qp = make_qp(), "QP");
		for (int i = 0; i < 2; i++)
			connect(qps_[i], qps_[!i]->qp_num);
	}

	/* A send, a write and a read of fresh data, all compared. */
	void round(uint64_t number)
	{
		uint8_t *from = memory_.data();

		pattern_fill(from, message, number, 0);
		receive();
		request(IBV_WR_SEND, 1);
		wait(2);
		request(IBV_WR_RDMA_WRITE, 2);
		wait(1);
		compare(1, "sent");
		compare(2, "written");
		std::memset(from + 3 * half, 0, half);
		read_back();
		wait(1);
		compare(3, "read");
	}

private:
	static void need(const void *object, const char *what)
	{
		if (!object)
			throw Violation(std::string("witness: no ") + what);
	}

	void find_gid()
	{
		for (int ms = 0; ms < 20000; ms++) {
			if (auto entry = common::ipv4_address_of(context_)) {
				gid_ = *entry;
				return;
			}
			usleep(1000);
		}
		throw Violation("witness: no address");
	}

	ibv_qp *make_qp()
	{
		ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC};

		attr.send_cq = attr.recv_cq = cq_;
		attr.cap = {8, 8, 1, 1, 0};
		return ibv_create_qp(pd_, &attr);
	}

	void connect(ibv_qp *qp, uint32_t other)
	{
		common::connect(
			qp,
			{.gid = gid_.gid,
			 .gid_index = static_cast<uint8_t>(gid_.gid_index),
			 .qpn = other,
			 .min_rnr_timer = 1,
			 /* Half a second, seven times: memory may lack for long. */
			 .timeout = 17,
			 .access = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ});
	}

	ibv_sge piece(size_t part) const
	{
		return {reinterpret_cast<uintptr_t>(memory_.data()) +
				part * half,
			message, mr_->lkey};
	}

	/* A call may lack memory for a while. */
	template <class Call> void insist(Call call, const char *what)
	{
		for (int tries = 0; call(); tries++) {
			if (tries > 10000)
				throw Violation(std::string("witness: ") +
						what);
			usleep(1000);
		}
	}

	void receive()
	{
		ibv_sge sge = piece(1);
		ibv_recv_wr wr{}, *bad;

		wr.sg_list = &sge;
		wr.num_sge = 1;
		insist([&] { return ibv_post_recv(qps_[1], &wr, &bad); },
		       "post_recv");
	}

	void request(ibv_wr_opcode opcode, size_t to, size_t local = 0)
	{
		ibv_sge sge = piece(local);
		ibv_send_wr wr{}, *bad;

		wr.opcode = opcode;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.wr.rdma = {piece(to).addr, mr_->rkey};
		insist([&] { return ibv_post_send(qps_[0], &wr, &bad); },
		       "post_send");
	}

	void read_back() { request(IBV_WR_RDMA_READ, 2, 3); }

	void wait(int completions)
	{
		const int64_t end = seconds_now() + give_up_s;
		ibv_wc wc;

		while (completions) {
			const int count = ibv_poll_cq(cq_, 1, &wc);

			if (count < 0)
				throw Violation("witness: poll failed");
			if (count && wc.status)
				throw Violation(std::string("witness: ") +
						ibv_wc_status_str(wc.status));
			completions -= count;
			if (!count && seconds_now() > end)
				throw Violation("witness: it takes a minute");
			if (!count)
				usleep(100);
		}
	}

	void compare(size_t part, const char *how)
	{
		if (std::memcmp(memory_.data(), memory_.data() + part * half,
				message) != 0)
			throw Violation(std::string("witness: wrong data ") +
					how);
	}

	ibv_context *context_ = nullptr;
	ibv_pd *pd_ = nullptr;
	ibv_cq *cq_ = nullptr;
	ibv_mr *mr_ = nullptr;
	ibv_qp *qps_[2] = {};
	ibv_gid_entry gid_{};
	std::vector<uint8_t> memory_;
};

} // namespace

Witness::Witness(const std::string &device)
{
	void *at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	shared_ = static_cast<Shared *>(at);
	process_ = fork();
	if (process_)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	try {
		Talk talk(device);

		for (uint64_t number = 1;; number++) {
			talk.round(number);
			std::atomic_ref(shared_->rounds).store(number);
			usleep(rest_us);
		}
	} catch (const std::exception &fault) {
		std::strncpy(shared_->fault, fault.what(),
			     sizeof(shared_->fault) - 1);
	}
	_exit(1);
}

Witness::~Witness()
{
	kill(process_, SIGKILL);
	waitpid(process_, nullptr, 0);
	munmap(shared_, sizeof(Shared));
}

uint64_t Witness::rounds() const
{
	if (shared_->fault[0])
		throw Violation(shared_->fault);
	return std::atomic_ref(shared_->rounds).load();
}

void Witness::expect_progress(unsigned seconds) const
{
	const uint64_t before = rounds();
	const int64_t end = seconds_now() + seconds;

	while (rounds() == before) {
		if (seconds_now() > end)
			throw Violation("the witness stands still");
		usleep(1000);
	}
}

void Witness::pause()
{
	kill(process_, SIGSTOP);
	waitpid(process_, nullptr, WUNTRACED);
}

void Witness::go_on()
{
	kill(process_, SIGCONT);
}

} // namespace wf
