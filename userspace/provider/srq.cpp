// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * srq.cpp - shared receive queues: life, attributes, mapped ring.
 *
 * Posting is post_recv.cpp. Completions carry their wr_id, so polling a CQ
 * needs no lookup of the SRQ.
 */
#include <cerrno>
#include <memory>

#include "provider.h"

namespace pavo {
namespace {

using Response =
	verbs_response<ib_uverbs_create_srq_resp, pavo_create_srq_resp>;

bool map_ring(Srq *srq, int fd, const pavo_create_srq_resp &resp,
	      uint32_t max_sge)
{
	WqeLimits limits = {
		.service = IBV_QPT_RC,
		.slot_size = resp.wqe_size,
		.max_sge = max_sge,
		.max_inline = 0,
		.shared = true,
	};

	if (!resp.rq.size) {
		errno = EPROTO;
		return false;
	}
	if (!map_queue(&srq->map, &srq->rq, fd, resp.rq, PAVO_RQ_HEADER_SIZE,
		       resp.wqe_cnt, limits))
		return false;
	srq->header = static_cast<pavo_rq_header *>(srq->map.data());
	return true;
}

std::unique_ptr<Srq> new_srq(ibv_pd *pd)
{
	bool shared = to_context(pd->context)->state->shared &&
		      !to_pd(pd)->domain;

	auto srq = make_object<Srq>(shared);

	if (srq)
		srq->rq.set_allocator(&to_pd(pd)->allocator);
	return srq;
}

/* The module has made the SRQ, or failed with @err. */
ibv_srq *finish(std::unique_ptr<Srq> srq, ibv_pd *pd, int err,
		const Response &resp, uint32_t max_sge)
{
	if (err) {
		errno = err;
		return nullptr;
	}
	if (!map_ring(srq.get(), pd->context->cmd_fd, resp.driver, max_sge)) {
		err = errno;
		ibv_cmd_destroy_srq(&srq->verbs.srq);
		errno = err;
		return nullptr;
	}
	return &srq.release()->verbs.srq;
}

} // namespace

ibv_srq *create_srq(ibv_pd *pd, ibv_srq_init_attr *attr)
{
	std::unique_ptr<Srq> srq = new_srq(pd);
	verbs_cmd_create_srq cmd = {};
	Response resp = {};
	int err;

	if (!srq)
		return nullptr;
	err = ibv_cmd_create_srq(pd, &srq->verbs.srq, attr, &cmd, sizeof(cmd),
				 resp.core(), resp.size());
	return finish(std::move(srq), pd, err, resp, attr->attr.max_sge);
}

ibv_srq *create_srq_ex(ibv_context *context, ibv_srq_init_attr_ex *attr)
{
	verbs_cmd_create_xsrq cmd = {};
	std::unique_ptr<Srq> srq;
	Response resp = {};
	ibv_srq *made;
	int err;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		errno = EINVAL;
		return nullptr;
	}
	srq = new_srq(attr->pd);
	if (!srq)
		return nullptr;
	srq->verbs.srq.srq_context = attr->srq_context;
	srq->verbs.srq.pd = attr->pd;
	err = ibv_cmd_create_srq_ex(context, &srq->verbs, attr, &cmd,
				    sizeof(cmd), resp.core(), resp.size());
	made = finish(std::move(srq), attr->pd, err, resp, attr->attr.max_sge);
	if (made && to_srq(made)->verbs.srq_type == IBV_SRQT_XRC)
		to_context(context)->state->xrc_srqs++;
	return made;
}

int modify_srq(ibv_srq *srq, ibv_srq_attr *attr, int attr_mask)
{
	verbs_cmd_modify_srq cmd = {};

	return ibv_cmd_modify_srq(srq, attr, attr_mask, &cmd, sizeof(cmd));
}

int query_srq(ibv_srq *srq, ibv_srq_attr *attr)
{
	verbs_cmd_query_srq cmd = {};

	return ibv_cmd_query_srq(srq, attr, &cmd, sizeof(cmd));
}

int destroy_srq(ibv_srq *ibsrq)
{
	ContextState *state = to_context(ibsrq->context)->state;
	Srq *srq = to_srq(ibsrq);
	int err = ibv_cmd_destroy_srq(ibsrq);

	if (err)
		return err;
	if (srq->verbs.srq_type == IBV_SRQT_XRC)
		state->xrc_srqs--;
	adopt_object(srq).reset();
	return 0;
}

int get_srq_num(ibv_srq *ibsrq, uint32_t *number)
{
	const Srq *srq = to_srq(ibsrq);

	if (srq->verbs.srq_type != IBV_SRQT_XRC)
		return EINVAL;
	*number = srq->verbs.srq_num;
	return 0;
}

} // namespace pavo
