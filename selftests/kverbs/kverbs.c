// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kverbs.c - a consumer of verbs inside the kernel: fast registration,
 * local invalidation, send with invalidate, the local DMA key.
 * queues.c and operations.c beside it have more tests.
 *
 * Loaded in a throw-away guest by selftests/kverbs/run with the name of a
 * device; two queue pairs of it talk to each other. Everything happens while
 * the module loads; the results are TAP lines in the kernel's log, and a
 * failure makes loading fail. Works with any device.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include "kverbs.h"

MODULE_DESCRIPTION("Test of verbs inside the kernel");
MODULE_AUTHOR("pavo developers");
MODULE_LICENSE("Dual BSD/GPL");

static char *dev;
module_param(dev, charp, 0444);
MODULE_PARM_DESC(dev, "name of the device to test");

/* ------------------------------------------------------------- a fixture */

static int find_gid(struct pair *p)
{
	const struct ib_gid_attr *attr;
	int i;

	for (i = 0; i < 16; i++) {
		attr = rdma_get_gid_attr(p->ib, 1, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((const void *)attr->gid.raw)) {
			p->gid = attr->gid;
			p->gid_index = i;
			rdma_put_gid_attr(attr);
			return 0;
		}
		rdma_put_gid_attr(attr);
	}
	return -ENODEV;
}

int make_end(struct pair *p, struct end *e)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap =
			{
				.max_send_wr = DEPTH,
				.max_recv_wr = DEPTH,
				.max_send_sge = 2,
				.max_recv_sge = 4,
			},
	};

	e->buffer = kzalloc(BYTES, GFP_KERNEL);
	if (!e->buffer)
		return -ENOMEM;
	e->cq = ib_alloc_cq(p->ib, NULL, 4 * DEPTH, 0, IB_POLL_DIRECT);
	if (IS_ERR(e->cq))
		return PTR_ERR(e->cq);
	init.send_cq = e->cq;
	init.recv_cq = e->cq;
	init.srq = e->srq;
	e->qp = ib_create_qp(p->pd, &init);
	return PTR_ERR_OR_ZERO(e->qp);
}

void free_end(struct end *e)
{
	if (!IS_ERR_OR_NULL(e->qp))
		ib_destroy_qp(e->qp);
	if (!IS_ERR_OR_NULL(e->cq))
		ib_free_cq(e->cq);
	kfree(e->buffer);
}

int connect_end(struct pair *p, struct end *e, struct end *peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = RIGHTS,
	};

	TRY(ib_modify_qp(e->qp, &attr,
			 IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
				 IB_QP_ACCESS_FLAGS));
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = IB_MTU_1024;
	attr.dest_qp_num = peer->qp->qp_num;
	attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 12;
	attr.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, &p->gid, 0, p->gid_index, 64, 0);
	TRY(ib_modify_qp(e->qp, &attr,
			 IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
				 IB_QP_DEST_QPN | IB_QP_RQ_PSN |
				 IB_QP_MAX_DEST_RD_ATOMIC |
				 IB_QP_MIN_RNR_TIMER));
	attr.qp_state = IB_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 4;
	TRY(ib_modify_qp(e->qp, &attr,
			 IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
				 IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
				 IB_QP_MAX_QP_RD_ATOMIC));
	return 0;
}

static int make_target(struct pair *p)
{
	struct target *t = &p->t;
	unsigned int i, offset, length;
	void *memory;

	sg_init_table(t->sg, PIECES);
	for (i = 0; i < PIECES; i++) {
		memory = alloc_pages_exact((i + 1) * PAGE_SIZE,
					   GFP_KERNEL | __GFP_ZERO);
		if (!memory)
			return -ENOMEM;
		offset = i ? 0 : FIRST_OFFSET;
		length = (i + 1) * PAGE_SIZE - offset;
		if (i == PIECES - 1)
			length -= LAST_SHORT;
		sg_set_buf(&t->sg[i], memory + offset, length);
		t->bytes += length;
	}
	if (ib_dma_map_sg(p->ib, t->sg, PIECES, DMA_BIDIRECTIONAL) != PIECES)
		return -EIO;
	t->mr = ib_alloc_mr(p->pd, IB_MR_TYPE_MEM_REG, 16);
	return PTR_ERR_OR_ZERO(t->mr);
}

