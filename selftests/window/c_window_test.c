// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * c_window_test.c - pavo_window.h: messages and what became of them, events, the table, and
 * RDMA by requests and pieces as the adapter does it.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <pavo/pavo_window.h>

#include "c_scene.h"

enum { LENGTH = 100000, PIECE = 1000, TAG = 91 };

/* Two windows, and what came by the second. */
struct pair {
	struct end *a, *b;
	struct pavo_window *from, *to;
	int event, sent_event;
	/* Of the last message. */
	unsigned int messages, kind, ends, wrong;
	struct pavo_rdma_done done;
	size_t pieces;
};

static void take(void *context, const struct pavo_message *message)
{
	struct pair *pair = context;
	const unsigned char *bytes = message->payload;
	struct pavo_rdma_piece piece;

	pair->wrong += message->node != 0 ||
		       message->window != pavo_window_number(pair->from);
	switch (message->type) {
	case PAVO_FRAME_MESSAGE:
		pair->messages++;
		pair->kind = message->kind;
		pair->wrong += pattern_verify(bytes, message->bytes, pair->kind,
					      0) >= 0;
		break;
	case PAVO_FRAME_RDMA_DONE:
		pair->ends++;
		pair->wrong += message->bytes != sizeof(pair->done);
		memcpy(&pair->done, bytes, sizeof(pair->done));
		break;
	case PAVO_FRAME_RDMA_PIECE:
		memcpy(&piece, bytes, sizeof(piece));
		pair->wrong += pattern_verify(bytes + sizeof(piece),
					      message->bytes - sizeof(piece), 8,
					      piece.pvo) >= 0;
		pair->pieces += message->bytes - sizeof(piece);
		break;
	default:
		pair->wrong++;
	}
}

/* Looks for what comes until there are so many of it, for a minute at most. */
static int until_there(struct pair *pair, const unsigned int *what,
		       unsigned int wanted)
{
	time_t end = time(NULL) + 60;

	while (*what < wanted && time(NULL) < end)
		pavo_window_receive(pair->to, 1, take, pair);
	return *what == wanted && !pair->wrong;
}

/* Of @n frames that were sent. */
static int until_sent(struct pair *pair, uint32_t *states, size_t n)
{
	time_t end = time(NULL) + 60;
	size_t known = 0;

	while (known < n && time(NULL) < end)
		known +=
			pavo_window_sent(pair->from, states + known, n - known);
	return known == n;
}

static struct pavo_window *open_one(const struct end *end, uint16_t node,
				    int recv_event, int send_event)
{
	const struct pavo_window_options options = {
		.node = node,
		.gid_index = end->gid_index,
		.recv_event = recv_event,
		.send_event = send_event,
	};
	struct pavo_window *window = pavo_window_open(end->job, &options);

	must(window != NULL, "pavo_window_open");
	return window;
}

static int raised(int event)
{
	struct pollfd file = {.fd = event, .events = POLLIN};
	uint64_t times;

	return poll(&file, 1, 60000) == 1 &&
	       read(event, &times, sizeof(times)) == sizeof(times);
}

static void messages(struct pair *pair)
{
	const uint32_t to = pavo_window_number(pair->to);
	uint32_t states[3] = {99, 99, 99};
	unsigned char bytes[4096];

	pattern_fill(bytes, sizeof(bytes), 64, 0);
	must(!pavo_window_event_after(pair->to, 1, 0), "event_after");
	must(!pavo_window_sent_event_after(pair->from, 2), "sent_event_after");
	check(!pavo_window_send(pair->from, 1, to, 64, bytes, 500) &&
		      raised(pair->event) &&
		      until_there(pair, &pair->messages, 1) && pair->kind == 64,
	      "a message without RDMA, of its kind, and an event");
	check(until_sent(pair, states, 1) && states[0] == PAVO_FRAME_SENT,
	      "what became of it");
	check(!pavo_window_prepare(pair->from, 1, to, 64, bytes,
				   pavo_window_max_payload(pair->from)) &&
		      !pavo_window_sent(pair->from, states, 3),
	      "one that is prepared is not sent");
	check(!pavo_window_start(pair->from) && raised(pair->sent_event) &&
		      until_there(pair, &pair->messages, 2),
	      "before it is started, of which there is an event, too");
	check(pavo_window_send(pair->from, 1, to, 64, bytes,
			       pavo_window_max_payload(pair->from) + 1) ==
		      -EMSGSIZE,
	      "one that is too long");
	must(!pavo_window_send(pair->from, 63, to, 64, bytes, 1), "send");
	pavo_window_receive(pair->to, 0, take, pair);
	check(pavo_window_received(pair->to) == 2, "as many as were received");
}

