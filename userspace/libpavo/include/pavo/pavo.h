/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo.h - the library for C, and for languages that call C: jobs, mapped memory, windows,
 * and RDMA that happens exactly once, also over several adapters. The C++ headers of the
 * same names (job.hpp, window.hpp, handler.hpp, rdma.hpp, striped.hpp) say what the calls
 * mean. Windows without that: pavo_window.h.
 *
 * Every pavo_*_open() gives an object or NULL, and says in errno why not; the object lives
 * until its pavo_*_close(), and has to be closed before those that it was made with.
 * Other calls return 0 or a negative errno, unless told otherwise. An object is for one
 * thread at a time.
 */
#ifndef PAVO_PAVO_H
#define PAVO_PAVO_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/pavo-abi.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pavo_device;
struct pavo_job;
struct pavo_mapping;
struct pavo_window;
struct pavo_handler;
struct pavo_rdma;
struct pavo_striped;

/** An adapter, by its name ("pavo0"). ENODEV, EPROTONOSUPPORT, EACCES. */
struct pavo_device *pavo_device_open(const char *name);
void pavo_device_close(struct pavo_device *device);
/**
 * Has a thread send for its windows, until none has started to send for @idle microseconds;
 * 0 ends the thread. As pavo::Device::poll(). -EPERM, -EAGAIN, -EIO.
 */
int pavo_device_poll(struct pavo_device *device, uint32_t idle);

/**
 * A job: is made if this machine does not have it, else joined. EINVAL; ENOSPC: no job
 * slot is free; EDQUOT: too many of this user; EACCES: the key is another, or the job is
 * another user's; EAGAIN: the rdma cgroup is full; ENOENT: of 64 times that it was there
 * to be joined, it had ended each time before that.
 */
struct pavo_job *pavo_job_open(struct pavo_device *device, uint32_t id,
			       uint64_t key);
/**
 * Only the one: EEXIST if there is that job, which has @limit bytes that may be mapped at
 * a time, 0: no limit but the tables'. Or only the other: ENOENT if there is none. Else
 * as pavo_job_open().
 */
struct pavo_job *pavo_job_reserve(struct pavo_device *device, uint32_t id,
				  uint64_t key, uint64_t limit);
struct pavo_job *pavo_job_join(struct pavo_device *device, uint32_t id,
			       uint64_t key);
void pavo_job_close(struct pavo_job *job);
/** State of the job on this machine now. -EIO: the adapter is gone; all is 0 then. */
int pavo_job_info_of(const struct pavo_job *job, struct pavo_job_info *info);
/**
 * The verdict on @bytes from @pvo on, if a window of the job used them here. Return:
 * enum pavo_pvo_result, PAVO_PVO_OK (0): they may be used; -EIO: the adapter is gone.
 */
int pavo_job_check(const struct pavo_job *job, uint64_t pvo, uint64_t bytes);

/** Memory of this process, for the job. ENOMEM, EDQUOT, ENOSPC, EFAULT. */
struct pavo_mapping *pavo_mapping_open(struct pavo_job *job, void *memory,
				       size_t bytes);
void pavo_mapping_close(struct pavo_mapping *mapping);
/** The PVO of its first byte; bytes may be added. */
uint64_t pavo_mapping_pvo(const struct pavo_mapping *mapping);
/** Bytes of a page of its table: protection is per page. */
uint32_t pavo_mapping_page_size(const struct pavo_mapping *mapping);
/** Return: 1: it was mapped already, 0: not. */
int pavo_mapping_shared(const struct pavo_mapping *mapping);

/**
 * struct pavo_window_options - as pavo::WindowOptions. 0 where a number of frames or
 * nodes is asked for: the usual; where an eventfd is: none. @broadcast: a flag of the
 * local mapping table (sources.md#windows-lmt); nothing sends so.
 */
struct pavo_window_options {
	uint16_t node;
	uint16_t gid_index;
	uint32_t send_frames;
	uint32_t recv_frames;
	uint32_t nodes;
	int broadcast;
	int recv_event;
	int send_event;
};

