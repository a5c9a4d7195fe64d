// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* condition.c - counters of a window, and requests held for them; see condition.h. Pure. */
#include <linux/kernel.h>
#include <linux/string.h>
#include "window/operation.h"
#include "window/condition.h"

#define NONE PAVO_CONDITION_NONE

/* ------------------------------------------------------------------- lists */

static void append_condition(struct pavo_conditions *c,
			     struct pavo_condition_list *list, u32 index)
{
	c->all[index].next = NONE;
	if (list->first == NONE)
		list->first = index;
	else
		c->all[list->last].next = index;
	list->last = index;
}

/* Take the condition out of @list that follows @before; NONE: the first one. */
static u32 remove_condition(struct pavo_conditions *c,
			    struct pavo_condition_list *list, u32 before)
{
	u32 *at = before == NONE ? &list->first : &c->all[before].next;
	u32 index = *at;

	*at = c->all[index].next;
	if (list->last == index)
		list->last = before;
	return index;
}

size_t pavo_conditions_size(u32 frames)
{
	return sizeof(struct pavo_conditions) +
	       frames * sizeof(struct pavo_held);
}

void pavo_conditions_init(struct pavo_conditions *c, u32 frames)
{
	u32 i;

	c->mask = frames - 1;
	c->gathering = NONE;
	c->unused = (struct pavo_condition_list){ NONE, NONE };
	c->waiting = c->unused;
	c->ready = c->unused;
	for (i = 0; i < PAVO_CONDITIONS; i++)
		append_condition(c, &c->unused, i);
	for (i = 0; i < PAVO_WINDOW_COUNTERS; i++)
		c->counters[i].least = ~0ull;
}

/* Let a worker carry out the condition, or mark its frames. */
static void make_condition_ready(struct pavo_conditions *c, u32 index,
				 enum pavo_frame_state mark)
{
	c->all[index].mark = mark;
	append_condition(c, &c->ready, index);
}

static void note_cancelled(struct pavo_conditions *c,
			   struct pavo_window_counter *counter)
{
	if (!counter->unreported)
		c->unreported++;
	counter->unreported = true;
}

static struct pavo_window_counter *get_counter(struct pavo_conditions *c, u32 n)
{
	return &c->counters[n & (PAVO_WINDOW_COUNTERS - 1)];
}

/* ------------------------------------------------------------ held frames */

/* Append a frame to a condition. Return: 0; -EBUSY: its slot has a held frame. */
static int hold_frame(struct pavo_conditions *c, struct pavo_condition *to,
		      const struct pavo_frame_line *line, u32 number)
{
	const u32 slot = number & c->mask;
	struct pavo_held *held = &c->held[slot];

	if (held->used)
		return -EBUSY;
	held->line = *line;
	held->number = number;
	held->next = NONE;
	held->used = true;
	if (to->first == NONE)
		to->first = slot;
	else
		c->held[to->last].next = slot;
	to->last = slot;
	return 0;
}

/* Take the first frame of a condition. */
static struct pavo_held *pop_frame(struct pavo_conditions *c,
				   struct pavo_condition *from)
{
	struct pavo_held *held = &c->held[from->first];

	from->first = held->next;
	held->used = false;
	return held;
}

static struct pavo_conditional
get_conditional(const struct pavo_frame_line *line)
{
	struct pavo_conditional conditional;

	memcpy(&conditional, line->payload, sizeof(conditional));
	return conditional;
}

static u32 check_conditional(const struct pavo_conditions *c,
			     const struct pavo_frame_line *line,
			     const struct pavo_conditional *conditional)
{
	if (line->hdr.length != sizeof(*conditional))
		return PAVO_FRAME_BAD_LENGTH;
	if (conditional->counter >= PAVO_WINDOW_COUNTERS ||
	    !conditional->target || !conditional->following ||
	    conditional->following > c->mask)
		return PAVO_FRAME_BAD_REQUEST;
	return c->unused.first == NONE ? PAVO_FRAME_BUSY : PAVO_FRAME_EMPTY;
}

