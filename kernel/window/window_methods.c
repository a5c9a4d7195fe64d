// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * window_methods.c - windows as objects of the uverbs file. Called by rdma core; calls window.h.
 */
#include <linux/capability.h>
#include <linux/sched.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/pavo-abi.h>
#include "window/window_private.h"

#define UVERBS_MODULE_NAME pavo
#include <rdma/uverbs_named_ioctl.h>

static int cleanup_window(struct ib_uobject *uobject,
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
	/* As RDMA netlink does for keys of regions. noaudit: any process may query. */
	if (!ns_capable_noaudit(&init_user_ns, CAP_NET_ADMIN))
		lmt.key = 0;
	return uverbs_copy_to_struct_or_zero(attrs, PAVO_ATTR_WINDOW_LMT, &lmt,
					     sizeof(lmt));
}

/* The number of rCxts that fit into the attribute; 0: none, too many, or not whole ids. */
static u32 count_rcxts(struct uverbs_attr_bundle *attrs, u16 attr)
{
	int len = uverbs_attr_get_len(attrs, attr);
	u32 n;

	if (len <= 0 || len % sizeof(u32))
		return 0;
	n = len / sizeof(u32);
	return n <= PAVO_RCXTS_AT_ONCE ? n : 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_TAKE_RCXTS)(struct uverbs_attr_bundle *attrs)
{
	u32 n = count_rcxts(attrs, PAVO_ATTR_WINDOW_RCXTS_TAKEN), *ids;
	struct pavo_fifo_window *window =
		uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE);
	int err;

	if (!n)
		return -EINVAL;
	ids = uverbs_kcalloc(attrs, n, sizeof(*ids));
	if (IS_ERR(ids))
		return PTR_ERR(ids);
	err = pavo_rcxts_take(window, ids, n);
	if (err)
		return err;
	err = uverbs_copy_to(attrs, PAVO_ATTR_WINDOW_RCXTS_TAKEN, ids,
			     n * sizeof(*ids));
	while (err && n)
		pavo_rcxt_return(window, ids[--n]);
	return err;
}

/* Call @act for each rCxt that the attribute names, until a call fails. */
static int act_on_rcxts(struct uverbs_attr_bundle *attrs,
			int (*act)(struct pavo_fifo_window *window, u32 rcxt))
{
	const u32 *ids =
		uverbs_attr_get_alloced_ptr(attrs, PAVO_ATTR_WINDOW_RCXTS);
	u32 n = count_rcxts(attrs, PAVO_ATTR_WINDOW_RCXTS), i;
	struct pavo_fifo_window *window =
		uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE);
	int err = 0;

	if (IS_ERR(ids))
		return PTR_ERR(ids);
	if (!n)
		return -EINVAL;
	for (i = 0; !err && i < n; i++) {
		err = act(window, ids[i]);
		/* A cancel looks at all held frames of the window. */
		cond_resched();
	}
	return err;
}

static int UVERBS_HANDLER(PAVO_METHOD_WINDOW_RETURN_RCXTS)(
	struct uverbs_attr_bundle *attrs)
{
	return act_on_rcxts(attrs, pavo_rcxt_return);
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_CANCEL)(struct uverbs_attr_bundle *attrs)
{
	return act_on_rcxts(attrs, pavo_window_cancel);
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_ADD_HANDLER)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_fifo_window *window =
		uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE);
	int number, err;
	u32 made;
	s32 fd;

	err = uverbs_copy_from(&fd, attrs, PAVO_ATTR_WINDOW_EVENT);
	if (err)
		return err;
	number = pavo_events_add(&window->events, fd);
	if (number < 0)
		return number;
	made = number;
	err = uverbs_copy_to(attrs, PAVO_ATTR_WINDOW_HANDLER_MADE, &made,
			     sizeof(made));
	if (err)
		pavo_events_remove(&window->events, made);
	return err;
}

static int UVERBS_HANDLER(PAVO_METHOD_WINDOW_REMOVE_HANDLER)(
	struct uverbs_attr_bundle *attrs)
{
	struct pavo_fifo_window *window =
		uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE);
	u32 number;
	int err;

	err = uverbs_copy_from(&number, attrs, PAVO_ATTR_WINDOW_HANDLER);
	if (err)
		return err;
	return pavo_events_remove(&window->events, number);
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_DISABLE)(struct uverbs_attr_bundle *attrs)
{
	pavo_window_disable(
		uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE));
	return 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_SNAPSHOT)(struct uverbs_attr_bundle *attrs)
{
	int n = pavo_window_snapshot(
		uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE));
	u32 at_work = n;

	if (n < 0)
		return n;
	return uverbs_copy_to(attrs, PAVO_ATTR_WINDOW_AT_WORK, &at_work,
			      sizeof(at_work));
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_JOIN)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_group_join_args args;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_WINDOW_JOIN_ARGS);
	if (err)
		return err;
	return pavo_group_join(
		uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE), &args);
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_LEAVE)(struct uverbs_attr_bundle *attrs)
{
	u32 number;
	int err;

	err = uverbs_copy_from(&number, attrs, PAVO_ATTR_WINDOW_GROUP);
	if (err)
		return err;
	return pavo_group_leave(
		uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE), number);
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_BIND)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_group_bind_args args;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_WINDOW_BIND_ARGS);
	if (err)
		return err;
	return pavo_group_bind(
		uverbs_attr_get_obj(attrs, PAVO_ATTR_WINDOW_HANDLE), &args);
}

