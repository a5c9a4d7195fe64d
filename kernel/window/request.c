// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * request.c - RDMA between windows: from frames of send FIFOs to operations on rCxts.
 *
 * Called by send.c, whose worker has the window for itself. A write is put into the
 * window's list of rCxts with something to send (rdma.c). For a read, a packet asks the
 * other end for data. A piece is sent at once: its data is in the frame
 * (sources.md#windows-half).
 */
#include "window/rdma.h"

static u32 refusal(enum pavo_tid_verdict verdict)
{
	return verdict == PAVO_TID_BUSY ? PAVO_FRAME_BUSY : PAVO_FRAME_STALE;
}

void pavo_rdma_begin(struct pavo_rcxt *rcxt, const struct pavo_rdma_peer *peer,
		     const struct pavo_wreth *wreth)
{
	lockdep_assert_held(&rcxt->lock);
	rcxt->now.tid = wreth->tid;
	rcxt->now.first = pavo_tid_first(wreth->tid, wreth->attempts);
	rcxt->now.placing = false;
	rcxt->now.feeding = false;
	rcxt->told = false;
	rcxt->own = false;
	rcxt->reading = false;
	rcxt->flags = wreth->flags & PAVO_RDMA_FLAGS;
	rcxt->attempts = wreth->attempts;
	rcxt->peer = *peer;
	rcxt->tag = wreth->tag;
	rcxt->cookie = 0;
	rcxt->total = wreth->total;
	rcxt->left = wreth->total;
	rcxt->fragment = 0;
}

void pavo_rdma_expect(struct pavo_rcxt *rcxt)
{
	rcxt->now.placing = true;
	memset(rcxt->seen, 0, sizeof(*rcxt->seen));
}

/* ------------------------------------------------------- writes and reads */

/*
 * The request of frame number @frame, copied: an operation on @rcxt of this window, with
 * @peer. @wreth is what goes into packets, @local the PVO of this end.
 */
struct ask {
	u8 type;
	u32 rcxt;
	struct pavo_rdma_peer peer;
	struct pavo_wreth wreth;
	u64 local;
	u32 cookie;
	u32 frame;
};

static struct pavo_rdma_peer peer_of(const struct pavo_frame_hdr *hdr, u32 rcxt)
{
	return (struct pavo_rdma_peer){
		.node = hdr->node,
		.window = hdr->window,
		.rcxt = rcxt,
	};
}

static u32 begin_write(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		       const struct ask *ask)
{
	rcxt->told = rcxt->flags & PAVO_RDMA_TELL_SOURCE;
	rcxt->from = ask->local;
	rcxt->to = ask->wreth.pvo;
	rcxt->own = true;
	rcxt->frame = ask->frame;
	return pavo_rdma_queue(window, rcxt) ? PAVO_FRAME_EMPTY :
					       PAVO_FRAME_DEAD;
}

/* Does @ask repeat the read that the rCxt had last? */
static bool same_read(const struct pavo_rcxt *rcxt, const struct ask *ask)
{
	return ask->type == PAVO_FRAME_RDMA_READ &&
	       pavo_rdma_same_window(&rcxt->peer, &ask->peer) &&
	       rcxt->total == ask->wreth.total &&
	       rcxt->flags == ask->wreth.flags;
}

/*
 * Go on with a read whose earlier attempt brought some data, and keep that data. If all data
 * has come, tell the process again: it waits for the tid of its last attempt. The source is
 * told again, too (pavo_rdma_request()).
 * Return: false: @ask begins a new operation.
 */
static bool go_on_reading(struct pavo_fifo_window *window,
			  struct pavo_rcxt *rcxt, const struct ask *ask,
			  u32 *state)
{
	const u64 tid = ask->wreth.tid;
	const u16 attempts = ask->wreth.attempts;
	const bool repeat = pavo_tid_repeats(&rcxt->now, tid, attempts);

	if (!same_read(rcxt, ask) ||
	    (!repeat && !pavo_tid_resumes(&rcxt->now, tid, attempts)))
		return false;
	rcxt->now.tid = tid;
	rcxt->attempts = attempts;
	rcxt->peer = ask->peer;
	rcxt->to = ask->local;
	*state = PAVO_FRAME_EMPTY;
	if (!repeat)
		return true;
	pavo_count(window->dev, rdma_repeats);
	*state = PAVO_FRAME_SENT;
	if (rcxt->flags & PAVO_RDMA_TELL_TARGET &&
	    !pavo_rdma_put_done(window, rcxt, true, PAVO_PVO_OK))
		*state = PAVO_FRAME_NOT_SENT;
	return true;
}

/* Set up a read, before its packet is sent: data may come before the sender returns. */
static u32 begin_read(struct pavo_rcxt *rcxt, const struct ask *ask)
{
	rcxt->told = rcxt->flags & PAVO_RDMA_TELL_TARGET;
	rcxt->reading = !(rcxt->flags & PAVO_RDMA_TO_FIFO);
	rcxt->to = ask->local;
	pavo_rdma_expect(rcxt);
	return PAVO_FRAME_EMPTY;
}

/*
 * Is the memory that a read goes to the job's? The memory of a write is checked when it is
 * sent.
 */
static bool room_for(const struct pavo_fifo_window *window,
		     const struct ask *ask)
{
	return ask->type != PAVO_FRAME_RDMA_READ ||
	       ask->wreth.flags & PAVO_RDMA_TO_FIFO ||
	       pavo_rdma_mapped(window, ask->local, ask->wreth.total);
}

/* Begin or resume the operation of @ask on its rCxt, which is locked. */
static u32 begin(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		 const struct ask *ask)
{
	enum pavo_tid_verdict verdict;
	u32 state;

	if (!pavo_rcxt_owned(window, rcxt, ask->rcxt))
		return PAVO_FRAME_BAD_RCXT;
	verdict = pavo_tid_request(&rcxt->now, ask->wreth.tid);
	if (verdict != PAVO_TID_BEGIN)
		return refusal(verdict);
	if (go_on_reading(window, rcxt, ask, &state))
		return state;
	if (!room_for(window, ask)) {
		pavo_rdma_kill(window, ask->rcxt);
		return PAVO_FRAME_BAD_PVO;
	}
	pavo_rdma_begin(rcxt, &ask->peer, &ask->wreth);
	rcxt->cookie = ask->cookie;
	if (ask->type == PAVO_FRAME_RDMA_WRITE)
		return begin_write(window, rcxt, ask);
	return begin_read(rcxt, ask);
}

/* Can packets go to the window of @hdr? Return: enum pavo_frame_state; EMPTY: yes. */
static u32 check_way(struct pavo_fifo_window *window,
		     const struct pavo_frame_hdr *hdr)
{
	if (hdr->window & ~PAVO_QPN_MASK)
		return PAVO_FRAME_BAD_WINDOW;
	if (!pavo_window_knows(window, hdr->node))
		return PAVO_FRAME_BAD_NODE;
	return PAVO_FRAME_EMPTY;
}

static u32 check_request(const struct pavo_frame_hdr *hdr,
			 const struct pavo_rdma_request *request)
{
	/* A write from the FIFO is pieces only, without a request. */
	const u32 not_of_writes =
		hdr->type == PAVO_FRAME_RDMA_WRITE ? PAVO_RDMA_FROM_FIFO : 0;

	if (hdr->length != sizeof(*request))
		return PAVO_FRAME_BAD_LENGTH;
	if (request->flags & (~PAVO_RDMA_FLAGS | not_of_writes) ||
	    request->reserved)
		return PAVO_FRAME_BAD_REQUEST;
	return PAVO_FRAME_EMPTY;
}

static struct ask ask_of(const struct pavo_frame_hdr *hdr,
			 const struct pavo_rdma_request *request, u32 number)
{
	return (struct ask){
		.type = hdr->type,
		.rcxt = request->local_rcxt,
		.peer = peer_of(hdr, request->remote_rcxt),
		.wreth = {
			.rcxt = request->remote_rcxt,
			.peer_rcxt = request->local_rcxt,
			.tid = request->tid,
			.pvo = request->remote_pvo,
			.back_pvo = request->local_pvo,
			.total = request->length,
			.tag = request->tag,
			.attempts = request->attempts,
			.flags = request->flags,
		},
		.local = request->local_pvo,
		.cookie = request->cookie,
		.frame = number,
	};
}

/* Ask the source of a read for its data, or tell it that all has come. */
static u32 tell_source(struct pavo_fifo_window *window, enum pavo_window_op op,
		       const struct ask *ask)
{
	struct pavo_rdma_told told = {
		.node = ask->peer.node,
		.window = ask->peer.window,
		.wreth = ask->wreth,
	};

	return pavo_rdma_tell(window, op, &told) ? PAVO_FRAME_NOT_SENT :
						   PAVO_FRAME_SENT;
}

u32 pavo_rdma_request(struct pavo_fifo_window *window,
		      const struct pavo_frame_line *line, u32 number)
{
	struct pavo_rdma_request request;
	struct pavo_rcxt *rcxt;
	struct ask ask;
	u32 state;

	BUILD_BUG_ON(sizeof(request) != sizeof(line->payload));
	memcpy(&request, line->payload, sizeof(request));
	state = check_request(&line->hdr, &request);
	if (!state)
		state = check_way(window, &line->hdr);
	if (state)
		return state;
	rcxt = pavo_rcxt_find(window, request.local_rcxt);
	if (!rcxt)
		return PAVO_FRAME_BAD_RCXT;
	ask = ask_of(&line->hdr, &request, number);
	spin_lock(&rcxt->lock);
	state = begin(window, rcxt, &ask);
	spin_unlock(&rcxt->lock);
	if (!state && ask.type == PAVO_FRAME_RDMA_READ)
		return tell_source(window, PAVO_OP_WINDOW_READ, &ask);
	if (state == PAVO_FRAME_SENT && request.flags & PAVO_RDMA_TELL_SOURCE)
		return tell_source(window, PAVO_OP_WINDOW_DONE, &ask);
	return state;
}

/* ----------------------------------------------------------------- pieces */

/* Check a piece against its rCxt, which is locked. Return: enum pavo_frame_state; EMPTY: send. */
static u32 begin_piece(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		       const struct pavo_rdma_peer *peer,
		       const struct pavo_rdma_piece *piece,
		       const struct pavo_wreth *wreth)
{
	enum pavo_tid_verdict verdict;

	if (!pavo_rcxt_owned(window, rcxt, piece->local_rcxt))
		return PAVO_FRAME_BAD_RCXT;
	verdict = pavo_tid_piece(&rcxt->now, piece->tid);
	if (verdict == PAVO_TID_PART)
		return pavo_rdma_same_peer(&rcxt->peer, peer) ?
			       PAVO_FRAME_EMPTY :
			       PAVO_FRAME_BAD_REQUEST;
	if (verdict != PAVO_TID_BEGIN)
		return refusal(verdict);
	pavo_rdma_begin(rcxt, peer, wreth);
	rcxt->cookie = piece->cookie;
	rcxt->told = rcxt->flags & PAVO_RDMA_TELL_SOURCE;
	rcxt->now.feeding = true;
	return PAVO_FRAME_EMPTY;
}

static u32 check_piece(const struct pavo_fifo_window *window,
		       const struct pavo_frame_hdr *hdr,
		       const struct pavo_rdma_piece *piece)
{
	if (hdr->length < sizeof(*piece) || hdr->length > window->max_payload)
		return PAVO_FRAME_BAD_LENGTH;
	if (piece->flags & ~(PAVO_RDMA_FLAGS & ~PAVO_RDMA_FROM_FIFO) ||
	    piece->reserved || piece->reserved2)
		return PAVO_FRAME_BAD_REQUEST;
	return PAVO_FRAME_EMPTY;
}

static struct pavo_wreth wreth_of(const struct pavo_rdma_piece *piece)
{
	return (struct pavo_wreth){
		.rcxt = piece->remote_rcxt,
		.peer_rcxt = piece->local_rcxt,
		.tid = piece->tid,
		.pvo = piece->pvo,
		.total = piece->total,
		.fragment = piece->fragment,
		.tag = piece->tag,
		.attempts = piece->attempts,
		.flags = piece->flags,
	};
}

u32 pavo_rdma_piece(struct pavo_fifo_window *window,
		    const struct pavo_frame_line *line, const void *frame)
{
	struct pavo_rdma_told told = {
		.node = line->hdr.node,
		.window = line->hdr.window,
	};
	struct pavo_rdma_piece piece;
	struct pavo_rdma_peer peer;
	struct pavo_rcxt *rcxt;
	u32 state;

	BUILD_BUG_ON(sizeof(piece) != sizeof(line->payload));
	memcpy(&piece, line->payload, sizeof(piece));
	state = check_piece(window, &line->hdr, &piece);
	if (!state)
		state = check_way(window, &line->hdr);
	if (state)
		return state;
	rcxt = pavo_rcxt_find(window, piece.local_rcxt);
	if (!rcxt)
		return PAVO_FRAME_BAD_RCXT;
	peer = peer_of(&line->hdr, piece.remote_rcxt);
	told.wreth = wreth_of(&piece);
	spin_lock(&rcxt->lock);
	state = begin_piece(window, rcxt, &peer, &piece, &told.wreth);
	spin_unlock(&rcxt->lock);
	if (state)
		return state;
	return pavo_rdma_send_bytes(window, &told, frame + PAVO_FRAME_LINE,
				    line->hdr.length - sizeof(piece)) ?
		       PAVO_FRAME_NOT_SENT :
		       PAVO_FRAME_SENT;
}
