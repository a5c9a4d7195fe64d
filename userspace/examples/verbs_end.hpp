// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verbs_end.hpp - the common part of examples that use verbs beside the library: an adapter, a
 * queue pair that is connected to that of the other program, and small messages.
 */
#ifndef PAVO_EXAMPLES_VERBS_END_HPP
#define PAVO_EXAMPLES_VERBS_END_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <infiniband/verbs.h>

#include <pavo/group.hpp>

namespace examples {

/** Ends an object of libibverbs by the call for it. */
template <auto call> struct Ending {
	template <class T> void operator()(T *object) const { call(object); }
};

template <class T, auto call> using Owned = std::unique_ptr<T, Ending<call>>;
using Region = Owned<ibv_mr, ibv_dereg_mr>;

/** Registered memory of whole pages. */
class Memory {
public:
	/** @writable: by the peer, which may also read it then. Throws. */
	Memory(ibv_pd *pd, size_t length, bool shared = false);
	Memory(const Memory &) = delete;
	~Memory();

	std::byte *at(size_t offset) const { return data_ + offset; }
	uint64_t address(size_t offset) const
	{
		return reinterpret_cast<uintptr_t>(data_ + offset);
	}
	uint32_t lkey() const { return region_->lkey; }
	uint32_t rkey() const { return region_->rkey; }

private:
	size_t length_;
	std::byte *data_;
	Region region_;
};

/** A queue pair of RC, with one completion queue for both of its sides. */
class VerbsEnd {
public:
	/** Most requests on their way, of each side. */
	static constexpr uint32_t sends = 1024, receives = 128;
	/** Bytes of a message at most. */
	static constexpr uint32_t message_size = 64;

	/** Opens the adapter of that name and connects to the other of two programs. Throws. */
	VerbsEnd(const std::string &adapter, pavo::Group &group);

	ibv_pd *pd() const { return pd_.get(); }
	ibv_qp *qp() const { return qp_.get(); }

	/** Sends a message; its completion has @id. */
	template <class T> void send(const T &message, uint64_t id)
	{
		static_assert(std::is_trivially_copyable_v<T> &&
			      sizeof(T) <= message_size);
		send_bytes(&message, sizeof(message), id);
	}
	/** The message that came with a completion of a receive, which is posted again. */
	template <class T> T take(const ibv_wc &wc)
	{
		static_assert(std::is_trivially_copyable_v<T> &&
			      sizeof(T) <= message_size);
		T message;

		take_bytes(wc, &message, sizeof(message));
		return message;
	}
	static bool is_message(const ibv_wc &wc)
	{
		return wc.opcode & IBV_WC_RECV;
	}

	/** Posts an RDMA write or read of @local; its completion has @id. Throws. */
	void move(ibv_wr_opcode opcode, const ibv_sge &local, uint64_t remote,
		  uint32_t rkey, uint64_t id);
	/** The request of move(), to be posted by another call. */
	static ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge &local,
				   uint64_t remote, uint32_t rkey, uint64_t id);

	/** The next completion, if there is one. Throws if it is an error. */
	std::optional<ibv_wc> poll();
	/** The next completion; sleeps until there is one. */
	ibv_wc next();

private:
	void connect(const std::string &adapter, pavo::Group &group);
	void post_receive(uint64_t slot);
	void send_bytes(const void *from, uint32_t length, uint64_t id);
	void take_bytes(const ibv_wc &wc, void *to, uint32_t length);

	Owned<ibv_context, ibv_close_device> context_;
	Owned<ibv_pd, ibv_dealloc_pd> pd_;
	Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
	Owned<ibv_cq, ibv_destroy_cq> cq_;
	Owned<ibv_qp, ibv_destroy_qp> qp_;
	std::unique_ptr<Memory> messages_;
};

/** Counters of an adapter whose name begins so: "direct_sent 12" and so on. */
std::vector<std::pair<std::string, uint64_t>>
counters_of(const std::string &adapter, const std::string &begin);

} // namespace examples

#endif // PAVO_EXAMPLES_VERBS_END_HPP
