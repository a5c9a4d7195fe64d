/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The common part of the tests of verbs inside the kernel: two ends that are connected,
 * memory in pieces, requests and completions. kverbs.c has it and runs them all.
 */
#ifndef PAVO_KVERBS_H
#define PAVO_KVERBS_H

#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

#define PATIENCE (20 * HZ)
#define DEPTH 32
#define PIECES 4
#define FIRST_OFFSET 100
#define LAST_SHORT 56
#define RIGHTS                                           \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | \
	 IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* One end: its queues, and memory for plain transfers. */
struct end {
	struct ib_srq *srq; /* where receives come from, if not its own */
	struct ib_cq *cq;
	struct ib_qp *qp;
	u8 *buffer; /* BYTES long */
};

/* Memory in pieces, as a block layer request has it, and its region. */
struct target {
	struct ib_mr *mr;
	struct scatterlist sg[PIECES];
	unsigned int bytes;
};

struct pair {
	struct ib_device *ib;
	struct ib_pd *pd;
	struct end a;
	struct end b;
	struct target t;
	union ib_gid gid;
	u8 gid_index;
};

/* Piece i is i + 1 pages; it begins late in the first, ends early in the last. */
#define BYTES ((1 + 2 + 3 + 4) * PAGE_SIZE)

/* A test returns it that the device has no use for. */
#define SKIPPED 1

#define CHECK(cond)                                                           \
	do {                                                                  \
		if (!(cond)) {                                                \
			pr_info("kverbs: # line %d: %s is false\n", __LINE__, \
				#cond);                                       \
			return -EIO;                                          \
		}                                                             \
	} while (0)

#define TRY(call)                                                          \
	do {                                                               \
		int err_ = (call);                                         \
		if (err_) {                                                \
			pr_info("kverbs: # line %d: %s is %d\n", __LINE__, \
				#call, err_);                              \
			return err_;                                       \
		}                                                          \
	} while (0)

int make_end(struct pair *p, struct end *e);
void free_end(struct end *e);
int connect_end(struct pair *p, struct end *e, struct end *peer);

/* Does the device have more than the kernel's verbs (pavo_kernel.h)? */
static inline bool is_pavo(const struct pair *p)
{
	return !strcmp(module_name(p->ib->ops.owner), "pavo");
}

int wait_wc(struct end *e, struct ib_wc *wc);
/* The next completion is that of @id, with this status. */
int expect(struct end *e, u64 id, enum ib_wc_status status);
int post(struct end *e, const struct ib_send_wr *wr);
/* A signalled request of one piece, or of none if that has no bytes. */
struct request {
	enum ib_wr_opcode op;
	u64 id;
	struct ib_sge piece;
	u64 to; /* at the peer, by @rkey */
	u32 rkey;
	u32 invalidate;
};

int post_request(struct end *e, const struct request *r);
int post_send(struct end *e, u64 id, struct ib_sge piece);
int post_inv(struct end *e, u32 key, u64 id);
/* From A's buffer, or to it, what B has at @to by @rkey. */
int post_rdma(struct pair *p, enum ib_wr_opcode op, u64 id, u64 to, u32 rkey,
	      u32 length);
int post_recv(struct end *e, u64 id, struct ib_sge piece);
/* By the L_Key of all memory. */
struct ib_sge piece_at(struct pair *p, const void *at, u32 length);
/* The target, by the L_Key of its region. */
struct ib_sge target_piece(struct pair *p);
/* The request that registers what @mr lists. */
struct ib_reg_wr reg_of(struct ib_mr *mr, u64 id);
/* Make the target's memory a region, by a request at B. */
int must_reg(struct pair *p);

/* A pattern in which every byte depends on its place. */
void fill(u8 *to, unsigned int n, u8 seed);
bool is_filled(const u8 *from, unsigned int n, u8 seed);
/* The same over the target's pieces; nothing else of their pages is touched. */
void fill_target(struct target *t, u8 seed);
bool target_is(struct target *t, u8 seed);

/* queues.c */
int test_srq(struct pair *p);
int test_srq_full(struct pair *p);
int test_empty_entries(struct pair *p);
int test_drain(struct pair *p);
/* operations.c */
int test_atomics(struct pair *p);
int test_masked_atomics(struct pair *p);
int test_swap(struct pair *p);
int test_imm64(struct pair *p);
int test_atomic_write(struct pair *p);
int test_page_list(struct pair *p);
int test_read_inv(struct pair *p);
int test_no_entries(struct pair *p);

/* errors.c */
int test_error_sends(struct pair *p);
int test_error_receives(struct pair *p);
int test_error_keys(struct pair *p);
int test_error_from_peer(struct pair *p);
int test_error_srq(struct pair *p);
int test_error_handler(struct pair *p);

/* direct.c */
int test_direct_write(struct pair *p);
int test_direct_read(struct pair *p);
int test_direct_short(struct pair *p);
int test_direct_refused(struct pair *p);

/* find.c: with a reference; NULL: there is none of that name. Not by two threads at a time. */
struct ib_device *find_adapter(const char *name);

/* forged.c */
int test_forged(struct pair *p);

#endif /* PAVO_KVERBS_H */