/* Frames since: one that was sent, and one to a node without an address. */
static void states_of_frames(struct pair *pair)
{
	uint32_t states[2] = {99, 99};
	const uint32_t to = pavo_window_number(pair->to);

	check(until_sent(pair, states, 2) && states[0] == PAVO_FRAME_SENT &&
		      states[1] == PAVO_FRAME_BAD_NODE,
	      "what became of each frame, in order");
	must(!pavo_window_send(pair->from, 1, to, 65, NULL, 0), "send");
	pavo_window_forget_sent(pair->from);
	must(!pavo_window_send(pair->from, 63, to, 64, NULL, 0), "send");
	check(until_sent(pair, states, 1) && states[0] == PAVO_FRAME_BAD_NODE &&
		      until_there(pair, &pair->messages, 3) && pair->kind == 65,
	      "but not of those that are forgotten");
}

static void table(struct pair *pair)
{
	struct pavo_lmt lmt;

	check(!pavo_window_lmt(pair->to, &lmt) && lmt.recv_count == 3 &&
		      lmt.rcxts_owned == 0,
	      "the table of a window");
}

static struct pavo_rdma_request request_of(const struct pair *pair,
					   uint32_t here, uint32_t there)
{
	return (struct pavo_rdma_request){
		.local_rcxt = here,
		.remote_rcxt = there,
		.tid = 1,
		.local_pvo = pavo_mapping_pvo(pair->a->mapping),
		.remote_pvo = pavo_mapping_pvo(pair->b->mapping),
		.length = LENGTH,
		.tag = TAG,
		.flags = PAVO_RDMA_NOTIFY_TARGET,
	};
}

static void write_there(struct pair *pair, uint32_t here, uint32_t there)
{
	const struct pavo_rdma_request request = request_of(pair, here, there);
	const uint32_t to = pavo_window_number(pair->to);
	unsigned char *in = pair->b->memory;
	size_t i, wrong = 0;
	uint32_t state = 99;

	pattern_fill(pair->a->memory, SIZE, 7, 0);
	memset(in, 0xa5, SIZE);
	must(!pavo_window_prepare_rdma(pair->from, 1, 1, to, &request),
	     "prepare_rdma");
	must(!pavo_window_start(pair->from), "start");
	check(until_sent(pair, &state, 1) && state == PAVO_FRAME_SENT &&
		      until_there(pair, &pair->ends, 1),
	      "a write by a request ends");
	check(pair->done.rcxt == there && pair->done.peer_rcxt == here &&
		      pair->done.tid == 1 && pair->done.tag == TAG &&
		      pair->done.length == LENGTH && !pair->done.status &&
		      pair->done.target == 1,
	      "and its target is notified of all of it");
	for (i = LENGTH; i < SIZE; i++)
		wrong += in[i] != 0xa5;
	check(pattern_verify(in, LENGTH, 7, 0) < 0 && !wrong,
	      "every byte of it is there, and nothing else");
	must(!pavo_window_prepare_rdma(pair->from, 1, 1, to, &request),
	     "prepare_rdma");
	must(!pavo_window_start(pair->from), "start");
	check(until_sent(pair, &state, 1) && state == PAVO_FRAME_STALE,
	      "the same number again is none");
}

/* From memory that no test checks to memory of that kind: one piece after the other. */
static void pieces(struct pair *pair, uint32_t here, uint32_t there)
{
	const uint32_t to = pavo_window_number(pair->to);
	struct pavo_rdma_piece piece = {
		.local_rcxt = here,
		.remote_rcxt = there,
		.tid = 2,
		.total = 2 * PIECE,
		.flags = PAVO_RDMA_TO_FIFO | PAVO_RDMA_NOTIFY_TARGET,
	};
	unsigned char bytes[2 * PIECE];
	uint32_t i, states[2];

	pattern_fill(bytes, sizeof(bytes), 8, 0);
	check(pavo_window_prepare_piece(pair->from, 1, to, &piece, bytes,
					pavo_window_max_piece(pair->from) +
						1) == -EMSGSIZE,
	      "a piece that is too long");
	for (i = 0; i < 2; i++) {
		piece.fragment = i;
		piece.pvo = i * PIECE;
		must(!pavo_window_prepare_piece(pair->from, 1, to, &piece,
						bytes + piece.pvo, PIECE),
		     "prepare_piece");
	}
	must(!pavo_window_start(pair->from), "start");
	check(until_sent(pair, states, 2) &&
		      until_there(pair, &pair->ends, 2) &&
		      pair->pieces == 2 * PIECE && pair->done.tid == 2,
	      "pieces come, all of them, and their end");
}

