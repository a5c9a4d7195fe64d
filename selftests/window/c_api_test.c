// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * c_api_test.c - pavo.h, by a program in C: two adapters, a window on each; a message, bytes
 * there and back, what is refused, a peer that does not answer, several paths. Prints TAP.
 * usage: pavo-c-api ADAPTER GID-INDEX ADAPTER GID-INDEX
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "c_scene.h"

static void on_message(void *context, uint16_t node, uint32_t window,
		       const void *payload, size_t bytes)
{
	struct end *end = context;

	(void)node;
	(void)window;
	end->messages++;
	if (bytes != 5 || memcmp(payload, "hello", 5) != 0)
		end->failed++;
}

static void on_kind(void *context, uint16_t node, uint32_t window,
		    const void *payload, size_t bytes)
{
	unsigned int *heard = context;

	(void)node;
	(void)window;
	*heard += bytes == 5 && !memcmp(payload, "hello", 5);
}

static void on_arrival(void *context, uint16_t node, uint32_t window,
		       uint32_t tag, uint32_t bytes)
{
	struct end *end = context;

	(void)node;
	(void)window;
	end->arrivals++;
	end->tag = tag;
	end->notified = bytes;
}

static void on_striped_arrival(void *context, uint32_t tag, uint64_t bytes)
{
	struct end *end = context;

	end->arrivals++;
	end->tag = tag;
	end->notified = bytes;
}

static void on_done(void *context, int error)
{
	struct end *end = context;

	end->ends++;
	end->error = error;
}

static void open_end(struct end *end, const char *adapter, const char *index,
		     uint16_t node)
{
	open_adapter(end, adapter, index);
	end->window = open_window(end, node);
	end->rdma =
		pavo_rdma_open(end->window, NULL, on_message, on_arrival, end);
	must(end->rdma != NULL, "pavo_rdma_open");
	must(!pavo_rdma_take_rcxts(end->rdma, end->rcxts, CONTEXTS),
	     "pavo_rdma_take_rcxts");
}

static void close_end(struct end *end)
{
	pavo_rdma_close(end->rdma);
	pavo_window_close(end->window);
	close_adapter(end);
}

static void introduce(struct end *end, uint16_t node, const struct end *other)
{
	const struct pavo_route_options two = {.ports = 2, .gid_index = -1};

	must(!pavo_window_set_routes(end->window, node, other->gid, &two),
	     "pavo_window_set_routes");
	must(!pavo_window_set_node(end->window, node, other->gid),
	     "pavo_window_set_node");
	must(!pavo_window_add_routes(end->window, node, other->gid, &two),
	     "pavo_window_add_routes");
	end->peer = pavo_rdma_add(end->rdma, node,
				  pavo_window_number(other->window),
				  other->rcxts, CONTEXTS);
	must(end->peer >= 0, "pavo_rdma_add");
}

/* Until @what is so many, for a minute at most. */
static int until(struct end *a, struct end *b, const unsigned int *what,
		 unsigned int wanted)
{
	time_t end = time(NULL) + 60;

	while (*what < wanted && time(NULL) < end) {
		pavo_rdma_progress(a->rdma);
		pavo_rdma_progress(b->rdma);
	}
	return *what == wanted;
}

static void there_and_back(struct end *a, struct end *b)
{
	struct pavo_move move = {
		.local_pvo = pavo_mapping_pvo(a->mapping),
		.remote_pvo = pavo_mapping_pvo(b->mapping),
		.bytes = SIZE,
		.tag = 77,
		.notify = 1,
	};

	pattern_fill(a->memory, SIZE, 1, 0);
	must(!pavo_rdma_put(a->rdma, a->peer, &move, on_done, a), "put");
	check(until(a, b, &a->ends, 1) && !a->error, "a put ends well");
	check(until(a, b, &b->arrivals, 1) && b->tag == 77 &&
		      b->notified == SIZE,
	      "and the other end hears of all of it, once");
	check(pattern_verify(b->memory, SIZE, 1, 0) < 0, "every byte is there");
	pattern_fill(b->memory, SIZE, 2, 0);
	move.notify = 0;
	must(!pavo_rdma_get(a->rdma, a->peer, &move, on_done, a), "get");
	check(until(a, b, &a->ends, 2) && !a->error, "a get ends well");
	check(pattern_verify(a->memory, SIZE, 2, 0) < 0, "every byte is here");
	check(!pavo_rdma_pending(a->rdma), "nothing is pending");
}

