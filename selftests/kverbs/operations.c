// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * operations.c - atomic operations of kernel consumers, those that only pavo has, and fast
 * registrations of as many pages as the device takes.
 */
#include <linux/vmalloc.h>
#include "kverbs.h"
#include "pavo_kernel.h"

/* IB_WR_ATOMIC_WRITE and what goes with it have names from Linux 6.2 on. */
#define WR_ATOMIC_WRITE ((enum ib_wr_opcode)15)
#define WC_ATOMIC_WRITE ((enum ib_wc_opcode)9)
#define CAN_ATOMIC_WRITE BIT_ULL(40)

/* ---------------------------------------------------------------- atomics */

/* The first aligned word of the target, and where it is for the other end. */
static u64 *word_of(struct target *t)
{
	return PTR_ALIGN((u64 *)sg_virt(&t->sg[0]), sizeof(u64));
}

static u64 remote_word(struct target *t)
{
	return t->mr->iova + ((u8 *)word_of(t) - (u8 *)sg_virt(&t->sg[0]));
}

/* By A on the target's word; what was there comes into A's buffer. */
static int run_masked(struct pair *p, enum ib_wr_opcode op, u64 compare_add,
		      u64 compare_add_mask, u64 swap, u64 swap_mask)
{
	struct ib_sge sge = piece_at(p, p->a.buffer + 8, 8);
	struct ib_atomic_wr wr = {
		.wr =
			{
				.opcode = op,
				.wr_id = 1,
				.send_flags = IB_SEND_SIGNALED,
				.sg_list = &sge,
				.num_sge = 1,
			},
		.remote_addr = remote_word(&p->t),
		.rkey = p->t.mr->rkey,
		.compare_add = compare_add,
		.swap = swap,
		.compare_add_mask = compare_add_mask,
		.swap_mask = swap_mask,
	};

	return post(&p->a, &wr.wr);
}

static int run_atomic(struct pair *p, enum ib_wr_opcode op, u64 compare_add,
		      u64 swap)
{
	return run_masked(p, op, compare_add, 0, swap, 0);
}

/* The word's old and new values, and all around it, are as they should be. */
static int check_atomic(struct pair *p, enum ib_wc_opcode opcode, u64 old,
			u64 now, u64 pattern)
{
	u64 *word = word_of(&p->t), got;
	struct ib_wc wc;

	TRY(wait_wc(&p->a, &wc));
	CHECK(wc.status == IB_WC_SUCCESS && wc.wr_id == 1);
	CHECK(wc.opcode == opcode);
	memcpy(&got, p->a.buffer + 8, sizeof(got));
	CHECK(got == old);
	CHECK(*word == now);
	CHECK(!memchr_inv(p->a.buffer, 0xee, 8));
	CHECK(!memchr_inv(p->a.buffer + 16, 0xee, BYTES - 16));
	/* with the pattern back in its place it is the pattern everywhere */
	*word = pattern;
	CHECK(target_is(&p->t, 51));
	*word = now;
	return 0;
}

int test_atomics(struct pair *p)
{
	const u64 big = 0x123456789abcdef0ULL;
	u64 *word = word_of(&p->t), first;

	TRY(must_reg(p));
	fill_target(&p->t, 51);
	memset(p->a.buffer, 0xee, BYTES);
	first = *word;
	TRY(run_atomic(p, IB_WR_ATOMIC_FETCH_AND_ADD, big, 0));
	TRY(check_atomic(p, IB_WC_FETCH_ADD, first, first + big, first));
	TRY(run_atomic(p, IB_WR_ATOMIC_CMP_AND_SWP, first, 1));
	TRY(check_atomic(p, IB_WC_COMP_SWAP, first + big, first + big, first));
	TRY(run_atomic(p, IB_WR_ATOMIC_CMP_AND_SWP, first + big, ~big));
	TRY(check_atomic(p, IB_WC_COMP_SWAP, first + big, ~big, first));
	return 0;
}

