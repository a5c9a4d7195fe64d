/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo.h - the library for C, and for languages that call C: jobs, mapped memory, windows,
 * and RDMA that happens exactly once, also over several adapters. pavo_c(3) has more. Frames of
 * windows without RDMA: pavo_window.h.
 *
 * Objects: pavo_*_open() returns a new object, or NULL with errno set, to ENOMEM where there is no
 * memory, or as the comment says. The caller destroys it by pavo_*_close(), before the objects
 * that it was made with. The first parameter of each other call is its object.
 *
 * Other calls that return int return 0 on success or a negative errno, unless the comment says
 * otherwise. Times are in microseconds, lengths in bytes. An object may be used by one thread at
 * a time. Callbacks run in pavo_*_progress() of the same object, in the thread that calls it.
 */
#ifndef PAVO_PAVO_H
#define PAVO_PAVO_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/pavo-abi.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

struct pavo_device;
struct pavo_job;
struct pavo_mapping;
struct pavo_window;
struct pavo_handler;
struct pavo_adapter_handler;
struct pavo_rdma;
struct pavo_striped;

/**
 * pavo_device_open - open an adapter.
 * @name: of the adapter, as `rdma link` shows it ("pavo0")
 *
 * Return: the adapter, or NULL with errno ENODEV: there is none of that name; EPROTONOSUPPORT: it
 * is not pavo's, or the module is of another version; EACCES: the device file may not be opened.
 */
struct pavo_device *pavo_device_open(const char *name);
/** pavo_device_close - close an adapter. */
void pavo_device_close(struct pavo_device *device);
/**
 * pavo_device_poll - have a thread of this process take the windows' commands to send.
 * @device: an adapter; windows that are opened by it are served
 * @idle:   microseconds without commands after which the thread sleeps, at most the module's
 *          parameter poll_idle_max; 0 ends the thread
 *
 * Return: 0; -EPERM: the administrator allows no polling; -EAGAIN: no thread could be made; -EIO:
 * the adapter is gone.
 */
int pavo_device_poll(struct pavo_device *device, uint32_t idle);

/**
 * pavo_job_open - join a job, or reserve it where this machine does not have it.
 * @device: an adapter of this machine
 * @id:     JOBID, the same on all machines; not 0
 * @key:    of the job; processes with another key are refused
 *
 * Return: a membership, or NULL with errno EINVAL: @id; ENOSPC: no job slot is free; EDQUOT: this
 * user has as many jobs as one may; EACCES: the key is another, or the job is another user's;
 * EAGAIN: the rdma cgroup is full; ENOENT: the job was there, but had ended before it could be
 * joined, 64 times; EOPNOTSUPP: the module was built without jobs and windows.
 */
struct pavo_job *pavo_job_open(struct pavo_device *device, uint32_t id,
			       uint64_t key);
/**
 * pavo_job_reserve - make a job on this machine.
 * @device, @id, @key: as pavo_job_open()'s
 * @limit:             bytes that may be mapped for it at a time; 0: as many as its tables hold
 *
 * Return: as pavo_job_open(), and NULL with errno EEXIST: this machine has that job.
 */
struct pavo_job *pavo_job_reserve(struct pavo_device *device, uint32_t id,
				  uint64_t key, uint64_t limit);
/**
 * pavo_job_join - join a job that this machine has.
 * @device, @id, @key: as pavo_job_open()'s
 *
 * Return: as pavo_job_open(), and NULL with errno ENOENT: this machine does not have it.
 */
struct pavo_job *pavo_job_join(struct pavo_device *device, uint32_t id,
			       uint64_t key);
/** pavo_job_close - leave a job. Mappings stay until they are closed. */
void pavo_job_close(struct pavo_job *job);
/**
 * pavo_job_info_of - query a job on this machine.
 * @job:  a membership
 * @info: set; all 0 on error
 *
 * Return: 0; -EIO: the adapter is gone.
 */
int pavo_job_info_of(const struct pavo_job *job, struct pavo_job_info *info);
/**
 * pavo_job_check - check whether a window of the job could use memory of this machine.
 * @job:   a membership
 * @pvo:   of the first byte
 * @bytes: length
 *
 * Return: enum pavo_pvo_result, of which PAVO_PVO_OK is 0; -EIO: the adapter is gone.
 */
int pavo_job_check(const struct pavo_job *job, uint64_t pvo, uint64_t bytes);

