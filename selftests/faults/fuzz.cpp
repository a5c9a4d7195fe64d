// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fuzz.cpp - another process writes whatever it likes into everything that it
 * shares with the module, for as long as asked, while the witness's traffic
 * goes on. Repeatable by the seed, as far as two processes are.
 */
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "cases.h"
#include "raw.h"

namespace faults {
namespace {

/*
 * Writes values that are right, and others, into the queue that ends share, as fast as it can:
 * between two reads of a word by the module it may change. An entry's length and the end of the
 * list are what decides how much is copied.
 */
class Changer {
public:
	Changer(const pavodv_srq &srq, uint32_t lkey, uint64_t va)
		: srq_(srq), lkey_(lkey), va_(va),
		  thread_([this](std::stop_token stop) { run(stop); })
	{
	}

private:
	void run(const std::stop_token &stop)
	{
		std::minstd_rand random(1);

		while (!stop.stop_requested())
			change(random() % srq_.wqe_cnt,
			       static_cast<uint32_t>(random()));
	}

	void change(uint32_t slot, uint32_t bits)
	{
		auto *first = reinterpret_cast<pavo_srq_seg *>(
			static_cast<uint8_t *>(srq_.slots) +
			slot * srq_.wqe_size);
		auto *seg = reinterpret_cast<pavo_data_seg *>(first + 1) +
			    bits % (srq_.wqe_size / sizeof(pavo_data_seg) - 1);

		/* Now an entry, now the end of the list. */
		std::atomic_ref(seg->byte_count)
			.store(bits & 0x100 ? bits >> 20 : 0);
		std::atomic_ref(seg->lkey).store(bits & 0x200 ? lkey_ : 0);
		std::atomic_ref(seg->va).store(bits & 0x400 ? va_ : 0);
	}

	const pavodv_srq &srq_;
	const uint32_t lkey_;
	const uint64_t va_;
	std::jthread thread_;
};

/* Rounds with one set of QPs before a fresh one is made. */
constexpr int ROUNDS = 300;
constexpr uint32_t FUZZ_QKEY = 0x12345;

class Vandal {
public:
	Vandal(Device &a, Device &b, std::mt19937 &random)
		: queue_(b), pair_(a, b), from_(a, {.type = IBV_QPT_UD}),
		  to_(b, {.type = IBV_QPT_UD}),
		  sharing_(a, b, {.srq = queue_.srq}),
		  shown_(a.pd(), 65536,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND),
		  random_(random)
	{
		REQUIRE_EQ(pavodv_query_context(a.context(), &context_), 0);
		for (End *end : {&from_, &to_})
			end->ready_datagram(FUZZ_QKEY);
		for (End *end : ends_) {
			pavodv_qp qp;
			pavodv_cq cq;

			REQUIRE_EQ(pavodv_query_qp(end->qp(), &qp), 0);
			regions_.push_back({qp.sq, qp.sq_size});
			regions_.push_back({qp.rq, qp.rq_size});
			for (ibv_cq *ibcq : {end->send_cq(), end->recv_cq()}) {
				REQUIRE_EQ(pavodv_query_cq(ibcq, &cq), 0);
				regions_.push_back({cq.header, cq.size});
			}
		}
		regions_.push_back({context_.doorbell, context_.doorbell_size});
		REQUIRE_EQ(pavodv_query_srq(queue_.srq, &shared_), 0);
		regions_.push_back({shared_.rq, shared_.size});
		for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
			windows_.push_back(ibv_alloc_mw(a.pd(), type));
			REQUIRE(windows_.back());
		}
	}

	~Vandal()
	{
		for (ibv_mw *window : windows_)
			ibv_dealloc_mw(window);
	}

	void rampage()
	{
		Changer changer(shared_, sharing_.sink.lkey(),
				sharing_.sink.address());

		for (int i = 0; i < ROUNDS; i++)
			once();
	}

private:
	struct Shared {
		void *at;
		size_t size;
	};

