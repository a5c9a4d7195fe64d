// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct_methods.c - direct windows as objects of the uverbs file. Called by rdma core; calls
 * direct.h, and the requester for a doorbell.
 */
#include <linux/file.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/pavo-abi.h>
#include "direct/direct_private.h"
#include "requester/requester.h"
#include "rings/ucontext.h"

#define UVERBS_MODULE_NAME pavo
#include <rdma/uverbs_named_ioctl.h>

static int cleanup_direct_window(struct ib_uobject *uobject,
				 enum rdma_remove_reason why,
				 struct uverbs_attr_bundle *attrs)
{
	pavo_direct_close(uobject->object);
	return 0;
}

/* Install a file of the window in the process, after the response was copied to it. */
static int install_window_file(struct uverbs_attr_bundle *attrs,
			       struct pavo_direct *window,
			       struct pavo_direct_open_resp *resp)
{
	struct file *file = pavo_direct_file(window);
	int fd, err;

	if (IS_ERR(file))
		return PTR_ERR(file);
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0) {
		err = fd;
		goto err_put;
	}
	resp->fd = fd;
	err = uverbs_copy_to(attrs, PAVO_ATTR_DIRECT_OPEN_RESP, resp,
			     sizeof(*resp));
	if (err)
		goto err_unused;
	fd_install(fd, file);
	return 0;

err_unused:
	put_unused_fd(fd);
err_put:
	fput(file);
	return err;
}

static int
UVERBS_HANDLER(PAVO_METHOD_DIRECT_OPEN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobject =
		uverbs_attr_get_uobject(attrs, PAVO_ATTR_DIRECT_HANDLE);
	struct pavo_direct_open_resp resp = {};
	struct pavo_direct_open_args args;
	struct pavo_direct *window;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_DIRECT_OPEN_ARGS);
	if (err)
		return err;
	window = pavo_direct_open(
		uverbs_attr_get_obj(attrs, PAVO_ATTR_DIRECT_PD), &args, &resp);
	if (IS_ERR(window))
		return PTR_ERR(window);
	uobject->object = window;
	uverbs_finalize_uobj_create(attrs, PAVO_ATTR_DIRECT_HANDLE);
	return install_window_file(attrs, window, &resp);
}

/* Get the doorbell of the call. Return: 0; -ENOENT: it has none; -EINVAL: it names no own QP. */
static int get_doorbell(struct uverbs_attr_bundle *attrs, u64 *doorbell)
{
	struct ib_ucontext *context = attrs->context;
	int err;

	err = uverbs_copy_from(doorbell, attrs, PAVO_ATTR_DIRECT_DOORBELL);
	if (err)
		return err;
	return pavo_requester_takes(to_pavo_dev(context->device),
				    to_pavo_uctx(context), *doorbell) ?
		       0 :
		       -EINVAL;
}

/* Its queue pair takes the requests that name ranges which were armed. */
static void take_requests(struct ib_ucontext *context, u64 doorbell)
{
	struct pavo_ucontext *uctx = to_pavo_uctx(context);

	pavo_worker_wake(&uctx->worker);
	pavo_requester_ring(to_pavo_dev(context->device), uctx, doorbell);
}

static int
UVERBS_HANDLER(PAVO_METHOD_DIRECT_ARM)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_direct *window =
		uverbs_attr_get_obj(attrs, PAVO_ATTR_DIRECT_HANDLE);
	struct pavo_direct_arm_args args;
	u64 doorbell;
	bool rings;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_DIRECT_ARM_ARGS);
	if (err)
		return err;
	err = get_doorbell(attrs, &doorbell);
	rings = !err;
	if (err && err != -ENOENT)
		return err;
	err = pavo_direct_arm_range(window, &args);
	if (!err && rings)
		take_requests(attrs->context, doorbell);
	return err;
}

static int
UVERBS_HANDLER(PAVO_METHOD_DIRECT_IO)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_direct *window =
		uverbs_attr_get_obj(attrs, PAVO_ATTR_DIRECT_HANDLE);
	const struct pavo_direct_io_args *args;
	u64 doorbell;
	bool rings;
	int n, err;

	n = uverbs_attr_ptr_get_array_size(attrs, PAVO_ATTR_DIRECT_IO_ARGS,
					   sizeof(*args));
	if (n <= 0)
		return n ?: -EINVAL;
	args = uverbs_attr_get_alloced_ptr(attrs, PAVO_ATTR_DIRECT_IO_ARGS);
	err = get_doorbell(attrs, &doorbell);
	rings = !err;
	if (err && err != -ENOENT)
		return err;
	err = pavo_direct_start_ios(window, args, NULL, n);
	if (!err && rings)
		take_requests(attrs->context, doorbell);
	return err;
}

