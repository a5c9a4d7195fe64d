// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * handler_methods.c - handlers of an adapter as objects of the uverbs file. Called by rdma core;
 * calls handler.h.
 */
#include <linux/slab.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/pavo-abi.h>
#include "window/handler.h"

#define UVERBS_MODULE_NAME pavo
#include <rdma/uverbs_named_ioctl.h>

/**
 * struct pavo_adapter_handler - a handler as an object of the uverbs file.
 * @windows: of its adapter
 * @group:   its group
 * @number:  in the group
 */
struct pavo_adapter_handler {
	struct pavo_windows *windows;
	struct pavo_handler_group *group;
	u32 number;
};

static void free_handler(struct pavo_adapter_handler *handler)
{
	pavo_handlers_leave(handler->windows, handler->group);
	pavo_handlers_put(handler->group);
	kfree(handler);
}

/* Make a handler of the eventfd @fd, not ready. */
static struct pavo_adapter_handler *
make_handler(struct pavo_windows *all, const struct ib_ucontext *context,
	     int fd)
{
	struct pavo_adapter_handler *handler =
		kzalloc(sizeof(*handler), GFP_KERNEL_ACCOUNT);
	int number;

	if (!handler)
		return ERR_PTR(-ENOMEM);
	handler->windows = all;
	handler->group = pavo_handlers_join(all, context);
	if (!handler->group) {
		kfree(handler);
		return ERR_PTR(-ENOMEM);
	}
	number = pavo_events_add(&handler->group->events, fd);
	if (number < 0) {
		free_handler(handler);
		return ERR_PTR(number);
	}
	handler->number = number;
	return handler;
}

static int cleanup_handler(struct ib_uobject *uobject,
			   enum rdma_remove_reason why,
			   struct uverbs_attr_bundle *attrs)
{
	struct pavo_adapter_handler *handler = uobject->object;
	struct pavo_events *events = &handler->group->events;

	/* No other event would wake a thread that sleeps, as when the adapter is removed. */
	pavo_events_wake(events, handler->number);
	pavo_events_remove(events, handler->number);
	free_handler(handler);
	return 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_HANDLER_OPEN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, PAVO_ATTR_HANDLER_HANDLE);
	struct pavo_dev *dev = to_pavo_dev(attrs->context->device);
	struct pavo_adapter_handler *handler;
	int err;
	s32 fd;

	err = uverbs_copy_from(&fd, attrs, PAVO_ATTR_HANDLER_EVENT);
	if (err)
		return err;
	handler = make_handler(dev->windows, attrs->context, fd);
	if (IS_ERR(handler))
		return PTR_ERR(handler);
	uobject->object = handler;
	uverbs_finalize_uobj_create(attrs, PAVO_ATTR_HANDLER_HANDLE);
	return 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_HANDLER_READY)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_adapter_handler *handler =
		uverbs_attr_get_obj(attrs, PAVO_ATTR_HANDLER_HANDLE);

	return pavo_events_ready(&handler->group->events, handler->number);
}

static int
UVERBS_HANDLER(PAVO_METHOD_HANDLER_TAKE)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_adapter_handler *handler =
		uverbs_attr_get_obj(attrs, PAVO_ATTR_HANDLER_HANDLE);
	u32 ids[PAVO_HANDLER_WINDOWS] = {}, n, most;
	int len = uverbs_attr_get_len(attrs, PAVO_ATTR_HANDLER_WINDOWS);

	if (len <= 0 || len % sizeof(u32) || len > sizeof(ids))
		return -EINVAL;
	most = len / sizeof(u32);
	for (n = 0; n < most; n++) {
		ids[n] = pavo_handlers_take(handler->group);
		if (!ids[n])
			break;
	}
	return uverbs_copy_to(attrs, PAVO_ATTR_HANDLER_WINDOWS, ids, len);
}

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_HANDLER_OPEN,
			    UVERBS_ATTR_IDR(PAVO_ATTR_HANDLER_HANDLE,
					    PAVO_OBJECT_HANDLER,
					    UVERBS_ACCESS_NEW, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(PAVO_ATTR_HANDLER_EVENT,
					       UVERBS_ATTR_TYPE(s32),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(PAVO_METHOD_HANDLER_CLOSE,
				    UVERBS_ATTR_IDR(PAVO_ATTR_HANDLER_HANDLE,
						    PAVO_OBJECT_HANDLER,
						    UVERBS_ACCESS_DESTROY,
						    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_HANDLER_READY,
			    UVERBS_ATTR_IDR(PAVO_ATTR_HANDLER_HANDLE,
					    PAVO_OBJECT_HANDLER,
					    UVERBS_ACCESS_READ, UA_MANDATORY));

/* An attribute with ids of windows. */
#define WINDOWS UVERBS_ATTR_MIN_SIZE(sizeof(u32))

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_HANDLER_TAKE,
			    UVERBS_ATTR_IDR(PAVO_ATTR_HANDLER_HANDLE,
					    PAVO_OBJECT_HANDLER,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(PAVO_ATTR_HANDLER_WINDOWS,
						WINDOWS, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(PAVO_OBJECT_HANDLER,
			    UVERBS_TYPE_ALLOC_IDR(cleanup_handler),
			    &UVERBS_METHOD(PAVO_METHOD_HANDLER_OPEN),
			    &UVERBS_METHOD(PAVO_METHOD_HANDLER_CLOSE),
			    &UVERBS_METHOD(PAVO_METHOD_HANDLER_READY),
			    &UVERBS_METHOD(PAVO_METHOD_HANDLER_TAKE));

const struct uapi_definition pavo_handler_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(PAVO_OBJECT_HANDLER),
	{},
};