/*
 * Refuse the frames that follow: they must not be carried out at once. The frames of another one
 * that refuses some may be among them, or follow them.
 */
static void refuse_following(struct pavo_conditions *c, u32 following,
			     u32 refusal)
{
	c->left = max(c->left, min(following, c->mask));
	c->refusal = refusal;
}

u32 pavo_conditions_begin(struct pavo_conditions *c,
			  const struct pavo_frame_line *line, u32 number)
{
	const struct pavo_conditional conditional = get_conditional(line);
	u32 state = check_conditional(c, line, &conditional);
	struct pavo_condition *condition;

	/* No event would release it, and no worker mark it. */
	if (c->ended)
		return PAVO_FRAME_DEAD;
	if (!state && c->held[number & c->mask].used)
		state = PAVO_FRAME_BAD_REQUEST;
	if (state) {
		refuse_following(c, conditional.following,
				 state == PAVO_FRAME_BUSY ?
					 PAVO_FRAME_BUSY :
					 PAVO_FRAME_BAD_REQUEST);
		return state;
	}
	c->gathering = remove_condition(c, &c->unused, NONE);
	c->left = conditional.following;
	condition = &c->all[c->gathering];
	condition->counter = conditional.counter;
	condition->target = conditional.target;
	condition->first = NONE;
	hold_frame(c, condition, line, number);
	return PAVO_FRAME_EMPTY;
}

/* Why a frame cannot be held; EMPTY: it can. */
static u32 check_follower(const struct pavo_frame_line *line, u32 number)
{
	struct pavo_rdma_request request;
	struct pavo_frame_request req;

	if (line->hdr.type != PAVO_FRAME_RDMA_WRITE &&
	    line->hdr.type != PAVO_FRAME_RDMA_READ)
		return PAVO_FRAME_BAD_REQUEST;
	memcpy(&request, line->payload, sizeof(request));
	return pavo_frame_parse_request(&req, &line->hdr, &request, number);
}

/* End the gathering of a condition, whose frames get the mark. */
static void drop_gathering(struct pavo_conditions *c,
			   enum pavo_frame_state mark)
{
	if (c->gathering == NONE)
		return;
	make_condition_ready(c, c->gathering, mark);
	c->gathering = NONE;
	c->refusal = mark;
}

/* All requests of a condition are held: wait for its counter. */
static void settle_condition(struct pavo_conditions *c, u32 index)
{
	struct pavo_condition *condition = &c->all[index];
	struct pavo_window_counter *counter =
		get_counter(c, condition->counter);

	if (counter->failed) {
		make_condition_ready(c, index, PAVO_FRAME_CANCELLED);
		note_cancelled(c, counter);
	} else if (counter->value >= condition->target) {
		make_condition_ready(c, index, PAVO_FRAME_EMPTY);
	} else {
		append_condition(c, &c->waiting, index);
		counter->waiting++;
		counter->least = min(counter->least, condition->target);
	}
}

u32 pavo_conditions_take(struct pavo_conditions *c,
			 const struct pavo_frame_line *line, u32 number,
			 u32 *all)
{
	const bool nested = line->hdr.type == PAVO_FRAME_CONDITIONAL;
	const u32 index = c->gathering;
	u32 state = check_follower(line, number);

	c->left--;
	if (nested)
		refuse_following(c, get_conditional(line).following,
				 PAVO_FRAME_BAD_REQUEST);
	if (index == NONE)
		return c->refusal;
	if (!state && hold_frame(c, &c->all[index], line, number))
		state = PAVO_FRAME_BAD_REQUEST;
	if (state) {
		drop_gathering(c, PAVO_FRAME_BAD_REQUEST);
		return state;
	}
	if (!c->left) {
		*all = pop_frame(c, &c->all[index])->number;
		c->gathering = NONE;
		settle_condition(c, index);
	}
	return PAVO_FRAME_HELD;
}