static int
UVERBS_HANDLER(PAVO_METHOD_WINDOW_UNBIND)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_group_unbind_args args;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_WINDOW_UNBIND_ARGS);
	if (err)
		return err;
	return pavo_group_unbind(uverbs_attr_get_obj(attrs,
						     PAVO_ATTR_WINDOW_HANDLE),
				 args.group, args.rcxt);
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
			    UVERBS_ATTR_STRUCT(struct pavo_lmt, event_kept),
			    UA_MANDATORY));

/* An attribute with ids of rCxts. */
#define RCXTS UVERBS_ATTR_SIZE(sizeof(u32), PAVO_RCXTS_AT_ONCE * sizeof(u32))

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_WINDOW_TAKE_RCXTS,
			    UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE,
					    PAVO_OBJECT_WINDOW,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(PAVO_ATTR_WINDOW_RCXTS_TAKEN,
						RCXTS, UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_WINDOW_RETURN_RCXTS,
			    UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE,
					    PAVO_OBJECT_WINDOW,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(PAVO_ATTR_WINDOW_RCXTS, RCXTS,
					       UA_MANDATORY,
					       UA_ALLOC_AND_COPY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_WINDOW_CANCEL,
			    UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE,
					    PAVO_OBJECT_WINDOW,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(PAVO_ATTR_WINDOW_RCXTS, RCXTS,
					       UA_MANDATORY,
					       UA_ALLOC_AND_COPY));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_WINDOW_ADD_HANDLER,
	UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE, PAVO_OBJECT_WINDOW,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_WINDOW_EVENT, UVERBS_ATTR_TYPE(s32),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(PAVO_ATTR_WINDOW_HANDLER_MADE,
			    UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_WINDOW_REMOVE_HANDLER,
			    UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE,
					    PAVO_OBJECT_WINDOW,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(PAVO_ATTR_WINDOW_HANDLER,
					       UVERBS_ATTR_TYPE(u32),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_WINDOW_DISABLE,
			    UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE,
					    PAVO_OBJECT_WINDOW,
					    UVERBS_ACCESS_READ, UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_WINDOW_SNAPSHOT,
			    UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE,
					    PAVO_OBJECT_WINDOW,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(PAVO_ATTR_WINDOW_AT_WORK,
						UVERBS_ATTR_TYPE(u32),
						UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_WINDOW_JOIN,
	UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE, PAVO_OBJECT_WINDOW,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_WINDOW_JOIN_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_group_join_args),
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_WINDOW_LEAVE,
			    UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE,
					    PAVO_OBJECT_WINDOW,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(PAVO_ATTR_WINDOW_GROUP,
					       UVERBS_ATTR_TYPE(u32),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_WINDOW_BIND,
	UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE, PAVO_OBJECT_WINDOW,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_WINDOW_BIND_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_group_bind_args),
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_WINDOW_UNBIND,
	UVERBS_ATTR_IDR(PAVO_ATTR_WINDOW_HANDLE, PAVO_OBJECT_WINDOW,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_WINDOW_UNBIND_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_group_unbind_args),
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(PAVO_OBJECT_WINDOW,
			    UVERBS_TYPE_ALLOC_IDR(cleanup_window),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_OPEN),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_CLOSE),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_NODE),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_KICK),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_QUERY),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_TAKE_RCXTS),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_RETURN_RCXTS),
			    &UVERBS_METHOD(PAVO_METHOD_WINDOW_CANCEL));

DECLARE_UVERBS_GLOBAL_METHODS(PAVO_OBJECT_WINDOW_MORE,
			      &UVERBS_METHOD(PAVO_METHOD_WINDOW_ADD_HANDLER),
			      &UVERBS_METHOD(PAVO_METHOD_WINDOW_REMOVE_HANDLER),
			      &UVERBS_METHOD(PAVO_METHOD_WINDOW_DISABLE),
			      &UVERBS_METHOD(PAVO_METHOD_WINDOW_SNAPSHOT),
			      &UVERBS_METHOD(PAVO_METHOD_WINDOW_JOIN),
			      &UVERBS_METHOD(PAVO_METHOD_WINDOW_LEAVE),
			      &UVERBS_METHOD(PAVO_METHOD_WINDOW_BIND),
			      &UVERBS_METHOD(PAVO_METHOD_WINDOW_UNBIND));

const struct uapi_definition pavo_window_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(PAVO_OBJECT_WINDOW),
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(PAVO_OBJECT_WINDOW_MORE),
	{},
};
