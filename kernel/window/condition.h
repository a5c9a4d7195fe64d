/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * condition.h - counters of a window, and requests that are held until a counter reaches a target
 * (sources.md#windows-conditional). Pure: held.c calls these functions with the window locked, and
 * so do the unit tests.
 *
 * A held request is a copy of its frame's first line. The copy is kept at the index of the
 * frame's slot, since the frame occupies that until it is marked; so a window holds no more
 * requests than its FIFO has slots. Requests that one frame CONDITIONAL holds are a condition. It
 * waits in a list, in the order of frames, until its counter comes to the target or fails. Then it
 * moves to the list of those that are ready, from which a worker takes request after request.
 */
#ifndef PAVO_WINDOW_CONDITION_H
#define PAVO_WINDOW_CONDITION_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>

/* A copy of the first line of a frame. */
struct pavo_frame_line {
	struct pavo_frame_hdr hdr;
	u8 payload[PAVO_FRAME_LINE - PAVO_FRAME_HDR_SIZE];
};

/**
 * struct pavo_held - a held frame.
 * @line:   copy of its first line
 * @number: index of the frame
 * @next:   slot of the next one of its condition
 * @used:   it is in a list
 */
struct pavo_held {
	struct pavo_frame_line line;
	u32 number;
	u32 next;
	bool used;
};

/**
 * struct pavo_condition - the requests that one frame CONDITIONAL holds.
 * @target:  value of the counter at which they are carried out
 * @counter: number of the counter
 * @first:   slot of the first held frame
 * @last:    slot of the last one
 * @next:    next condition in its list
 * @mark:    enum pavo_frame_state for the frames; EMPTY: carry them out
 */
struct pavo_condition {
	u64 target;
	u32 counter;
	u32 first;
	u32 last;
	u32 next;
	u8 mark;
};

/* A list of conditions, by index. */
struct pavo_condition_list {
	u32 first;
	u32 last;
};

/**
 * struct pavo_window_counter - a counter.
 * @value:   its value
 * @least:   least target of the conditions that wait for it
 * @waiting: number of these
 * @failed:  a component failed
 * @unreported:  held requests were cancelled, and the process was not notified yet
 */
struct pavo_window_counter {
	u64 value;
	u64 least;
	u32 waiting;
	bool failed;
	bool unreported;
};

/**
 * struct pavo_conditions - counters and held requests of a window.
 * @counters: by their numbers
 * @all:      conditions
 * @unused:   list of conditions
 * @waiting:  likewise, in the order of their frames
 * @ready:    to be carried out, or to be marked
 * @gathering: condition whose requests still follow; PAVO_CONDITION_NONE: none, or they are refused
 * @left:     frames that still follow
 * @refusal:  mark for these, if they are refused
 * @unreported:   number of counters that are unreported
 * @ended:    the window has ended: nothing is held any more
 * @mask:     frames of the send FIFO less 1
 * @held:     by slot of the send FIFO
 */
struct pavo_conditions {
	struct pavo_window_counter counters[PAVO_WINDOW_COUNTERS];
	struct pavo_condition all[PAVO_CONDITIONS];
	struct pavo_condition_list unused;
	struct pavo_condition_list waiting;
	struct pavo_condition_list ready;
	u32 gathering;
	u32 left;
	u8 refusal;
	u32 unreported;
	bool ended;
	u32 mask;
	struct pavo_held held[];
};

#define PAVO_CONDITION_NONE (~0u)

/** pavo_conditions_size - bytes of the structure, for a send FIFO of @frames. */
size_t pavo_conditions_size(u32 frames);
/** pavo_conditions_init - set up zeroed memory of that size. */
void pavo_conditions_init(struct pavo_conditions *c, u32 frames);

/* ------------------------------------------------------------------ frames */

/**
 * pavo_conditions_begin - begin to hold requests: a frame CONDITIONAL that follows no other.
 * @c:      conditions
 * @line:   copy of its first line
 * @number: index of the frame
 *
 * Return: enum pavo_frame_state; EMPTY: marked when the last request is held, or one is refused.
 */
u32 pavo_conditions_begin(struct pavo_conditions *c,
			  const struct pavo_frame_line *line, u32 number);

/** pavo_conditions_follows - does the next frame belong to a frame CONDITIONAL? */
static inline bool pavo_conditions_follows(const struct pavo_conditions *c)
{
	return c->left;
}

/**
 * pavo_conditions_take - hold a frame that follows a frame CONDITIONAL.
 * @c:      conditions, of which pavo_conditions_follows()
 * @line:   copy of its first line
 * @number: index of the frame
 * @all:    set if all requests are held now: index of the frame CONDITIONAL, to be marked SENT
 *
 * Return: enum pavo_frame_state: HELD; or why it is not, and then all frames of its condition are
 * ready to be marked.
 */
u32 pavo_conditions_take(struct pavo_conditions *c,
			 const struct pavo_frame_line *line, u32 number,
			 u32 *all);

/**
 * pavo_counter_check - check a frame COUNTER_SET, COUNTER_CLEAR or COUNTER_QUERY.
 * @line:    copy of its first line
 * @request: set to its payload
 *
 * Return: enum pavo_frame_state; EMPTY: it is in order.
 */
u32 pavo_counter_check(const struct pavo_frame_line *line,
		       struct pavo_counter_request *request);

/** pavo_request_counter - of a frame that requests an operation: as in struct pavo_rdma_request. */
u8 pavo_request_counter(const struct pavo_frame_line *line);

/* Has the component failed whose frame gets that mark? The others may be attempted again. */
static inline bool pavo_frame_has_failed(u32 state)
{
	return (state >= PAVO_FRAME_BAD_TYPE && state <= PAVO_FRAME_BAD_RCXT) ||
	       state == PAVO_FRAME_BAD_PVO || state == PAVO_FRAME_CANCELLED;
}

/* ---------------------------------------------------------------- counters */

/** pavo_conditions_count - a component of counter @n ended with status 0. */
void pavo_conditions_count(struct pavo_conditions *c, u32 n);
/** pavo_conditions_fail - a component of counter @n failed. */
void pavo_conditions_fail(struct pavo_conditions *c, u32 n);
/** pavo_conditions_fail_all - fail all counters: a recovery. */
void pavo_conditions_fail_all(struct pavo_conditions *c);
/** pavo_conditions_set - set counter @n, and let it count if it has failed. */
void pavo_conditions_set(struct pavo_conditions *c, u32 n, u64 value);
/** pavo_conditions_cancel - cancel what is held for counter @n. */
void pavo_conditions_cancel(struct pavo_conditions *c, u32 n);
/** pavo_conditions_cancel_rcxt - cancel the conditions of which a request is for @rcxt. */
void pavo_conditions_cancel_rcxt(struct pavo_conditions *c, u32 rcxt);
/** pavo_conditions_end - the window has ended: mark all that is held DEAD. */
void pavo_conditions_end(struct pavo_conditions *c);
/** pavo_conditions_value - describe counter @n for its process. */
struct pavo_counter_value pavo_conditions_value(const struct pavo_conditions *c,
						u32 n);

/* --------------------------------------------------------------- the worker */

/** pavo_conditions_is_ready - are there requests to be carried out, or frames to be marked? */
static inline bool pavo_conditions_is_ready(const struct pavo_conditions *c)
{
	return c->ready.first != PAVO_CONDITION_NONE;
}

/**
 * pavo_conditions_next - take the next request that is ready.
 * @c:    conditions
 * @held: set to it; its slot may hold another one from now on
 * @mark: set to the mark for its frame; EMPTY: carry it out
 *
 * Return: 0; -ENOENT: none is ready.
 */
int pavo_conditions_next(struct pavo_conditions *c, struct pavo_held *held,
			 u32 *mark);

/**
 * pavo_conditions_unreported - find the next counter whose process is to be notified that
 * requests were cancelled.
 * @c:     conditions
 * @value: set to the frame's payload
 *
 * Return: 0; -ENOENT: there is none.
 */
int pavo_conditions_unreported(const struct pavo_conditions *c,
			       struct pavo_counter_value *value);
/** pavo_conditions_reported - the process is being notified of counter @n. */
void pavo_conditions_reported(struct pavo_conditions *c, u32 n);
/** pavo_conditions_unreport - the process could not be notified of counter @n. */
void pavo_conditions_unreport(struct pavo_conditions *c, u32 n);

#endif /* PAVO_WINDOW_CONDITION_H */
