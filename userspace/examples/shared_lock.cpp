// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * shared_lock.cpp - a lock of readers and writers, and four counters, each in one word of 64
 * bits that two machines share by masked atomics.
 *
 *   first machine:   shared_lock pavo0
 *   second machine:  shared_lock pavo0 ADDRESS-OF-THE-FIRST [ROUNDS]
 *
 * The first machine has the memory and uses its own CPU's atomics; threads of the second
 * use RDMA, each with a queue pair of its own. The lock protects a record that a writer
 * changes number by number: a reader that sees two different numbers has found an error.
 */
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <pavo/device.hpp>
#include <pavo/extended.hpp>
#include <pavo/group.hpp>

namespace {

constexpr uint64_t key = 0x73686172656421;
constexpr size_t workers = 3;
constexpr uint32_t max_rounds = 16000;
constexpr int depth = 4;

/* The lock: readers in the low 16 bits, the top bit is the writer's. */
constexpr pavo::Fields lock_fields = {16, 47};
constexpr uint64_t writer = uint64_t{1} << 63;
/* Counters: reads, writes, attempts that found the lock taken, the same of writers. */
constexpr pavo::Fields counts = {16, 16, 16};
enum Count { READS, WRITES, WAITS, WRITER_WAITS };

struct Table {
	uint64_t lock;
	uint64_t counts;
	std::array<uint64_t, 6> record;
};

struct Card {
	std::array<uint32_t, workers> qpn;
	pavo::Gid gid;
	uint64_t address;
	uint32_t rkey;
	uint32_t rounds;
};

template <class T> T must_have(T object, const char *what)
{
	if (!object)
		throw std::system_error(errno, std::generic_category(), what);
	return object;
}

void must_be_zero(int err, const char *what)
{
	if (err)
		throw std::system_error(err, std::generic_category(), what);
}

struct Free {
	void operator()(ibv_context *c) const { ibv_close_device(c); }
	void operator()(ibv_pd *p) const { ibv_dealloc_pd(p); }
	void operator()(ibv_mr *m) const { ibv_dereg_mr(m); }
	void operator()(ibv_cq *c) const { ibv_destroy_cq(c); }
	void operator()(ibv_qp *q) const { ibv_destroy_qp(q); }
};
template <class T> using Own = std::unique_ptr<T, Free>;

Own<ibv_context> open_device(const std::string &name)
{
	int count;
	ibv_device **list = must_have(ibv_get_device_list(&count), "devices");
	ibv_context *context = nullptr;

	for (int i = 0; i < count && !context; i++)
		if (name == ibv_get_device_name(list[i]))
			context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return Own<ibv_context>(must_have(context, name.c_str()));
}

/* A queue pair, and the memory that it reads to and writes from. */
class Connection {
public:
	Connection(ibv_context *context, ibv_pd *pd)
		: cq_(must_have(ibv_create_cq(context, depth, nullptr, nullptr,
					      0),
				"completion queue")),
		  mr_(must_have(ibv_reg_mr(pd, &local_, sizeof(local_),
					   IBV_ACCESS_LOCAL_WRITE),
				"region"))
	{
		ibv_qp_init_attr_ex attr = {};

		attr.send_cq = attr.recv_cq = cq_.get();
		attr.cap = {depth, 1, 1, 1, 0};
		attr.qp_type = IBV_QPT_RC;
		attr.pd = pd;
		attr.comp_mask = IBV_QP_INIT_ATTR_PD |
				 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ |
				      IBV_QP_EX_WITH_RDMA_WRITE;
		qp_.reset(must_have(ibv_create_qp_ex(context, &attr),
				    "queue pair"));
	}

	uint32_t number() const { return qp_->qp_num; }

	void connect(uint32_t peer, const pavo::Gid &gid, uint16_t gid_index)
	{
		ibv_qp_attr attr = {};

		attr.qp_state = IBV_QPS_INIT;
		attr.port_num = 1;
		attr.qp_access_flags = IBV_ACCESS_REMOTE_READ |
				       IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_ATOMIC;
		modify(attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS);
		attr.qp_state = IBV_QPS_RTR;
		attr.path_mtu = IBV_MTU_1024;
		attr.dest_qp_num = peer;
		attr.max_dest_rd_atomic = depth;
		attr.min_rnr_timer = 12;
		attr.ah_attr.is_global = 1;
		attr.ah_attr.port_num = 1;
		attr.ah_attr.grh.sgid_index = uint8_t(gid_index);
		attr.ah_attr.grh.hop_limit = 64;
		memcpy(attr.ah_attr.grh.dgid.raw, &gid, sizeof(gid));
		modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
		attr.qp_state = IBV_QPS_RTS;
		attr.timeout = 14;
		attr.retry_cnt = 7;
		attr.rnr_retry = 7;
		attr.max_rd_atomic = depth;
		modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC);
	}