int test_masked_atomics(struct pair *p)
{
	const u64 tops = 0x8000800080008000ULL, ones = 0x0001000100010001ULL;
	u64 *word = word_of(&p->t), first, now;

	if (p->ib->attrs.masked_atomic_cap == IB_ATOMIC_NONE)
		return SKIPPED;
	TRY(must_reg(p));
	fill_target(&p->t, 51);
	memset(p->a.buffer, 0xee, BYTES);
	first = *word;
	/* In fields of 16 bits, of which the lowest overflows. */
	*word = 0x7fff12340000ffffULL;
	TRY(run_masked(p, IB_WR_MASKED_ATOMIC_FETCH_AND_ADD, ones, tops, 0, 0));
	now = 0x8000123500010000ULL;
	TRY(check_atomic(p, IB_WC_MASKED_FETCH_ADD, 0x7fff12340000ffffULL, now,
			 first));
	/* One byte is not as expected, then it is not looked at. */
	TRY(run_masked(p, IB_WR_MASKED_ATOMIC_CMP_AND_SWP, now ^ 0xff, ~0ULL, 1,
		       ~0ULL));
	TRY(check_atomic(p, IB_WC_MASKED_COMP_SWAP, now, now, first));
	TRY(run_masked(p, IB_WR_MASKED_ATOMIC_CMP_AND_SWP, now ^ 0xff, ~0xffULL,
		       0xabcd, 0xff00));
	TRY(check_atomic(p, IB_WC_MASKED_COMP_SWAP, now,
			 (now & ~0xff00ULL) | 0xab00, first));
	return 0;
}

int test_swap(struct pair *p)
{
	const u64 one = 0x0102030405060708ULL, other = ~one;
	u64 *word = word_of(&p->t), first;

	if (!is_pavo(p))
		return SKIPPED;
	TRY(must_reg(p));
	fill_target(&p->t, 51);
	memset(p->a.buffer, 0xee, BYTES);
	first = *word;
	TRY(run_masked(p, PAVO_WR_SWAP, 0, 0, one, 0));
	TRY(check_atomic(p, PAVO_WC_SWAP, first, one, first));
	TRY(run_masked(p, PAVO_WR_SWAP, 0, 0, other, 0));
	return check_atomic(p, PAVO_WC_SWAP, one, other, first);
}

/* ------------------------------------------------- immediate data of eight bytes */

static int run_imm64(struct pair *p, u64 data)
{
	struct pavo_imm64_wr wr = {
		.wr =
			{
				.opcode = PAVO_WR_IMM64,
				.wr_id = 3,
				.send_flags = IB_SEND_SIGNALED,
			},
		.data = cpu_to_be64(data),
	};
	struct ib_wc wc;

	TRY(post_recv(&p->b, 8, piece_at(p, p->b.buffer, BYTES)));
	TRY(post(&p->a, &wr.wr));
	TRY(wait_wc(&p->a, &wc));
	CHECK(wc.status == IB_WC_SUCCESS && wc.wr_id == 3);
	CHECK(wc.opcode == PAVO_WC_IMM64);
	TRY(wait_wc(&p->b, &wc));
	CHECK(wc.status == IB_WC_SUCCESS && wc.wr_id == 8);
	CHECK(wc.opcode == PAVO_WC_RECV_IMM64 && wc.opcode & IB_WC_RECV);
	CHECK(wc.byte_len == 8 && !wc.wc_flags);
	CHECK(pavo_wc_get_imm64(&wc) == cpu_to_be64(data));
	return 0;
}

int test_imm64(struct pair *p)
{
	if (!is_pavo(p))
		return SKIPPED;
	memset(p->b.buffer, 0xee, BYTES);
	TRY(run_imm64(p, 0x0102030405060708ULL));
	TRY(run_imm64(p, 0));
	TRY(run_imm64(p, ~0ULL));
	/* the receive's memory is not written */
	CHECK(!memchr_inv(p->b.buffer, 0xee, BYTES));
	return 0;
}

/* ----------------------------------------------------------- atomic write */

static int run_atomic_write(struct pair *p, u64 to, u32 length)
{
	return post_rdma(p, WR_ATOMIC_WRITE, 2, to, p->t.mr->rkey, length);
}