struct pavo_window *pavo_window_open(struct pavo_job *job,
				     const struct pavo_window_options *options);
void pavo_window_close(struct pavo_window *window);
uint32_t pavo_window_number(const struct pavo_window *window);
/** Bytes of a message. */
size_t pavo_window_max_payload(const struct pavo_window *window);
/** @gid: 16 bytes; IPv4 as ::ffff:a.b.c.d */
int pavo_window_set_node(struct pavo_window *window, uint16_t node,
			 const uint8_t *gid);

/**
 * struct pavo_route_options - as pavo::RouteOptions. @ports: 1 to 16, 0: the usual;
 * @gid_index: of this adapter, -1: the window's.
 */
struct pavo_route_options {
	uint16_t ports;
	int32_t gid_index;
};

/**
 * Routes to a node that packets take in turn: instead of those that there are, or
 * beside them. -EINVAL, -ENOSPC, -ENOMEM.
 */
int pavo_window_set_routes(struct pavo_window *window, uint16_t node,
			   const uint8_t *gid,
			   const struct pavo_route_options *options);
int pavo_window_add_routes(struct pavo_window *window, uint16_t node,
			   const uint8_t *gid,
			   const struct pavo_route_options *options);

/** An event by the @n-th message from now, 0: none. @early: before it can be seen. */
int pavo_window_event_after(struct pavo_window *window, uint32_t n, int early);
/** Ends its work without waiting for who is at it. */
int pavo_window_disable(struct pavo_window *window);
/** After that: how many may still be at it. 0: its memory is free. -EINVAL. */
int pavo_window_snapshot(const struct pavo_window *window);

/**
 * One of those that take turns with the window's events. ENOSPC: it has 16; EMFILE. Its
 * file is for poll and epoll.
 */
struct pavo_handler *pavo_handler_open(struct pavo_window *window);
void pavo_handler_close(struct pavo_handler *handler);
int pavo_handler_fd(const struct pavo_handler *handler);
/** Of its window. */
uint32_t pavo_handler_number(const struct pavo_handler *handler);
/** It may be given the next event. */
int pavo_handler_ready(struct pavo_handler *handler);
/** Return: 1: it was given one, which it was told by that; 0: not. */
int pavo_handler_take(struct pavo_handler *handler);

/** A message; @payload is valid during the call only. */
typedef void pavo_message_call(void *context, uint16_t node, uint32_t window,
			       const void *payload, size_t bytes);
/** Data that another end moved here, or took from here, and told of; all its bytes. */
typedef void pavo_arrival_call(void *context, uint16_t node, uint32_t window,
			       uint32_t tag, uint32_t bytes);
/** An operation is over: 0, or a negative errno. */
typedef void pavo_done_call(void *context, int error);
/** Some data of a half operation; @at: number of the first byte. Each comes once. */
typedef void pavo_piece_call(void *context, uint16_t node, uint32_t window,
			     uint32_t tag, uint64_t at, const void *data,
			     size_t bytes);
/** Writes bytes number @at and those behind it to @to, all of them. */
typedef void pavo_fill_call(void *context, uint32_t tag, uint64_t at, void *to,
			    size_t bytes);
/**
 * Another end asks for @bytes that this process makes, from number @at on: all of an
 * operation, or of one of its pieces. Return: what makes them, NULL: nothing; the other end
 * does not get them, and times out. @with: is @context; may be set to another one for what
 * is returned, which has to live until pavo_rdma_close(), for bytes that are lost are asked
 * for again.
 */
typedef pavo_fill_call *pavo_asked_call(void *context, uint16_t node,
					uint32_t window, uint32_t tag,
					uint64_t at, uint32_t bytes,
					void **with);

/**
 * struct pavo_rdma_options - as pavo::RdmaOptions; of each 0: the usual.
 * @patience:      microseconds that an end may take before it is asked for again, at
 *                 first; that doubles from attempt to attempt
 * @most_patience: microseconds, up to which it does
 * @attempts:      before an operation fails with -ETIMEDOUT, up to 65535
 * @piece:         bytes that are asked for at a time; no more than 4096 packets have room
 *                 for, or it takes more attempts
 * @half_piece:    ... where one end is a FIFO
 */
