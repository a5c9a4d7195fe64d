// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * bulk.c - packets for one node that are longer than a frame, by RDMA.
 *
 * The sender copies the packet to a buffer of its own, which is mapped for the job, and offers it
 * by a message. The receiver reads it into a buffer of its own, and the end of the read frees the
 * sender's. Neither end takes the other's word for where to write. Memory is bounded: an offer that
 * finds no buffer waits in a ring, of which a node has a share.
 *
 * Best effort: lost frames are repeated a few times, with a higher tid, then the packet is dropped.
 * A buffer whose operation did not end gets another rCxt, so that packets on their way do not find
 * it, and so does each after a recovery of the adapter.
 */
#include <linux/vmalloc.h>
#include <linux/skbuff.h>
#include "jobs/job.h"
#include "kcov.h"
#include "net/net.h"
#include "netif/netif_private.h"

/* Between rounds of the work that repeats frames. */
#define TICK max(HZ / 100, 1)
/* Until the first repeat; the next one takes twice as long. Sender and receiver. */
#define OFFER_RETRY (HZ / 16)
#define READ_RETRY (HZ / 20 + 1)
/* Frames that are sent for a buffer until its packet is given up. */
#define MOST_TRIES 4
/*
 * A tid is above those of earlier operations at either end, so a peer's tid raises this end's. One
 * beyond this is no count of operations.
 */
#define MOST_TID BIT_ULL(48)

static struct pavo_bulk_buffer *find_buffer(struct pavo_bulk_buffer *buffers,
					    enum pavo_bulk_state state)
{
	u32 i;

	for (i = 0; i < PAVO_NETIF_BUFFERS; i++)
		if (buffers[i].state == state)
			return &buffers[i];
	return NULL;
}

static struct pavo_bulk_buffer *find_rcxt(struct pavo_bulk_buffer *buffers,
					  u32 rcxt)
{
	u32 i;

	for (i = 0; i < PAVO_NETIF_BUFFERS; i++)
		if (buffers[i].rcxt == rcxt &&
		    buffers[i].state == PAVO_BULK_WAIT)
			return &buffers[i];
	return NULL;
}

static void start_tick(struct pavo_netif *netif)
{
	if (netif->bulk.running)
		schedule_delayed_work(&netif->bulk.tick, TICK);
}

/*
 * An operation of @buffer has ended with @tid. The next one is above all attempts at this one that
 * may still be on their way.
 */
static void free_buffer(struct pavo_bulk_buffer *buffer, u64 tid)
{
	buffer->tid = tid + 2 * MOST_TRIES;
	buffer->state = tid < MOST_TID ? PAVO_BULK_FREE : PAVO_BULK_STALE;
}

/* After a recovery of the adapter no rCxt is valid any more. Lock held. */
static void note_recovery(struct pavo_netif *netif)
{
	u32 recoveries = pavo_kernel_window_recoveries(netif->window), i;
	struct pavo_bulk_buffer *out, *in;

	if (likely(netif->bulk.recoveries == recoveries))
		return;
	netif->bulk.recoveries = recoveries;
	for (i = 0; i < PAVO_NETIF_BUFFERS; i++) {
		out = &netif->bulk.out[i];
		in = &netif->bulk.in[i];
		/* A buffer that is being copied is freed with a tid that requests another rCxt. */
		if (out->state == PAVO_BULK_ARRIVED)
			out->tid = MOST_TID;
		else
			out->state = PAVO_BULK_STALE;
		if (in->state == PAVO_BULK_ARRIVED)
			in->tid = MOST_TID;
		else
			in->state = PAVO_BULK_STALE;
	}
	start_tick(netif);
}

/* ---------------------------------------------------------------- sending */

/* Take a free buffer for a packet. Return: NULL; @err: set then. */
static struct pavo_bulk_buffer *take_out_buffer(struct pavo_netif *netif,
						int *err)
{
	struct pavo_bulk *bulk = &netif->bulk;
	struct pavo_bulk_buffer *buffer;
	u32 i;

	spin_lock(&bulk->lock);
	note_recovery(netif);
	buffer = find_buffer(bulk->out, PAVO_BULK_FREE);
	if (buffer)
		/* No other context touches a buffer in this state. */
		buffer->state = PAVO_BULK_ARRIVED;
	*err = -ENODEV;
	for (i = 0; i < PAVO_NETIF_BUFFERS; i++)
		if (bulk->out[i].state != PAVO_BULK_STALE)
			*err = -EAGAIN;
	spin_unlock(&bulk->lock);
	return buffer;
}