/**
 * pavo_mapping_open - pin memory of this process and map it for a job.
 * @job:    has to stay open longer
 * @memory: may have any alignment; all of it has to be writable
 * @bytes:  length, at least 1
 *
 * Return: a mapping, or NULL with errno EINVAL: @bytes; ENOMEM: more than RLIMIT_MEMLOCK; EPERM:
 * no memory may be locked; EDQUOT: more than the job's limit; ENOSPC: the job's tables are full;
 * EFAULT: not all is memory that the process may write to; EAGAIN: the rdma cgroup is full.
 */
struct pavo_mapping *pavo_mapping_open(struct pavo_job *job, void *memory,
				       size_t bytes);
/** pavo_mapping_close - unmap. No adapter writes to the memory when this has returned. */
void pavo_mapping_close(struct pavo_mapping *mapping);
/** pavo_mapping_pvo - return the PVO of the first byte. Later bytes: add to it. */
uint64_t pavo_mapping_pvo(const struct pavo_mapping *mapping);
/** pavo_mapping_page_size - return the bytes of a page, the unit of protection. */
uint32_t pavo_mapping_page_size(const struct pavo_mapping *mapping);
/** pavo_mapping_shared - return 1 if the buffer was mapped for the job before, else 0. */
int pavo_mapping_shared(const struct pavo_mapping *mapping);

/**
 * struct pavo_window_options - of a window that is to be opened
 * @node:        number of this machine in the job
 * @gid_index:   entry of the adapter's GID table, the address of its packets
 * @send_frames: of the send FIFO, a power of two, 16 to 32768; 0: 64
 * @recv_frames: of the receive FIFO, likewise; 0: 256
 * @nodes:       numbers of machines that it may send to are below this; 0: 64
 * @broadcast:   1: the window may send to multicast groups (sources.md#windows-lmt)
 * @recv_event:  eventfd, signalled as pavo_window_event_after() asks; 0: none
 * @send_event:  eventfd, signalled as pavo_window_sent_event_after() asks; 0: none
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

/**
 * pavo_window_open - open a window.
 * @job:     has to stay open longer
 * @options: not NULL
 *
 * Return: a window, or NULL with errno EINVAL: @options; ENOSPC: the adapter has max_windows;
 * EDQUOT: this user has as many as one may; ENOMEM: more than RLIMIT_MEMLOCK; EMSGSIZE: the MTU
 * of the interface is too small; EIO: the adapter is gone.
 */
struct pavo_window *pavo_window_open(struct pavo_job *job,
				     const struct pavo_window_options *options);
/** pavo_window_close - close a window. Frames that were not sent are lost. */
void pavo_window_close(struct pavo_window *window);
/** pavo_window_number - return its number, which peers send to together with the node. */
uint32_t pavo_window_number(const struct pavo_window *window);
/** pavo_window_max_payload - return the most bytes of a message, up to 2032. */
size_t pavo_window_max_payload(const struct pavo_window *window);
/**
 * pavo_window_set_node - replace the routes to a machine by four to one address.
 * @window: the window
 * @node:   number of the machine in the job, below pavo_window_options.nodes
 * @gid:    its address: 16 bytes in network order; IPv4 as ::ffff:a.b.c.d
 *
 * Return: 0; -EINVAL: @node or @gid; -ENOMEM; -EIO: the adapter is gone. Routes are unchanged on
 * error.
 */
int pavo_window_set_node(struct pavo_window *window, uint16_t node,
			 const uint8_t *gid);

/**
 * struct pavo_route_options - of routes to a machine
 * @ports:     UDP source ports, each of which is a route: 1 to 16; 0: 4
 * @gid_index: entry of the adapter's GID table that packets leave from; -1: the window's
 */
struct pavo_route_options {
	uint16_t ports;
	int32_t gid_index;
};

/**
 * pavo_window_set_routes - replace the routes to a machine. Packets use them round-robin.
 * @window, @node, @gid: as pavo_window_set_node()'s
 * @options:             NULL: all 0, and the window's own address
 *
 * Return: 0; -EINVAL: @node, @gid or @options; -ENOMEM; -EIO. Routes are unchanged on error.
 */
int pavo_window_set_routes(struct pavo_window *window, uint16_t node,
			   const uint8_t *gid,
			   const struct pavo_route_options *options);
