/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * peer.hpp - verbs of the simulator: the objects of two peers, and how messages become work requests.
 */
#ifndef PAVO_SIM_PEER_HPP
#define PAVO_SIM_PEER_HPP

#include <array>
#include <memory>
#include <span>
#include <vector>

#include <infiniband/verbs.h>

#include "oracle.hpp"

namespace sim {

/* Takes an object of libibverbs back. */
struct Destroy {
	void operator()(ibv_pd *pd) const { ibv_dealloc_pd(pd); }
	void operator()(ibv_cq *cq) const { ibv_destroy_cq(cq); }
	void operator()(ibv_qp *qp) const { ibv_destroy_qp(qp); }
	void operator()(ibv_mr *mr) const { ibv_dereg_mr(mr); }
	void operator()(ibv_srq *srq) const { ibv_destroy_srq(srq); }
	void operator()(ibv_xrcd *xrcd) const { ibv_close_xrcd(xrcd); }
	void operator()(ibv_context *context) const
	{
		ibv_close_device(context);
	}
};
template <class T> using Owned = std::unique_ptr<T, Destroy>;

/* A shared receive queue and its memory. */
struct Pool {
	Owned<ibv_srq> srq;
	std::unique_ptr<Memory> slots;
	Owned<ibv_mr> mr;
	uint32_t slot_size = 0, number = 0;
	unsigned posted = 0;
};

struct Peer {
	Owned<ibv_pd> pd;
	Owned<ibv_cq> send_cq, recv_cq;
	Owned<ibv_xrcd> xrcd;
	Pool shared, xrc;
};

/* A flow as a peer sends it and the other receives it. */
struct Line {
	std::unique_ptr<FlowMemory> memory;
	std::array<Owned<ibv_mr>, 4> mrs; /* area, slots, out, in */
	std::unique_ptr<FlowOracle> oracle;
	ibv_qp *sender = nullptr, *receiver = nullptr;
	Pool *pool =
		nullptr; /* that its receives come from; null: its own slots */
	uint32_t slot_size = 0;
	unsigned receives_posted = 0;
};

/* All objects of a run. Later members go first. */
struct Objects {
	Owned<ibv_context> context;
	std::array<Peer, 2> peers;
	std::vector<std::array<Line, 2>> lines; /* by connection, by sender */
	std::vector<std::array<Owned<ibv_qp>, 2>> qps;

	explicit Objects(const Plan &plan);
	~Objects();

private:
	void open();
	void make_peer(Peer &peer, const Plan &plan, unsigned self);
	void make_pool(Peer &peer, Pool &pool, unsigned slots, bool xrc);
	void make_line(const Connection &connection, Line &line,
		       unsigned sender, const Flow &flow);
	void make_qps(const Plan &plan, size_t index);
	void connect(const Connection &connection, size_t index);
};

/* Post the messages [first, first + count) of a line in one call. */
void post_messages(Line &line, size_t first, size_t count);
void post_receive(Line &line);
/* Take all completions of a queue. */
std::vector<Completion> poll(ibv_cq *cq);
void end(ibv_qp *qp);

} // namespace sim

#endif /* PAVO_SIM_PEER_HPP */
