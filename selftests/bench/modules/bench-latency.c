// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * bench-latency.c - the latency of short messages between two addresses of this machine, by a
 * consumer in the kernel: in some guests a system call takes longer than a message.
 *
 * The process that loads the module is in the namespace of the second end, which listens then. The
 * process that writes to the parameter "run" is in that of the first end, and everything happens
 * meanwhile. Its thread plays both ends, which rdma_cm connects, so each driver can be asked.
 * Results are JSON lines in the kernel's log:
 *   write  half of there and back: each end waits for the byte in its memory
 *   send   half of there and back: each end waits for the completion of its receive
 *   read   until its completion
 */
#include <linux/inet.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <rdma/rdma_cm.h>

#define DEPTH 64
#define SIGNAL 16 /* every so many requests are signalled */
#define WARM 200
#define PORT 4711
/* Of the two ends. */
#define NEAR "10.9.0.1"
#define FAR "10.9.0.2"
#define PATIENCE (10 * HZ)
#define RIGHTS \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)

static unsigned int size = 64;
module_param(size, uint, 0444);
MODULE_PARM_DESC(size, "bytes of a message, up to a page");
static unsigned int count = 4000;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "messages of each kind");

struct end {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_mr *mr;
	u8 *page; /* what is sent, then what is received */
	struct completion ready;
	int error;
	unsigned int posted;
};

static struct end near, far;
static struct rdma_cm_id *listener;

#define TRY(call)                                                           \
	do {                                                                \
		int err_ = (call);                                          \
		if (err_) {                                                 \
			pr_info("latency: # line %d: %s is %d\n", __LINE__, \
				#call, err_);                               \
			return err_;                                        \
		}                                                           \
	} while (0)

/* ------------------------------------------------------------------- the ends */

static int make_qp(struct end *end)
{
	struct ib_device *ib = end->id->device;
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap =
			{
				.max_send_wr = DEPTH,
				.max_recv_wr = DEPTH,
				.max_send_sge = 1,
				.max_recv_sge = 1,
			},
	};

	end->pd = ib_alloc_pd(ib, 0);
	TRY(PTR_ERR_OR_ZERO(end->pd));
	end->cq = ib_alloc_cq(ib, NULL, 4 * DEPTH, 0, IB_POLL_DIRECT);
	TRY(PTR_ERR_OR_ZERO(end->cq));
	init.send_cq = end->cq;
	init.recv_cq = end->cq;
	TRY(rdma_create_qp(end->id, end->pd, &init));
	return 0;
}

static void finish(struct end *end, int err)
{
	end->error = err;
	complete(&end->ready);
}

static const struct rdma_conn_param connection = {
	.responder_resources = 4,
	.initiator_depth = 4,
	.retry_count = 7,
	.rnr_retry_count = 7,
};

/* Both ends: what rdma_cm tells. */
static int on_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = connection;
	int err = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = rdma_resolve_route(id, 2000);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		/* siw connects in the namespace of the caller. */
		finish(&near, 0);
		return 0;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		far.id = id;
		id->context = &far;
		err = make_qp(&far) ?: rdma_accept(id, &param);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		finish(id->context, 0);
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	default:
		pr_info("latency: # %s\n", rdma_event_msg(event->event));
		err = event->status ?: -ECONNREFUSED;
	}
	if (err) {
		finish(&near, err);
		finish(&far, err);
	}
	return 0;
}

static struct sockaddr_in address_of(const char *text, int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = in_aton(text),
	};
}

static int wait_ready(struct end *end)
{
	if (!wait_for_completion_timeout(&end->ready, PATIENCE))
		return -ETIMEDOUT;
	return end->error;
}

static int listen_far(void)
{
	struct sockaddr_in there = address_of(FAR, PORT);

	listener = rdma_create_id(current->nsproxy->net_ns, on_event, NULL,
				  RDMA_PS_TCP, IB_QPT_RC);
	TRY(PTR_ERR_OR_ZERO(listener));
	TRY(rdma_bind_addr(listener, (struct sockaddr *)&there));
	TRY(rdma_listen(listener, 1));
	return 0;
}