/* b has the data and is where it goes; a only says so. */
static void by_a_third(struct end *a, struct end *b)
{
	const uint64_t memory = pavo_mapping_pvo(b->mapping);
	struct pavo_completion end = {0};
	struct pavo_move move = {
		.local_pvo = memory + SIZE / 2,
		.remote_pvo = memory,
		.bytes = SIZE / 2,
		.tag = 78,
		.notify = 1,
	};
	const unsigned int before = b->arrivals;
	time_t limit = time(NULL) + 60;

	must(!pavo_window_set_node(b->window, 1, b->gid), "a route to itself");
	pattern_fill(b->memory, SIZE / 2, 9, 0);
	check(pavo_rdma_third_party(a->rdma, a->peer, -1, &move, pavo_complete,
				    &end) == -EINVAL,
	      "a third party without a target");
	must(!pavo_rdma_third_party(a->rdma, a->peer, a->peer, &move,
				    pavo_complete, &end),
	     "third_party");
	check(until(a, b, &b->arrivals, before + 1) && b->tag == 78 &&
		      b->notified == SIZE / 2,
	      "the target of a third party is notified");
	while (!end.over && time(NULL) < limit)
		pavo_rdma_progress(a->rdma);
	check(end.over && !end.error, "the end of a third party");
	check(pattern_verify(b->memory + SIZE / 2, SIZE / 2, 9, 0) < 0,
	      "every byte went from there to there");
}

/* How they end is looked at, and nothing is called. */
static void looked_at(struct end *a, struct end *b)
{
	struct pavo_completion good = {0}, bad = {0};
	struct pavo_move move = {
		.local_pvo = pavo_mapping_pvo(a->mapping),
		.remote_pvo = pavo_mapping_pvo(b->mapping),
		.bytes = SIZE,
	};
	time_t end = time(NULL) + 60;

	pattern_fill(a->memory, SIZE, 6, 0);
	must(!pavo_rdma_put(a->rdma, a->peer, &move, pavo_complete, &good),
	     "put");
	move.remote_pvo ^= 1ull << 60;
	must(!pavo_rdma_put(a->rdma, a->peer, &move, pavo_complete, &bad),
	     "put");
	check(!good.over && !bad.over, "nothing is over before progress");
	while ((!good.over || !bad.over) && time(NULL) < end) {
		pavo_rdma_progress(a->rdma);
		pavo_rdma_progress(b->rdma);
	}
	check(good.over && !good.error &&
		      pattern_verify(b->memory, SIZE, 6, 0) < 0,
	      "a good end that is seen");
	check(bad.over && bad.error == -EFAULT, "and a bad one");
}

/* Messages of a program's own kind do not get in the way of others. */
static void own_kind(struct end *a, struct end *b)
{
	unsigned int kind = 0, plain = b->messages;

	pavo_rdma_on_control(b->rdma, 70, on_kind, &kind);
	must(!pavo_rdma_send_control(a->rdma, 70, 1,
				     pavo_window_number(b->window), "hello", 5),
	     "send_control");
	check(until(a, b, &kind, 1) && b->messages == plain,
	      "a message of a kind of its own");
	check(pavo_rdma_send_control(a->rdma, 63, 1,
				     pavo_window_number(b->window), "hello",
				     5) == -EINVAL,
	      "but not of one of the library's");
}

static void take(void *context, uint16_t node, uint32_t window, uint32_t tag,
		 uint64_t at, const void *data, size_t bytes)
{
	struct end *end = context;

	(void)node;
	(void)window;
	end->failed |= tag != 5 || at + bytes > SIZE ||
		       pattern_verify(data, bytes, 3, at) >= 0;
	end->taken += bytes;
}

static void make(void *context, uint32_t tag, uint64_t at, void *to,
		 size_t bytes)
{
	(void)context;
	(void)tag;
	pattern_fill(to, bytes, 3, at);
}