struct pavo_rdma_options {
	uint32_t patience;
	uint32_t most_patience;
	uint32_t attempts;
	uint32_t piece;
	uint32_t half_piece;
};

/**
 * Operations and messages by a window, which is its own from now on. @options may be
 * NULL: all as usual. @message and @arrival may be NULL; they are called in
 * pavo_rdma_progress().
 */
struct pavo_rdma *pavo_rdma_open(struct pavo_window *window,
				 const struct pavo_rdma_options *options,
				 pavo_message_call *message,
				 pavo_arrival_call *arrival, void *context);
void pavo_rdma_close(struct pavo_rdma *rdma);
/**
 * @n contexts to @rcxts, to be told to one peer. -ENOSPC: the adapter has not so many left;
 * -EDQUOT: nor may this user have so many; -ENOMEM; -ESHUTDOWN: the window was disabled;
 * likewise all that take contexts.
 */
int pavo_rdma_lend(struct pavo_rdma *rdma, uint32_t *rcxts, size_t n);
/** A peer and what it lent. Return: its number here, or -EINVAL, -ENOSPC, -ENOMEM. */
int pavo_rdma_add(struct pavo_rdma *rdma, uint16_t node, uint32_t window,
		  const uint32_t *rcxts, size_t n);

/** Half operations: what takes data that is not for memory, and what makes it. */
void pavo_rdma_on_piece(struct pavo_rdma *rdma, pavo_piece_call *piece,
			void *context);
void pavo_rdma_on_feed(struct pavo_rdma *rdma, pavo_fill_call *fill,
		       void *context);
/** In place of that: @asked decides who gets what. */
void pavo_rdma_on_asked(struct pavo_rdma *rdma, pavo_asked_call *asked,
			void *context);

/**
 * struct pavo_move - what is moved.
 * @tell:    not 0: the other end hears of it, with @tag
 * @to_fifo, @from_fifo: not 0: a FIFO in place of memory, pavo::RdmaMove; the PVO there
 *           is a number
 * @fill:    of a put @from_fifo, with @context
 */
struct pavo_move {
	uint64_t local_pvo;
	uint64_t remote_pvo;
	uint32_t bytes;
	uint32_t tag;
	int tell;
	int to_fifo;
	int from_fifo;
	pavo_fill_call *fill;
	void *context;
};

/** @done is called once, in pavo_rdma_progress(), unless -EINVAL or -ENOMEM. */
int pavo_rdma_put(struct pavo_rdma *rdma, int peer,
		  const struct pavo_move *move, pavo_done_call *done,
		  void *context);
int pavo_rdma_get(struct pavo_rdma *rdma, int peer,
		  const struct pavo_move *move, pavo_done_call *done,
		  void *context);

/**
 * struct pavo_completion - for who would rather look than be called: it is given as
 * @context, with pavo_complete() as @done, and has to live until the operation is over.
 * @over:  0 at first, by the program; 1: it is over
 * @error: 0, or a negative errno
 */
struct pavo_completion {
	int over;
	int error;
};

void pavo_complete(void *context, int error);

/** A message. -ENOBUFS, -EMSGSIZE. */
int pavo_rdma_send(struct pavo_rdma *rdma, uint16_t node, uint32_t window,
		   const void *payload, size_t bytes);
/**
 * The same, of a kind of its own, from 64 on (enum pavo_message_kind); others: -EINVAL.
 * Those that come are given to @message in place of that of pavo_rdma_open().
 */
int pavo_rdma_send_control(struct pavo_rdma *rdma, uint8_t kind, uint16_t node,
			   uint32_t window, const void *payload, size_t bytes);
void pavo_rdma_on_control(struct pavo_rdma *rdma, uint8_t kind,
			  pavo_message_call *message, void *context);