static int connect_near(void)
{
	struct rdma_conn_param param = connection;
	struct sockaddr_in here = address_of(NEAR, 0);
	struct sockaddr_in there = address_of(FAR, PORT);

	near.id = rdma_create_id(current->nsproxy->net_ns, on_event, &near,
				 RDMA_PS_TCP, IB_QPT_RC);
	TRY(PTR_ERR_OR_ZERO(near.id));
	TRY(rdma_resolve_addr(near.id, (struct sockaddr *)&here,
			      (struct sockaddr *)&there, 2000));
	TRY(wait_ready(&near));
	reinit_completion(&near.ready);
	TRY(make_qp(&near));
	TRY(rdma_connect(near.id, &param));
	TRY(wait_ready(&near));
	TRY(wait_ready(&far));
	return 0;
}

/* ------------------------------------------------------------------- messages */

static int take_completion(struct end *end)
{
	unsigned long until = jiffies + PATIENCE;
	struct ib_wc wc;
	int n;

	while (!(n = ib_poll_cq(end->cq, 1, &wc))) {
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
		cond_resched();
	}
	if (n < 0 || wc.status == IB_WC_SUCCESS)
		return min(n, 0);
	pr_info("latency: # %s\n", ib_wc_status_msg(wc.status));
	return -EIO;
}

static struct ib_sge part_of(const struct end *end, unsigned int at)
{
	return (struct ib_sge){
		.addr = end->mr->iova + at,
		.length = size,
		.lkey = end->mr->lkey,
	};
}

static int post(struct end *end, const struct end *peer,
		enum ib_wr_opcode opcode, bool signal)
{
	bool brings = opcode == IB_WR_RDMA_READ;
	struct ib_sge sge = part_of(end, brings ? PAGE_SIZE : 0);
	struct ib_rdma_wr wr = {
		.wr =
			{
				.opcode = opcode,
				.sg_list = &sge,
				.num_sge = 1,
				.send_flags = signal ? IB_SEND_SIGNALED : 0,
			},
		.remote_addr = peer->mr->iova + (brings ? 0 : PAGE_SIZE),
		.rkey = peer->mr->rkey,
	};

	return ib_post_send(end->id->qp, &wr.wr, NULL);
}

static int post_receive(struct end *end)
{
	struct ib_sge sge = part_of(end, PAGE_SIZE);
	struct ib_recv_wr wr = {.sg_list = &sge, .num_sge = 1};

	return ib_post_recv(end->id->qp, &wr, NULL);
}

/* Make the two pages of an end a region, by a request of its own. */
static int make_region(struct end *end)
{
	struct scatterlist sg;
	struct ib_reg_wr reg = {
		.wr =
			{
				.opcode = IB_WR_REG_MR,
				.send_flags = IB_SEND_SIGNALED,
			},
		.access = RIGHTS,
	};

	end->page = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, 1);
	if (!end->page)
		return -ENOMEM;
	end->mr = ib_alloc_mr(end->pd, IB_MR_TYPE_MEM_REG, 2);
	TRY(PTR_ERR_OR_ZERO(end->mr));
	sg_init_one(&sg, end->page, 2 * PAGE_SIZE);
	if (ib_dma_map_sg(end->id->device, &sg, 1, DMA_BIDIRECTIONAL) != 1)
		return -EIO;
	if (ib_map_mr_sg(end->mr, &sg, 1, NULL, PAGE_SIZE) != 1)
		return -EIO;
	reg.mr = end->mr;
	reg.key = end->mr->rkey;
	TRY(ib_post_send(end->id->qp, &reg.wr, NULL));
	TRY(take_completion(end));
	return 0;
}

/* The byte that tells that a message is all there: the last one. */
static int wait_byte(const struct end *end, u8 mark)
{
	const u8 *last = end->page + PAGE_SIZE + size - 1;
	unsigned long until = jiffies + PATIENCE;

	while (READ_ONCE(*last) != mark) {
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
		cond_resched();
	}
	return 0;
}

static int pass_write(struct end *end, struct end *peer, u8 mark)
{
	/* Every so many are signalled, so that the queue never fills. */
	bool signal = ++end->posted % SIGNAL == 0;

	memset(end->page, mark, size);
	TRY(post(end, peer, IB_WR_RDMA_WRITE, signal));
	TRY(wait_byte(peer, mark));
	if (signal)
		TRY(take_completion(end));
	return memchr_inv(peer->page + PAGE_SIZE, mark, size) ? -EIO : 0;
}

