// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * memory.cpp - memory regions and memory windows: passed on to the kernel.
 *
 * The provider keeps nothing of them; the module makes and checks keys.
 */
#include <cerrno>
#include <memory>

#include "provider.h"

namespace pavo {

ibv_mr *reg_mr(ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	verbs_cmd_reg_mr cmd = {};
	ib_uverbs_reg_mr_resp resp = {};
	auto mr = make_object<verbs_mr>();
	int err;

	if (!mr)
		return nullptr;
	err = ibv_cmd_reg_mr(pd, addr, length, iova, access, mr.get(), &cmd,
			     sizeof(cmd), &resp, sizeof(resp));
	if (err) {
		errno = err;
		return nullptr;
	}
	return &mr.release()->ibv_mr;
}

ibv_mr *reg_dmabuf_mr(ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
		      int fd, int access)
{
	auto mr = make_object<verbs_mr>();
	int err;

	if (!mr)
		return nullptr;
	err = ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access,
				    mr.get(), nullptr);
	if (err) {
		errno = err;
		return nullptr;
	}
	return &mr.release()->ibv_mr;
}

int rereg_mr(verbs_mr *mr, int flags, ibv_pd *pd, void *addr, size_t length,
	     int access)
{
	verbs_cmd_rereg_mr cmd = {};
	ib_uverbs_rereg_mr_resp resp = {};

	return ibv_cmd_rereg_mr(mr, flags, addr, length,
				reinterpret_cast<uintptr_t>(addr), access, pd,
				&cmd, sizeof(cmd), &resp, sizeof(resp));
}

int dereg_mr(verbs_mr *mr)
{
	int err = ibv_cmd_dereg_mr(mr);

	if (!err)
		adopt_object(mr).reset();
	return err;
}

ibv_mw *alloc_mw(ibv_pd *pd, ibv_mw_type type)
{
	verbs_cmd_alloc_mw cmd = {};
	ib_uverbs_alloc_mw_resp resp = {};
	auto mw = make_object<ibv_mw>();
	int err;

	if (!mw)
		return nullptr;
	err = ibv_cmd_alloc_mw(pd, type, mw.get(), &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (err) {
		errno = err;
		return nullptr;
	}
	return mw.release();
}

int dealloc_mw(ibv_mw *mw)
{
	int err = ibv_cmd_dealloc_mw(mw);

	if (!err)
		adopt_object(mw).reset();
	return err;
}

/* Memory windows of type 1: the verb chooses the next key, posting does the rest. */
int bind_mw(ibv_qp *qp, ibv_mw *mw, ibv_mw_bind *bind)
{
	uint32_t before = mw->rkey;
	ibv_send_wr wr = {};
	ibv_send_wr *bad;
	int err;

	wr.opcode = IBV_WR_BIND_MW;
	wr.wr_id = bind->wr_id;
	wr.send_flags = bind->send_flags;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(before);
	wr.bind_mw.bind_info = bind->bind_info;
	err = post_send(qp, &wr, &bad);
	if (err)
		mw->rkey = before;
	return err;
}

} // namespace pavo
