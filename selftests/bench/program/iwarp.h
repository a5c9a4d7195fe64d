/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Connects queue pairs of iWARP, which takes rdma_cm and its TCP connection.
 *
 * Owns: the identifiers of both ends. Used by: pair.cpp.
 */
#pragma once

#include "device.h"

struct rdma_cm_event;
struct rdma_cm_id;
struct rdma_event_channel;

namespace bench {

/* One end of a connection, with events of its own. */
class Caller {
public:
	explicit Caller(Device &device);
	~Caller();
	Caller(const Caller &) = delete;
	Caller &operator=(const Caller &) = delete;

	/* Return: the port that it listens on. */
	uint16_t listen();
	void call(const Device &peer, uint16_t port, const ibv_qp *qp);
	void answer(const ibv_qp *qp);
	/* Until the connection is there. */
	void finish();

private:
	rdma_cm_id *await(int kind);
	void resolve(const Device &peer, uint16_t port);

	Device &device_;
	rdma_event_channel *channel_;
	rdma_cm_id *listener_ = nullptr;
	rdma_cm_id *id_ = nullptr;
};

/* A connection between two queue pairs, as long as it lives. */
class Call {
public:
	Call(Device &a, const ibv_qp *from, Device &b, const ibv_qp *to);

private:
	Caller caller_;
	Caller callee_;
};

} // namespace bench