	/* The place of the table in the other machine. */
	void aim(uint64_t address, uint32_t rkey)
	{
		address_ = address;
		rkey_ = rkey;
	}

	uint64_t fetch_add(size_t offset, uint64_t add, pavo::Fields fields)
	{
		extended()
			.fetch_add(word(offset), add, fields, old(), 0)
			.value();
		return wait();
	}

	uint64_t compare_swap(size_t offset, pavo::Bits expected,
			      pavo::Bits next)
	{
		extended()
			.compare_swap(word(offset), expected, next, old(), 0)
			.value();
		return wait();
	}

	/* The record, to and from the other machine. */
	std::array<uint64_t, 6> &read_record()
	{
		move(IBV_WR_RDMA_READ);
		return local_.record;
	}
	void write_record() { move(IBV_WR_RDMA_WRITE); }

private:
	void modify(ibv_qp_attr &attr, int mask)
	{
		must_be_zero(ibv_modify_qp(qp_.get(), &attr, mask),
			     "state of a queue pair");
	}

	pavo::Extended extended()
	{
		return pavo::Extended::open(qp_.get()).value();
	}
	pavo::RemoteWord word(size_t offset) const
	{
		return {address_ + offset, rkey_};
	}
	pavo::LocalWord old() const
	{
		return {reinterpret_cast<uintptr_t>(&local_.old), mr_->lkey};
	}

	void move(ibv_wr_opcode opcode)
	{
		ibv_sge sge = {reinterpret_cast<uintptr_t>(&local_.record),
			       sizeof(local_.record), mr_->lkey};
		ibv_send_wr wr = {}, *bad;

		wr.opcode = opcode;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.wr.rdma.remote_addr = address_ + offsetof(Table, record);
		wr.wr.rdma.rkey = rkey_;
		must_be_zero(ibv_post_send(qp_.get(), &wr, &bad), "record");
		wait();
	}

	uint64_t wait()
	{
		ibv_wc wc;

		while (!ibv_poll_cq(cq_.get(), 1, &wc))
			sched_yield();
		if (wc.status != IBV_WC_SUCCESS)
			throw std::runtime_error(ibv_wc_status_str(wc.status));
		return local_.old;
	}

	struct {
		uint64_t old;
		std::array<uint64_t, 6> record;
	} local_ = {};
	Own<ibv_cq> cq_;
	Own<ibv_mr> mr_;
	Own<ibv_qp> qp_;
	uint64_t address_ = 0;
	uint32_t rkey_ = 0;
};

void must_be_whole(const std::array<uint64_t, 6> &record)
{
	for (uint64_t number : record)
		if (number != record[0])
			throw std::runtime_error(
				"a record that a writer was in the midst of");
}

/* The protocol of the lock, by any means to change a word (see Own and Remote below). */
template <class Means> void lock_to_read(Means &means)
{
	while (means.add_to_lock(lock_fields.put(0, 1)) & writer) {
		means.add_to_lock(lock_fields.put(0, UINT64_MAX));
		means.count(WAITS);
		sched_yield();
	}
}

template <class Means> void unlock_reader(Means &means)
{
	means.add_to_lock(lock_fields.put(0, UINT64_MAX));
}

template <class Means> void lock_to_write(Means &means)
{
	/* Only from zero: no reader, no writer. */
	while (!means.take_lock()) {
		means.count(WRITER_WAITS);
		sched_yield();
	}
}

/* One round: three of four read. */
template <class Means> void do_round(Means &means, uint32_t round)
{
	if (round % 4) {
		lock_to_read(means);
		must_be_whole(means.read());
		means.count(READS);
		unlock_reader(means);
		return;
	}
	lock_to_write(means);
	std::array<uint64_t, 6> record = means.read();
	must_be_whole(record);
	for (uint64_t &number : record)
		number++;
	means.write(record);
	means.count(WRITES);
	means.give_lock();
}

/* By RDMA, from the second machine. */
struct Remote {
	Connection &connection;

	uint64_t add_to_lock(uint64_t add)
	{
		return connection.fetch_add(offsetof(Table, lock), add,
					    lock_fields);
	}
	bool take_lock()
	{
		return !connection.compare_swap(offsetof(Table, lock), {0},
						{writer, writer});
	}
	/* Readers that have looked in meanwhile stay in the word. */
	void give_lock()
	{
		connection.compare_swap(offsetof(Table, lock), {writer, writer},
					{0, writer});
	}
	void count(Count which)
	{
		connection.fetch_add(offsetof(Table, counts),
				     counts.put(which, 1), counts);
	}
	std::array<uint64_t, 6> read() { return connection.read_record(); }
	void write(const std::array<uint64_t, 6> &record)
	{
		connection.read_record() = record;
		connection.write_record();
	}
};

/* By the CPU, where the memory is. */
struct Local {
	Table &table;

