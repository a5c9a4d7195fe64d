/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * connection.h - one rdma_cm connection with its queue pair and its buffer.
 *
 * Owns every verbs object of a transfer and frees them in the right order.
 * Used by sender.cpp and receiver.cpp; one thread, no locks.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

namespace copy {

/* An error, with a message for the user. */
class Error : public std::runtime_error {
public:
	explicit Error(const std::string &what, int code = 0)
		: std::runtime_error(what), code_(code)
	{
	}
	/* errno of the call that failed; 0: none did */
	int code() const { return code_; }

private:
	int code_;
};

/* Throws "what: strerror(errno)". */
[[noreturn]] void fail_errno(const std::string &what);

template <typename T, int (*release)(T *)> struct Releaser {
	void operator()(T *object) const { release(object); }
};

struct ChannelCloser {
	void operator()(rdma_event_channel *channel) const
	{
		rdma_destroy_event_channel(channel);
	}
};

using Channel = std::unique_ptr<rdma_event_channel, ChannelCloser>;
using Id = std::unique_ptr<rdma_cm_id, Releaser<rdma_cm_id, rdma_destroy_id>>;
using Pd = std::unique_ptr<ibv_pd, Releaser<ibv_pd, ibv_dealloc_pd>>;
using CompChannel =
	std::unique_ptr<ibv_comp_channel,
			Releaser<ibv_comp_channel, ibv_destroy_comp_channel>>;
using Cq = std::unique_ptr<ibv_cq, Releaser<ibv_cq, ibv_destroy_cq>>;
using Mr = std::unique_ptr<ibv_mr, Releaser<ibv_mr, ibv_dereg_mr>>;

/* The address to connect to, or to listen at. */
struct Where {
	std::string host;
	std::string port;
};

class Connection {
public:
	explicit Connection(int timeout_ms);
	~Connection();
	Connection(const Connection &) = delete;
	Connection &operator=(const Connection &) = delete;

	/* Towards a listening side: resolve, then connect() when set up. */
	void resolve(const Where &where);
	void connect(std::span<const std::byte> offer);
	/* The other way: wait for a caller, then accept() when set up. */
	void listen(const Where &where, bool forever);
	void accept(std::span<const std::byte> answer);
	/* Refuses the caller, who gets these bytes. */
	void reject(std::span<const std::byte> reason);

	/* Queue pair for depth outstanding messages, and a buffer of size octets. */
	void set_up(uint32_t depth, size_t size, int access);
	void disconnect();

	/* The private data of the other side's connect or accept. */
	std::span<const std::byte> peer_data() const { return peer_data_; }
	std::byte *buffer() { return buffer_.get(); }
	const ibv_mr &mr() const { return *mr_; }
	std::string device() const;

	void post_recv();
	void post_write(size_t at, uint32_t length, uint64_t address,
			uint32_t rkey, uint32_t data);
	void post_message(uint32_t data);
	/* Sends it, and waits until it has arrived or the connection is gone; throws nothing. */
	void deliver_message(uint32_t data) noexcept;

	/*
	 * The next successful completion; throws if one failed, if the peer
	 * left, or if none came within the time limit.
	 */
	ibv_wc wait_completion();
	/* Waits for the peer to leave. */
	void wait_disconnect();

private:
	rdma_cm_event *next_event(int timeout_ms);
	void expect(rdma_cm_event_type type, int timeout_ms);
	void keep_peer_data(const rdma_cm_event &event);
	[[noreturn]] void fail_connecting(rdma_cm_event_type got, int status);
	void wait_readable();
	void post(ibv_send_wr &wr);

	int timeout_ms_;
	Channel channel_;
	Id listener_;
	Id id_;
	Pd pd_;
	CompChannel comp_;
	Cq cq_;
	std::unique_ptr<std::byte, void (*)(std::byte *)> buffer_;
	Mr mr_;
	size_t peer_size_ = 0;
	std::byte peer_bytes_[256];
	std::span<const std::byte> peer_data_;
};

} // namespace copy