int pavo_bulk_send(struct pavo_netif *netif, const struct sk_buff *skb,
		   u32 node)
{
	struct pavo_bulk *bulk = &netif->bulk;
	struct pavo_bulk_buffer *buffer;
	int err;

	if (skb->len > PAVO_NETIF_BUFFER)
		return -ENODEV;
	buffer = take_out_buffer(netif, &err);
	if (!buffer)
		return err;
	skb_copy_bits(skb, 0, buffer->data, skb->len);
	spin_lock(&bulk->lock);
	buffer->of.node = node;
	buffer->of.window = pavo_netif_peer(netif, node);
	buffer->of.length = skb->len;
	buffer->tries = 0;
	buffer->state = PAVO_BULK_REQUEST;
	start_tick(netif);
	spin_unlock(&bulk->lock);
	pavo_netif_count(netif, tx_rdma);
	return 0;
}

static void write_offer(struct pavo_netif *netif,
			const struct pavo_bulk_buffer *buffer,
			struct pavo_frame_hdr *frame)
{
	const struct pavo_netif_offer offer = {
		.tid = cpu_to_le64(buffer->tid),
		.pvo = cpu_to_le64(buffer->pvo),
		.rcxt = cpu_to_le32(buffer->rcxt),
		.length = cpu_to_le32(buffer->of.length),
	};

	memcpy(frame + 1, &offer, sizeof(offer));
	pavo_netif_start(netif, frame, buffer->of.node, PAVO_FRAME_MESSAGE,
			 PAVO_MESSAGE_NETIF_OFFER, sizeof(offer));
}

/* ---------------------------------------------------------------- reading */

static bool is_same_offer(const struct pavo_offered *a,
			  const struct pavo_offered *b)
{
	return a->node == b->node && a->window == b->window &&
	       a->rcxt == b->rcxt && a->tid == b->tid;
}

/* Is the offer being read, or was, or does it wait? Networks repeat packets, and so do senders. */
static bool is_known(const struct pavo_bulk *bulk,
		     const struct pavo_offered *offer)
{
	u32 i, at;

	for (i = 0; i < PAVO_NETIF_BUFFERS; i++)
		if (is_same_offer(&bulk->last[i], offer))
			return true;
	for (i = 0; i < bulk->waiting; i++) {
		at = (bulk->first + i) % PAVO_NETIF_OFFERS;
		if (is_same_offer(&bulk->offers[at], offer))
			return true;
	}
	return false;
}

static bool has_place(const struct pavo_bulk *bulk, u16 node)
{
	u32 i, at, of_node = 0;

	for (i = 0; i < bulk->waiting; i++) {
		at = (bulk->first + i) % PAVO_NETIF_OFFERS;
		of_node += bulk->offers[at].node == node;
	}
	return bulk->waiting < PAVO_NETIF_OFFERS &&
	       of_node < PAVO_NETIF_OFFERS_OF_NODE;
}

/* Begin to read the offers that wait, as far as there are buffers. Lock held. */
static void take_offers(struct pavo_bulk *bulk)
{
	struct pavo_bulk_buffer *buffer;

	while (bulk->waiting) {
		buffer = find_buffer(bulk->in, PAVO_BULK_FREE);
		if (!buffer)
			return;
		buffer->of = bulk->offers[bulk->first];
		buffer->tid = max(buffer->tid, buffer->of.tid);
		buffer->tries = 0;
		buffer->state = PAVO_BULK_REQUEST;
		bulk->first = (bulk->first + 1) % PAVO_NETIF_OFFERS;
		bulk->waiting--;
		bulk->last[bulk->taken++ % PAVO_NETIF_BUFFERS] = buffer->of;
	}
}

/* Add an offer to the ring. Lock held. */
static void add_offer(struct pavo_netif *netif,
		      const struct pavo_offered *offer)
{
	struct pavo_bulk *bulk = &netif->bulk;

	note_recovery(netif);
	if (is_known(bulk, offer)) {
		pavo_netif_count(netif, rx_drop_duplicate);
		return;
	}
	if (!bulk->running || !has_place(bulk, offer->node)) {
		pavo_netif_count(netif, rx_drop_no_buffer);
		return;
	}
	bulk->offers[(bulk->first + bulk->waiting++) % PAVO_NETIF_OFFERS] =
		*offer;
	take_offers(bulk);
	start_tick(netif);
	napi_schedule(&netif->napi);
}

