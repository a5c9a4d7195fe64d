// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * consumer.c - direct windows of kernel consumers (pavo_kernel.h). Called by other modules in
 * process context.
 */
#include <linux/export.h>
#include <linux/module.h>
#include "direct/direct_private.h"
#include "pavo_kernel.h"

struct pavo_direct *
pavo_kernel_direct_open(struct ib_pd *pd,
			const struct pavo_direct_open_args *args,
			struct pavo_direct_open_resp *resp)
{
	struct pavo_direct *window;

	if (pd->device->ops.owner != THIS_MODULE || pd->uobject)
		return ERR_PTR(-EOPNOTSUPP);
	window = pavo_direct_open(pd, args, resp);
	if (!IS_ERR(window))
		resp->fd = -1;
	return window;
}
EXPORT_SYMBOL_GPL(pavo_kernel_direct_open);

void pavo_kernel_direct_close(struct pavo_direct *window)
{
	pavo_direct_close(window);
}
EXPORT_SYMBOL_GPL(pavo_kernel_direct_close);

int pavo_kernel_direct_io(struct pavo_direct *window,
			  const struct pavo_direct_io_args *ios,
			  struct file *const *files, u32 n, struct ib_qp *qp,
			  const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad_wr)
{
	u32 i;
	int err;

	*bad_wr = wr;
	if (qp->device != &window->dev->ib)
		return -EINVAL;
	err = pavo_direct_start_ios(window, ios, files, n);
	if (err)
		return err;
	err = ib_post_send(qp, wr, bad_wr);
	for (i = 0; err && i < n; i++)
		pavo_direct_disarm(window, ios[i].range);
	return err;
}
EXPORT_SYMBOL_GPL(pavo_kernel_direct_io);