/* A write that waits until a counter is set. */
static void held(struct pair *pair, uint32_t here, uint32_t there)
{
	struct pavo_held_request one = {
		.write = 1,
		.node = 1,
		.to = pavo_window_number(pair->to),
		.request = request_of(pair, here, there),
	};
	const struct pavo_counter_request set = {.counter = 3, .value = 5};
	const uint32_t number = pavo_window_frames(pair->from) + 1;
	const unsigned int ends = pair->ends;
	uint32_t states[2], frame = 0, state = 0;
	time_t end = time(NULL) + 60;

	one.request.tid = 3;
	check(pavo_window_prepare_held(pair->from, 64, 5, &one, 1) == -EINVAL &&
		      pavo_window_prepare_held(pair->from, 3, 5, &one, 0) ==
			      -EINVAL &&
		      pavo_window_prepare_counter(
			      pair->from, PAVO_FRAME_MESSAGE, &set) == -EINVAL,
	      "what cannot be held");
	must(!pavo_window_prepare_held(pair->from, 3, 5, &one, 1), "hold");
	must(!pavo_window_start(pair->from), "start");
	check(until_sent(pair, states, 2) && states[0] == PAVO_FRAME_SENT &&
		      states[1] == PAVO_FRAME_HELD,
	      "a request is held");
	must(!pavo_window_prepare_counter(pair->from, PAVO_FRAME_COUNTER_SET,
					  &set),
	     "set a counter");
	must(!pavo_window_start(pair->from), "start");
	check(until_sent(pair, states, 1) &&
		      until_there(pair, &pair->ends, ends + 1),
	      "and carried out when its counter is there");
	while (!pavo_window_released(pair->from, &frame, &state, 1) &&
	       time(NULL) < end)
		;
	check(frame == number && state == PAVO_FRAME_SENT,
	      "which is reported by its number");
}

static void take_end(void *context, const struct pavo_message *message)
{
	struct pair *pair = context;

	pair->wrong += message->type != PAVO_FRAME_RDMA_DONE ||
		       message->bytes != sizeof(pair->done);
	memcpy(&pair->done, message->payload, sizeof(pair->done));
}

/* The other window sends to itself, on two contexts of its own. */
static void third_party(struct pair *pair, uint32_t here, const uint32_t *there)
{
	const uint32_t to = pavo_window_number(pair->to);
	struct pavo_rdma_third third = {
		.request = request_of(pair, here, there[0]),
		.node = 1,
		.window = to,
		.rcxt = there[1],
	};
	unsigned char *in = pair->b->memory;
	time_t end = time(NULL) + 60;
	size_t ends = 0;

	must(!pavo_window_set_node(pair->to, 0, pair->a->gid), "a route");
	must(!pavo_window_set_node(pair->to, 1, pair->b->gid), "a route");
	third.request.tid = 9;
	third.request.flags = 0;
	third.request.remote_pvo = pavo_mapping_pvo(pair->b->mapping);
	third.request.local_pvo = third.request.remote_pvo + LENGTH;
	pattern_fill(in, LENGTH, 10, 0);
	memset(in + LENGTH, 0xa5, LENGTH);
	must(!pavo_window_prepare_third(pair->from, 1, to, &third),
	     "prepare_third");
	must(!pavo_window_start(pair->from), "start");
	while (!ends && time(NULL) < end)
		ends = pavo_window_receive(pair->from, 1, take_end, pair);
	check(ends == 1 && !pair->wrong && pair->done.rcxt == here &&
		      pair->done.peer_rcxt == there[1] && pair->done.tid == 9 &&
		      !pair->done.status,
	      "a third-party request ends here");
	check(pattern_verify(in + LENGTH, LENGTH, 10, 0) < 0,
	      "and has moved what is there");
}

static void contexts(struct pair *pair)
{
	uint32_t here[2], there[2];
	struct pavo_lmt lmt;

	must(!pavo_window_take_rcxts(pair->from, here, 2), "take_rcxts");
	must(!pavo_window_take_rcxts(pair->to, there, 2), "take_rcxts");
	check(!pavo_window_lmt(pair->to, &lmt) && lmt.rcxts_owned == 2,
	      "contexts are the window's");
	write_there(pair, here[0], there[0]);
	pieces(pair, here[1], there[1]);
	held(pair, here[0], there[0]);
	third_party(pair, here[0], there);
	check(!pavo_window_cancel(pair->to, there, 2) &&
		      !pavo_window_return_rcxts(pair->to, there, 2) &&
		      !pavo_window_lmt(pair->to, &lmt) && !lmt.rcxts_owned,
	      "contexts are given back");
	check(pavo_window_return_rcxts(pair->to, there, 2) == -EINVAL,
	      "which they are once");
	must(!pavo_window_return_rcxts(pair->from, here, 2), "return_rcxts");
}

void test_windows(struct end *a, struct end *b)
{
	struct pair pair = {
		.a = a,
		.b = b,
		.event = eventfd(0, EFD_NONBLOCK),
		.sent_event = eventfd(0, EFD_NONBLOCK),
	};

	must(pair.event > 0 && pair.sent_event > 0, "eventfd");
	pair.from = open_one(a, 0, 0, pair.sent_event);
	pair.to = open_one(b, 1, pair.event, 0);
	must(!pavo_window_set_node(pair.from, 1, b->gid), "set_node");
	must(!pavo_window_set_node(pair.to, 0, a->gid), "set_node");
	messages(&pair);
	states_of_frames(&pair);
	table(&pair);
	contexts(&pair);
	pavo_window_close(pair.from);
	pavo_window_close(pair.to);
	close(pair.event);
	close(pair.sent_event);
}
