// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * scoreboard.c - memory of scoreboards (scoreboard.h). A small one belongs to its queue pair. It
 * grows when the cwnd does, in softirqs, where no memory cgroup is charged (accounting.h).
 */
#include "requester/scoreboard.h"
#include <linux/slab.h>
#include "accounting.h"
#include "qp/qp.h"
#include "requester_private.h"

int pavo_board_create(struct pavo_scoreboard **made)
{
	struct pavo_scoreboard *b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	void *memory;

	memory =
		kzalloc(PAVO_BOARD_BYTES(PAVO_BOARD_LEAST), GFP_KERNEL_ACCOUNT);
	if (!b || !memory) {
		kfree(b);
		kfree(memory);
		return -ENOMEM;
	}
	pavo_board_attach(b, memory, PAVO_BOARD_LEAST);
	*made = b;
	return 0;
}

static int charge_board(struct pavo_qp *qp, int bytes)
{
	return pavo_charge_bytes(&qp->dev->softirq_bytes, qp->user, bytes);
}

static void uncharge_board(struct pavo_qp *qp, int bytes)
{
	pavo_uncharge_bytes(&qp->dev->softirq_bytes, qp->user, bytes);
}

/* Bytes of a scoreboard of @size PSNs that are charged. */
static int get_charge(u32 size)
{
	return size == PAVO_BOARD_LEAST ? 0 : PAVO_BOARD_BYTES(size);
}

void pavo_board_destroy(struct pavo_qp *qp)
{
	struct pavo_scoreboard *b = qp->req.board;

	if (!b)
		return;
	uncharge_board(qp, get_charge(b->size));
	kfree(b->memory);
	kfree(b);
	qp->req.board = NULL;
}

int pavo_board_double(struct pavo_qp *qp)
{
	const struct pavo_recovery *r = &qp->req.recovery;
	struct pavo_scoreboard *b = qp->req.board;
	u32 size = 2 * b->size, before = get_charge(b->size);
	void *memory;

	if (size > PAVO_BOARD_MOST || charge_board(qp, get_charge(size)))
		return -EDQUOT;
	memory = kzalloc(PAVO_BOARD_BYTES(size), GFP_ATOMIC | __GFP_NOWARN);
	if (!memory) {
		uncharge_board(qp, get_charge(size));
		return -ENOMEM;
	}
	kfree(pavo_board_grow(b, memory, size, r->upsn,
			      pavo_psn_diff(r->sent, r->upsn)));
	uncharge_board(qp, before);
	return 0;
}