static void free_target(struct target *t)
{
	unsigned int i;
	void *memory;

	if (!IS_ERR_OR_NULL(t->mr))
		ib_dereg_mr(t->mr);
	for (i = 0; i < PIECES; i++) {
		if (!sg_page(&t->sg[i]))
			continue;
		memory = page_address(sg_page(&t->sg[i]));
		free_pages_exact(memory, (i + 1) * PAGE_SIZE);
	}
}

static int setup(struct pair *p)
{
	p->pd = ib_alloc_pd(p->ib, 0);
	if (IS_ERR(p->pd))
		return PTR_ERR(p->pd);
	TRY(find_gid(p));
	TRY(make_end(p, &p->a));
	TRY(make_end(p, &p->b));
	TRY(connect_end(p, &p->a, &p->b));
	TRY(connect_end(p, &p->b, &p->a));
	TRY(make_target(p));
	return 0;
}

static void teardown(struct pair *p)
{
	free_end(&p->a);
	free_end(&p->b);
	free_target(&p->t);
	if (!IS_ERR_OR_NULL(p->pd))
		ib_dealloc_pd(p->pd);
}

/* ------------------------------------------------------------- work requests */

int wait_wc(struct end *e, struct ib_wc *wc)
{
	unsigned long until = jiffies + PATIENCE;

	while (!ib_poll_cq(e->cq, 1, wc)) {
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
		usleep_range(100, 200);
	}
	return 0;
}

int expect(struct end *e, u64 id, enum ib_wc_status status)
{
	struct ib_wc wc;

	TRY(wait_wc(e, &wc));
	if (wc.status != status || wc.wr_id != id) {
		pr_info("kverbs: # request %llu: %s (%u), wanted request %llu: %s\n",
			wc.wr_id, ib_wc_status_msg(wc.status), wc.vendor_err,
			id, ib_wc_status_msg(status));
		return -EIO;
	}
	return 0;
}

int post(struct end *e, const struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;

	return ib_post_send(e->qp, wr, &bad);
}

struct ib_sge piece_at(struct pair *p, const void *at, u32 length)
{
	return (struct ib_sge){
		.addr = (uintptr_t)at,
		.length = length,
		.lkey = p->pd->local_dma_lkey,
	};
}

struct ib_sge target_piece(struct pair *p)
{
	return (struct ib_sge){
		.addr = p->t.mr->iova,
		.length = p->t.bytes,
		.lkey = p->t.mr->lkey,
	};
}

struct ib_reg_wr reg_of(struct ib_mr *mr, u64 id)
{
	return (struct ib_reg_wr){
		.wr =
			{
				.opcode = IB_WR_REG_MR,
				.wr_id = id,
				.send_flags = IB_SEND_SIGNALED,
			},
		.mr = mr,
		.key = mr->rkey,
		.access = RIGHTS,
	};
}

/* List the target's memory and write the request that registers it. */
static int prepare_reg(struct pair *p, struct ib_reg_wr *reg, u64 id)
{
	struct target *t = &p->t;

	CHECK(ib_map_mr_sg(t->mr, t->sg, PIECES, NULL, PAGE_SIZE) == PIECES);
	CHECK(t->mr->length == t->bytes);
	ib_update_fast_reg_key(t->mr, ib_inc_rkey(t->mr->rkey));
	*reg = reg_of(t->mr, id);
	return 0;
}

int must_reg(struct pair *p)
{
	struct ib_reg_wr reg;

	TRY(prepare_reg(p, &reg, 1000));
	TRY(post(&p->b, &reg.wr));
	return expect(&p->b, 1000, IB_WC_SUCCESS);
}

