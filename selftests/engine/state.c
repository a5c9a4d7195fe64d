// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * state.c - a fingerprint of the queue pairs of the engine: of all that decides what they do next.
 *
 * Two states that differ may not have the same one, else the model (sim/model.hpp) would leave out
 * schedules. So times are absolute and positions are not reduced to their ring.
 * A new field of a side that decides on what it does belongs here, too.
 */
#include <linux/xarray.h>

#include "adapter.h"
#include "qp/qp.h"
#include "responder/responder_private.h"
#include "runtime.h"

static void mix(u64 *hash, u64 value)
{
	u64 x = *hash ^ value;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	*hash = (x ^ x >> 31) + 0x9e3779b97f4a7c15;
}

static void mix_timer(u64 *hash, const struct hrtimer *timer)
{
	mix(hash, list_empty(&timer->queued) ? 0 : timer->fires);
}

/* The owner's packets, which are the same again only with all of their bytes. */
static void mix_held(u64 *hash, struct xarray *held)
{
	const struct sk_buff *skb;
	unsigned long psn = 0;
	unsigned int i;

	for (; (skb = xa_find(held, &psn, PAVO_PSN_MASK, XA_PRESENT)); psn++) {
		mix(hash, psn);
		mix(hash, skb->len);
		for (i = 0; i < skb->len; i++)
			mix(hash, skb->data[i]);
	}
}

static void mix_side(u64 *hash, struct pavo_side *side)
{
	mix_held(hash, &side->held);
	mix(hash, side->pending);
	mix(hash, skb_queue_len_lockless(&side->backlog));
	mix(hash, side->missing.state);
	mix(hash, side->inval.state);
	mix(hash, side->stage);
	mix(hash, side->done);
	mix(hash, side->index);
	mix(hash, side->resting);
}

static void mix_messages(u64 *hash, const struct pavo_mq *mq)
{
	u32 i;

	mix(hash, mq->head);
	mix(hash, mq->tail);
	for (i = mq->head; i != mq->tail; i++) {
		const struct pavo_mq_entry *entry = &mq->ring[i & mq->mask];

		mix(hash, entry->wqe);
		mix(hash, entry->first);
		mix(hash, entry->npkts);
	}
}

static void mix_psns(u64 *hash, const struct pavo_psn_set *set)
{
	u32 i;

	mix(hash, set->count);
	for (i = 0; set->count && i < set->size / 64; i++)
		mix(hash, set->words[i]);
}

static void mix_rack(u64 *hash, const struct pavo_rack *rack)
{
	mix(hash, (u64)rack->at << 32 | rack->psn);
	mix(hash, (u64)rack->rtt << 32 | rack->srtt);
	mix(hash, (u64)rack->rttvar << 32 | rack->min_rtt);
	mix(hash, (u64)rack->next_min << 32 | rack->min_since);
	mix(hash, (u64)rack->mean << 32 | rack->least);
	mix(hash, (u64)rack->mdev << 32 | rack->mdev_max);
	mix(hash, rack->sum);
	mix(hash, rack->count);
	mix(hash, rack->steps | rack->calm << 8 | rack->valid << 16 |
			  rack->reordered << 17 | rack->delayed << 18 |
			  rack->doubted << 19 | rack->drain << 24);
}

static void mix_board(u64 *hash, const struct pavo_recovery *r)
{
	const struct pavo_scoreboard *b = r->board;
	u32 psn;

	mix_psns(hash, &b->held);
	mix_psns(hash, &b->here);
	mix_psns(hash, &b->lost);
	mix_psns(hash, &b->resent);
	mix(hash, (u64)b->executed << 32 | b->fack);
	mix(hash, (u64)b->recover << 32 | b->widened);
	mix_rack(hash, &b->rack);
	mix(hash, (u64)b->ecn.acked << 32 | b->ecn.marked);
	mix(hash, b->ecn.share);
	mix(hash, b->dups | b->lossy << 16 | b->waiting << 17 |
			  b->probes << 20 | b->generated << 18 |
			  b->generation << 24);
	mix(hash, (u64)b->read_end << 8 | b->least);
	mix(hash, (u64)b->bound << 1 | b->bounded);
	for (psn = r->upsn; psn != r->sent; psn = pavo_psn_add(psn, 1))
		mix(hash, (u64)*pavo_board_get_time(b, psn) << 8 |
				  *pavo_board_get_attempts(b, psn));
}

static void mix_recovery(u64 *hash, const struct pavo_recovery *r)
{
	const struct pavo_timer_state *t = &r->timer;

	mix(hash, r->npsn);
	mix(hash, r->upsn);
	mix(hash, r->sent);
	mix(hash, r->next);
	mix(hash, r->reads_out);
	mix(hash, r->reads_resent);
	mix(hash, r->reread);
	mix(hash, r->no_ack_req);
	mix(hash, r->ack_requested);
	mix(hash, r->cut);
	mix(hash,
	    r->probing | r->went_back << 1 | r->sacks << 2 | r->sacked << 3);
	if (r->sacks)
		mix_board(hash, r);
	mix_messages(hash, &r->outstanding.reads);
	mix_messages(hash, &r->outstanding.sends);
	mix(hash, r->cwnd.size);
	mix(hash, r->cwnd.acked);
	mix(hash, (u64)r->cwnd.most << 32 | r->cwnd.threshold);
	mix(hash, r->cwnd.calm | r->cwnd.wanted << 8 | r->cwnd.final << 9 |
			  r->cwnd.rate << 16);
	mix(hash, t->loss);
	mix(hash, t->rnr);
	mix(hash, t->repair);
	mix(hash, t->timeout);
	mix(hash, t->retry_limit | t->retries << 8 | t->rnr_limit << 16 |
			  t->rnr_retries << 24);
	mix(hash, t->rnr_waits | t->put_off << 8 | t->answered << 16);
}