u8 pavo_request_counter(const struct pavo_frame_line *line)
{
	struct pavo_rdma_request request;

	if (line->hdr.type != PAVO_FRAME_RDMA_WRITE &&
	    line->hdr.type != PAVO_FRAME_RDMA_READ)
		return 0;
	memcpy(&request, line->payload, sizeof(request));
	return request.counter;
}

/* ---------------------------------------------------------------- counters */

static u32 get_counter_flags(u8 type)
{
	switch (type) {
	case PAVO_FRAME_COUNTER_SET:
		return PAVO_COUNTER_BIND;
	case PAVO_FRAME_COUNTER_CLEAR:
		return PAVO_COUNTER_BIND | PAVO_COUNTER_CANCEL;
	default:
		return 0;
	}
}

u32 pavo_counter_check(const struct pavo_frame_line *line,
		       struct pavo_counter_request *request)
{
	const u8 type = line->hdr.type;
	bool bind, set;

	memcpy(request, line->payload, sizeof(*request));
	bind = request->flags & PAVO_COUNTER_BIND;
	set = type == PAVO_FRAME_COUNTER_SET && !bind;
	if (line->hdr.length != sizeof(*request))
		return PAVO_FRAME_BAD_LENGTH;
	if (request->counter >= PAVO_WINDOW_COUNTERS ||
	    request->flags & ~get_counter_flags(type) ||
	    request->flags == (PAVO_COUNTER_BIND | PAVO_COUNTER_CANCEL) ||
	    (request->rcxt && !bind) || (request->value && !set) ||
	    (request->cookie && type != PAVO_FRAME_COUNTER_QUERY))
		return PAVO_FRAME_BAD_REQUEST;
	return PAVO_FRAME_EMPTY;
}

/*
 * Make conditions that wait for counter @n ready: with EMPTY those whose target is at most
 * @value, to be carried out; else all of them, to be marked. Return: were there any?
 */
static bool release_conditions(struct pavo_conditions *c, u32 n, u64 value,
			       enum pavo_frame_state mark)
{
	struct pavo_window_counter *counter = get_counter(c, n);
	u32 before = NONE, at = c->waiting.first, next;
	bool any = false;

	if (!counter->waiting || (!mark && value < counter->least))
		return false;
	counter->least = ~0ull;
	for (; at != NONE; at = next) {
		next = c->all[at].next;
		if (c->all[at].counter == n &&
		    (mark || c->all[at].target <= value)) {
			remove_condition(c, &c->waiting, before);
			make_condition_ready(c, at, mark);
			counter->waiting--;
			any = true;
			continue;
		}
		if (c->all[at].counter == n)
			counter->least = min(counter->least, c->all[at].target);
		before = at;
	}
	return any;
}

void pavo_conditions_count(struct pavo_conditions *c, u32 n)
{
	struct pavo_window_counter *counter = get_counter(c, n);

	if (counter->value != ~0ull)
		counter->value++;
	release_conditions(c, n, counter->value, PAVO_FRAME_EMPTY);
}

void pavo_conditions_cancel(struct pavo_conditions *c, u32 n)
{
	if (release_conditions(c, n, 0, PAVO_FRAME_CANCELLED))
		note_cancelled(c, get_counter(c, n));
}

void pavo_conditions_fail(struct pavo_conditions *c, u32 n)
{
	get_counter(c, n)->failed = true;
	pavo_conditions_cancel(c, n);
}

void pavo_conditions_fail_all(struct pavo_conditions *c)
{
	u32 n;

	for (n = 0; n < PAVO_WINDOW_COUNTERS; n++)
		pavo_conditions_fail(c, n);
}

void pavo_conditions_set(struct pavo_conditions *c, u32 n, u64 value)
{
	struct pavo_window_counter *counter = get_counter(c, n);

	counter->failed = false;
	counter->value = value;
	release_conditions(c, n, value, PAVO_FRAME_EMPTY);
}