static int
UVERBS_HANDLER(PAVO_METHOD_DIRECT_COUNT)(struct uverbs_attr_bundle *attrs)
{
	struct pavo_direct_count_args args;
	int err;

	err = uverbs_copy_from(&args, attrs, PAVO_ATTR_DIRECT_COUNT_ARGS);
	if (err)
		return err;
	return pavo_direct_count_bytes(
		uverbs_attr_get_obj(attrs, PAVO_ATTR_DIRECT_HANDLE), &args);
}

static int
UVERBS_HANDLER(PAVO_METHOD_DIRECT_DISARM)(struct uverbs_attr_bundle *attrs)
{
	u32 range;
	int err;

	err = uverbs_copy_from(&range, attrs, PAVO_ATTR_DIRECT_RANGE);
	if (err)
		return err;
	return pavo_direct_disarm(
		uverbs_attr_get_obj(attrs, PAVO_ATTR_DIRECT_HANDLE), range);
}

static int
UVERBS_HANDLER(PAVO_METHOD_DIRECT_EXPORT)(struct uverbs_attr_bundle *attrs)
{
	struct file *file;
	s32 fd;
	u32 range;
	int err;

	err = uverbs_copy_from(&range, attrs, PAVO_ATTR_DIRECT_RANGE);
	if (err)
		return err;
	file = pavo_direct_export(
		uverbs_attr_get_obj(attrs, PAVO_ATTR_DIRECT_HANDLE), range);
	if (IS_ERR(file))
		return PTR_ERR(file);
	fd = get_unused_fd_flags(O_CLOEXEC);
	err = fd < 0 ? fd :
		       uverbs_copy_to(attrs, PAVO_ATTR_DIRECT_FD, &fd,
				      sizeof(fd));
	if (!err) {
		fd_install(fd, file);
		return 0;
	}
	if (fd >= 0)
		put_unused_fd(fd);
	fput(file);
	return err;
}

#define WINDOW(access)                                               \
	UVERBS_ATTR_IDR(PAVO_ATTR_DIRECT_HANDLE, PAVO_OBJECT_DIRECT, \
			UVERBS_ACCESS_##access, UA_MANDATORY)

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_DIRECT_OPEN, WINDOW(NEW),
	UVERBS_ATTR_IDR(PAVO_ATTR_DIRECT_PD, UVERBS_OBJECT_PD,
			UVERBS_ACCESS_READ, UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_DIRECT_OPEN_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_direct_open_args),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(PAVO_ATTR_DIRECT_OPEN_RESP,
			    UVERBS_ATTR_TYPE(struct pavo_direct_open_resp),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(PAVO_METHOD_DIRECT_CLOSE, WINDOW(DESTROY));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_DIRECT_ARM, WINDOW(READ),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_DIRECT_ARM_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_direct_arm_args),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_DIRECT_DOORBELL, UVERBS_ATTR_TYPE(u64),
			   UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_DIRECT_IO, WINDOW(READ),
	UVERBS_ATTR_PTR_IN(
		PAVO_ATTR_DIRECT_IO_ARGS,
		UVERBS_ATTR_MIN_SIZE(sizeof(struct pavo_direct_io_args)),
		UA_MANDATORY, UA_ALLOC_AND_COPY),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_DIRECT_DOORBELL, UVERBS_ATTR_TYPE(u64),
			   UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD(
	PAVO_METHOD_DIRECT_COUNT, WINDOW(READ),
	UVERBS_ATTR_PTR_IN(PAVO_ATTR_DIRECT_COUNT_ARGS,
			   UVERBS_ATTR_TYPE(struct pavo_direct_count_args),
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_DIRECT_DISARM, WINDOW(READ),
			    UVERBS_ATTR_PTR_IN(PAVO_ATTR_DIRECT_RANGE,
					       UVERBS_ATTR_TYPE(u32),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_DIRECT_EXPORT, WINDOW(READ),
			    UVERBS_ATTR_PTR_IN(PAVO_ATTR_DIRECT_RANGE,
					       UVERBS_ATTR_TYPE(u32),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(PAVO_ATTR_DIRECT_FD,
						UVERBS_ATTR_TYPE(s32),
						UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(PAVO_OBJECT_DIRECT,
			    UVERBS_TYPE_ALLOC_IDR(cleanup_direct_window),
			    &UVERBS_METHOD(PAVO_METHOD_DIRECT_OPEN),
			    &UVERBS_METHOD(PAVO_METHOD_DIRECT_CLOSE),
			    &UVERBS_METHOD(PAVO_METHOD_DIRECT_ARM),
			    &UVERBS_METHOD(PAVO_METHOD_DIRECT_COUNT),
			    &UVERBS_METHOD(PAVO_METHOD_DIRECT_DISARM),
			    &UVERBS_METHOD(PAVO_METHOD_DIRECT_EXPORT),
			    &UVERBS_METHOD(PAVO_METHOD_DIRECT_IO));

const struct uapi_definition pavo_direct_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(PAVO_OBJECT_DIRECT),
	{},
};
