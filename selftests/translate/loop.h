// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* loop.h - an adapter that reads memory and shows what it saw there. */
#ifndef PAVO_TRANSLATE_LOOP_H
#define PAVO_TRANSLATE_LOOP_H

#include <infiniband/verbs.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <pavo/mr_cache.h>

namespace world {

/* A queue pair that is connected to itself. */
class Loop {
public:
	/* @variable: of the environment; names the adapter */
	explicit Loop(const char *variable);
	/* A queue pair of its own, in the protection domain of another's. */
	explicit Loop(const Loop *like);
	~Loop();
	Loop(const Loop &) = delete;

	ibv_pd *pd() const { return pd_; }

	/* The bytes of those pieces, as the adapter reads them (RDMA write). */
	std::vector<std::byte> read(std::span<const pavo_mr_piece> pieces);

private:
	void connect();

	static constexpr unsigned most_pieces = 4;
	bool owner_;
	ibv_context *context_;
	ibv_pd *pd_;
	ibv_cq *cq_ = nullptr;
	ibv_qp *qp_ = nullptr;
};

} // namespace world

#endif // PAVO_TRANSLATE_LOOP_H