void pavo_bulk_offered(struct pavo_netif *netif, const struct pavo_put *put)
{
	const struct pavo_rx *rx = put->rx;
	struct pavo_netif_offer packet;
	struct pavo_offered offer;

	if (rx->pkt.payload != sizeof(packet)) {
		pavo_netif_count(netif, rx_drop_offer);
		return;
	}
	skb_copy_bits(rx->skb, rx->payload, &packet, sizeof(packet));
	offer = (struct pavo_offered){
		.tid = le64_to_cpu(packet.tid),
		.pvo = le64_to_cpu(packet.pvo),
		.rcxt = le32_to_cpu(packet.rcxt),
		.length = le32_to_cpu(packet.length),
		.node = put->node,
		.window = put->window,
	};
	if (offer.length < ETH_HLEN || offer.length > PAVO_NETIF_BUFFER ||
	    offer.tid > MOST_TID) {
		pavo_netif_count(netif, rx_drop_offer);
		return;
	}
	spin_lock(&netif->bulk.lock);
	add_offer(netif, &offer);
	spin_unlock(&netif->bulk.lock);
}

static void write_read(struct pavo_netif *netif,
		       const struct pavo_bulk_buffer *buffer,
		       struct pavo_frame_hdr *frame)
{
	const struct pavo_rdma_request request = {
		.local_rcxt = buffer->rcxt,
		.remote_rcxt = buffer->of.rcxt,
		.tid = buffer->tid,
		.local_pvo = buffer->pvo,
		.remote_pvo = buffer->of.pvo,
		.length = buffer->of.length,
		.flags = PAVO_RDMA_NOTIFY_SOURCE | PAVO_RDMA_NOTIFY_TARGET,
		.attempts = buffer->tries,
	};

	memcpy(frame + 1, &request, sizeof(request));
	pavo_netif_start(netif, frame, buffer->of.node, PAVO_FRAME_RDMA_READ, 0,
			 sizeof(request));
}

/* Write the frames of one direction that are due. Return: 0; -ENOSPC. Lock held. */
static int write_due_frames(struct pavo_netif *netif,
			    struct pavo_bulk_buffer *buffers,
			    unsigned long retry,
			    void (*write)(struct pavo_netif *netif,
					  const struct pavo_bulk_buffer *buffer,
					  struct pavo_frame_hdr *frame))
{
	struct pavo_bulk_buffer *buffer;
	struct pavo_frame_hdr *frame;

	while ((buffer = find_buffer(buffers, PAVO_BULK_REQUEST))) {
		frame = pavo_netif_slot(netif);
		if (!frame)
			return -ENOSPC;
		write(netif, buffer, frame);
		buffer->due = jiffies + (retry << buffer->tries);
		buffer->tries++;
		buffer->state = PAVO_BULK_WAIT;
	}
	return 0;
}

int pavo_bulk_request(struct pavo_netif *netif)
{
	struct pavo_bulk *bulk = &netif->bulk;
	int err;

	spin_lock(&bulk->lock);
	err = write_due_frames(netif, bulk->in, READ_RETRY, write_read);
	if (!err)
		err = write_due_frames(netif, bulk->out, OFFER_RETRY,
				       write_offer);
	spin_unlock(&bulk->lock);
	return err;
}

/* ------------------------------------------------------------------- ends */

static void end_in(struct pavo_netif *netif, struct pavo_bulk_buffer *buffer,
		   const struct pavo_rdma_done *done)
{
	if (!done->status && done->length == buffer->of.length) {
		buffer->state = PAVO_BULK_ARRIVED;
		return;
	}
	pavo_netif_count(netif, rx_drop_rdma);
	buffer->state = PAVO_BULK_STALE;
}

/*
 * Is this the end of the present operation of @buffer, by any attempt at it? The end of an earlier
 * one may be reported once more.
 */
static bool is_end_of(const struct pavo_bulk_buffer *buffer,
		      const struct pavo_put *put)
{
	const struct pavo_rdma_done *done = put->head;

	if (buffer->of.node != put->node || buffer->of.window != put->window)
		return false;
	/* The reader chose the tid, above the lowest that was offered to it. */
	if (!done->target)
		return done->tid >= buffer->tid;
	return done->tid <= buffer->tid &&
	       done->tid + buffer->tries > buffer->tid;
}