/* No end has memory: made here and taken there, and the other way round. */
static void through_fifos(struct end *a, struct end *b)
{
	struct pavo_move move = {
		.bytes = SIZE,
		.tag = 5,
		.to_fifo = 1,
		.from_fifo = 1,
	};

	check(pavo_rdma_put(a->rdma, a->peer, &move, on_done, a) == -EINVAL,
	      "nobody makes the data"); /* lint-words: a name */
	move.fill = make;
	pavo_rdma_on_piece(a->rdma, take, a);
	pavo_rdma_on_piece(b->rdma, take, b);
	pavo_rdma_on_feed(b->rdma, make, b);
	must(!pavo_rdma_put(a->rdma, a->peer, &move, on_done, a), "put");
	check(until(a, b, &a->ends, 3) && !a->error && !b->failed &&
		      b->taken == SIZE,
	      "a put from FIFO to FIFO");
	must(!pavo_rdma_get(a->rdma, a->peer, &move, on_done, a), "get");
	check(until(a, b, &a->ends, 4) && !a->error && !a->failed &&
		      a->taken == SIZE,
	      "a get from FIFO to FIFO");
}

/* RDMA from @window to @b, or to none, that gives up after three attempts. */
static struct pavo_rdma *open_hasty(struct pavo_window *window,
				    const struct end *b)
{
	const struct pavo_rdma_options options = {
		.timeout = 10000,
		.max_timeout = 20000,
		.attempts = 3,
	};
	struct pavo_rdma *rdma =
		pavo_rdma_open(window, &options, NULL, NULL, NULL);

	must(rdma != NULL, "pavo_rdma_open");
	must(!pavo_window_set_node(window, 1, b->gid), "set_node");
	return rdma;
}

/* The end that asked, its request, and a seed for the feeder. */
struct asked {
	uint32_t window;
	unsigned int seed, calls, refused, wrong;
};

enum { FIRST = 1000, MADE = 8, REFUSED = 9 };

static void make_of_seed(void *context, uint32_t tag, uint64_t at, void *to,
			 size_t bytes)
{
	const unsigned int *seed = context;

	if (tag == MADE)
		pattern_fill(to, bytes, *seed, at - FIRST);
	else
		memset(to, 0, bytes);
}

static pavo_fill_call *who_asks(void *context, uint16_t node, uint32_t window,
				uint32_t tag, uint64_t at, uint32_t bytes,
				void **with)
{
	struct asked *asked = context;

	asked->calls++;
	asked->wrong += node != 0 || window != asked->window || !bytes ||
			at < FIRST || at + bytes > FIRST + SIZE ||
			*with != context;
	*with = &asked->seed;
	if (tag == MADE)
		return make_of_seed;
	asked->refused++;
	return NULL;
}

/* A feeder knows the peer of its data, and may say no. */
static void asked_for(struct end *a, struct end *b)
{
	struct asked asked = {.window = pavo_window_number(a->window),
			      .seed = 9};
	struct pavo_move move = {
		.local_pvo = pavo_mapping_pvo(a->mapping),
		.remote_pvo = FIRST,
		.bytes = SIZE,
		.tag = MADE,
		.from_fifo = 1,
	};
	struct pavo_window *window = open_window(a, 0);
	struct pavo_rdma *rdma = open_hasty(window, b);
	unsigned int before = a->ends;
	time_t end = time(NULL) + 60;
	uint32_t taken;
	int peer;

	pavo_rdma_on_read_request(b->rdma, who_asks, &asked);
	must(!pavo_rdma_get(a->rdma, a->peer, &move, on_done, a), "get");
	check(until(a, b, &a->ends, before + 1) && !a->error &&
		      asked.calls > 1 && !asked.wrong,
	      "the callback gets the peer and its request");
	check(pattern_verify(a->memory, SIZE, asked.seed, 0) < 0,
	      "and the data is what its context says");

	must(!pavo_rdma_take_rcxts(b->rdma, &taken, 1), "pavo_rdma_take_rcxts");
	peer = pavo_rdma_add(rdma, 1, pavo_window_number(b->window), &taken, 1);
	must(peer >= 0, "pavo_rdma_add");
	asked.window = pavo_window_number(window);
	move.tag = REFUSED;
	must(!pavo_rdma_get(rdma, peer, &move, on_done, a), "get");
	while (pavo_rdma_pending(rdma) && time(NULL) < end) {
		pavo_rdma_progress(rdma);
		pavo_rdma_progress(b->rdma);
	}
	check(a->ends == before + 2 && a->error == -ETIMEDOUT &&
		      asked.refused && !asked.wrong,
	      "who says no gives nothing");
	pavo_rdma_on_feed(b->rdma, make, b);
	pavo_rdma_close(rdma);
	pavo_window_close(window);
}