/**
 * pavo_window_add_routes - add routes to a machine to those that there are.
 * @window, @node, @gid, @options: as pavo_window_set_routes()'s
 *
 * Return: as pavo_window_set_routes(), and -ENOSPC: there would be more than 64.
 */
int pavo_window_add_routes(struct pavo_window *window, uint16_t node,
			   const uint8_t *gid,
			   const struct pavo_route_options *options);

/**
 * pavo_window_event_after - ask for one event of received messages.
 * @window: opened with a recv_event
 * @n:     raise it when @n more messages have arrived; 0: cancel
 * @early: not 0: raise it just before the message can be seen, so that waking up overlaps
 *         with the copy; the caller then polls for some microseconds
 *
 * Messages that had arrived before the call do not count: look for them after it.
 * Return: 0; -EIO: the adapter is gone.
 */
int pavo_window_event_after(struct pavo_window *window, uint32_t n, int early);
/**
 * pavo_window_disable - disable a window; does not wait for CPUs that use it.
 *
 * Nothing more is sent or received by it, its contexts are gone, and no RDMA by it writes to
 * memory when this has returned. Only pavo_window_snapshot() and pavo_window_lmt() make sense
 * then.
 * Return: 0; -EIO: the adapter is gone.
 */
int pavo_window_disable(struct pavo_window *window);
/**
 * pavo_window_snapshot - count the CPUs that still use memory of a disabled window.
 *
 * Return: how many; 0: none from now on, its memory may be used for something else; -EINVAL: the
 * window is not disabled; -EIO: the adapter is gone. Call it again for some milliseconds.
 */
int pavo_window_snapshot(const struct pavo_window *window);

/**
 * pavo_handler_open - register an event handler. Ready handlers are served round-robin.
 * @window: has to stay open longer; has up to 16
 *
 * A new handler is not ready. Return: the handler, or NULL with errno ENOSPC: the window has 16;
 * EMFILE, ENFILE; EIO: the adapter is gone.
 */
struct pavo_handler *pavo_handler_open(struct pavo_window *window);
/** pavo_handler_close - unregister. An event that it has not handled goes to another. */
void pavo_handler_close(struct pavo_handler *handler);
/** pavo_handler_fd - return its eventfd, for poll and epoll. The caller must not close it. */
int pavo_handler_fd(const struct pavo_handler *handler);
/** pavo_handler_number - return its number in the window, 0 to 15. */
uint32_t pavo_handler_number(const struct pavo_handler *handler);
/**
 * pavo_handler_ready - make it ready for one event, which may be raised at once.
 *
 * Return: 0; -EIO: the adapter is gone.
 */
int pavo_handler_ready(struct pavo_handler *handler);
/** pavo_handler_take - clear the eventfd. Return: 1 if an event was pending, else 0. */
int pavo_handler_take(struct pavo_handler *handler);

/**
 * pavo_adapter_handler_open - register a handler for events of all windows made through an adapter.
 * @device: an adapter, has to stay open longer; has up to 64
 *
 * A new handler is not ready. Return: the handler, or NULL with errno ENOSPC: the device has 64;
 * EMFILE, ENFILE; EIO: the adapter is gone.
 */
struct pavo_adapter_handler *
pavo_adapter_handler_open(struct pavo_device *device);
/** pavo_adapter_handler_close - unregister. An event that it has not handled goes to another. */
void pavo_adapter_handler_close(struct pavo_adapter_handler *handler);
/** pavo_adapter_handler_fd - return its eventfd, which the caller must not close. */
int pavo_adapter_handler_fd(const struct pavo_adapter_handler *handler);
/**
 * pavo_adapter_handler_ready - make it ready for one event, which may be raised at once.
 *
 * Return: 0; -EIO: the adapter is gone.
 */
int pavo_adapter_handler_ready(struct pavo_adapter_handler *handler);
/** pavo_adapter_handler_take - clear the eventfd. Return: 1 if an event was pending, else 0. */
int pavo_adapter_handler_take(struct pavo_adapter_handler *handler);
/**
 * pavo_adapter_handler_windows - take the numbers of windows that had events.
 * @handler: its event was taken
 * @numbers: set to up to @n of them
 *
 * Return: how many; less than @n: there are no more. -EINVAL: @n is 0; -EIO: the adapter is gone.
 */
int pavo_adapter_handler_windows(struct pavo_adapter_handler *handler,
				 uint32_t *numbers, size_t n);