void pavo_bulk_done(struct pavo_netif *netif, const struct pavo_put *put)
{
	const struct pavo_rdma_done *done = put->head;
	struct pavo_bulk *bulk = &netif->bulk;
	struct pavo_bulk_buffer *buffer;

	spin_lock(&bulk->lock);
	buffer = find_rcxt(done->target ? bulk->in : bulk->out, done->rcxt);
	if (buffer && !is_end_of(buffer, put))
		buffer = NULL;
	if (buffer && done->target)
		end_in(netif, buffer, done);
	else if (buffer)
		free_buffer(buffer, done->tid);
	spin_unlock(&bulk->lock);
	if (buffer)
		napi_schedule(&netif->napi);
}

/*
 * Make a packet of the data in @buffer. Processes of the job can write to the buffer, so the
 * beginning is copied once, checked, and used.
 */
static struct sk_buff *make_packet_of(struct pavo_netif *netif,
				      const struct pavo_bulk_buffer *buffer)
{
	u32 length = buffer->of.length, n = min(length, PAVO_ETHER_LOOK);
	u8 head[PAVO_ETHER_LOOK];
	struct sk_buff *skb;
	int err;

	memcpy(head, buffer->data, n);
	/* The check is of the copy. */
	barrier();
	if (!pavo_netif_accepts(netif, head, length, buffer->of.node,
				buffer->of.window))
		return NULL;
	skb = alloc_skb_with_frags(NET_IP_ALIGN + n, length - n,
				   PAGE_ALLOC_COSTLY_ORDER, &err, GFP_ATOMIC);
	if (!skb) {
		pavo_netif_count(netif, rx_drop_no_memory);
		DEV_STATS_INC(netif->dev, rx_dropped);
		return NULL;
	}
	skb_reserve(skb, NET_IP_ALIGN);
	skb_put_data(skb, head, n);
	skb->data_len = length - n;
	skb->len += length - n;
	skb_store_bits(skb, n, buffer->data + n, length - n);
	return skb;
}

/* Take a buffer with a packet that has arrived. */
static struct pavo_bulk_buffer *find_arrived(struct pavo_bulk *bulk)
{
	struct pavo_bulk_buffer *buffer;

	spin_lock(&bulk->lock);
	take_offers(bulk);
	buffer = find_buffer(bulk->in, PAVO_BULK_ARRIVED);
	spin_unlock(&bulk->lock);
	return buffer;
}

int pavo_bulk_poll(struct pavo_netif *netif, int budget)
{
	struct pavo_bulk *bulk = &netif->bulk;
	struct pavo_bulk_buffer *buffer;
	struct sk_buff *skb;
	int done = 0;

	/* Only this function touches a buffer in that state; NAPI calls it on one CPU at a time. */
	while (done < budget && (buffer = find_arrived(bulk))) {
		done++;
		skb = make_packet_of(netif, buffer);
		spin_lock(&bulk->lock);
		free_buffer(buffer, buffer->tid);
		spin_unlock(&bulk->lock);
		if (!skb)
			continue;
		pavo_netif_count(netif, rx_rdma);
		dev_sw_netstats_rx_add(netif->dev, skb->len);
		skb->protocol = eth_type_trans(skb, netif->dev);
		napi_gro_receive(&netif->napi, skb);
	}
	if (done < budget)
		find_arrived(bulk);
	return done;
}

/* ------------------------------------------------------- repeats, renewal */

/* Repeat the frame of @buffer if it is due, or give it up. Return: true: it is in use. */
static bool check_buffer(struct pavo_netif *netif,
			 struct pavo_bulk_buffer *buffer, bool in)
{
	if (buffer->state != PAVO_BULK_WAIT)
		return buffer->state == PAVO_BULK_REQUEST ||
		       buffer->state == PAVO_BULK_ARRIVED;
	if (time_before(jiffies, buffer->due))
		return true;
	if (buffer->tries == MOST_TRIES) {
		buffer->state = PAVO_BULK_STALE;
		if (in)
			pavo_netif_count(netif, rx_drop_rdma);
		else
			pavo_netif_count(netif, tx_drop_rdma);
		return true;
	}
	/* A sender has one tid for all repeats: by it the receiver knows them. */
	buffer->tid += in;
	buffer->state = PAVO_BULK_REQUEST;
	if (in)
		pavo_netif_count(netif, rx_rdma_retries);
	else
		pavo_netif_count(netif, tx_rdma_retries);
	return true;
}

/*
 * Give each buffer another rCxt whose operation did not end. Sleeps. Return: 0; else the adapter
 * has none for some.
 */
static int renew_rcxts(struct pavo_netif *netif,
		       struct pavo_bulk_buffer *buffers)
{
	struct pavo_bulk_buffer *buffer;
	int err = 0;
	u32 i, rcxt;