int post_request(struct end *e, const struct request *r)
{
	struct ib_sge piece = r->piece;
	struct ib_rdma_wr wr = {
		.wr =
			{
				.opcode = r->op,
				.wr_id = r->id,
				.send_flags = IB_SEND_SIGNALED,
				.sg_list = &piece,
				.num_sge = piece.length ? 1 : 0,
				.ex.invalidate_rkey = r->invalidate,
			},
		.remote_addr = r->to,
		.rkey = r->rkey,
	};

	return post(e, &wr.wr);
}

int post_send(struct end *e, u64 id, struct ib_sge piece)
{
	return post_request(e, &(struct request){.op = IB_WR_SEND,
						 .id = id,
						 .piece = piece});
}

int post_inv(struct end *e, u32 key, u64 id)
{
	return post_request(e, &(struct request){.op = IB_WR_LOCAL_INV,
						 .id = id,
						 .invalidate = key});
}

int post_rdma(struct pair *p, enum ib_wr_opcode op, u64 id, u64 to, u32 rkey,
	      u32 length)
{
	struct request r = {
		.op = op,
		.id = id,
		.piece = piece_at(p, p->a.buffer, length),
		.to = to,
		.rkey = rkey,
	};

	return post_request(&p->a, &r);
}

/* All of A's buffer's first bytes to or from the target. */
static int post_target(struct pair *p, enum ib_wr_opcode op, u32 key, u64 id)
{
	return post_rdma(p, op, id, p->t.mr->iova, key, p->t.bytes);
}

int post_recv(struct end *e, u64 id, struct ib_sge piece)
{
	struct ib_recv_wr wr = {.wr_id = id, .sg_list = &piece, .num_sge = 1};

	return ib_post_recv(e->qp, &wr, NULL);
}

/* ------------------------------------------------------------------- data */

static u8 byte_at(unsigned int i, u8 seed)
{
	return (i * 167 + (i >> 8) * 13 + seed) & 0xff;
}

void fill(u8 *to, unsigned int n, u8 seed)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		to[i] = byte_at(i, seed);
}

bool is_filled(const u8 *from, unsigned int n, u8 seed)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (from[i] != byte_at(i, seed))
			return false;
	return true;
}

void fill_target(struct target *t, u8 seed)
{
	unsigned int i, at = 0, j;

	for (i = 0; i < PIECES; i++)
		for (j = 0; j < t->sg[i].length; j++)
			((u8 *)sg_virt(&t->sg[i]))[j] = byte_at(at++, seed);
}

/* Is the pattern in the pieces, and nothing before and behind them? */
bool target_is(struct target *t, u8 seed)
{
	const u8 *start = page_address(sg_page(&t->sg[0]));
	const u8 *end = sg_virt(&t->sg[PIECES - 1]) + t->sg[PIECES - 1].length;
	unsigned int i, at = 0, j;

	for (i = 0; i < PIECES; i++)
		for (j = 0; j < t->sg[i].length; j++)
			if (((u8 *)sg_virt(&t->sg[i]))[j] !=
			    byte_at(at++, seed))
				return false;
	return !memchr_inv(start, 0, FIRST_OFFSET) &&
	       !memchr_inv(end, 0, LAST_SHORT);
}

/* ------------------------------------------------------------------ tests */

static int test_data(struct pair *p)
{
	TRY(must_reg(p));
	fill(p->a.buffer, p->t.bytes, 3);
	TRY(post_target(p, IB_WR_RDMA_WRITE, p->t.mr->rkey, 1));
	TRY(expect(&p->a, 1, IB_WC_SUCCESS));
	CHECK(target_is(&p->t, 3));
	fill_target(&p->t, 77);
	TRY(post_target(p, IB_WR_RDMA_READ, p->t.mr->rkey, 2));
	TRY(expect(&p->a, 2, IB_WC_SUCCESS));
	CHECK(is_filled(p->a.buffer, p->t.bytes, 77));
	return 0;
}

