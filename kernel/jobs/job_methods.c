// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * job_methods.c - jobs and mappings as objects of the uverbs file. rdma core checks permission,
 * keeps handles, ends the objects with their process, and charges each to the rdma cgroup.
 * Called by rdma core; calls job.h.
 */
#include <linux/log2.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/pavo-abi.h>
#include "jobs/job.h"

#define UVERBS_MODULE_NAME pavo
#include <rdma/uverbs_named_ioctl.h>

static int cleanup_job(struct ib_uobject *uobject, enum rdma_remove_reason why,
		       struct uverbs_attr_bundle *attrs)
{
	pavo_job_leave(uobject->object);
	return 0;
}

static int cleanup_mapping(struct ib_uobject *uobject,
			   enum rdma_remove_reason why,
			   struct uverbs_attr_bundle *attrs)
{
	pavo_job_unmap(uobject->object);
	return 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_JOB_OPEN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, PAVO_ATTR_JOB_HANDLE);
	struct pavo_job_open_args args;
	struct pavo_job *job;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_JOB_OPEN_ARGS);
	if (err)
		return err;
	if (args.flags & ~PAVO_JOB_RESERVE)
		return -EINVAL;
	job = args.flags & PAVO_JOB_RESERVE ?
		      pavo_job_reserve(args.id, args.key, args.limit) :
		      pavo_job_join(args.id, args.key);
	if (IS_ERR(job))
		return PTR_ERR(job);
	uobject->object = job;
	return 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_JOB_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_job_info info;

	pavo_job_query(uverbs_attr_get_obj(attrs, PAVO_ATTR_JOB_HANDLE), &info);
	return uverbs_copy_to_struct_or_zero(attrs, PAVO_ATTR_JOB_INFO, &info,
					     sizeof(info));
}

static int
UVERBS_HANDLER(PAVO_METHOD_JOB_CHECK)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_job_check_args args;
	u32 result;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_JOB_CHECK_ARGS);
	if (err)
		return err;
	result =
		pavo_job_check(uverbs_attr_get_obj(attrs, PAVO_ATTR_JOB_HANDLE),
			       args.pvo, args.length);
	return uverbs_copy_to(attrs, PAVO_ATTR_JOB_CHECK_RESULT, &result,
			      sizeof(result));
}

static int
UVERBS_HANDLER(PAVO_METHOD_MAPPING_MAP)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, PAVO_ATTR_MAPPING_HANDLE);
	struct pavo_map_resp resp = {};
	struct pavo_mapping *mapping;
	struct pavo_map_args args;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_MAPPING_ARGS);
	if (err)
		return err;
	mapping =
		pavo_job_map(uverbs_attr_get_obj(attrs, PAVO_ATTR_MAPPING_JOB),
			     args.start, args.length);
	if (IS_ERR(mapping))
		return PTR_ERR(mapping);
	uobject->object = mapping;
	uverbs_finalize_uobj_create(attrs, PAVO_ATTR_MAPPING_HANDLE);

	resp.pvo = mapping->pvo;
	resp.page_size = 1u << mapping->shift;
	resp.shared = mapping->shared;
	return uverbs_copy_to(attrs, PAVO_ATTR_MAPPING_RESP, &resp,
			      sizeof(resp));
}

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_JOB_OPEN,
	UVERBS_ATTR_IDR(PAVO_ATTR_JOB_HANDLE, PAVO_OBJECT_JOB,
			UVERBS_ACCESS_NEW, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_JOB_OPEN_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_job_open_args),
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(PAVO_METHOD_JOB_CLOSE,
				    UVERBS_ATTR_IDR(PAVO_ATTR_JOB_HANDLE,
						    PAVO_OBJECT_JOB,
						    UVERBS_ACCESS_DESTROY,
						    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_JOB_QUERY,
	UVERBS_ATTR_IDR(PAVO_ATTR_JOB_HANDLE, PAVO_OBJECT_JOB,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(PAVO_ATTR_JOB_INFO,
			    UVERBS_ATTR_STRUCT(struct pavo_job_info, shared),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_JOB_CHECK,
	UVERBS_ATTR_IDR(PAVO_ATTR_JOB_HANDLE, PAVO_OBJECT_JOB,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_JOB_CHECK_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_job_check_args),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(PAVO_ATTR_JOB_CHECK_RESULT, UVERBS_ATTR_TYPE(u32),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(PAVO_OBJECT_JOB, UVERBS_TYPE_ALLOC_IDR(cleanup_job),
			    &UVERBS_METHOD(PAVO_METHOD_JOB_OPEN),
			    &UVERBS_METHOD(PAVO_METHOD_JOB_CLOSE),
			    &UVERBS_METHOD(PAVO_METHOD_JOB_QUERY),
			    &UVERBS_METHOD(PAVO_METHOD_JOB_CHECK));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_MAPPING_MAP,
	UVERBS_ATTR_IDR(PAVO_ATTR_MAPPING_HANDLE, PAVO_OBJECT_MAPPING,
			UVERBS_ACCESS_NEW, UA_MANDATORY),
	UVERBS_ATTR_IDR(PAVO_ATTR_MAPPING_JOB, PAVO_OBJECT_JOB,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_MAPPING_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_map_args),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(PAVO_ATTR_MAPPING_RESP,
			    UVERBS_ATTR_TYPE(struct pavo_map_resp),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(PAVO_METHOD_MAPPING_UNMAP,
				    UVERBS_ATTR_IDR(PAVO_ATTR_MAPPING_HANDLE,
						    PAVO_OBJECT_MAPPING,
						    UVERBS_ACCESS_DESTROY,
						    UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(PAVO_OBJECT_MAPPING,
			    UVERBS_TYPE_ALLOC_IDR(cleanup_mapping),
			    &UVERBS_METHOD(PAVO_METHOD_MAPPING_MAP),
			    &UVERBS_METHOD(PAVO_METHOD_MAPPING_UNMAP));

const struct uapi_definition pavo_job_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(PAVO_OBJECT_JOB),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(PAVO_OBJECT_MAPPING),
	{},
};