int test_atomic_write(struct pair *p)
{
	u64 *word = word_of(&p->t), pattern;
	struct ib_wc wc;

	if (!(p->ib->attrs.device_cap_flags & CAN_ATOMIC_WRITE))
		return SKIPPED;
	TRY(must_reg(p));
	fill_target(&p->t, 61);
	fill(p->a.buffer, BYTES, 62);
	pattern = *word;
	TRY(run_atomic_write(p, remote_word(&p->t), 8));
	TRY(wait_wc(&p->a, &wc));
	CHECK(wc.status == IB_WC_SUCCESS && wc.wr_id == 2);
	CHECK(wc.opcode == WC_ATOMIC_WRITE);
	CHECK(is_filled((u8 *)word, 8, 62));
	*word = pattern;
	CHECK(target_is(&p->t, 61));
	CHECK(is_filled(p->a.buffer, BYTES, 62));
	/* not at an address that is a multiple of eight */
	TRY(run_atomic_write(p, remote_word(&p->t) + 4, 8));
	TRY(expect(&p->a, 2, IB_WC_REM_INV_REQ_ERR));
	CHECK(target_is(&p->t, 61));
	return 0;
}

/* ---------------------------------------------------- read and invalidate */

/* All of A's buffer as a region, registered by a request at A. */
static int make_source(struct pair *p, struct ib_mr **mr,
		       struct scatterlist *sg)
{
	struct ib_reg_wr reg;

	*mr = ib_alloc_mr(p->pd, IB_MR_TYPE_MEM_REG, 16);
	if (IS_ERR(*mr))
		return PTR_ERR(*mr);
	sg_init_one(sg, p->a.buffer, BYTES);
	CHECK(ib_dma_map_sg(p->ib, sg, 1, DMA_BIDIRECTIONAL) == 1);
	CHECK(ib_map_mr_sg(*mr, sg, 1, NULL, PAGE_SIZE) == 1);
	reg = reg_of(*mr, 20);
	TRY(post(&p->a, &reg.wr));
	return expect(&p->a, 20, IB_WC_SUCCESS);
}

/*
 * B reads into the target, whose key ends with that. Without @key the request names it by its
 * entry only, as consumers of iWARP devices do.
 */
static int run_read_inv(struct pair *p, struct ib_mr *source, u32 key)
{
	struct request r = {
		.op = IB_WR_RDMA_READ_WITH_INV,
		.id = 21,
		.piece = target_piece(p),
		.to = source->iova,
		.rkey = source->rkey,
		.invalidate = key,
	};

	return post_request(&p->b, &r);
}

static int read_inv(struct pair *p, struct ib_mr *source)
{
	struct ib_wc wc;
	int err, round;

	fill(p->a.buffer, p->t.bytes, 81);
	/* It can be registered again only if the round before has ended it. */
	for (round = 0; round < 4; round++) {
		TRY(must_reg(p));
		fill_target(&p->t, 82);
		err = run_read_inv(p, source, round & 1 ? 0 : p->t.mr->rkey);
		if (err == -EOPNOTSUPP || err == -EINVAL)
			return SKIPPED;
		TRY(err);
		TRY(wait_wc(&p->b, &wc));
		CHECK(wc.status == IB_WC_SUCCESS && wc.wr_id == 21);
		CHECK(wc.opcode == IB_WC_RDMA_READ);
		CHECK(target_is(&p->t, 81));
	}
	/* The key is one to be registered again, and shows nothing. */
	TRY(post_rdma(p, IB_WR_RDMA_WRITE, 22, p->t.mr->iova, p->t.mr->rkey,
		      8));
	TRY(expect(&p->a, 22, IB_WC_REM_ACCESS_ERR));
	CHECK(target_is(&p->t, 81));
	return 0;
}

int test_read_inv(struct pair *p)
{
	struct ib_mr *source = NULL;
	struct scatterlist sg;
	int err;

	err = make_source(p, &source, &sg);
	if (!err)
		err = read_inv(p, source);
	if (!IS_ERR_OR_NULL(source))
		ib_dereg_mr(source);
	return err;
}

/* ------------------------------------------- entries that have no meaning */

