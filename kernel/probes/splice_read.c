/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * COPY_SPLICE: copy_splice_read() splices from a file that has read_iter
 * GENERIC_SPLICE: generic_file_splice_read() splices from a file that has read_iter
 */
#include <linux/fs.h>

const struct file_operations probe = {
#ifdef PAVO_HAS_COPY_SPLICE
	.splice_read = copy_splice_read,
#else
	.splice_read = generic_file_splice_read,
#endif
};