static void refusals(struct end *a, struct end *b)
{
	struct pavo_move move = {
		.local_pvo = pavo_mapping_pvo(a->mapping),
		.remote_pvo = pavo_mapping_pvo(b->mapping) ^ (1ull << 60),
		.bytes = 10,
	};
	char long_message[4096] = "";
	struct pavo_route_options routes = {.ports = 17, .gid_index = -1};

	check(pavo_window_add_routes(a->window, 1, b->gid, &routes) == -EINVAL,
	      "more ports than there may be");
	routes = (struct pavo_route_options){.gid_index = 65536};
	check(pavo_window_set_routes(a->window, 1, b->gid, &routes) == -EINVAL,
	      "no such address of the adapter");
	check(pavo_rdma_put(a->rdma, 99, &move, on_done, a) == -EINVAL &&
		      pavo_rdma_get(a->rdma, -1, &move, on_done, a) == -EINVAL,
	      "no such peer");
	check(pavo_rdma_add(a->rdma, 1, 1, NULL, 0) == -EINVAL,
	      "a peer without contexts");
	must(!pavo_rdma_put(a->rdma, a->peer, &move, on_done, a), "put");
	check(until(a, b, &a->ends, 5) && a->error == -EFAULT,
	      "memory of the other end that is none");
	check(pavo_rdma_send(a->rdma, 1, 1, long_message,
			     sizeof(long_message)) == -EMSGSIZE,
	      "a message that is too long");
	check(!pavo_device_open("no_device") && errno == ENODEV,
	      "no such adapter");
	check(!pavo_mapping_open(a->job, NULL, 4096) && errno == EFAULT,
	      "memory that is none");
}

/* Messages that no caller waits for, so far. */
static void say_hello(struct end *a, struct end *b)
{
	must(!pavo_rdma_send(a->rdma, 1, pavo_window_number(b->window), "hello",
			     5),
	     "send");
}

static void events(struct end *a, struct end *b)
{
	struct pavo_handler *one = pavo_handler_open(b->window);
	struct pavo_handler *two = pavo_handler_open(b->window);
	struct pavo_adapter_handler *of_all =
		pavo_adapter_handler_open(b->device);
	uint32_t windows[2] = {0};
	struct pollfd file = {.events = POLLIN};
	int early;

	must(one && two && of_all, "pavo_handler_open");
	check(pavo_handler_number(one) != pavo_handler_number(two),
	      "handlers have numbers");
	for (early = 0; early < 2; early++) {
		unsigned int before = b->messages;

		must(!pavo_handler_ready(two), "ready");
		must(!pavo_adapter_handler_ready(of_all), "ready");
		must(!pavo_window_event_after(b->window, 1, early),
		     "event_after");
		say_hello(a, b);
		file.fd = pavo_handler_fd(two);
		check(poll(&file, 1, 60000) == 1 &&
			      pavo_handler_take(two) == 1 &&
			      !pavo_handler_take(two),
		      "a ready handler is notified of a message");
		check(until(a, b, &b->messages, before + 1) &&
			      !pavo_handler_take(one),
		      "who is not is not");
		file.fd = pavo_adapter_handler_fd(of_all);
		check(poll(&file, 1, 60000) == 1 &&
			      pavo_adapter_handler_take(of_all) == 1 &&
			      pavo_adapter_handler_windows(of_all, windows,
							   2) == 1 &&
			      windows[0] == pavo_window_number(b->window),
		      "so is a handler of the adapter, which gets the window");
	}
	check(pavo_adapter_handler_windows(of_all, windows, 0) == -EINVAL,
	      "no windows are none");
	pavo_adapter_handler_close(of_all);
	pavo_handler_close(one);
	pavo_handler_close(two);
}