/* Is a request of the condition for that rCxt? Its first frame may be a CONDITIONAL. */
static bool has_rcxt(const struct pavo_conditions *c, u32 index, u32 rcxt)
{
	struct pavo_rdma_request request;
	u32 slot;

	for (slot = c->all[index].first; slot != NONE;
	     slot = c->held[slot].next) {
		if (c->held[slot].line.hdr.type == PAVO_FRAME_CONDITIONAL)
			continue;
		memcpy(&request, c->held[slot].line.payload, sizeof(request));
		if (request.local_rcxt == rcxt)
			return true;
	}
	return false;
}

void pavo_conditions_cancel_rcxt(struct pavo_conditions *c, u32 rcxt)
{
	u32 before = NONE, at, next;

	for (at = c->ready.first; at != NONE; at = c->all[at].next) {
		if (c->all[at].mark || !has_rcxt(c, at, rcxt))
			continue;
		c->all[at].mark = PAVO_FRAME_CANCELLED;
		note_cancelled(c, get_counter(c, c->all[at].counter));
	}
	for (at = c->waiting.first; at != NONE; at = next) {
		next = c->all[at].next;
		if (!has_rcxt(c, at, rcxt)) {
			before = at;
			continue;
		}
		remove_condition(c, &c->waiting, before);
		get_counter(c, c->all[at].counter)->waiting--;
		note_cancelled(c, get_counter(c, c->all[at].counter));
		make_condition_ready(c, at, PAVO_FRAME_CANCELLED);
	}
	at = c->gathering;
	if (at != NONE && has_rcxt(c, at, rcxt)) {
		note_cancelled(c, get_counter(c, c->all[at].counter));
		drop_gathering(c, PAVO_FRAME_CANCELLED);
	}
}

void pavo_conditions_end(struct pavo_conditions *c)
{
	u32 n, at;

	for (at = c->ready.first; at != NONE; at = c->all[at].next)
		if (!c->all[at].mark)
			c->all[at].mark = PAVO_FRAME_DEAD;
	for (n = 0; n < PAVO_WINDOW_COUNTERS; n++)
		release_conditions(c, n, 0, PAVO_FRAME_DEAD);
	drop_gathering(c, PAVO_FRAME_DEAD);
	c->ended = true;
}

struct pavo_counter_value pavo_conditions_value(const struct pavo_conditions *c,
						u32 n)
{
	const struct pavo_window_counter *counter =
		&c->counters[n & (PAVO_WINDOW_COUNTERS - 1)];

	return (struct pavo_counter_value){
		.counter = n,
		.value = counter->value,
		.waiting = counter->waiting,
		.failed = counter->failed,
	};
}

/* --------------------------------------------------------------- the worker */

int pavo_conditions_next(struct pavo_conditions *c, struct pavo_held *held,
			 u32 *mark)
{
	const u32 index = c->ready.first;
	struct pavo_condition *condition;

	if (index == NONE)
		return -ENOENT;
	condition = &c->all[index];
	*held = *pop_frame(c, condition);
	*mark = condition->mark;
	if (condition->first == NONE) {
		remove_condition(c, &c->ready, NONE);
		append_condition(c, &c->unused, index);
	}
	return 0;
}

int pavo_conditions_unreported(const struct pavo_conditions *c,
			       struct pavo_counter_value *value)
{
	u32 n;

	for (n = 0; c->unreported && n < PAVO_WINDOW_COUNTERS; n++) {
		if (!c->counters[n].unreported)
			continue;
		*value = pavo_conditions_value(c, n);
		value->cancelled = 1;
		return 0;
	}
	return -ENOENT;
}

void pavo_conditions_reported(struct pavo_conditions *c, u32 n)
{
	struct pavo_window_counter *counter = get_counter(c, n);

	if (counter->unreported)
		c->unreported--;
	counter->unreported = false;
}

void pavo_conditions_unreport(struct pavo_conditions *c, u32 n)
{
	note_cancelled(c, get_counter(c, n));
}
