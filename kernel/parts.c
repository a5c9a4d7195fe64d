// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * parts.c - the list of the parts that this build has, and what they add to the rest: methods of
 * the uverbs file, attributes in sysfs, a receiver of packets.
 *
 * Called by main.c. No other file names a part: options of the build leave them out (Kbuild).
 */
#include <rdma/uverbs_ioctl.h>
#include "adapter.h"
#include "demux.h"
#include "direct/direct.h"
#include "jobs/job.h"
#include "netif/netif.h"
#include "parts.h"
#include "verbs/verbs.h"
#include "window/window.h"

const struct pavo_part *const pavo_parts[] = {
#if IS_ENABLED(CONFIG_PAVO_WINDOWS)
	/* Interfaces close windows when an adapter stops, so they come first. */
	&pavo_netif_part,
	&pavo_jobs_part,
	&pavo_window_part,
#endif
#if IS_ENABLED(CONFIG_PAVO_DIRECT)
	&pavo_direct_part,
#endif
	NULL,
};

#if IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS)
static const struct uapi_definition methods[] = {
	UAPI_DEF_CHAIN(pavo_verbs_defs),
#if IS_ENABLED(CONFIG_PAVO_WINDOWS)
	UAPI_DEF_CHAIN(pavo_job_defs),
	UAPI_DEF_CHAIN(pavo_window_defs),
	UAPI_DEF_CHAIN(pavo_handler_defs),
	UAPI_DEF_CHAIN(pavo_netif_defs),
#endif
#if IS_ENABLED(CONFIG_PAVO_DIRECT)
	UAPI_DEF_CHAIN(pavo_direct_defs),
#endif
	{},
};
#endif

static struct attribute *attributes[] = {
	&dev_attr_pavo_abi.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_board_id.attr,
	&dev_attr_quantum.attr,
	&dev_attr_weights.attr,
	&dev_attr_response_weights.attr,
	&dev_attr_send_credits.attr,
	&dev_attr_read_credits.attr,
#if IS_ENABLED(CONFIG_PAVO_WINDOWS)
	&dev_attr_recover.attr,
#endif
	NULL,
};

static const struct attribute_group attribute_group = {
	.attrs = attributes,
};

static const struct ib_device_ops attribute_ops = {
	.device_group = &attribute_group,
};

/* Exit the parts before @part in the list, the last one first. */
static void exit_parts_before(const struct pavo_part *const *part)
{
	while (part-- != pavo_parts)
		if ((*part)->exit)
			(*part)->exit();
}

int pavo_parts_init(void)
{
	const struct pavo_part *const *part;
	int err;

	for (part = pavo_parts; *part; part++) {
		err = (*part)->init ? (*part)->init() : 0;
		if (err) {
			exit_parts_before(part);
			return err;
		}
		if ((*part)->receive)
			pavo_demux_set_receiver((*part)->receive,
						(*part)->receive_group);
	}
	return 0;
}

void pavo_parts_exit(void)
{
	exit_parts_before(pavo_parts + ARRAY_SIZE(pavo_parts) - 1);
}

int pavo_parts_add(struct pavo_dev *dev)
{
	const struct pavo_part *const *part;
	int err = 0;

	for (part = pavo_parts; !err && *part; part++)
		if ((*part)->add)
			err = (*part)->add(dev);
	return err;
}

void pavo_parts_stop(struct pavo_dev *dev)
{
	const struct pavo_part *const *part;

	for (part = pavo_parts; *part; part++)
		if ((*part)->stop)
			(*part)->stop(dev);
}

void pavo_parts_remove(struct pavo_dev *dev)
{
	const struct pavo_part *const *part;

	for (part = pavo_parts; *part; part++)
		if ((*part)->remove)
			(*part)->remove(dev);
}

const char *pavo_parts_refuse(struct net_device *ndev)
{
	const struct pavo_part *const *part;
	const char *why = NULL;

	for (part = pavo_parts; !why && *part; part++)
		if ((*part)->refuse)
			why = (*part)->refuse(ndev);
	return why;
}

void pavo_parts_setup(struct pavo_dev *dev)
{
	ib_set_device_ops(&dev->ib, &attribute_ops);
#if IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS)
	dev->ib.driver_def = methods;
#endif
}