/* Sleeps until progress is due, as a program may that has nothing else to do. */
static void until_it_ends(struct end *a, struct pavo_rdma *rdma)
{
	time_t end = time(NULL) + 60;

	while (pavo_rdma_pending(rdma) && time(NULL) < end) {
		int64_t due = pavo_rdma_due(rdma);

		a->failed |= due < 0 || due > 40000;
		poll(NULL, 0, (int)(due + 999) / 1000);
		pavo_rdma_progress(rdma);
	}
}

/* How long it is tried is the program's to say. */
static void nobody_there(struct end *a, struct end *b)
{
	struct pavo_move move = {
		.local_pvo = pavo_mapping_pvo(a->mapping),
		.remote_pvo = pavo_mapping_pvo(b->mapping),
		.bytes = 10,
	};
	struct pavo_window *window = open_window(a, 0);
	struct pavo_rdma *rdma = open_hasty(window, b);
	const uint32_t none = 1;
	unsigned int before = a->ends;
	int64_t begun = microseconds();
	int peer;

	peer = pavo_rdma_add(rdma, 1, pavo_window_number(b->window) + 77, &none,
			     1);
	must(peer >= 0, "pavo_rdma_add");
	check(pavo_rdma_due(rdma) == -1, "nothing is due");
	must(!pavo_rdma_put(rdma, peer, &move, on_done, a), "put");
	until_it_ends(a, rdma);
	check(a->ends == before + 1 && a->error == -ETIMEDOUT && !a->failed,
	      "who does not answer is given up");
	check(pavo_rdma_retries(rdma) == 2 && pavo_rdma_due(rdma) == -1,
	      "after as many attempts as were asked for");
	/* 10, 20 and 20 ms. */
	check(microseconds() - begun >= 50000, "each a longer one");
	pavo_rdma_close(rdma);
	pavo_window_close(window);
}

static void open_paths(struct end *end, uint16_t node, uint16_t other,
		       const uint8_t *gid, uint32_t (*taken)[CONTEXTS])
{
	const struct pavo_striped_options options = {
		.chunk = 10000,
		.path = {.attempts = 10},
		.timeout = 5000,
	};
	int i;

	end->striped = pavo_striped_open(&options, on_striped_arrival, end);
	must(end->striped != NULL, "pavo_striped_open");
	check(pavo_striped_add(end->striped, end->window, NULL, 0) == -EINVAL,
	      "a path without contexts");
	for (i = 0; i < PATHS; i++) {
		end->paths[i] = open_window(end, node);
		must(!pavo_window_set_node(end->paths[i], other, gid),
		     "set_node");
		must(pavo_striped_add(end->striped, end->paths[i], taken[i],
				      CONTEXTS) == i,
		     "pavo_striped_add");
	}
}

static void connect_paths(struct end *end, uint16_t node,
			  const struct end *other, uint32_t (*taken)[CONTEXTS])
{
	int i;

	for (i = 0; i < PATHS; i++)
		must(!pavo_striped_connect(end->striped, i, node,
					   pavo_window_number(other->paths[i]),
					   taken[i], CONTEXTS),
		     "pavo_striped_connect");
	check(pavo_striped_connect(end->striped, PATHS, node, 1, taken[0],
				   CONTEXTS) == -EINVAL,
	      "no such path");
}

static void close_paths(struct end *end)
{
	int i;

	pavo_striped_close(end->striped);
	for (i = 0; i < PATHS; i++)
		pavo_window_close(end->paths[i]);
}

static int until_striped(struct end *a, struct end *b, unsigned int wanted)
{
	time_t end = time(NULL) + 60;

	while (a->ends < wanted && time(NULL) < end) {
		pavo_striped_progress(a->striped);
		pavo_striped_progress(b->striped);
	}
	return a->ends == wanted && !a->error &&
	       !pavo_striped_pending(a->striped);
}