/* Registered, used by L_Key and invalidated, in one list of requests. */
static int test_chain(struct pair *p)
{
	struct ib_sge sge;
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV,
		.wr_id = 3,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_FENCE,
	};
	struct ib_send_wr send = {
		.opcode = IB_WR_SEND,
		.wr_id = 2,
		.sg_list = &sge,
		.num_sge = 1,
		.next = &inv,
	};
	struct ib_reg_wr reg;
	int round;

	for (round = 0; round < 10; round++) {
		TRY(prepare_reg(p, &reg, 1));
		reg.wr.send_flags = 0;
		reg.wr.next = &send;
		sge = target_piece(p);
		inv.ex.invalidate_rkey = p->t.mr->rkey;
		fill_target(&p->t, round);
		TRY(post_recv(&p->a, 9, piece_at(p, p->a.buffer, BYTES)));
		TRY(post(&p->b, &reg.wr));
		TRY(expect(&p->a, 9, IB_WC_SUCCESS));
		TRY(expect(&p->b, 3, IB_WC_SUCCESS));
		CHECK(is_filled(p->a.buffer, p->t.bytes, round));
	}
	return 0;
}

static int test_receive(struct pair *p)
{
	TRY(must_reg(p));
	fill(p->a.buffer, p->t.bytes, 5);
	TRY(post_recv(&p->b, 8, target_piece(p)));
	TRY(post_send(&p->a, 1, piece_at(p, p->a.buffer, p->t.bytes)));
	TRY(expect(&p->b, 8, IB_WC_SUCCESS));
	TRY(expect(&p->a, 1, IB_WC_SUCCESS));
	CHECK(target_is(&p->t, 5));
	return 0;
}

static int test_local_inv(struct pair *p)
{
	TRY(must_reg(p));
	TRY(post_inv(&p->b, p->t.mr->rkey, 4));
	TRY(expect(&p->b, 4, IB_WC_SUCCESS));
	fill_target(&p->t, 9);
	TRY(post_target(p, IB_WR_RDMA_WRITE, p->t.mr->rkey, 5));
	TRY(expect(&p->a, 5, IB_WC_REM_ACCESS_ERR));
	CHECK(target_is(&p->t, 9));
	return 0;
}

static int test_stale_key(struct pair *p)
{
	u32 old;

	TRY(must_reg(p));
	old = p->t.mr->rkey;
	TRY(post_inv(&p->b, old, 4));
	TRY(expect(&p->b, 4, IB_WC_SUCCESS));
	TRY(must_reg(p));
	CHECK(old != p->t.mr->rkey);
	fill(p->a.buffer, p->t.bytes, 11);
	TRY(post_target(p, IB_WR_RDMA_WRITE, p->t.mr->rkey, 5));
	TRY(expect(&p->a, 5, IB_WC_SUCCESS));
	CHECK(target_is(&p->t, 11));
	fill(p->a.buffer, p->t.bytes, 12);
	TRY(post_target(p, IB_WR_RDMA_WRITE, old, 6));
	TRY(expect(&p->a, 6, IB_WC_REM_ACCESS_ERR));
	CHECK(target_is(&p->t, 11));
	return 0;
}

static int test_send_inv(struct pair *p)
{
	struct request send = {
		.op = IB_WR_SEND_WITH_INV,
		.id = 1,
		.piece = piece_at(p, p->a.buffer, 3000),
	};
	struct ib_wc wc;

	TRY(must_reg(p));
	send.invalidate = p->t.mr->rkey;
	fill(p->a.buffer, 3000, 21);
	TRY(post_recv(&p->b, 8, piece_at(p, p->b.buffer, BYTES)));
	TRY(post_request(&p->a, &send));
	TRY(wait_wc(&p->b, &wc));
	CHECK(wc.status == IB_WC_SUCCESS && wc.wr_id == 8);
	CHECK(wc.byte_len == 3000 && wc.opcode == IB_WC_RECV);
	CHECK(wc.wc_flags & IB_WC_WITH_INVALIDATE);
	CHECK(wc.ex.invalidate_rkey == p->t.mr->rkey);
	CHECK(is_filled(p->b.buffer, 3000, 21));
	TRY(expect(&p->a, 1, IB_WC_SUCCESS));
	fill_target(&p->t, 22);
	TRY(post_target(p, IB_WR_RDMA_WRITE, p->t.mr->rkey, 2));
	TRY(expect(&p->a, 2, IB_WC_REM_ACCESS_ERR));
	CHECK(target_is(&p->t, 22));
	return 0;
}