/**
 * pavo_message_call - a message has arrived.
 * @node, @window: of its sender
 * @payload:       @bytes of it, valid during the call only
 */
typedef void pavo_message_call(void *context, uint16_t node, uint32_t window,
			       const void *payload, size_t bytes);
/**
 * pavo_arrival_call - an operation of a peer that it notifies this process of is complete.
 * @tag:   of the operation
 * @bytes: its length; all its data can be seen
 */
typedef void pavo_arrival_call(void *context, uint16_t node, uint32_t window,
			       uint32_t tag, uint32_t bytes);
/** pavo_done_call - an own operation is over. @error: 0, or a negative errno. */
typedef void pavo_done_call(void *context, int error);
/**
 * pavo_piece_call - data of a half operation (to a FIFO) has arrived. Each byte comes once, in
 * any order.
 * @at:   number of the first byte
 * @data: @bytes, valid during the call only
 */
typedef void pavo_piece_call(void *context, uint16_t node, uint32_t window,
			     uint32_t tag, uint64_t at, const void *data,
			     size_t bytes);
/**
 * pavo_fill_call - make data of a half operation (from a FIFO).
 * @at: number of the first byte
 * @to: write all @bytes there; may be called again for the same bytes, if they are lost
 */
typedef void pavo_fill_call(void *context, uint32_t tag, uint64_t at, void *to,
			    size_t bytes);
/**
 * pavo_read_request_call - a peer requests data of a FIFO of this process.
 * @at:    number of the first byte
 * @bytes: how many: of an operation, or of a piece of it
 * @with:  context for the callback that is returned: is @context, may be replaced; has to live
 *         until pavo_rdma_close()
 *
 * Return: a fill callback, or NULL to reject the request (the peer times out).
 */
typedef pavo_fill_call *pavo_read_request_call(void *context, uint16_t node,
					       uint32_t window, uint32_t tag,
					       uint64_t at, uint32_t bytes,
					       void **with);

/**
 * struct pavo_rdma_options - how operations are retried
 * @timeout:     microseconds until the first retry of a piece, then doubled each time; 0: 20,000
 * @max_timeout: microseconds, up to which it doubles; 0: 1,000,000
 * @attempts:    before an operation fails with -ETIMEDOUT, up to 65535; 0: 64
 * @piece:       bytes requested at a time, at most 4096 packets; 0: 262,144
 * @half_piece:  the same where one end is a FIFO, whose frames have to hold them; 0: 32,768
 * @rdma_from:   operations of fewer bytes go by the FIFOs (pavo_rdma(3)); 0: none
 */
struct pavo_rdma_options {
	uint32_t timeout;
	uint32_t max_timeout;
	uint32_t attempts;
	uint32_t piece;
	uint32_t half_piece;
	uint32_t rdma_from;
};

/**
 * pavo_rdma_open - do RDMA and messages by a window.
 * @window:  has to stay open longer; no other object may send or receive by it
 * @options: NULL: all 0
 * @message: called for messages; NULL: they are dropped
 * @arrival: called for operations of peers; NULL: nothing is
 * @context: of both
 *
 * Return: the object, or NULL with errno EIO: the adapter is gone.
 */
struct pavo_rdma *pavo_rdma_open(struct pavo_window *window,
				 const struct pavo_rdma_options *options,
				 pavo_message_call *message,
				 pavo_arrival_call *arrival, void *context);
/** pavo_rdma_close - cancel what is pending, without its @done, and give contexts back. */
void pavo_rdma_close(struct pavo_rdma *rdma);
/**
 * pavo_rdma_take_rcxts - take contexts of the adapter for one peer's operations.
 * @rcxts: set to @n numbers, which the caller sends to that peer
 *
 * Return: 0; -ENOSPC: the adapter has not so many left; -EDQUOT: this user may not have so many;
 * -ENOMEM; -ESHUTDOWN: the window is disabled; -EIO: the adapter is gone.
 */
int pavo_rdma_take_rcxts(struct pavo_rdma *rdma, uint32_t *rcxts, size_t n);
/**
 * pavo_rdma_add - add a peer.
 * @node, @window: its address
 * @rcxts:         @n contexts that it took for this process, at least 1; as many are taken here
 *
 * Return: number of the peer, from 0 on; -EINVAL: @n is 0; as pavo_rdma_take_rcxts().
 */
int pavo_rdma_add(struct pavo_rdma *rdma, uint16_t node, uint32_t window,
		  const uint32_t *rcxts, size_t n);

