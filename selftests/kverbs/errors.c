// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * errors.c - queue pairs in Error whose consumer posts and then does nothing but poll. It
 * gives the CPU to no worker, as consumers do after a disconnect in a kernel that is not
 * preempted; completions come all the same.
 */
#include <linux/completion.h>
#include <linux/ktime.h>
#include <linux/smp.h>
#include "kverbs.h"

#define MANY 20
#define SPIN_SECONDS 5

/* Polls @count completions with the CPU kept, and wants all of them flushed. */
static int spin_for_flushed(struct end *e, unsigned int count)
{
	ktime_t until = ktime_add_ms(ktime_get(), SPIN_SECONDS * 1000);
	unsigned int got = 0, wrong = 0;
	struct ib_wc wc;

	get_cpu();
	while (got < count && ktime_before(ktime_get(), until)) {
		if (ib_poll_cq(e->cq, 1, &wc) > 0) {
			got++;
			wrong += wc.status != IB_WC_WR_FLUSH_ERR;
		} else {
			cpu_relax();
		}
	}
	put_cpu();
	CHECK(got == count);
	CHECK(!wrong);
	return 0;
}

static int to_error(struct end *e)
{
	struct ib_qp_attr attr = {.qp_state = IB_QPS_ERR};

	return ib_modify_qp(e->qp, &attr, IB_QP_STATE);
}

static int post_plain(struct pair *p, struct end *e, u64 id)
{
	return post_send(e, id, piece_at(p, e->buffer, 8));
}

static int post_receives(struct pair *p, struct end *e)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		TRY(post_recv(e, i, piece_at(p, e->buffer, 8)));
	return 0;
}

int test_error_sends(struct pair *p)
{
	unsigned int i;

	TRY(to_error(&p->a));
	for (i = 0; i < MANY; i++)
		TRY(post_plain(p, &p->a, i));
	return spin_for_flushed(&p->a, MANY);
}

int test_error_receives(struct pair *p)
{
	TRY(to_error(&p->a));
	TRY(post_receives(p, &p->a));
	return spin_for_flushed(&p->a, MANY);
}

int test_error_keys(struct pair *p)
{
	struct ib_reg_wr reg = reg_of(p->t.mr, 1);

	CHECK(ib_map_mr_sg(p->t.mr, p->t.sg, PIECES, NULL, PAGE_SIZE) ==
	      PIECES);
	TRY(to_error(&p->b));
	TRY(post_inv(&p->b, p->t.mr->rkey, 0));
	TRY(post(&p->b, &reg.wr));
	return spin_for_flushed(&p->b, 2);
}

/* The peer's refusal ends the queue pair: the owner that saw that flushes its receives. */
int test_error_from_peer(struct pair *p)
{
	ktime_t until = ktime_add_ms(ktime_get(), SPIN_SECONDS * 1000);
	struct ib_wc wc;
	int n;

	TRY(post_receives(p, &p->a));
	get_cpu();
	n = post_rdma(p, IB_WR_RDMA_WRITE, 99, 0x1000, 0xdead00, 8);
	while (!n && ktime_before(ktime_get(), until)) {
		n = ib_poll_cq(p->a.cq, 1, &wc);
		cpu_relax();
	}
	put_cpu();
	CHECK(n == 1 && wc.wr_id == 99 && wc.status == IB_WC_REM_ACCESS_ERR);
	return spin_for_flushed(&p->a, MANY);
}

static void told(struct ib_event *event, void *context)
{
	if (event->event == IB_EVENT_QP_LAST_WQE_REACHED)
		WRITE_ONCE(*(bool *)context, true);
}

static int spin_for_last_wqe(struct pair *p, struct end *e, bool *last)
{
	ktime_t until = ktime_add_ms(ktime_get(), SPIN_SECONDS * 1000);

	TRY(make_end(p, e));
	e->qp->event_handler = told;
	e->qp->qp_context = last;
	TRY(connect_end(p, e, &p->b));
	TRY(to_error(e));
	get_cpu();
	while (!READ_ONCE(*last) && ktime_before(ktime_get(), until))
		cpu_relax();
	put_cpu();
	CHECK(*last);
	TRY(post_plain(p, e, 1));
	return spin_for_flushed(e, 1);
}

/* The event is a worker's: it needs another CPU than the one that is kept. */
int test_error_srq(struct pair *p)
{
	struct ib_srq_init_attr init = {
		.attr = {.max_wr = 8, .max_sge = 1},
	};
	struct end e = {};
	bool last = false;
	int err;

	if (num_online_cpus() < 2)
		return SKIPPED;
	e.srq = ib_create_srq(p->pd, &init);
	if (IS_ERR(e.srq))
		return PTR_ERR(e.srq);
	err = spin_for_last_wqe(p, &e, &last);
	free_end(&e);
	ib_destroy_srq(e.srq);
	return err;
}

/* A completion queue whose handler posts again for each completion. */
struct reposting {
	struct pair *p;
	struct end e;
	atomic_t depth; /* handlers within each other, or at the same time */
	int deepest;
	int err;
	unsigned int flushed;
	struct completion done;
};

#define REPOSTS 500

static void repost(struct ib_cq *cq, void *context)
{
	struct reposting *r = context;
	bool last = false;
	struct ib_wc wc;
	int err = 0;

	/* Not deeper than the stack can bear, should they nest. */
	r->deepest = max(r->deepest, atomic_inc_return(&r->depth));
	while (r->deepest < 8 && ib_poll_cq(cq, 1, &wc) > 0) {
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
		if (wc.status != IB_WC_WR_FLUSH_ERR)
			err = -EIO;
		if (++r->flushed == REPOSTS)
			last = true;
		else if (r->flushed < REPOSTS)
			err = post_plain(r->p, &r->e, r->flushed);
		if (err)
			r->err = err;
	}
	atomic_dec(&r->depth);
	/* The test may end with that, and @r with it. */
	if (last)
		complete(&r->done);
}

static int run_reposting(struct reposting *r)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = r->e.cq,
		.recv_cq = r->e.cq,
		.cap = {.max_send_wr = DEPTH, .max_send_sge = 1},
	};

	r->e.qp = ib_create_qp(r->p->pd, &init);
	if (IS_ERR(r->e.qp))
		return PTR_ERR(r->e.qp);
	TRY(connect_end(r->p, &r->e, &r->p->b));
	TRY(to_error(&r->e));
	TRY(ib_req_notify_cq(r->e.cq, IB_CQ_NEXT_COMP));
	TRY(post_plain(r->p, &r->e, 0));
	CHECK(wait_for_completion_timeout(&r->done, PATIENCE));
	TRY(r->err);
	CHECK(r->deepest == 1);
	return 0;
}

int test_error_handler(struct pair *p)
{
	const struct ib_cq_init_attr attr = {.cqe = DEPTH};
	struct reposting r = {.p = p, .e.buffer = p->a.buffer};
	int err;

	init_completion(&r.done);
	r.e.cq = ib_create_cq(p->ib, repost, NULL, &r, &attr);
	if (IS_ERR(r.e.cq))
		return PTR_ERR(r.e.cq);
	err = run_reposting(&r);
	if (!IS_ERR_OR_NULL(r.e.qp))
		ib_destroy_qp(r.e.qp);
	ib_destroy_cq(r.e.cq);
	return err;
}
