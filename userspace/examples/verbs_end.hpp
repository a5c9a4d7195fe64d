// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verbs_end.hpp - the common part of examples that use verbs beside the library: events of
 * rdma_cm, registered memory, and an end of a connection with small messages.
 */
#ifndef PAVO_EXAMPLES_VERBS_END_HPP
#define PAVO_EXAMPLES_VERBS_END_HPP

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

namespace examples {

/** Ends an object of libibverbs or librdmacm by the call for it. */
template <auto call> struct Ending {
	template <class T> void operator()(T *object) const { call(object); }
};

template <class T, auto call> using Owned = std::unique_ptr<T, Ending<call>>;
using Pd = Owned<ibv_pd, ibv_dealloc_pd>;
using Channel = Owned<ibv_comp_channel, ibv_destroy_comp_channel>;
using Region = Owned<ibv_mr, ibv_dereg_mr>;
using CmId = Owned<rdma_cm_id, rdma_destroy_id>;
using CmEvent = Owned<rdma_cm_event, rdma_ack_cm_event>;

/** Throws std::system_error of @error. */
[[noreturn]] void fail(int error, const std::string &what);

/** The object, or a std::system_error of errno. */
template <class T> T *made(T *object, const std::string &what);

/** Events of connections; their file does not block. Throws. */
class CmChannel {
public:
	CmChannel();

	int fd() const { return channel_->fd; }
	/** An identifier whose events come here. */
	CmId make_id() const;
	/** The next event; null: none came in so many ms. -1: waits. */
	CmEvent next(int timeout_ms) const;
	/** The same, which has to be of that type. */
	CmEvent expect(rdma_cm_event_type type, int timeout_ms) const;

private:
	Owned<rdma_event_channel, rdma_destroy_event_channel> channel_;
};

/** Data that the other program gave with an event; none: fewer bytes than that has. */
template <class T> std::optional<T> private_data(const rdma_cm_event &event);

/** Registered memory of whole pages. */
class Memory {
public:
	/**
	 * @shared: the peer may write and read it. @at: where it is in this process; 0: anywhere.
	 * Throws.
	 */
	Memory(ibv_pd *pd, size_t length, bool shared = false, uint64_t at = 0);
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

	/**
	 * Of an identifier that has an adapter. @channel: has the events of its completions, with
	 * @context. accept() or connect() is the next step. Throws.
	 */
	VerbsEnd(CmId id, ibv_pd *pd, ibv_comp_channel *channel,
		 void *context = nullptr);
	~VerbsEnd();
	VerbsEnd(const VerbsEnd &) = delete;

	/** Takes the connection that the other program has asked for, with an answer. Throws. */
	template <class T> void accept(const T &answer)
	{
		rdma_conn_param param = parameters(&answer, sizeof(answer));

		if (rdma_accept(id_.get(), &param))
			fail(errno, "connection");
	}
	/** Asks for a connection. Throws. */
	template <class T> void connect(const T &question)
	{
		rdma_conn_param param = parameters(&question, sizeof(question));

		if (rdma_connect(id_.get(), &param))
			fail(errno, "connection");
	}
	/** Ends it: all requests that are under way complete, with errors. */
	void disconnect() { rdma_disconnect(id_.get()); }

	rdma_cm_id *id() const { return id_.get(); }
	ibv_qp *qp() const { return id_->qp; }

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
	/** Also of one that failed, which says nothing but its number. */
	static bool is_message(const ibv_wc &wc)
	{
		return wc.wr_id & receive_mark;
	}

	/** Posts an RDMA write or read of @local; its completion has @id. Throws. */
	void move(ibv_wr_opcode opcode, const ibv_sge &local, uint64_t remote,
		  uint32_t rkey, uint64_t id);
	/** The request of move(), to be posted by another call. */
	static ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge &local,
				   uint64_t remote, uint32_t rkey, uint64_t id);

	/** Posts an RDMA write of no bytes, which fails if the other program is gone. Throws. */
	void probe(uint64_t id);

	/** The next completion, of any status, if there is one. Throws. */
	std::optional<ibv_wc> poll();
	/** Has the next completion raise an event. Throws. */
	void arm();
	/** The end whose completions raised an event of the channel, by its context. Throws. */
	static void *take_event(ibv_comp_channel *channel);

private:
	/* Numbers of requests of users have this bit clear. */
	static constexpr uint64_t receive_mark = uint64_t(1) << 63;

	static rdma_conn_param parameters(const void *data, size_t bytes);
	void post_receive(uint64_t slot);
	void send_bytes(const void *from, uint32_t length, uint64_t id);
	void take_bytes(const ibv_wc &wc, void *to, uint32_t length);

	CmId id_;
	Owned<ibv_cq, ibv_destroy_cq> cq_;
	std::unique_ptr<Memory> messages_;
};

/** Counters of an adapter whose name begins so: "direct_sent 12" and so on. */
std::vector<std::pair<std::string, uint64_t>>
counters_of(const std::string &adapter, const std::string &begin);

/* ------------------------------------------------------------------ templates */

template <class T> T *made(T *object, const std::string &what)
{
	if (!object)
		fail(errno, what);
	return object;
}

template <class T> std::optional<T> private_data(const rdma_cm_event &event)
{
	const auto &conn = event.param.conn;
	T data;

	static_assert(std::is_trivially_copyable_v<T>);
	/* It comes with as many bytes as the kernel has room for. */
	if (!conn.private_data || conn.private_data_len < sizeof(data))
		return {};
	memcpy(&data, conn.private_data, sizeof(data));
	return data;
}

} // namespace examples

#endif // PAVO_EXAMPLES_VERBS_END_HPP