/**
 * Return: how much there was to do, or a negative errno, though all that could go on has:
 * -ENOSPC, -ENOMEM: no contexts are left after a recovery of the adapter; -EIO: it is
 * gone, and there was something to send. To be called again and again.
 */
int pavo_rdma_progress(struct pavo_rdma *rdma);
/** Operations that are not over. */
size_t pavo_rdma_pending(const struct pavo_rdma *rdma);
/**
 * In how many microseconds pavo_rdma_progress() is due though nothing comes; 0: now; -1:
 * never. How long to wait for a handler's file, for example.
 */
int64_t pavo_rdma_due(const struct pavo_rdma *rdma);
/** Attempts that were made again, all together. */
uint64_t pavo_rdma_repeated(const struct pavo_rdma *rdma);

/**
 * struct pavo_striped_options - as pavo::StripedOptions; of each 0: the usual.
 * @chunk:         bytes
 * @lane:          how operations go on a lane; its piece is @chunk
 * @patience, @most_patience, @attempts: how the other end is told something, times in
 *                 microseconds
 */
struct pavo_striped_options {
	uint32_t chunk;
	struct pavo_rdma_options lane;
	uint32_t patience;
	uint32_t most_patience;
	uint32_t attempts;
};

/** Data that the other end moved here, or took from here, and told of. */
typedef void pavo_striped_arrival_call(void *context, uint32_t tag,
				       uint64_t bytes);

/**
 * Operations between two processes by several lanes, each a window at both ends. @options
 * and @arrival may be NULL.
 */
struct pavo_striped *
pavo_striped_open(const struct pavo_striped_options *options,
		  pavo_striped_arrival_call *arrival, void *context);
/** Before the windows of its lanes. */
void pavo_striped_close(struct pavo_striped *striped);
/**
 * The next lane, by a window that has routes to the other end and is its own from now on.
 * @rcxts: gets @n contexts for the other end, at least 1; 4 keep a lane busy.
 * Return: the lane's number, from 0 on; -EINVAL, -ENOSPC, -ENOMEM.
 */
int pavo_striped_add(struct pavo_striped *striped, struct pavo_window *window,
		     uint32_t *rcxts, size_t n);
/**
 * Address of the other end's lane of that number, and contexts that it lent. -EINVAL,
 * -ENODEV, -ENOSPC.
 */
int pavo_striped_connect(struct pavo_striped *striped, int lane, uint16_t node,
			 uint32_t window, const uint32_t *rcxts, size_t n);

/** struct pavo_striped_move - as struct pavo_move, of memory only, but longer. */
struct pavo_striped_move {
	uint64_t local_pvo;
	uint64_t remote_pvo;
	uint64_t bytes;
	uint32_t tag;
	int tell;
};

/** @done is called once, in pavo_striped_progress(), unless -ENOMEM. */
int pavo_striped_put(struct pavo_striped *striped,
		     const struct pavo_striped_move *move, pavo_done_call *done,
		     void *context);
int pavo_striped_get(struct pavo_striped *striped,
		     const struct pavo_striped_move *move, pavo_done_call *done,
		     void *context);
/** Return: how much there was to do, or -ENOMEM. Both ends have to call it. */
int pavo_striped_progress(struct pavo_striped *striped);
size_t pavo_striped_pending(const struct pavo_striped *striped);
/** As pavo_rdma_due(). */
int64_t pavo_striped_due(const struct pavo_striped *striped);

/**
 * struct pavo_striped_lane - how a lane does.
 * @living: 1: it takes chunks; 0: it was given up, or never was
 * @why:    it was given up, a negative errno; -ECONNABORTED: the other end did; else 0
 * @chunks, @bytes: that were finished by it
 */
struct pavo_striped_lane {
	int living;
	int why;
	uint64_t chunks;
	uint64_t bytes;
};

size_t pavo_striped_lanes(const struct pavo_striped *striped);
/** -EINVAL: there is no such lane. */
int pavo_striped_lane_of(const struct pavo_striped *striped, int number,
			 struct pavo_striped_lane *lane);

#ifdef __cplusplus
}
#endif

#endif /* PAVO_PAVO_H */
