/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * read_copy.h - copies of the data of read responses, on a path that has lost some.
 *
 * A read sees memory at least as new as the reads before it (IBA 9.5). If a part of a response is
 * lost and the responder reads the memory once more, that part is newer than the response of the
 * next read, which the requester may hold: it has to drop that. With a copy the part is sent again
 * as it was.
 *
 * When a requester first repairs a read there are no copies. All that it may still repair is read
 * once more then, in order, and copied; reads that come later are copied as their responses are
 * sent. Each packet of a response has the generation of its data in its BTH (docs/protocol.md): the
 * number of times, modulo 64, that data was read behind data of later reads.
 *
 * Called by the owner of the side.
 */
#ifndef PAVO_READ_COPY_H
#define PAVO_READ_COPY_H

#include <linux/types.h>
#include "status.h"

struct pavo_qp;
struct pavo_region;
struct pavo_resource;
struct pavo_xmit;

/* Longest response that is copied: a requester of pavo asks for no more at once. */
#define PAVO_READ_COPY_BYTES (128u << 10)
/* Reads that are copied since the last one of which something was lost. */
#define PAVO_READ_COPY_READS 4096

/* pavo_read_copy_begin - a read was accepted: copy its response as it is sent, if that is due. */
void pavo_read_copy_begin(struct pavo_qp *qp, struct pavo_resource *res);

/*
 * pavo_read_copy_start - a requester repairs a read: copy the responses of those that were
 * executed, and of PAVO_READ_COPY_READS more. At most PAVO_MAX_RD_ATOMIC times
 * PAVO_READ_COPY_BYTES are read, once in so many reads.
 */
void pavo_read_copy_start(struct pavo_qp *qp);

/* pavo_read_copy_has - true if the next @len bytes of the response are copied. */
bool pavo_read_copy_has(const struct pavo_resource *res, u32 len);

/*
 * pavo_read_copy_renew - the response is to be sent once more, from @res->va on. If it was sent
 * there before and is not copied, its data and that of later reads are of a new generation.
 */
void pavo_read_copy_renew(struct pavo_qp *qp, struct pavo_resource *res);

/*
 * pavo_read_copy_put - put the next bytes of the response into a packet, from the copy.
 *
 * Return: PAVO_ST_OK; or the status of a pavo_xmit_gather without memory.
 */
enum pavo_status pavo_read_copy_put(const struct pavo_resource *res,
				    struct pavo_xmit *x, u32 len);

/*
 * pavo_read_copy_fill - copy the next @len bytes of the response from memory, which was translated.
 *
 * Return: 0; -ENODATA: the response is not copied, or not any more.
 */
int pavo_read_copy_fill(struct pavo_qp *qp, struct pavo_resource *res,
			const struct pavo_region *region, u32 len);

/* pavo_read_copy_sent - the next @len bytes of the response were sent. */
void pavo_read_copy_sent(struct pavo_resource *res, u32 len);

/* pavo_read_copies_free - end all copies, and free their memory. */
void pavo_read_copies_free(struct pavo_qp *qp);

#endif /* PAVO_READ_COPY_H */
