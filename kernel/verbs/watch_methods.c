// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * watch_methods.c - watches as objects of the uverbs file. Called by rdma core; calls
 * memory/watch.h.
 */
#include <rdma/uverbs_ioctl.h>
#include <rdma/pavo-abi.h>
#include "memory/watch.h"
#include "verbs/verbs.h"

#define UVERBS_MODULE_NAME pavo
#include <rdma/uverbs_named_ioctl.h>

static int cleanup_watch(struct ib_uobject *uobject,
			 enum rdma_remove_reason why,
			 struct uverbs_attr_bundle *attrs)
{
	pavo_watch_close(uobject->object);
	return 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_WATCH_OPEN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, PAVO_ATTR_WATCH_HANDLE);
	struct pavo_mmap_info info = {};
	struct pavo_watch *watch;
	u32 slots;
	int err;

	err = uverbs_copy_from(&slots, attrs, PAVO_ATTR_WATCH_SLOTS);
	if (err)
		return err;
	watch = pavo_watch_open(attrs->context, slots, &info);
	if (IS_ERR(watch))
		return PTR_ERR(watch);
	uobject->object = watch;
	uverbs_finalize_uobj_create(attrs, PAVO_ATTR_WATCH_HANDLE);
	return uverbs_copy_to(attrs, PAVO_ATTR_WATCH_WORDS, &info,
			      sizeof(info));
}

static int
UVERBS_HANDLER(PAVO_METHOD_WATCH_SET)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_watch_set_args args;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_WATCH_SET_ARGS);
	if (err)
		return err;
	if (args.reserved)
		return -EINVAL;
	return pavo_watch_set(uverbs_attr_get_obj(attrs,
						  PAVO_ATTR_WATCH_HANDLE),
			      args.slot, args.start, args.length);
}

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_WATCH_OPEN,
	UVERBS_ATTR_IDR(PAVO_ATTR_WATCH_HANDLE, PAVO_OBJECT_WATCH,
			UVERBS_ACCESS_NEW, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_WATCH_SLOTS, UVERBS_ATTR_TYPE(u32),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(PAVO_ATTR_WATCH_WORDS,
			    UVERBS_ATTR_TYPE(struct pavo_mmap_info),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(PAVO_METHOD_WATCH_CLOSE,
				    UVERBS_ATTR_IDR(PAVO_ATTR_WATCH_HANDLE,
						    PAVO_OBJECT_WATCH,
						    UVERBS_ACCESS_DESTROY,
						    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_WATCH_SET,
	UVERBS_ATTR_IDR(PAVO_ATTR_WATCH_HANDLE, PAVO_OBJECT_WATCH,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_WATCH_SET_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_watch_set_args),
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(PAVO_OBJECT_WATCH,
			    UVERBS_TYPE_ALLOC_IDR(cleanup_watch),
			    &UVERBS_METHOD(PAVO_METHOD_WATCH_OPEN),
			    &UVERBS_METHOD(PAVO_METHOD_WATCH_CLOSE),
			    &UVERBS_METHOD(PAVO_METHOD_WATCH_SET));

const struct uapi_definition pavo_watch_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(PAVO_OBJECT_WATCH),
	{},
};
