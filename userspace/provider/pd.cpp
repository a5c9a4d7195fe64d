// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pd.cpp - protection domains, thread domains and parent domains.
 *
 * A thread domain has no state: queues of a PD that contains one are made without locks. A
 * parent domain may have functions to allocate the provider's memory of queues (buffer.h). The
 * kernel has PDs only.
 */
#include <cerrno>

#include "provider.h"

namespace pavo {

ibv_pd *alloc_pd(ibv_context *context)
{
	verbs_cmd_alloc_pd cmd = {};
	ib_uverbs_alloc_pd_resp resp = {};
	auto pd = make_object<Pd>();
	int err;

	if (!pd)
		return nullptr;
	err = ibv_cmd_alloc_pd(context, &pd->pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (err) {
		errno = err;
		return nullptr;
	}
	return &pd.release()->pd;
}

static int dealloc_parent(Pd *parent)
{
	if (parent->users || parent->allocator.buffers)
		return EBUSY;
	parent->parent_of->users--;
	if (parent->domain)
		parent->domain->users--;
	adopt_object(parent).reset();
	return 0;
}

int dealloc_pd(ibv_pd *ibpd)
{
	Pd *pd = to_pd(ibpd);
	int err;

	if (pd->parent_of)
		return dealloc_parent(pd);
	if (pd->users)
		return EBUSY;
	err = ibv_cmd_dealloc_pd(ibpd);
	if (!err)
		adopt_object(pd).reset();
	return err;
}

ibv_td *alloc_td(ibv_context *context, ibv_td_init_attr *attr)
{
	if (attr->comp_mask) {
		errno = EINVAL;
		return nullptr;
	}
	auto domain = make_object<ThreadDomain>();

	if (!domain)
		return nullptr;
	domain->td.context = context;
	return &domain.release()->td;
}

int dealloc_td(ibv_td *td)
{
	ThreadDomain *domain = to_domain(td);

	if (domain->users)
		return EBUSY;
	adopt_object(domain).reset();
	return 0;
}

static bool is_valid(const ibv_parent_domain_init_attr &attr)
{
	/*
	 * IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC, which older headers lack: buffers may
	 * be in memory that a confidential guest shares. No device reads the adapter's memory, so
	 * libibverbs' own allocation serves.
	 */
	constexpr uint32_t allow_unprotected = 1 << 2;
	constexpr uint32_t known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
				   IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT |
				   allow_unprotected;

	if (!attr.pd || attr.comp_mask & ~known || to_pd(attr.pd)->parent_of)
		return false;
	if (attr.comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS)
		return attr.alloc && attr.free;
	return true;
}

ibv_pd *alloc_parent_domain(ibv_context *context,
			    ibv_parent_domain_init_attr *attr)
{
	if (!is_valid(*attr)) {
		errno = EINVAL;
		return nullptr;
	}
	auto parent = make_object<Pd>();

	if (!parent)
		return nullptr;

	/* libibverbs and the kernel see the real PD through it. */
	parent->pd.context = context;
	parent->pd.handle = attr->pd->handle;
	parent->parent_of = to_pd(attr->pd);
	parent->parent_of->users++;
	if (attr->td) {
		parent->domain = to_domain(attr->td);
		parent->domain->users++;
	}
	parent->allocator.pd = &parent->pd;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		parent->allocator.alloc = attr->alloc;
		parent->allocator.free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		parent->allocator.context = attr->pd_context;
	return &parent.release()->pd;
}

} // namespace pavo
