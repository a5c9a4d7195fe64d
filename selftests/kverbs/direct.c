// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct.c - direct windows of a kernel consumer: the adapter moves the bytes of ranges from and to
 * a file. The calls are found by name, since the tests also run without pavo.
 */
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include "kverbs.h"
#include "pavo_kernel.h"

#define RANGES 3
#define RANGE_SIZE 16384
#define BASE 0x123456000ULL

/* A window, and a file as long as the target. */
struct stage {
	struct pavo_direct *window;
	struct file *file;
	u32 lkey;
	u32 left; /* bytes of the last range */
};

#define CALL(name, failed, ...)                               \
	({                                                    \
		typeof(&(name)) call_ = symbol_get(name);     \
		typeof(name(__VA_ARGS__)) result_ = (failed); \
                                                              \
		if (call_) {                                  \
			result_ = call_(__VA_ARGS__);         \
			symbol_put(name);                     \
		}                                             \
		result_;                                      \
	})

static void close_stage(struct stage *s)
{
	void (*close)(struct pavo_direct * window) =
		symbol_get(pavo_kernel_direct_close);

	if (close && !IS_ERR_OR_NULL(s->window))
		close(s->window);
	if (close)
		symbol_put(pavo_kernel_direct_close);
	if (!IS_ERR_OR_NULL(s->file))
		fput(s->file);
}

/* Set up a file in memory, without a name. The calls of shmem have other arguments in newer kernels. */
static int open_file(struct stage *s, loff_t size)
{
	s->file = filp_open("/dev", O_TMPFILE | O_RDWR | O_LARGEFILE, 0600);
	if (IS_ERR(s->file))
		return PTR_ERR(s->file);
	return vfs_truncate(&s->file->f_path, size);
}

static int open_stage(struct pair *p, struct stage *s)
{
	const struct pavo_direct_open_args args = {
		.base = BASE,
		.ranges = RANGES,
		.range_size = RANGE_SIZE,
		.buffers = RANGES,
	};
	struct pavo_direct_open_resp resp;
	int err;

	*s = (struct stage){};
	err = open_file(s, p->t.bytes);
	if (err)
		return err;
	s->window = CALL(pavo_kernel_direct_open, ERR_PTR(-ENOENT), p->pd,
			 &args, &resp);
	if (IS_ERR(s->window))
		return PTR_ERR(s->window);
	s->lkey = resp.lkey;
	s->left = p->t.bytes - (RANGES - 1) * RANGE_SIZE;
	CHECK(s->left <= RANGE_SIZE);
	CHECK(resp.length == RANGES * RANGE_SIZE && resp.fd == -1);
	return 0;
}

static u32 bytes_of(const struct stage *s, u32 range)
{
	return range == RANGES - 1 ? s->left : RANGE_SIZE;
}

/* All of the target by one call, in as many requests as there are ranges, ids from 1 on. */
static int run_ios(struct pair *p, struct stage *s, enum ib_wr_opcode op,
		   u64 offset, int entries)
{
	struct pavo_direct_io_args ios[RANGES];
	struct file *files[RANGES];
	struct ib_rdma_wr wrs[RANGES];
	struct ib_sge pieces[RANGES];
	const struct ib_send_wr *bad;
	u32 i;

	for (i = 0; i < RANGES; i++) {
		files[i] = s->file;
		ios[i] = (struct pavo_direct_io_args){
			.range = i,
			.total = bytes_of(s, i),
			.flags = op == IB_WR_RDMA_READ ? PAVO_DIRECT_READ : 0,
			.fd = -1,
			.offset = offset + i * RANGE_SIZE,
		};
		pieces[i] = (struct ib_sge){
			.addr = BASE + i * RANGE_SIZE,
			.length = bytes_of(s, i),
			.lkey = s->lkey,
		};
		wrs[i] = (struct ib_rdma_wr){
			.wr =
				{
					.opcode = op,
					.wr_id = i + 1,
					.send_flags = IB_SEND_SIGNALED,
					.sg_list = &pieces[i],
					.num_sge = entries,
					.next = i + 1 < RANGES ?
							&wrs[i + 1].wr :
							NULL,
				},
			.remote_addr = p->t.mr->iova + i * RANGE_SIZE,
			.rkey = p->t.mr->rkey,
		};
	}
	return CALL(pavo_kernel_direct_io, -ENOENT, s->window, ios, files,
		    RANGES, p->a.qp, &wrs[0].wr, &bad);
}

