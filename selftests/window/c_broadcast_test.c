// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* c_broadcast_test.c - pavo_broadcast.h: groups, bindings, and RDMA to a member. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <pavo/pavo_broadcast.h>

#include "c_scene.h"

enum { GROUP = PAVO_WINDOW_GROUP | 5, ALL = 9, CAST_TAG = 31 };

static const uint8_t group_gid[16] = {[10] = 0xff, 0xff, 239, 5, 5, 5};

/* The results of the calls. */
struct cast {
	unsigned int arrivals, ends, wrong;
	uint32_t window;
	int error;
};

static void on_cast_arrival(void *context, uint16_t node, uint32_t window,
			    uint32_t tag)
{
	struct cast *cast = context;

	cast->arrivals++;
	cast->wrong += node != 0 || window != cast->window || tag != CAST_TAG;
}

static void on_cast_done(void *context, int error)
{
	struct cast *cast = context;

	cast->ends++;
	cast->error = error;
}

static struct pavo_window *open_sender(const struct end *end)
{
	const struct pavo_window_options options = {
		.node = 0,
		.gid_index = end->gid_index,
		.broadcast = 1,
	};
	struct pavo_window *window = pavo_window_open(end->job, &options);

	must(window != NULL, "pavo_window_open");
	return window;
}

static void bindings(const struct end *b)
{
	struct pavo_window *window = open_window(b, 1);
	const uint64_t pvo = pavo_mapping_pvo(b->mapping);

	check(pavo_window_bind(window, GROUP, 0, pvo, SIZE, 0) == -EINVAL,
	      "no binding without a group");
	check(pavo_window_join(window, b->gid, GROUP) == -EINVAL &&
		      !pavo_window_join(window, group_gid, GROUP) &&
		      pavo_window_join(window, group_gid, GROUP) == -EEXIST,
	      "a window joins a group once");
	check(!pavo_window_bind(window, GROUP, 0, pvo, SIZE, 0) &&
		      pavo_window_bind(window, GROUP, 0, pvo, SIZE, 0) ==
			      -EEXIST &&
		      pavo_window_bind(window, GROUP, 1, pvo ^ 1ull << 60, SIZE,
				       0) == -EFAULT,
	      "it binds memory of its job");
	check(!pavo_window_unbind(window, GROUP, 0) &&
		      pavo_window_unbind(window, GROUP, 0) == -EINVAL,
	      "and ends the binding");
	check(!pavo_window_leave(window, GROUP) &&
		      pavo_window_leave(window, GROUP) == -EINVAL,
	      "and leaves");
	pavo_window_close(window);
}

static void put_to_all(struct end *a, struct end *b, struct pavo_rdma *from,
		       struct pavo_rdma *to, struct cast *cast)
{
	const struct pavo_broadcast_options options = {
		.gid = {[10] = 0xff, 0xff, 239, 5, 5, 5},
		.group = GROUP,
		.node = ALL,
		.timeout = 100000,
	};
	struct pavo_broadcast_options no_group = options;
	struct pavo_broadcast *source = pavo_broadcast_open(from, &options);
	struct pavo_broadcast_target *target = pavo_broadcast_target_open(
		to, &options, pavo_mapping_pvo(b->mapping), SIZE,
		on_cast_arrival, cast);
	const uint64_t pvo = pavo_mapping_pvo(a->mapping);
	time_t end = time(NULL) + 60;

	must(source && target, "pavo_broadcast_open");
	no_group.group = 5;
	check(!pavo_broadcast_open(from, &no_group) && errno == EINVAL &&
		      !pavo_broadcast_target_open(to, &no_group, 0, SIZE, NULL,
						  NULL) &&
		      errno == EINVAL,
	      "a number that names no group");
	check(pavo_broadcast_put(source, pvo, 0, SIZE, CAST_TAG, on_cast_done,
				 cast) == -EINVAL,
	      "a group without members");
	check(!pavo_broadcast_add(source, 1, cast->window + 0x1000) &&
		      !pavo_broadcast_remove(source, 1,
					     cast->window + 0x1000) &&
		      pavo_broadcast_remove(source, 1, 1) == -EINVAL,
	      "members come and go");
	must(!pavo_broadcast_add(source, 1, (uint32_t)cast->error), "add");
	pattern_fill(a->memory, SIZE, 11, 0);
	must(!pavo_broadcast_put(source, pvo, 0, SIZE, CAST_TAG, on_cast_done,
				 cast),
	     "pavo_broadcast_put");
	check(pavo_broadcast_pending(source) == 1 &&
		      pavo_broadcast_due(source) >= 0,
	      "it is pending");
	while (!cast->ends && time(NULL) < end) {
		pavo_broadcast_progress(source);
		pavo_rdma_progress(to);
	}
	check(cast->ends == 1 && !cast->error, "it ends well");
	check(cast->arrivals == 1 && !cast->wrong &&
		      pattern_verify(b->memory, SIZE, 11, 0) < 0,
	      "every byte is at the member, which hears of it once");
	check(!pavo_broadcast_pending(source) &&
		      pavo_broadcast_due(source) == -1 &&
		      pavo_broadcast_retries(source) < 1000,
	      "nothing is pending");
	pavo_broadcast_target_close(target);
	pavo_broadcast_close(source);
}

void test_broadcast(struct end *a, struct end *b)
{
	struct pavo_window *sender = open_sender(a);
	struct pavo_window *member = open_window(b, 1);
	struct pavo_rdma *from = pavo_rdma_open(sender, NULL, NULL, NULL, NULL);
	struct pavo_rdma *to = pavo_rdma_open(member, NULL, NULL, NULL, NULL);
	/* Until the end, @error has the member's number. */
	struct cast cast = {.window = pavo_window_number(sender),
			    .error = (int)pavo_window_number(member)};

	must(from && to, "pavo_rdma_open");
	must(!pavo_window_set_node(sender, 1, b->gid) &&
		     !pavo_window_set_node(member, 0, a->gid),
	     "set_node");
	bindings(b);
	put_to_all(a, b, from, to, &cast);
	pavo_rdma_close(from);
	pavo_rdma_close(to);
	pavo_window_close(sender);
	pavo_window_close(member);
}