/**
 * pavo_rdma_on_piece - set the callback for data that peers put to a FIFO.
 * @piece:   called for each piece; NULL: none is
 * @context: of @piece
 */
void pavo_rdma_on_piece(struct pavo_rdma *rdma, pavo_piece_call *piece,
			void *context);
/**
 * pavo_rdma_on_feed - set the callback that makes all data that peers get from a FIFO.
 * @fill:    called for each piece; NULL: none is
 * @context: of @fill
 */
void pavo_rdma_on_feed(struct pavo_rdma *rdma, pavo_fill_call *fill,
		       void *context);
/**
 * pavo_rdma_on_read_request - set a callback that chooses the fill callback for each request of
 * peers, in place of pavo_rdma_on_feed().
 * @request: called for each request; NULL: none
 * @context: of @request, and of what it returns unless that replaces it
 */
void pavo_rdma_on_read_request(struct pavo_rdma *rdma,
			       pavo_read_request_call *request, void *context);

/**
 * struct pavo_move - an operation
 * @local_pvo:  memory of this process; of a FIFO the number of the first byte
 * @remote_pvo: memory of the peer, likewise
 * @bytes:      length
 * @tag:        for the peer, with @notify and in half operations
 * @notify:     not 0: the peer's @arrival is called when all data can be seen
 * @to_fifo:    not 0: the target is a FIFO, in place of memory
 * @from_fifo:  not 0: the source is a FIFO
 * @fill:       makes the data of a put @from_fifo, with @context; else unused
 * @context:    of @fill
 * @counter:    1 + number of the counter that each piece adds 1 to when it is over; 0: none
 * @after:      1 + number of the counter that the adapter waits for before it begins the operation,
 *              without this process; 0: none
 * @after_value: value that the counter must have; 0: that of all operations begun so far that count
 *              in it
 */
struct pavo_move {
	uint64_t local_pvo;
	uint64_t remote_pvo;
	uint32_t bytes;
	uint32_t tag;
	int notify;
	int to_fifo;
	int from_fifo;
	pavo_fill_call *fill;
	void *context;
	uint32_t counter;
	uint32_t after;
	uint64_t after_value;
};

/**
 * pavo_rdma_take_counter - take a counter of the window.
 *
 * Return: its number; -ENOSPC: all 64 are taken.
 */
int pavo_rdma_take_counter(struct pavo_rdma *rdma);
/**
 * pavo_rdma_count_arrivals - let a counter count operations that peers end at these contexts.
 * @counter: what waits for it has @after_value, then
 * @rcxts:   @n of pavo_rdma_take_rcxts()
 *
 * After a recovery of this adapter operations that wait for it end with -ECANCELED. Return: 0;
 * -EINVAL: @counter; -ENOBUFS: all frames wait to be sent; -EIO: the adapter is gone.
 */
int pavo_rdma_count_arrivals(struct pavo_rdma *rdma, uint32_t counter,
			     const uint32_t *rcxts, size_t n);
/**
 * pavo_rdma_reset_counter - set a counter to 0, also one of which an operation has failed.
 * @counter: of pavo_rdma_take_counter()
 *
 * Return: 0; -EBUSY: an operation that counts in it or waits for it is not over; else as
 * pavo_rdma_count_arrivals().
 */
int pavo_rdma_reset_counter(struct pavo_rdma *rdma, uint32_t counter);

/**
 * pavo_rdma_put - begin to move bytes from here to a peer.
 * @peer:    of pavo_rdma_add()
 * @move:    what and where; read during the call only
 * @done:    called once, if this returns 0: with 0 when all bytes can be seen at the target;
 *           -ETIMEDOUT: the peer did not answer to any attempt; -EFAULT: a PVO of the peer names
 *           no memory; -EOWNERDEAD: one of this process does not; -EMSGSIZE; -ECANCELED: an
 *           operation that counts in @after failed
 * @context: of @done
 *
 * Return: 0; -EINVAL: @peer, or a FIFO without @fill, or with numbers above 2^63; -ENOMEM.
 */
int pavo_rdma_put(struct pavo_rdma *rdma, int peer,
		  const struct pavo_move *move, pavo_done_call *done,
		  void *context);
/**
 * pavo_rdma_get - begin to move bytes from a peer to here. Parameters and errors are those of
 * pavo_rdma_put(), with @piece in place of @fill.
 */