	struct Queue {
		ibv_srq *srq;

		explicit Queue(Device &device)
		{
			ibv_srq_init_attr attr = {.attr = {64, 8, 0}};

			srq = ibv_create_srq(device.pd(), &attr);
			REQUIRE(srq, "ibv_create_srq: errno ", errno);
		}
		~Queue() { ibv_destroy_srq(srq); }
	};

	uint32_t any() { return static_cast<uint32_t>(random_()); }

	/* Values near the edges more often than others. */
	uint32_t word()
	{
		static constexpr uint32_t edges[] = {
			0, 1, 15, 16, 255, 256, 0x7fffffff, 0x80000000, ~0u};

		switch (any() % 4) {
		case 0:
			return edges[any() % std::size(edges)];
		case 1:
			return any() % 64;
		default:
			return any();
		}
	}

	void scribble()
	{
		Shared &region = regions_[any() % regions_.size()];
		auto *words = static_cast<uint32_t *>(region.at);
		size_t count = region.size / 4;
		size_t start = any() % count;

		for (size_t n = 1 + any() % 16; n && start < count; n--)
			std::atomic_ref(words[start++]).store(word());
	}

	/* Whether it is allowed depends on what became of the key so far. */
	Wqe key_operation()
	{
		uint32_t key = (windows_[any() % 2]->rkey & ~0xffu) | any() % 4;
		pavo_bind_seg bind = {.va = shown_.address() + any() % 65536,
				      .length = any() % 8192,
				      .mw_rkey = key,
				      .new_rkey = (key & ~0xffu) | any() % 4,
				      .mr_lkey = shown_.lkey(),
				      .access = IBV_ACCESS_REMOTE_WRITE};
		Wqe wqe(any() % 2 ? PAVO_WQE_LOCAL_INV : PAVO_WQE_BIND_MW);

		if (wqe.op == PAVO_WQE_BIND_MW)
			return wqe.add(bind);
		wqe.next().imm = key;
		return wqe;
	}

	/* Nearly correct, so that it gets past the first checks. */
	void nearly_good()
	{
		post(pair_.a, posted_++,
		     any() % 6 == 0 ? key_operation() :
		     any() % 4 == 0 ? good_atomic(pair_) :
		     any() % 3 == 0 ? good_read(pair_, any() % 8192) :
		     any() % 2	    ? good_write(pair_, any() % 8192) :
				      good_send(pair_, any() % 2048));
	}

	/* An error stops the queue only; it is told to go on. */
	void datagram()
	{
		post(from_, datagrams_++,
		     good_datagram(from_, to_, FUZZ_QKEY,
				   pair_.source.address(), any() % 2048,
				   pair_.source));
		ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
				    .cur_qp_state = IBV_QPS_SQE};
		if (any() % 4 == 0)
			ibv_modify_qp(from_.qp(), &attr,
				      IBV_QP_STATE | IBV_QP_CUR_STATE);
	}

	void post(End &end, uint32_t index, Wqe wqe)
	{
		RawSq sq(end);
		Doorbell doorbell = sq.doorbell(index, wqe);

		if (any() % 2)
			wqe.at<uint32_t>(0) = any() % 8 ? 0 : word();
		for (int flips = static_cast<int>(any() % 3); flips; flips--)
			wqe.at<std::array<uint32_t, 4>>(
				any() % wqe.units())[any() % 4] ^=
				1u << any() % 32;
		if (any() % 8 == 0)
			doorbell.units = word();
		if (any() % 8 == 0)
			doorbell.size = word();
		sq.place(index, wqe);
		ring(doorbell.pack());
	}

	/* To the queue that another thread writes into; its errors end the queue pair. */
	void share()
	{
		faults::receive(queue_.srq, 1, sharing_.sink, any() % 4096);
		RawSq(sharing_.a)
			.post(to_shared_++, good_send(sharing_, any() % 4096),
			      1);
	}