static void mix_cursor(u64 *hash, const struct pavo_tx_cursor *cursor)
{
	mix(hash, cursor->wqe);
	mix(hash, cursor->pkt);
	mix(hash, cursor->sge);
	mix(hash, cursor->sge_off);
}

static void mix_drr_queue(u64 *hash, const struct pavo_drr_queue *queue)
{
	mix(hash, queue->active | queue->scheduled << 1 | queue->scarce << 2);
	mix(hash, queue->deficit);
	mix(hash, queue->spent);
	mix(hash, queue->held[PAVO_POOL_SENDS]);
	mix(hash, queue->held[PAVO_POOL_READS]);
}

static void mix_requester(u64 *hash, struct pavo_requester *req)
{
	mix_side(hash, &req->side);
	mix_recovery(hash, &req->recovery);
	mix(hash, req->db_head);
	mix(hash, req->db_tail);
	mix(hash, req->chain);
	mix(hash, req->chained | (u64)req->in_chain << 32);
	mix(hash, req->head);
	mix(hash, req->last_local);
	mix(hash, req->numbered);
	mix(hash, req->tail);
	mix_cursor(hash, &req->cursor);
	mix_cursor(hash, &req->scatter);
	mix(hash, req->ready | req->notify_drained << 1 | req->far << 2);
	mix(hash, req->pause);
	mix_drr_queue(hash, &req->drr);
	mix_timer(hash, &req->hrtimer);
}

static void mix_resource(u64 *hash, const struct pavo_resource *res)
{
	mix(hash, res->first);
	mix(hash, res->npkts);
	mix(hash, res->kind | res->ext << 8 | res->queued << 9 |
			  res->replay << 10 | res->answered << 11 |
			  res->begun << 12 | res->renewed << 13 |
			  res->copied << 14 | res->generation << 16);
	mix(hash, res->done);
	mix(hash, res->msn);
	mix(hash, res->psn);
	mix(hash, res->rkey);
	mix(hash, res->request_id);
	mix(hash, res->left);
	mix(hash, res->va);
	mix(hash, res->orig);
}

static void mix_recv_wqe(u64 *hash, const struct pavo_recv_wqe *wqe)
{
	mix(hash, wqe->active);
	mix(hash, wqe->number);
	mix(hash, wqe->length);
	mix(hash, wqe->done);
	mix(hash, wqe->i);
	mix(hash, wqe->off);
}

static void mix_responder(u64 *hash, struct pavo_responder *resp)
{
	const struct pavo_expected *e = &resp->expected;
	u32 i;

	mix_side(hash, &resp->side);
	mix(hash, e->psn);
	mix(hash, e->far);
	mix(hash, e->furthest);
	mix(hash, e->nak_sent | e->ack_due << 1 | e->ack_syndrome << 8);
	mix(hash, e->ack_psn);
	mix(hash, e->sacks | e->holds << 1 | e->repeated << 2 | e->marked << 3 |
			  e->attempt << 8 | (u64)e->dups << 16);
	mix(hash, (u64)e->unreported << 32 | e->echo);
	mix(hash, e->early);
	mix_psns(hash, &e->held);
	mix(hash, (u64)e->start << 32 | e->before);
	mix(hash, e->since);
	mix(hash, resp->msn);
	mix(hash, resp->message | resp->established << 8 |
			  resp->last_wqe_notified << 9 | resp->failing << 10 |
			  resp->paused << 11);
	mix(hash, resp->write.va);
	mix(hash, resp->write.rkey);
	mix(hash, resp->write.left);
	mix(hash, resp->write.total);
	mix(hash, resp->own.head);
	mix(hash, (u64)resp->copy_reads << 8 | resp->generation);
	mix(hash, resp->res_head);
	for (i = 0; i < resp->res_count; i++)
		mix_resource(hash, &resp->resources[i]);
	for (i = 0; i < ARRAY_SIZE(resp->send_queue); i++)
		mix(hash, resp->send_queue[i]);
	mix(hash, resp->send_head | resp->send_tail << 8);
	mix_drr_queue(hash, &resp->drr);
	if (resp->wqe)
		mix_recv_wqe(hash, resp->wqe);
	mix_timer(hash, &resp->pause);
}

__u64 engine_fingerprint(void)
{
	u64 hash = engine_now();
	struct pavo_qp *qp;
	unsigned long qpn;

	xa_for_each (&engine_dev->qps, qpn, qp) {
		mix(&hash, qpn);
		mix(&hash, qp->state);
		mix_requester(&hash, &qp->req);
		mix_responder(&hash, &qp->resp);
	}
	return hash;
}