int pavo_rdma_get(struct pavo_rdma *rdma, int peer,
		  const struct pavo_move *move, pavo_done_call *done,
		  void *context);

/**
 * pavo_rdma_third_party - begin to move bytes from one peer to another, or within one.
 * @move:   what and where; read during the call only
 * @source: peer that has the data, at @move.remote_pvo
 * @target: peer that gets it, at @move.local_pvo; it is notified if @move.notify says so
 * @done:   as of pavo_rdma_get(); -EFAULT: a PVO of either peer names no memory
 * @context: of @done
 *
 * Return: as pavo_rdma_put(); also -EINVAL: a FIFO, @move.after, or @source is @target and has one
 * context.
 */
int pavo_rdma_third_party(struct pavo_rdma *rdma, int source, int target,
			  const struct pavo_move *move, pavo_done_call *done,
			  void *context);

/**
 * struct pavo_completion - the end of an operation, to be polled: give pavo_complete() as @done,
 * and this as its @context. Has to live until the operation is over.
 * @over:  set to 0 by the program; 1: the operation is over
 * @error: 0, or a negative errno
 */
struct pavo_completion {
	int over;
	int error;
};

/** pavo_complete - a pavo_done_call that fills a struct pavo_completion. */
void pavo_complete(void *context, int error);

/**
 * pavo_rdma_send - send a message, which may be lost.
 * @node, @window: its receiver
 * @payload:       copied during the call
 * @bytes:         up to pavo_window_max_payload()
 *
 * Return: 0; -ENOBUFS: all frames wait to be sent; -EMSGSIZE; -EIO: the adapter is gone.
 */
int pavo_rdma_send(struct pavo_rdma *rdma, uint16_t node, uint32_t window,
		   const void *payload, size_t bytes);
/**
 * pavo_rdma_send_control - send a message of another kind, for protocols of the program.
 * @kind:                                64 to 255
 * @node, @window, @payload, @bytes:     as pavo_rdma_send()'s
 *
 * Return: as pavo_rdma_send(), and -EINVAL: @kind is below 64.
 */
int pavo_rdma_send_control(struct pavo_rdma *rdma, uint8_t kind, uint16_t node,
			   uint32_t window, const void *payload, size_t bytes);
/**
 * pavo_rdma_on_control - set the callback for received messages of a kind.
 * @kind:    64 to 255
 * @message: called for each; NULL: they are dropped
 * @context: of @message
 */
void pavo_rdma_on_control(struct pavo_rdma *rdma, uint8_t kind,
			  pavo_message_call *message, void *context);

/**
 * pavo_rdma_progress - receive, retry, and call callbacks. Does not wait; call it again and again.
 *
 * Return: number of frames and of operations that ended without one, 0: nothing to do; -ENOSPC,
 * -EDQUOT, -ENOMEM: no contexts could be taken after a recovery of the adapter; -EIO: the adapter
 * is gone. All operations that could go on have; the others time out.
 */
int pavo_rdma_progress(struct pavo_rdma *rdma);
/** pavo_rdma_pending - return the number of own operations that are not over. */
size_t pavo_rdma_pending(const struct pavo_rdma *rdma);
/**
 * pavo_rdma_due - return the microseconds until pavo_rdma_progress() has to be called though
 * nothing arrives; 0: now; -1: never. The time to wait for an event of a handler, for example.
 */
int64_t pavo_rdma_due(const struct pavo_rdma *rdma);
/** pavo_rdma_retries - return how many attempts were retries, since it was opened. */
uint64_t pavo_rdma_retries(const struct pavo_rdma *rdma);

/**
 * struct pavo_striped_options - how operations over several adapters are divided and retried
 * @chunk:       bytes that one path moves at a time; 0: 65,536
 * @path:        of operations of a path, which is given up after @path.attempts; its piece is
 *               @chunk; 0: 20,000, up to 500,000 microseconds, 24 attempts
 * @timeout:     response timeout of control messages, microseconds, doubled with each retry;
 *               0: 20,000
 * @max_timeout: microseconds, up to which it doubles; 0: 1,000,000
 * @attempts:    before operations that wait for the answer fail with -ETIMEDOUT; 0: 64
 */
struct pavo_striped_options {
	uint32_t chunk;
	struct pavo_rdma_options path;
	uint32_t timeout;
	uint32_t max_timeout;
	uint32_t attempts;
};