	for (i = 0; i < PAVO_NETIF_BUFFERS; i++) {
		buffer = &buffers[i];
		/* Only this work changes that state while it runs. */
		if (READ_ONCE(buffer->state) != PAVO_BULK_STALE)
			continue;
		if (buffer->rcxt)
			pavo_kernel_window_return(netif->window, buffer->rcxt);
		buffer->rcxt = 0;
		err = pavo_kernel_window_take(netif->window, &rcxt, 1);
		if (err)
			break;
		spin_lock_bh(&netif->bulk.lock);
		buffer->rcxt = rcxt;
		buffer->tid = 1;
		buffer->state = PAVO_BULK_FREE;
		spin_unlock_bh(&netif->bulk.lock);
	}
	return err;
}

static void tick_bulk(struct work_struct *work)
{
	struct pavo_netif *netif =
		container_of(work, struct pavo_netif, bulk.tick.work);
	struct pavo_bulk *bulk = &netif->bulk;
	bool seen = pavo_kcov_begin(), busy;
	u32 i;

	spin_lock_bh(&bulk->lock);
	note_recovery(netif);
	busy = bulk->waiting;
	for (i = 0; i < PAVO_NETIF_BUFFERS; i++) {
		busy |= check_buffer(netif, &bulk->out[i], false);
		busy |= check_buffer(netif, &bulk->in[i], true);
	}
	if (busy)
		start_tick(netif);
	spin_unlock_bh(&bulk->lock);
	/* Without any the interface sends IP by fragments. */
	if (renew_rcxts(netif, bulk->out) || renew_rcxts(netif, bulk->in))
		schedule_delayed_work(&bulk->tick, HZ);
	local_bh_disable();
	napi_schedule(&netif->napi);
	local_bh_enable();
	pavo_kcov_end(seen);
}

/* ------------------------------------------------------------------- life */

void pavo_bulk_start(struct pavo_netif *netif)
{
	struct pavo_bulk *bulk = &netif->bulk;

	spin_lock_bh(&bulk->lock);
	bulk->running = true;
	/* Its first round takes the rCxts. */
	start_tick(netif);
	spin_unlock_bh(&bulk->lock);
}

void pavo_bulk_stop(struct pavo_netif *netif)
{
	struct pavo_bulk *bulk = &netif->bulk;
	u32 i;

	spin_lock_bh(&bulk->lock);
	bulk->running = false;
	bulk->waiting = 0;
	for (i = 0; i < PAVO_NETIF_BUFFERS; i++) {
		if (bulk->out[i].state != PAVO_BULK_FREE)
			bulk->out[i].state = PAVO_BULK_STALE;
		if (bulk->in[i].state != PAVO_BULK_FREE)
			bulk->in[i].state = PAVO_BULK_STALE;
	}
	spin_unlock_bh(&bulk->lock);
	cancel_delayed_work_sync(&bulk->tick);
}

int pavo_bulk_init(struct pavo_netif *netif)
{
	const size_t size = 2ul * PAVO_NETIF_BUFFERS * PAVO_NETIF_BUFFER;
	struct pavo_bulk *bulk = &netif->bulk;
	u64 at = 0;
	u32 i;

	spin_lock_init(&bulk->lock);
	INIT_DELAYED_WORK(&bulk->tick, tick_bulk);
	bulk->area = __vmalloc(size, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!bulk->area)
		return -ENOMEM;
	bulk->mapping =
		pavo_job_map_kernel(netif->job, bulk->area, size >> PAGE_SHIFT);
	if (IS_ERR(bulk->mapping)) {
		vfree(bulk->area);
		bulk->area = NULL;
		return PTR_ERR(bulk->mapping);
	}
	for (i = 0; i < PAVO_NETIF_BUFFERS; i++) {
		bulk->out[i].data = bulk->area + at;
		bulk->out[i].pvo = bulk->mapping->pvo + at;
		at += PAVO_NETIF_BUFFER;
		bulk->in[i].data = bulk->area + at;
		bulk->in[i].pvo = bulk->mapping->pvo + at;
		at += PAVO_NETIF_BUFFER;
	}
	return 0;
}

void pavo_bulk_free(struct pavo_netif *netif)
{
	struct pavo_bulk *bulk = &netif->bulk;

	if (!bulk->area)
		return;
	pavo_job_unmap_kernel(bulk->mapping);
	vfree(bulk->area);
}
