/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * oracle.hpp - what has to be true of a flow of messages at each step of a run.
 *
 * The oracle knows no protocol. It computes from the messages alone which bytes of which memory each
 * of them changes, in their order, and chooses payloads so that every byte changes. So each byte shows
 * whether its message was carried out, and a byte that is written twice, early, or elsewhere shows, too.
 */
#ifndef PAVO_SIM_ORACLE_HPP
#define PAVO_SIM_ORACLE_HPP

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <infiniband/verbs.h>

#include "read_order.hpp"
#include "workload.hpp"

namespace sim {

/* Something that must be true is not. @kind is the same for the same defect. */
class Failure : public std::runtime_error {
public:
	Failure(std::string kind, const std::string &text)
		: std::runtime_error(text), kind(std::move(kind))
	{
	}
	const std::string kind;
};

/* Registered memory, with guards around it. */
class Memory {
public:
	static constexpr size_t guard = 64;
	static constexpr uint8_t fill = 0xee;

	/*
	 * Pages that memories take from here on, so that they have the same addresses in each run of
	 * the model; empty: of the heap.
	 */
	static std::span<uint8_t> pool;

	/* @skew: distance of the first byte from a page. */
	Memory(size_t size, size_t skew);
	~Memory();
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;

	uint8_t *at(size_t offset = 0) const { return first_ + offset; }
	size_t size() const { return size_; }
	uint8_t *begin() const { return first_ - guard; }
	size_t whole() const { return size_ + 2 * guard; }

	ibv_mr *mr = nullptr;

private:
	uint8_t *pages_, *first_;
	size_t size_;
	bool pooled_ = false;
};

/* Bytes that a message changes. */
struct Effect {
	size_t message; /* its place in the flow */
	size_t memory; /* which one of the track */
	size_t offset;
	Bytes after;
	/* Values that are as good: of a read that was repeated after later writes. */
	std::vector<Bytes> others;
	bool whole = false; /* no part of it may be seen alone */
};

/* Memories that change in the order of messages alone. */
class Track {
public:
	size_t watch(const Memory &memory);
	void add(Effect effect) { effects_.push_back(std::move(effect)); }
	/* Look at all bytes. @posted: messages that may have begun. Throws Failure. */
	void check(size_t posted);
	/* True if all that messages before @end change is there. */
	bool done(size_t end) const;
	bool complete() const { return next_ == effects_.size(); }

private:
	struct Watched {
		const Memory *memory;
		Bytes expected;
	};
	/* Over: some bytes have values that neither this effect nor those before it give. */
	enum class Progress { none, some, all, over };

	Progress progress(const Effect &effect) const;
	void check_others(const Effect *partly) const;

	std::vector<Watched> watched_;
	std::vector<Effect> effects_;
	size_t next_ = 0;
};

/* Why a request may fail. */
struct Excuse {
	bool ended =
		false; /* the other end has failed, or the queue pair was ended */
	/*
	 * Packets of the connection that had faults since the oldest request was posted that was
	 * incomplete when this one was.
	 */
	unsigned harm = 0;
	bool faults = false; /* the connection has had any */
	unsigned not_ready = 0; /* RNR NAKs in all */
};

struct Completion {
	ibv_wc_status status = IBV_WC_SUCCESS;
	ibv_wc_opcode opcode = IBV_WC_SEND;
	uint64_t id = 0;
	uint32_t qpn = 0, length = 0;
	unsigned flags = 0;
	uint32_t imm = 0;
	std::optional<uint64_t> imm64;
};

/* Memory of one flow. */
struct FlowMemory {
	Memory area; /* at the target: of writes, reads, atomics */
	Memory slots; /* at the target: of its receive WQEs */
	Memory out; /* at the requester: what it sends */
	Memory in; /* at the requester: what it reads */

	FlowMemory(const Connection &connection, const Flow &flow);
};

/* Of a flow: what is posted, complete and in memory. */
class FlowOracle {
public:
	FlowOracle(const Connection &connection, const Flow &flow,
		   FlowMemory &memory);

	size_t size() const { return messages_.size(); }
	const Message &message(size_t i) const { return messages_[i]; }
	/* Places of its bytes in FlowMemory::out and ::in. */
	size_t out_at(size_t i) const { return out_at_[i]; }
	size_t in_at(size_t i) const { return in_at_[i]; }
	size_t receives() const { return receives_.size(); }

	void post() { posted_++; }
	size_t posted() const { return posted_; }
	/* Messages whose space in the send queue is free again. */
	size_t completed() const { return completed_; }
	/* Receives that are complete. */
	size_t received() const { return received_; }
	bool failed() const { return failed_; }
	/* A request that the peer refuses is on its way. */
	bool wrong_posted() const;

	/* Completions; they throw Failure. */
	void send_done(const Completion &done, const Excuse &excuse);
	/* @slot: where the bytes of a send are; null: in FlowMemory::slots. */
	void receive_done(const Completion &done, const uint8_t *slot,
			  const Excuse &excuse);
	void check();
	/* The run is over. @ended: the connection was, before. */
	void check_end(bool ended);

private:
	void place(FlowMemory &memory);
	void place_write(size_t i, Bytes &image, FlowMemory &memory);
	void place_send(size_t i, FlowMemory &memory);
	void place_atomic(size_t i, Bytes &image, FlowMemory &memory);
	void place_read(size_t i, const Bytes &image);
	void add_later_values();
	void check_done(size_t end) const;
	void send_failed(const Completion &done, const Excuse &excuse);
	void check_status(const Message &m, const Completion &done,
			  const Excuse &excuse) const;
	void check_received(const Message &m, const Completion &done) const;

	const uint32_t mtu_;
	const uint8_t retries_, rnr_retries_;
	const bool shared_;
	const uint32_t slot_size_;
	FlowMemory &memory_;
	std::vector<Message> messages_;
	std::vector<size_t> out_at_, in_at_;
	std::vector<size_t> receives_; /* messages that take a receive WQE */
	Track target_, local_;
	std::vector<Effect> read_effects_;
	ReadOrder order_;
	size_t posted_ = 0, completed_ = 0, received_ = 0;
	bool failed_ = false, receive_failed_ = false;
};

} // namespace sim

#endif /* PAVO_SIM_ORACLE_HPP */