	static uint64_t add(uint64_t &word, uint64_t add, pavo::Fields fields)
	{
		const uint64_t tops = fields.tops();
		std::atomic_ref shared(word);
		uint64_t old = shared.load(), sum;

		do
			sum = ((old & ~tops) + (add & ~tops)) ^
			      ((old ^ add) & tops);
		while (!shared.compare_exchange_weak(old, sum));
		return old;
	}

	uint64_t add_to_lock(uint64_t number)
	{
		return add(table.lock, number, lock_fields);
	}
	bool take_lock()
	{
		uint64_t free = 0;

		return std::atomic_ref(table.lock)
			.compare_exchange_strong(free, writer);
	}
	void give_lock() { std::atomic_ref(table.lock).fetch_and(~writer); }
	void count(Count which)
	{
		add(table.counts, counts.put(which, 1), counts);
	}
	std::array<uint64_t, 6> read()
	{
		std::array<uint64_t, 6> record;

		for (size_t i = 0; i < record.size(); i++)
			record[i] = std::atomic_ref(table.record[i]).load();
		return record;
	}
	void write(const std::array<uint64_t, 6> &record)
	{
		for (size_t i = 0; i < record.size(); i++)
			std::atomic_ref(table.record[i]).store(record[i]);
	}
};

template <class Means> void do_rounds(Means means, uint32_t rounds)
{
	for (uint32_t round = 0; round < rounds; round++)
		do_round(means, round);
}

/* The sums, by the machine that has the memory. */
void check(const Table &table, uint32_t rounds)
{
	const uint64_t parties = workers + 1;
	const uint64_t writes = parties * ((rounds + 3) / 4);

	printf("%llu reads, %llu writes, readers waited %llu times, writers %llu\n",
	       (unsigned long long)counts.get(READS, table.counts),
	       (unsigned long long)counts.get(WRITES, table.counts),
	       (unsigned long long)counts.get(WAITS, table.counts),
	       (unsigned long long)counts.get(WRITER_WAITS, table.counts));
	must_be_whole(table.record);
	if (table.lock || table.record[0] != writes ||
	    counts.get(WRITES, table.counts) != writes ||
	    counts.get(READS, table.counts) != parties * rounds - writes)
		throw std::runtime_error("the sums are wrong");
}

void run(const std::string &device, const std::string &host, uint32_t rounds)
{
	auto group =
		pavo::Group::join(
			{.host = host, .port = 7477, .size = 2, .key = key})
			.value();
	const auto address = pavo::Device::open(device)
				     .and_then([](const pavo::Device &opened) {
					     return opened.address();
				     })
				     .value();
	Own<ibv_context> context = open_device(device);
	Own<ibv_pd> pd(must_have(ibv_alloc_pd(context.get()), "domain"));
	alignas(64) Table table = {};
	Own<ibv_mr> region(must_have(
		ibv_reg_mr(pd.get(), &table, sizeof(table),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_ATOMIC),
		"region"));
	std::vector<std::unique_ptr<Connection>> connections;
	Card mine = {{},
		     address.gid,
		     reinterpret_cast<uintptr_t>(&table),
		     region->rkey,
		     rounds};

	for (size_t i = 0; i < workers; i++) {
		connections.push_back(
			std::make_unique<Connection>(context.get(), pd.get()));
		mine.qpn[i] = connections[i]->number();
	}
	const Card theirs = group.exchange(mine).value()[1 - group.rank()];
	for (size_t i = 0; i < workers; i++) {
		connections[i]->connect(theirs.qpn[i], theirs.gid,
					address.index);
		connections[i]->aim(theirs.address, theirs.rkey);
	}
	/* Both are connected. */
	group.barrier().value();

	std::vector<std::thread> threads;
	std::vector<std::exception_ptr> errors(workers + 1);
	const auto start = [&](auto means, uint32_t count, size_t number) {
		threads.emplace_back([=, &errors] {
			try {
				do_rounds(means, count);
			} catch (...) {
				errors[number] = std::current_exception();
			}
		});
	};
	if (group.rank() == 0)
		start(Local{table}, theirs.rounds, 0);
	else
		for (size_t i = 0; i < workers; i++)
			start(Remote{*connections[i]}, rounds, i);
	for (std::thread &thread : threads)
		thread.join();
	group.barrier().value();
	for (const std::exception_ptr &error : errors)
		if (error)
			std::rethrow_exception(error);
	if (group.rank() == 0)
		check(table, theirs.rounds);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 4) {
		fprintf(stderr, "usage: shared_lock DEVICE [HOST [ROUNDS]]\n");
		return 2;
	}
	try {
		const int rounds = argc > 3 ? std::stoi(argv[3]) : 1000;

		/* A counter of 16 bits holds the reads of all. */
		if (rounds < 1 || uint32_t(rounds) > max_rounds)
			throw std::runtime_error("give 1 to 16000 rounds");
		run(argv[1], argc > 2 ? argv[2] : "", uint32_t(rounds));
	} catch (const std::exception &error) {
		fprintf(stderr, "shared_lock: %s\n", error.what());
		return 1;
	}
	return 0;
}
