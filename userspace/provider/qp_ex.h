/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * qp_ex.h - a queue pair whose requests are put together by calls (ibv_wr_*).
 * Called by qp.cpp when it makes one; see qp_ex.cpp.
 */
#ifndef PAVO_PROVIDER_QP_EX_H
#define PAVO_PROVIDER_QP_EX_H

#include <optional>

#include "sq_chain.h"

namespace pavo {

/** The requests of a chain so far; under the queue's lock. */
class SendBuilder {
public:
	/** False without memory. @cap: that of the QP, in domain @from. */
	bool init(Allocator *from, const ibv_qp_cap &cap);

	void start(Qp *qp);
	/** Begins the next request; the one before is then complete. */
	ibv_send_wr *begin(ibv_wr_opcode opcode);
	/** The same for one with operands that verbs do not have. */
	ibv_send_wr *begin(ibv_wr_opcode opcode, const Extension &extension);
	/** Begins a flush. @flags: PAVO_FLUSH_* */
	void begin_flush(uint32_t rkey, uint64_t remote, size_t length,
			 uint32_t flags);
	void set_sges(const ibv_sge *sges, size_t count);
	void set_inline(const ibv_data_buf *pieces, size_t count);
	/** The request being put together, if there is one. */
	ibv_send_wr *current() { return open_ ? &wr_ : nullptr; }
	void fail(int err);
	/** 0, or a positive errno and nothing was posted. */
	int finish();
	void drop();

private:
	void close();

	std::optional<SqChain> chain_;
	ibv_qp_ex *qp_ex_ = nullptr;
	ibv_send_wr wr_ = {};
	std::optional<Extension> extension_;
	bool open_ = false;
	int err_ = 0;
	Buffer memory_; /* of both */
	ibv_sge *sges_ = nullptr;
	std::byte *inline_ = nullptr;
	size_t max_sges_ = 0;
	size_t max_inline_ = 0;
};

/** Makes @qp, which has a builder, one with functions for ibv_wr_*. */
void set_send_ops(Qp *qp);

} // namespace pavo

#endif /* PAVO_PROVIDER_QP_EX_H */
