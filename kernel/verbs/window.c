// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * window.c - windows as objects of the uverbs file. Called through the methods in
 * verbs/job.c's list; calls window/window.h.
 */
#include <rdma/uverbs_ioctl.h>
#include <rdma/pavo-abi.h>
#include "device.h"
#include "verbs/verbs.h"

#define UVERBS_MODULE_NAME pavo
#include <rdma/uverbs_named_ioctl.h>

static int window_cleanup(struct ib_uobject *uobject,
			  enum rdma_remove_reason why,
			  struct uverbs_attr_bundle *attrs)
{
	pavo_window_close(uobject->object);
	return 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_OPEN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, PAVO_ATTR_WINDOW_HANDLE);
	struct pavo_window_resp resp = {};
	struct pavo_window_args args;
	struct pavo_fifo_window *window;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_WINDOW_ARGS);
	if (err)
		return err;
	window = pavo_window_open(
		to_pavo_dev(attrs->context->device), attrs->context,
		uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_JOB), &args, &resp);
	if (IS_ERR(window))
		return PTR_ERR(window);
	uobject->object = window;
	uverbs_finalize_uobj_create(attrs, PAVO_ATTR_WINDOW_HANDLE);
	return uverbs_copy_to(attrs, PAVO_ATTR_WINDOW_RESP, &resp,
			      sizeof(resp));
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_NODE)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_window_node_args args;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_WINDOW_NODE_ARGS);
	if (err)
		return err;
	return pavo_window_node(
		uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE), &args);
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_KICK)(struct uverbs_attr_bundle *attrs)
{
	pavo_window_kick(uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE));
	return 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_lmt lmt;

	pavo_window_lmt(uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE),
			&lmt);
	return uverbs_copy_to_struct_or_zero(attrs, PAVO_ATTR_WINDOW_LMT, &lmt,
					     sizeof(lmt));
}

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_WINDOW_OPEN,
	UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE, PAVO_OBJECT_WINDOW,
			UVERBS_ACCESS_NEW, UA_MANDATORY),
	UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_JOB, PAVO_OBJECT_JOB,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_WINDOW_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_window_args),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(PAVO_ATTR_WINDOW_RESP,
			    UVERBS_ATTR_TYPE(struct pavo_window_resp),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(PAVO_METHOD_WINDOW_CLOSE,
				    UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE,
						    PAVO_OBJECT_WINDOW,
						    UVERBS_ACCESS_DESTROY,
						    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_WINDOW_NODE,
	UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE, PAVO_OBJECT_WINDOW,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_WINDOW_NODE_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_window_node_args),
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_WINDOW_KICK,
			    UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE,
					    PAVO_OBJECT_WINDOW,
					    UVERBS_ACCESS_READ, UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_WINDOW_QUERY,
	UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE, PAVO_OBJECT_WINDOW,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(PAVO_ATTR_WINDOW_LMT,
			    UVERBS_ATTR_STRUCT(struct pavo_lmt, rcxts),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(PAVO_OBJECT_WINDOW,
			    UVERBS_TYPE_ALLOC_IDR(window_cleanup),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_OPEN),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_CLOSE),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_NODE),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_KICK),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_QUERY));

const struct uapi_definition pavo_window_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(PAVO_OBJECT_WINDOW),
	{},
};