static int expect_all(struct pair *p)
{
	u64 id;

	for (id = 1; id <= RANGES; id++)
		TRY(expect(&p->a, id, IB_WC_SUCCESS));
	return 0;
}

/* Write a pattern to the file. */
static int fill_file(struct pair *p, struct stage *s, u8 seed)
{
	loff_t at = 0;

	fill(p->a.buffer, p->t.bytes, seed);
	CHECK(kernel_write(s->file, p->a.buffer, p->t.bytes, &at) ==
	      p->t.bytes);
	return 0;
}

static int is_file_filled(struct pair *p, struct stage *s, u8 seed)
{
	loff_t at = 0;

	memset(p->a.buffer, 0xee, BYTES);
	CHECK(kernel_read(s->file, p->a.buffer, BYTES, &at) == p->t.bytes);
	CHECK(is_filled(p->a.buffer, p->t.bytes, seed));
	return 0;
}

static int write_target(struct pair *p, struct stage *s)
{
	u8 seed;

	for (seed = 71; seed < 74; seed++) {
		TRY(fill_file(p, s, seed));
		TRY(run_ios(p, s, IB_WR_RDMA_WRITE, 0, 1));
		TRY(expect_all(p));
		CHECK(target_is(&p->t, seed));
	}
	return 0;
}

static int read_target(struct pair *p, struct stage *s)
{
	u8 seed;

	for (seed = 75; seed < 78; seed++) {
		fill_target(&p->t, seed);
		TRY(run_ios(p, s, IB_WR_RDMA_READ, 0, 1));
		TRY(expect_all(p));
		TRY(is_file_filled(p, s, seed));
	}
	return 0;
}

/* The last range has no byte in the file: the others are sent. */
static int write_short(struct pair *p, struct stage *s)
{
	struct ib_wc wc;

	TRY(fill_file(p, s, 81));
	fill_target(&p->t, 82);
	TRY(run_ios(p, s, IB_WR_RDMA_WRITE, RANGE_SIZE, 1));
	TRY(expect(&p->a, 1, IB_WC_SUCCESS));
	TRY(wait_wc(&p->a, &wc));
	CHECK(wc.wr_id == 2 && wc.status == IB_WC_LOC_QP_OP_ERR);
	CHECK(wc.vendor_err == PAVO_VE_DIRECT_IO);
	return expect(&p->a, 3, IB_WC_WR_FLUSH_ERR);
}

/* More entries than the queue pair has, then as it should be: when the I/Os are over. */
static int refuse_post(struct pair *p, struct stage *s)
{
	unsigned long until = jiffies + PATIENCE;
	int err;

	TRY(fill_file(p, s, 85));
	fill_target(&p->t, 86);
	CHECK(run_ios(p, s, IB_WR_RDMA_WRITE, 0, 99) == -EINVAL);
	CHECK(target_is(&p->t, 86));
	do {
		usleep_range(100, 200);
		err = run_ios(p, s, IB_WR_RDMA_WRITE, 0, 1);
	} while (err == -EAGAIN && time_before(jiffies, until));
	TRY(err);
	TRY(expect_all(p));
	CHECK(target_is(&p->t, 85));
	return 0;
}

static int on_stage(struct pair *p, int (*run)(struct pair *p, struct stage *s))
{
	struct stage s;
	int err;

	if (!is_pavo(p))
		return SKIPPED;
	err = must_reg(p);
	if (err)
		return err;
	err = open_stage(p, &s);
	if (!err)
		err = run(p, &s);
	else
		pr_info("kverbs: # a window and a file: %d\n", err);
	close_stage(&s);
	return err;
}

int test_direct_write(struct pair *p)
{
	return on_stage(p, write_target);
}

int test_direct_read(struct pair *p)
{
	return on_stage(p, read_target);
}

int test_direct_short(struct pair *p)
{
	return on_stage(p, write_short);
}

int test_direct_refused(struct pair *p)
{
	return on_stage(p, refuse_post);
}
