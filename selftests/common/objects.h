/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * objects.h - makes objects of libibverbs by the name of their kind, each kept as the call
 * that takes it back. For tests of how many there may be and what they cost.
 */
#ifndef PAVO_COMMON_OBJECTS_H
#define PAVO_COMMON_OBJECTS_H

#include <fcntl.h>

#include <functional>
#include <memory>

#include "connect.h"

namespace common {

using Undo = std::function<void()>;

/* Nothing, where @object is none: the caller finds the reason in errno. */
template <class Object, class Unmake> Undo undo(Object *object, Unmake unmake)
{
	if (!object)
		return {};
	return [=] { unmake(object); };
}

/* The objects that such objects are made of: as little as each kind takes. */
class Material {
public:
	Material(ibv_pd *pd, const ibv_ah_attr &way)
		: context_(pd->context), pd_(pd), way_(way),
		  cq_(must_make(ibv_create_cq(context_, 1, nullptr, nullptr, 0),
				"CQ"))
	{
	}
	~Material() { ibv_destroy_cq(cq_); }
	Material(const Material &) = delete;

	Undo make(const std::string &kind)
	{
		ibv_srq_init_attr srq = {nullptr, {1, 1, 0}};
		ibv_qp_init_attr qp = {};

		qp.send_cq = qp.recv_cq = cq_;
		qp.cap = {1, 1, 1, 1, 0};
		qp.qp_type = IBV_QPT_RC;
		if (kind == "pd")
			return undo(ibv_alloc_pd(context_), ibv_dealloc_pd);
		if (kind == "ah")
			return undo(ibv_create_ah(pd_, &way_), ibv_destroy_ah);
		if (kind == "mr")
			return undo(ibv_reg_mr(pd_, memory_, sizeof(memory_),
					       0),
				    ibv_dereg_mr);
		if (kind == "mw")
			return undo(ibv_alloc_mw(pd_, IBV_MW_TYPE_1),
				    ibv_dealloc_mw);
		if (kind == "xrcd")
			return undo(open_domain(), ibv_close_xrcd);
		if (kind == "cq")
			return undo(ibv_create_cq(context_, 1, nullptr, nullptr,
						  0),
				    ibv_destroy_cq);
		if (kind == "srq")
			return undo(ibv_create_srq(pd_, &srq), ibv_destroy_srq);
		if (kind == "qp")
			return undo(ibv_create_qp(pd_, &qp), ibv_destroy_qp);
		if (kind == "target")
			return make_target();
		throw std::invalid_argument("no kind " + kind);
	}

private:
	/* A queue pair of XRC, which rdma core makes as one of the kernel's. */
	Undo make_target()
	{
		ibv_qp_init_attr_ex target = {};

		if (!domain_)
			domain_.reset(must_make(open_domain(), "XRC domain"));
		target.qp_type = IBV_QPT_XRC_RECV;
		target.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		target.xrcd = domain_.get();
		return undo(ibv_create_qp_ex(context_, &target),
			    ibv_destroy_qp);
	}

	ibv_xrcd *open_domain()
	{
		ibv_xrcd_init_attr own = {IBV_XRCD_INIT_ATTR_FD |
						  IBV_XRCD_INIT_ATTR_OFLAGS,
					  -1, O_CREAT};

		return ibv_open_xrcd(context_, &own);
	}

	struct CloseDomain {
		void operator()(ibv_xrcd *xrcd) const { ibv_close_xrcd(xrcd); }
	};

	ibv_context *context_;
	ibv_pd *pd_;
	ibv_ah_attr way_;
	ibv_cq *cq_;
	std::unique_ptr<ibv_xrcd, CloseDomain> domain_;
	alignas(64) char memory_[64];
};

} // namespace common

#endif /* PAVO_COMMON_OBJECTS_H */