static void check_paths(const struct end *a)
{
	struct pavo_striped_path path;
	uint64_t bytes = 0;
	int i, living = 0;

	check(pavo_striped_paths(a->striped) == PATHS, "so many paths");
	for (i = 0; i < PATHS; i++) {
		must(!pavo_striped_path_of(a->striped, i, &path), "path_of");
		living += path.alive && !path.error && path.chunks > 0;
		bytes += path.bytes;
	}
	check(living == PATHS && bytes == 2 * SIZE, "each had its part");
	check(pavo_striped_path_of(a->striped, PATHS, &path) == -EINVAL &&
		      pavo_striped_path_of(a->striped, -1, &path) == -EINVAL,
	      "and there are no others");
}

/* One message by two paths, there and back. */
static void by_paths(struct end *a, struct end *b)
{
	uint32_t taken_a[PATHS][CONTEXTS], taken_b[PATHS][CONTEXTS];
	struct pavo_striped_move move = {
		.local_pvo = pavo_mapping_pvo(a->mapping),
		.remote_pvo = pavo_mapping_pvo(b->mapping),
		.bytes = SIZE,
		.tag = 78,
		.notify = 1,
	};
	unsigned int ended = a->ends, arrived = b->arrivals;
	int64_t differs;

	open_paths(a, 0, 1, b->gid, taken_a);
	open_paths(b, 1, 0, a->gid, taken_b);
	connect_paths(a, 1, b, taken_b);
	connect_paths(b, 0, a, taken_a);
	check(pavo_striped_due(a->striped) == -1, "nothing is due on paths");
	pattern_fill(a->memory, SIZE, 4, 0);
	must(!pavo_striped_put(a->striped, &move, on_done, a), "put");
	check(pavo_striped_due(a->striped) >= 0, "now something is");
	check(until_striped(a, b, ended + 1) && b->arrivals == arrived + 1 &&
		      b->tag == 78 && b->notified == SIZE,
	      "a put by several paths");
	differs = pattern_verify(b->memory, SIZE, 4, 0);
	pattern_fill(b->memory, SIZE, 5, 0);
	move.notify = 0;
	must(!pavo_striped_get(a->striped, &move, on_done, a), "get");
	check(until_striped(a, b, ended + 2), "a get by several paths");
	check(differs < 0 && pattern_verify(a->memory, SIZE, 5, 0) < 0,
	      "every byte went both ways");
	check_paths(a);
	close_paths(a);
	close_paths(b);
}

/* The last test: b takes no part any more. */
static void ends(struct end *a, struct end *b)
{
	unsigned int before = b->messages;
	time_t end = time(NULL) + 60;
	uint32_t taken;

	check(pavo_window_snapshot(b->window) == -EINVAL,
	      "what is not disabled has no snapshot");
	check(!pavo_window_disable(b->window), "a window is disabled");
	while (pavo_window_snapshot(b->window) && time(NULL) < end)
		;
	check(!pavo_window_snapshot(b->window),
	      /* lint-words: a name */ "and nobody is at it then");
	check(pavo_rdma_take_rcxts(b->rdma, &taken, 1) == -ESHUTDOWN,
	      "it gets no contexts");
	say_hello(a, b);
	pavo_rdma_progress(b->rdma);
	check(b->messages == before, "nor does anything arrive");
}

int main(int argc, char **argv)
{
	struct end a = {0}, b = {0};

	if (argc != 5) {
		fprintf(stderr,
			"usage: %s ADAPTER GID-INDEX ADAPTER "
			"GID-INDEX\n",
			argv[0]);
		return 2;
	}
	puts("TAP version 13");
	open_end(&a, argv[1], argv[2], 0);
	open_end(&b, argv[3], argv[4], 1);
	introduce(&a, 1, &b);
	introduce(&b, 0, &a);
	must(!pavo_rdma_send(a.rdma, 1, pavo_window_number(b.window), "hello",
			     5),
	     "send");
	check(until(&a, &b, &b.messages, 1) && !b.failed, "a message arrives");
	there_and_back(&a, &b);
	by_a_third(&a, &b);
	looked_at(&a, &b);
	own_kind(&a, &b);
	through_fifos(&a, &b);
	refusals(&a, &b);
	events(&a, &b);
	nobody_there(&a, &b);
	asked_for(&a, &b);
	test_jobs(&a);
	by_paths(&a, &b);
	test_windows(&a, &b);
	test_broadcast(&a, &b);
	ends(&a, &b);
	close_end(&a);
	close_end(&b);
	return end_checks();
}