/* Not a key any more: what uses it by L_Key fails, too. */
static int test_dead_lkey(struct pair *p)
{
	struct ib_sge piece;

	TRY(must_reg(p));
	TRY(post_inv(&p->b, p->t.mr->rkey, 4));
	piece = target_piece(p);
	piece.length = 16;
	TRY(post_send(&p->b, 7, piece));
	TRY(expect(&p->b, 4, IB_WC_SUCCESS));
	TRY(expect(&p->b, 7, IB_WC_LOC_PROT_ERR));
	return 0;
}

/* An operation on keys that may not be fails, whatever a driver calls it. */
static int expect_refused(struct end *e, u64 id)
{
	struct ib_wc wc;

	TRY(wait_wc(e, &wc));
	CHECK(wc.wr_id == id);
	CHECK(wc.status == IB_WC_MW_BIND_ERR ||
	      wc.status == IB_WC_LOC_QP_OP_ERR);
	return 0;
}

static int test_reg_twice(struct pair *p)
{
	struct ib_reg_wr reg;

	TRY(must_reg(p));
	TRY(prepare_reg(p, &reg, 3));
	TRY(post(&p->b, &reg.wr));
	return expect_refused(&p->b, 3);
}

static int test_inv_twice(struct pair *p)
{
	TRY(must_reg(p));
	TRY(post_inv(&p->b, p->t.mr->rkey, 4));
	TRY(expect(&p->b, 4, IB_WC_SUCCESS));
	TRY(post_inv(&p->b, p->t.mr->rkey, 5));
	TRY(expect(&p->b, 5, IB_WC_SUCCESS));
	/* Another key is none of the region's. */
	TRY(post_inv(&p->b, p->t.mr->rkey ^ 0x55, 6));
	return expect_refused(&p->b, 6);
}

/* How storage consumers begin: what the key meant before ends, whether it did or not. */
static int test_inv_first(struct pair *p)
{
	struct ib_send_wr inv = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = p->t.mr->rkey,
	};
	struct ib_reg_wr reg;

	TRY(prepare_reg(p, &reg, 1));
	inv.next = &reg.wr;
	TRY(post(&p->b, &inv));
	TRY(expect(&p->b, 1, IB_WC_SUCCESS));
	fill(p->a.buffer, p->t.bytes, 31);
	TRY(post_target(p, IB_WR_RDMA_WRITE, p->t.mr->rkey, 2));
	TRY(expect(&p->a, 2, IB_WC_SUCCESS));
	CHECK(target_is(&p->t, 31));
	return 0;
}

/* Pages of the slab take no references: the network must not get them. Newer kernels warn. */
static int test_slab(struct pair *p)
{
	const u32 size = 2000;
	u8 *bytes = kmalloc(size, GFP_KERNEL);
	int err = -ENOMEM;

	if (!bytes)
		return err;
	fill(bytes, size, 21);
	err = post_recv(&p->b, 8, piece_at(p, p->b.buffer, size));
	if (!err)
		err = post_send(&p->a, 1, piece_at(p, bytes, size));
	if (!err)
		err = expect(&p->b, 8, IB_WC_SUCCESS);
	if (!err)
		err = expect(&p->a, 1, IB_WC_SUCCESS);
	kfree(bytes);
	TRY(err);
	CHECK(is_filled(p->b.buffer, size, 21));
	return 0;
}

