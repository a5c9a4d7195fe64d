// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * queues.c - receive queues of the kernel, shared ones and their own, and draining.
 */
#include "kverbs.h"

#define SHARERS 2
#define SLOTS 8
#define SLOT 1024u

/* ------------------------------------------------- shared receive queues */

/* Connections whose receiving ends share a queue. */
struct shared {
	struct ib_srq *srq;
	struct end from[SHARERS];
	struct end to[SHARERS];
};

static struct ib_srq *make_srq(struct pair *p)
{
	struct ib_srq_init_attr init = {
		.attr = {.max_wr = SLOTS, .max_sge = 1},
	};

	return ib_create_srq(p->pd, &init);
}

static int post_srq(struct pair *p, struct ib_srq *srq, u64 id, const void *at)
{
	struct ib_sge sge = piece_at(p, at, SLOT);
	struct ib_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};

	return ib_post_srq_recv(srq, &wr, NULL);
}

static int make_shared(struct pair *p, struct shared *s)
{
	int i;

	s->srq = make_srq(p);
	if (IS_ERR(s->srq))
		return PTR_ERR(s->srq);
	for (i = 0; i < SHARERS; i++) {
		s->to[i].srq = s->srq;
		TRY(make_end(p, &s->from[i]));
		TRY(make_end(p, &s->to[i]));
		TRY(connect_end(p, &s->from[i], &s->to[i]));
		TRY(connect_end(p, &s->to[i], &s->from[i]));
	}
	return 0;
}

static void free_shared(struct shared *s)
{
	int i;

	for (i = 0; i < SHARERS; i++) {
		free_end(&s->from[i]);
		free_end(&s->to[i]);
	}
	if (!IS_ERR_OR_NULL(s->srq))
		ib_destroy_srq(s->srq);
}

/* A message of its own length goes to the receive that is next, number @n. */
static int send_shared(struct pair *p, struct shared *s, unsigned int n)
{
	struct end *from = &s->from[n % SHARERS], *to = &s->to[n % SHARERS];
	u8 *place = p->b.buffer + n * SLOT;
	u32 length = 1 + n * 137;
	struct ib_wc wc;

	fill(from->buffer, length, n);
	memset(place, 0, SLOT);
	TRY(post_send(from, n, piece_at(p, from->buffer, length)));
	TRY(wait_wc(to, &wc));
	CHECK(wc.status == IB_WC_SUCCESS && wc.wr_id == 100 + n);
	CHECK(wc.opcode == IB_WC_RECV && wc.byte_len == length);
	CHECK(wc.qp == to->qp);
	TRY(expect(from, n, IB_WC_SUCCESS));
	CHECK(is_filled(place, length, n));
	CHECK(!memchr_inv(place + length, 0, SLOT - length));
	return 0;
}

static int run_shared(struct pair *p, struct shared *s)
{
	unsigned int i, round;

	TRY(make_shared(p, s));
	for (round = 0; round < 3; round++) {
		for (i = 0; i < SLOTS; i++)
			TRY(post_srq(p, s->srq, 100 + i,
				     p->b.buffer + i * SLOT));
		for (i = 0; i < SLOTS; i++)
			TRY(send_shared(p, s, i));
	}
	return 0;
}

int test_srq(struct pair *p)
{
	struct shared s = {};
	int err = run_shared(p, &s);

	free_shared(&s);
	return err;
}

static int fill_srq(struct pair *p, struct ib_srq *srq)
{
	struct ib_srq_attr attr;
	unsigned int i;

	TRY(ib_query_srq(srq, &attr));
	CHECK(attr.max_wr >= SLOTS && attr.max_sge >= 1);
	for (i = 0; i < attr.max_wr; i++)
		TRY(post_srq(p, srq, i, p->b.buffer));
	CHECK(post_srq(p, srq, i, p->b.buffer) == -ENOMEM);
	return 0;
}

int test_srq_full(struct pair *p)
{
	struct ib_srq *srq = make_srq(p);
	int err;

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	err = fill_srq(p, srq);
	ib_destroy_srq(srq);
	return err;
}

/* ---------------------------------------------------------- gather lists */

