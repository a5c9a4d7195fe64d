/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* uverbs_ioctl.h - for files of the module in user space; see rdma/ib_verbs.h. */
#ifndef PAVO_ENGINE_RDMA_UVERBS_IOCTL_H
#define PAVO_ENGINE_RDMA_UVERBS_IOCTL_H

#include <rdma/ib_verbs.h>

#endif /* PAVO_ENGINE_RDMA_UVERBS_IOCTL_H */