static const struct {
	int (*run)(struct pair *p);
	const char *what;
} tests[] = {
	{test_data, "fast_reg.data: scattered pages written and read"},
	{test_chain, "fast_reg.chain: registered, sent, invalidated at once"},
	{test_receive, "fast_reg.receive: received into, by L_Key"},
	{test_local_inv, "fast_reg.local_inv: refused afterwards"},
	{test_stale_key, "fast_reg.stale_key: a new key, the old is dead"},
	{test_send_inv, "fast_reg.send_inv: the peer takes the key back"},
	{test_dead_lkey, "fast_reg.dead_lkey: no local use either"},
	{test_reg_twice, "fast_reg.twice: not while it is valid"},
	{test_inv_twice, "fast_reg.inv_twice: invalid is invalid"},
	{test_inv_first, "fast_reg.inv_first: in one list with the first use"},
	{test_slab, "send.slab: a message from memory of the slab"},
	{test_page_list,
	 "fast_reg.page_list: as many pages as the device says"},
	{test_srq,
	 "srq.data: two queue pairs take what was posted to one queue"},
	{test_srq_full,
	 "srq.full: as many receives as were asked for, no more"},
	{test_empty_entries,
	 "recv.empty_entries: entries without bytes do not end the list"},
	{test_drain, "drain: what was posted has completed when it returns"},
	{test_atomics, "atomic: fetch and add, compare and swap"},
	{test_masked_atomics,
	 "atomic.masked: fields, and bits to compare and swap"},
	{test_swap, "atomic.swap: eight bytes are swapped in"},
	{test_imm64, "imm64: eight bytes of immediate data, no others"},
	{test_atomic_write, "atomic_write: eight bytes, and no others"},
	{test_read_inv, "read_inv: read, and the sink's key ends with that"},
	{test_no_entries,
	 "no_entries: a list means nothing to REG_MR and LOCAL_INV"},
	{test_error_sends,
	 "error.sends: flushed for a poller that never sleeps"},
	{test_error_receives, "error.receives: the same"},
	{test_error_keys, "error.keys: the same of LOCAL_INV and REG_MR"},
	{test_error_from_peer,
	 "error.from_peer: the peer's refusal flushes both"},
	{test_error_srq, "error.srq: the last receive taken is told of"},
	{test_error_handler,
	 "error.handler: one that posts again is not called within itself"},
	{test_direct_write,
	 "direct.write: the adapter reads a file into ranges, and sends"},
	{test_direct_read,
	 "direct.read: the adapter writes responses to a file"},
	{test_direct_short,
	 "direct.short: a file that is too short fails the request"},
	{test_direct_refused,
	 "direct.refused: what cannot be posted leaves no range armed"},
	{test_forged,
	 "forged: without authentic metadata no packet lacks its ICRC"},
};

static int run_test(struct ib_device *ib, unsigned int i)
{
	struct pair *p;
	int err;

	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	p->ib = ib;
	err = setup(p);
	if (!err)
		err = tests[i].run(p);
	teardown(p);
	kfree(p);
	pr_info("kverbs: %sok %u %s%s\n", err < 0 ? "not " : "", i + 1,
		tests[i].what,
		err == SKIPPED ? " # SKIP not of this device" : "");
	return err < 0 ? err : 0;
}

static int __init kverbs_init(void)
{
	struct ib_device *ib;
	unsigned int i;
	int failed = 0;

	ib = find_adapter(dev);
	if (!ib)
		return -ENODEV;
	pr_info("kverbs: 1..%zu\n", ARRAY_SIZE(tests));
	for (i = 0; i < ARRAY_SIZE(tests); i++)
		failed |= run_test(ib, i);
	ib_device_put(ib);
	return failed ? -EIO : 0;
}

static void __exit kverbs_exit(void)
{
}

module_init(kverbs_init);
module_exit(kverbs_exit);