/* The message is sent as one piece; it is received in two, with nothing before and between. */
int test_empty_entries(struct pair *p)
{
	const unsigned int first = 8, gap = 16;
	u8 *at = p->b.buffer;
	struct ib_sge places[] = {
		{},
		piece_at(p, at, first),
		piece_at(p, at, 0),
		piece_at(p, at + first + gap, SLOT),
	};
	struct ib_recv_wr recv = {
		.wr_id = 7,
		.sg_list = places,
		.num_sge = ARRAY_SIZE(places),
	};

	fill(p->a.buffer, SLOT, 29);
	TRY(ib_post_recv(p->b.qp, &recv, NULL));
	TRY(post_send(&p->a, 8, piece_at(p, p->a.buffer, SLOT)));
	TRY(expect(&p->b, 7, IB_WC_SUCCESS));
	TRY(expect(&p->a, 8, IB_WC_SUCCESS));
	CHECK(!memcmp(at, p->a.buffer, first));
	CHECK(!memchr_inv(at + first, 0, gap));
	CHECK(!memcmp(at + first + gap, p->a.buffer + first, SLOT - first));
	CHECK(!memchr_inv(at + gap + SLOT, 0, BYTES - gap - SLOT));
	return 0;
}

/* --------------------------------------------------------------- draining */

/* A request, and what its completion said. */
struct drained {
	struct ib_cqe cqe;
	int times;
	enum ib_wc_status status;
	u32 length;
};

static void done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct drained *one = container_of(wc->wr_cqe, struct drained, cqe);

	one->times++;
	one->status = wc->status;
	one->length = wc->byte_len;
}

/* Receive number i takes slot i of @e's buffer. */
static int post_recvs(struct pair *p, struct end *e, struct drained *recv,
		      unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		recv[i].cqe.done = done;
		TRY(post_recv(e, (uintptr_t)&recv[i].cqe,
			      piece_at(p, e->buffer + i * SLOT, SLOT)));
	}
	return 0;
}

/* Send number i is of slot i of A's buffer, and leaves out its last i bytes. */
static int post_sends(struct pair *p, struct drained *send, unsigned int first,
		      unsigned int count)
{
	unsigned int i;

	for (i = first; i < first + count; i++) {
		send[i].cqe.done = done;
		TRY(post_send(&p->a, (uintptr_t)&send[i].cqe,
			      piece_at(p, p->a.buffer + i * SLOT, SLOT - i)));
	}
	return 0;
}

static int wait_done(struct end *e, const struct drained *last)
{
	unsigned long until = jiffies + PATIENCE;

	while (!last->times) {
		CHECK(time_before(jiffies, until));
		ib_process_cq_direct(e->cq, -1);
		cond_resched();
	}
	return 0;
}

static int all_ended(const struct drained *one, unsigned int count,
		     enum ib_wc_status status)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		CHECK(one[i].times == 1 && one[i].status == status);
	return 0;
}

/*
 * Half of A's sends are received. The others find no receive, so they are under
 * way when A is drained; so are A's own receives.
 */
static int run_drain(struct pair *p, struct drained *send, struct drained *recv,
		     struct drained *idle)
{
	const unsigned int half = SLOTS / 2;
	unsigned int i;

	fill(p->a.buffer, BYTES, 41);
	TRY(post_recvs(p, &p->a, idle, SLOTS));
	TRY(post_recvs(p, &p->b, recv, half));
	TRY(post_sends(p, send, 0, half));
	TRY(wait_done(&p->a, &send[half - 1]));
	TRY(wait_done(&p->b, &recv[half - 1]));
	TRY(post_sends(p, send, half, half));
	ib_drain_qp(p->a.qp);
	TRY(all_ended(send, half, IB_WC_SUCCESS));
	TRY(all_ended(send + half, half, IB_WC_WR_FLUSH_ERR));
	TRY(all_ended(idle, SLOTS, IB_WC_WR_FLUSH_ERR));
	TRY(all_ended(recv, half, IB_WC_SUCCESS));
	for (i = 0; i < half; i++) {
		CHECK(recv[i].length == SLOT - i);
		CHECK(!memcmp(p->b.buffer + i * SLOT, p->a.buffer + i * SLOT,
			      SLOT - i));
		CHECK(!memchr_inv(p->b.buffer + (i + 1) * SLOT - i, 0, i));
	}
	CHECK(!memchr_inv(p->b.buffer + half * SLOT, 0, BYTES - half * SLOT));
	CHECK(is_filled(p->a.buffer, BYTES, 41));
	/* B has nothing to do; draining it must not wait for anything. */
	ib_drain_qp(p->b.qp);
	return 0;
}

int test_drain(struct pair *p)
{
	struct drained send[SLOTS] = {}, recv[SLOTS] = {}, idle[SLOTS] = {};
	int err = run_drain(p, send, recv, idle);

	/* Completions name what is on this stack: none may be left. */
	ib_drain_qp(p->a.qp);
	ib_drain_qp(p->b.qp);
	return err;
}