static int pass_send(struct end *end, struct end *peer, u8 mark)
{
	memset(end->page, mark, size);
	TRY(post_receive(peer));
	TRY(post(end, peer, IB_WR_SEND, true));
	TRY(take_completion(peer));
	TRY(take_completion(end));
	return memchr_inv(peer->page + PAGE_SIZE, mark, size) ? -EIO : 0;
}

static int there_and_back(enum ib_wr_opcode opcode, u8 mark)
{
	switch (opcode) {
	case IB_WR_RDMA_WRITE:
		TRY(pass_write(&near, &far, mark));
		return pass_write(&far, &near, mark);
	case IB_WR_SEND:
		TRY(pass_send(&near, &far, mark));
		return pass_send(&far, &near, mark);
	default:
		memset(far.page, mark, size);
		TRY(post(&near, &far, IB_WR_RDMA_READ, true));
		TRY(take_completion(&near));
		return memchr_inv(near.page + PAGE_SIZE, mark, size) ? -EIO : 0;
	}
}

/* -------------------------------------------------------------------- measure */

static int compare_times(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : 1;
}

static int measure(const char *name, enum ib_wr_opcode opcode)
{
	const unsigned int parts = opcode == IB_WR_RDMA_READ ? 1 : 2;
	u64 first = 0, began, total = 0;
	unsigned int i;
	u32 *times;

	times = kvcalloc(count, sizeof(*times), GFP_KERNEL);
	if (!times)
		return -ENOMEM;
	for (i = 0; i < WARM + count; i++) {
		if (i == WARM)
			first = ktime_get_real_ns();
		began = ktime_get_ns();
		TRY(there_and_back(opcode, i));
		if (i < WARM)
			continue;
		times[i - WARM] = div_u64(ktime_get_ns() - began, parts);
		total += times[i - WARM];
	}
	sort(times, count, sizeof(*times), compare_times, NULL);
	pr_info("latency: {\"op\": \"%s\", \"test\": \"latency\", \"size\": %u, \"messages\": %u, \"total_ns\": %llu, \"typical_ns\": %u, \"min_ns\": %u, \"max_ns\": %u, \"began_ns\": %llu, \"drops\": 0}\n",
		name, size, count, total, times[count / 2], times[0],
		times[count - 1], first);
	kvfree(times);
	return 0;
}

/* Once: the ends are gone with the module. */
static int run(const char *value, const struct kernel_param *param)
{
	if (near.id)
		return -EBUSY;
	if (!listener || !size || size > PAGE_SIZE || !count)
		return -EINVAL;
	TRY(connect_near());
	TRY(make_region(&near));
	TRY(make_region(&far));
	TRY(measure("write", IB_WR_RDMA_WRITE));
	TRY(measure("read", IB_WR_RDMA_READ));
	TRY(measure("send", IB_WR_SEND));
	return 0;
}

static const struct kernel_param_ops run_ops = {.set = run};

module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run,
		 "write to it to measure, from the namespace of the first end");

static void free_end(struct end *end)
{
	if (IS_ERR_OR_NULL(end->id))
		return;
	if (end->id->qp) {
		rdma_disconnect(end->id);
		ib_drain_qp(end->id->qp);
	}
	if (!IS_ERR_OR_NULL(end->mr))
		ib_dereg_mr(end->mr);
	if (end->id->qp)
		rdma_destroy_qp(end->id);
	if (!IS_ERR_OR_NULL(end->cq))
		ib_free_cq(end->cq);
	if (!IS_ERR_OR_NULL(end->pd))
		ib_dealloc_pd(end->pd);
	rdma_destroy_id(end->id);
	free_pages((unsigned long)end->page, 1);
}

static void bench_latency_exit(void)
{
	free_end(&near);
	free_end(&far);
	if (!IS_ERR_OR_NULL(listener))
		rdma_destroy_id(listener);
}

static int __init bench_latency_init(void)
{
	int err;

	init_completion(&near.ready);
	init_completion(&far.ready);
	err = listen_far();
	if (err)
		bench_latency_exit();
	return err;
}

module_init(bench_latency_init);
module_exit(bench_latency_exit);

MODULE_DESCRIPTION("Latency of verbs inside the kernel");
MODULE_LICENSE("Dual BSD/GPL");