/** pavo_striped_arrival_call - as pavo_arrival_call, of the one peer. */
typedef void pavo_striped_arrival_call(void *context, uint32_t tag,
				       uint64_t bytes);

/**
 * pavo_striped_open - do RDMA with one process over several adapters.
 * @options: NULL: all 0
 * @arrival: called for operations of the peer; NULL: nothing is
 * @context: of @arrival
 *
 * Return: the object without paths, or NULL with errno ENOMEM.
 */
struct pavo_striped *
pavo_striped_open(const struct pavo_striped_options *options,
		  pavo_striped_arrival_call *arrival, void *context);
/** pavo_striped_close - cancel what is pending. Close it before the windows of its paths. */
void pavo_striped_close(struct pavo_striped *striped);
/**
 * pavo_striped_add - add a path. Both ends add their paths in the same order.
 * @window: has routes to the peer; no other object may use it
 * @rcxts:  set to @n contexts, at least 1, which the caller sends to the peer; 4 keep a path busy
 *
 * Return: number of the path, from 0 on; -EINVAL: @n is 0; as pavo_rdma_take_rcxts().
 */
int pavo_striped_add(struct pavo_striped *striped, struct pavo_window *window,
		     uint32_t *rcxts, size_t n);
/**
 * pavo_striped_connect - connect a path with the peer's of the same number.
 * @path:          number of the path, from pavo_striped_add()
 * @node, @window: address of the peer's window
 * @rcxts:         the @n contexts that the peer got from pavo_striped_add()
 *
 * Return: 0; -EINVAL: there is no such path, or @n is 0; -ENODEV: its adapter is gone; as
 * pavo_rdma_take_rcxts().
 */
int pavo_striped_connect(struct pavo_striped *striped, int path, uint16_t node,
			 uint32_t window, const uint32_t *rcxts, size_t n);

/** struct pavo_striped_move - as struct pavo_move, between memory, with a longer length */
struct pavo_striped_move {
	uint64_t local_pvo;
	uint64_t remote_pvo;
	uint64_t bytes;
	uint32_t tag;
	int notify;
};

/**
 * pavo_striped_put - begin to move bytes from here to the peer.
 * @move: what and where; read during the call only
 * @context: of @done
 * @done: called once, if this returns 0: with 0 when all bytes can be seen; -ENETUNREACH: no path
 *        is left; -EFAULT: the peer's PVO names no memory; -ETIMEDOUT: a path failed and the peer
 *        does not confirm that it is closed. After the first and the last delayed packets may
 *        still be written
 *
 * Return: 0; -ENOMEM.
 */
int pavo_striped_put(struct pavo_striped *striped,
		     const struct pavo_striped_move *move, pavo_done_call *done,
		     void *context);
/**
 * pavo_striped_get - begin to move bytes from the peer to here. Parameters and errors are those of
 * pavo_striped_put().
 */
int pavo_striped_get(struct pavo_striped *striped,
		     const struct pavo_striped_move *move, pavo_done_call *done,
		     void *context);
/**
 * pavo_striped_progress - as pavo_rdma_progress(), for all paths. Both ends have to call it.
 *
 * Return: how much there was to do, 0: nothing; -ENOMEM.
 */
int pavo_striped_progress(struct pavo_striped *striped);
/** pavo_striped_pending - return the number of own operations that are not over. */
size_t pavo_striped_pending(const struct pavo_striped *striped);
/** pavo_striped_due - as pavo_rdma_due(), for pavo_striped_progress(). */
int64_t pavo_striped_due(const struct pavo_striped *striped);

/**
 * struct pavo_striped_path - state of a path
 * @alive:  1: it carries chunks; 0: it is not connected, or was given up
 * @error:  why it was given up, a negative errno; -ECONNABORTED: the peer gave it up; else 0
 * @chunks: that it has moved
 * @bytes:  of them
 */
struct pavo_striped_path {
	int alive;
	int error;
	uint64_t chunks;
	uint64_t bytes;
};

/** pavo_striped_paths - return the number of paths. */
size_t pavo_striped_paths(const struct pavo_striped *striped);
/**
 * pavo_striped_path_of - query a path.
 * @number: of pavo_striped_add()
 * @path:   set
 *
 * Return: 0; -EINVAL: there is no such path.
 */
int pavo_striped_path_of(const struct pavo_striped *striped, int number,
			 struct pavo_striped_path *path);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* PAVO_PAVO_H */