/* Requests that move no data take no list; consumers use one structure for all. */
int test_no_entries(struct pair *p)
{
	struct ib_sge piece = piece_at(p, p->b.buffer, 8);
	struct ib_reg_wr reg = reg_of(p->t.mr, 31);
	struct request inv = {
		.op = IB_WR_LOCAL_INV,
		.id = 32,
		.piece = piece,
	};

	CHECK(ib_map_mr_sg(p->t.mr, p->t.sg, PIECES, NULL, PAGE_SIZE) ==
	      PIECES);
	reg.wr.sg_list = &piece;
	reg.wr.num_sge = 1;
	TRY(post(&p->b, &reg.wr));
	TRY(expect(&p->b, 31, IB_WC_SUCCESS));
	inv.invalidate = p->t.mr->rkey;
	TRY(post_request(&p->b, &inv));
	return expect(&p->b, 32, IB_WC_SUCCESS);
}

/* ------------------------------------------------- the longest page lists */

/* Memory of @pages single pages, its list, and the region made of them. */
struct list {
	unsigned int pages;
	u8 *memory;
	struct scatterlist *sg;
	struct ib_mr *mr;
};

#define AT_ONCE 8

static int make_list(struct pair *p, struct list *list)
{
	unsigned int i;

	list->memory = vzalloc(list->pages * PAGE_SIZE);
	list->sg = kvcalloc(list->pages, sizeof(*list->sg), GFP_KERNEL);
	if (!list->memory || !list->sg)
		return -ENOMEM;
	sg_init_table(list->sg, list->pages);
	for (i = 0; i < list->pages; i++)
		sg_set_page(&list->sg[i],
			    vmalloc_to_page(list->memory + i * PAGE_SIZE),
			    PAGE_SIZE, 0);
	CHECK(ib_dma_map_sg(p->ib, list->sg, list->pages, DMA_BIDIRECTIONAL) ==
	      list->pages);
	list->mr = ib_alloc_mr(p->pd, IB_MR_TYPE_MEM_REG, list->pages - 1);
	return PTR_ERR_OR_ZERO(list->mr);
}

static void free_list(struct list *list)
{
	if (!IS_ERR_OR_NULL(list->mr))
		ib_dereg_mr(list->mr);
	kvfree(list->sg);
	vfree(list->memory);
}

static int write_piece(struct pair *p, struct list *list, unsigned int page,
		       u32 length)
{
	fill(p->a.buffer, length, 70 + page);
	return post_rdma(p, IB_WR_RDMA_WRITE, 3,
			 list->mr->iova + page * PAGE_SIZE, list->mr->rkey,
			 length);
}

/* One page more than the region takes is left out; then all others are used. */
static int run_list(struct pair *p, struct list *list)
{
	const unsigned int most = list->pages - 1;
	struct ib_reg_wr reg;
	unsigned int page, n;

	TRY(make_list(p, list));
	CHECK(ib_map_mr_sg(list->mr, list->sg, list->pages, NULL, PAGE_SIZE) ==
	      most);
	CHECK(list->mr->length == most * PAGE_SIZE);
	reg = reg_of(list->mr, 1000);
	TRY(post(&p->b, &reg.wr));
	TRY(expect(&p->b, 1000, IB_WC_SUCCESS));
	for (page = 0; page < most; page += AT_ONCE) {
		n = min_t(unsigned int, AT_ONCE, most - page);
		TRY(write_piece(p, list, page, n * PAGE_SIZE));
		TRY(expect(&p->a, 3, IB_WC_SUCCESS));
	}
	for (page = 0; page < most; page += AT_ONCE) {
		n = min_t(unsigned int, AT_ONCE, most - page);
		CHECK(is_filled(list->memory + page * PAGE_SIZE, n * PAGE_SIZE,
				70 + page));
	}
	CHECK(!memchr_inv(list->memory + most * PAGE_SIZE, 0, PAGE_SIZE));
	TRY(write_piece(p, list, most, 1));
	TRY(expect(&p->a, 3, IB_WC_REM_ACCESS_ERR));
	return 0;
}

int test_page_list(struct pair *p)
{
	const u32 most = p->ib->attrs.max_fast_reg_page_list_len;
	struct list list = {.pages = most + 1};
	struct ib_mr *mr;
	int err;

	CHECK(most >= 16);
	err = run_list(p, &list);
	free_list(&list);
	if (err)
		return err;
	mr = ib_alloc_mr(p->pd, IB_MR_TYPE_MEM_REG, most + 1);
	if (!IS_ERR(mr))
		ib_dereg_mr(mr);
	CHECK(PTR_ERR_OR_ZERO(mr) == -EINVAL);
	return 0;
}