	/* Behind the provider's back, whose count may be anything by now. */
	void ring(uint64_t bits)
	{
		pavo_doorbell_page *page = context_.doorbell;
		uint32_t prod = std::atomic_ref(page->prod).load();

		std::atomic_ref(page->ring[prod % PAVO_DB_RING_ENTRIES])
			.store(bits);
		std::atomic_ref(page->prod).store(prod + 1);
	}

	void receive()
	{
		ibv_sge sge = {pair_.sink.address(), any() % 8192,
			       pair_.sink.lkey()};
		ibv_recv_wr wr = {}, *bad;

		wr.sg_list = &sge;
		wr.num_sge = 1;
		ibv_post_recv(any() % 2 ? pair_.b.qp() : to_.qp(), &wr, &bad);
	}

	void poll()
	{
		ibv_wc wc[8];

		for (End *end : ends_)
			for (ibv_cq *cq : {end->send_cq(), end->recv_cq()})
				ibv_poll_cq(cq, 8, wc);
	}

	void once()
	{
		switch (any() % 11) {
		case 0:
			scribble();
			break;
		case 1:
			ring(uint64_t{word()} << 32 | word());
			break;
		case 2:
			receive();
			break;
		case 3:
			poll();
			break;
		case 4:
			pavodv_kick_recv(ends_[any() % 4]->qp());
			break;
		case 5:
			datagram();
			break;
		case 6:
		case 7:
			share();
			break;
		default:
			nearly_good();
			break;
		}
		pavodv_kick_send(pair_.a.qp());
	}

	Queue queue_;
	Pair pair_;
	End from_, to_;
	Pair sharing_;
	pavodv_srq shared_ = {};
	std::array<End *, 4> ends_ = {&pair_.a, &pair_.b, &from_, &to_};
	Memory shown_;
	std::vector<ibv_mw *> windows_;
	std::mt19937 &random_;
	pavodv_context context_ = {};
	std::vector<Shared> regions_;
	uint32_t posted_ = 0, datagrams_ = 0, to_shared_ = 0;
};

/* Until killed. Its own failures are a failure: nothing here may throw. */
[[noreturn]] void vandalize(const World &world)
{
	std::mt19937 random(world.seed);

	try {
		for (;;) {
			Device a(world.name_a), b(world.name_b);

			for (int i = 0; i < 5; i++)
				Vandal(a, b, random).rampage();
		}
	} catch (const std::exception &failure) {
		fprintf(stderr, "# fuzzer: %s\n", failure.what());
	}
	_exit(1);
}

void fuzz(Hostile &hostile)
{
	using namespace std::chrono;
	auto end = steady_clock::now() + seconds(hostile.world.fuzz_seconds);
	unsigned testimonies = 0;
	int status;

	/* The child's calls keep a CPU in the kernel for seconds. */
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		throw common::Skip("one CPU leaves none to the witness");
	pid_t child = fork();
	REQUIRE(child >= 0);
	if (!child)
		vandalize(hostile.world);
	try {
		while (steady_clock::now() < end) {
			hostile.world.witness->testify();
			testimonies++;
			REQUIRE_EQ(waitpid(child, &status, WNOHANG), 0,
				   "the fuzzer ended, status ", status);
		}
	} catch (...) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		throw;
	}
	/* In the midst of it: the kernel cleans up after it. */
	REQUIRE(!kill(child, SIGKILL));
	REQUIRE_EQ(waitpid(child, &status, 0), child);
	hostile.world.witness->testify();
	printf("# seed %u, %u s, %u testimonies\n", hostile.world.seed,
	       hostile.world.fuzz_seconds, testimonies);
}

} // namespace

void add_fuzz(Faults &faults)
{
	faults.add("fuzz: all shared memory at random", fuzz);
}

} // namespace faults
