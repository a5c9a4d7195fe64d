/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * memory.h - interface of memory/ (VirtToPhys): keys and the memory that they name.
 *
 * Owns: the table of keys of an adapter and the regions behind them. This is
 * the only place that decides whether a piece of memory may be touched.
 *
 * Lifetime: a side finds and uses a region within one RCU read-side section (packet
 * processing always is one). It looks the key up for every packet.
 *
 * Operations of peers are noted in remote-key slots (rkm.h). An invalidation changes the key
 * table first, then walks the slots, and completes after the walk. From then on no byte
 * changes through the key, and no peer reads by it what is written afterwards: data that peers
 * read is copied into packets. With the parameter copy_reads off, pages of plain regions are
 * attached to packets, which may wait in a queue of the interface (docs/memory.md, "Packets
 * that wait in a queue"). Pages of a region with @copied are never attached: those of on-demand
 * regions, and so all memory that lies in a PCI device.
 *
 * Deregistration also waits for a grace period, for packets that use the L_Key.
 */
#ifndef PAVO_MEMORY_H
#define PAVO_MEMORY_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/siphash.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>
#include "adapter.h"
#include "memory/odp.h"
#include "memory/pd.h"
#include "memory/pin.h"
#include "memory/rkm.h"
#include "status.h"

struct page;
struct pavo_atomic;
struct pavo_claim_ops;
struct pavo_dev;
struct pavo_dmabuf;
struct pavo_fast;
struct pavo_pd;
struct pavo_mr;
struct pavo_mw;
struct pavo_key_state;

/** Pages of a region of fast registration at most. */
#define PAVO_MAX_FAST_PAGES 512
/** Longest region: its page list has to fit one kvmalloc(). */
#define PAVO_MAX_MR_SIZE BIT_ULL(39)

/*
 * True if the CPU can copy all bytes of memory that lies in a PCI device. The kernel maps it
 * without a cache. Other CPUs than x86 may fault at addresses there that are not aligned.
 */
#define PAVO_COPIES_DEVICES IS_ENABLED(CONFIG_X86)

/** In the access of a region: work requests claim its bytes (claim.h). */
#define PAVO_ACCESS_CLAIMED BIT(30)

/** Bits of a key below its index: a bind or a fast registration chooses them. */
#define PAVO_KEY_TAG 0xffu

/**
 * struct pavo_region - meaning of a key: a range of memory and the rights to it.
 * @key:     24 bits of index, 8 bits by which a stale key is found out
 * @access:  IB_ACCESS_*
 * @valid:   false: the key exists but names no memory at the moment
 * @copied:  its pages are not to be attached to packets
 * @paged:   @odp is set; written when the region gets into the table
 * @window:  @mw is set; likewise
 * @token:   random number of this meaning of the key; likewise
 * @pd:      the protection domain that may use the key
 * @key_state: memory windows of type 2: the only QP by which peers may use it
 * @iova:    virtual address of the first byte, as requests name it
 * @length:  bytes
 * @offset:  of the first byte from the start of pages[0]
 * @pages:   one per PAGE_SIZE; NULL for the region of all kernel memory (DMA)
 * @odp:     owner of the pages of an on-demand region, else NULL
 * @mr:      the MR with the memory; NULL for a memory window that is not bound
 * @mw:      the memory window, if the key is one; it has no L_Key
 * @claims:  functions of its owner, if it is claimed (claim.h), else NULL
 * @owner:   the owner, for @claims
 * @node:    in the table of keys
 * @rcu:     for freeing
 *
 * Constant while the key is in the table: a change of meaning replaces the region by
 * a new one. The fields for access to pinned memory, by remote or local key,
 * come first and share one cache line (of 64 bytes; kmalloc() aligns to 128).
 */
struct pavo_region {
	u32 key;
	int access;
	bool valid;
	bool copied;
	bool paged;
	bool window;
	u32 token;
	struct pavo_pd *pd;
	const struct pavo_key_state *key_state;
	u64 iova;
	u64 length;
	u64 offset;
	struct page **pages;
	/* the end of that cache line */
	struct pavo_odp *odp;
	struct pavo_mr *mr;
	struct pavo_mw *mw;
	const struct pavo_claim_ops *claims;
	void *owner;
	struct rhash_head node;
	struct rcu_head rcu;
};

/**
 * struct pavo_memory - source of a region's pages; at most one pointer is set.
 * @pin:    pinned memory of a process
 * @dmabuf: memory of another driver
 * @odp:    memory of a process, on demand
 * @start:  address of the first byte in the process
 */
struct pavo_memory {
	struct pavo_pin *pin;
	struct pavo_dmabuf *dmabuf;
	struct pavo_odp *odp;
	u64 start;
};

/**
 * struct pavo_mr - memory region, the verbs object.
 * @ib:      lkey == rkey == the key
 * @account: user that it counts for
 * @dev:     its adapter
 * @region:  present meaning of the key
 * @memory:  empty for kernel regions
 * @fast:    regions of fast registration (kernel consumers), else NULL
 * @windows: memory windows bound to it, under the key table's lock; while there are any,
 *           the region is neither deregistered nor registered anew
 */
struct pavo_mr {
	struct ib_mr ib;
	kuid_t account;
	struct pavo_dev *dev;
	struct pavo_region *region;
	struct pavo_memory memory;
	struct pavo_fast *fast;
	unsigned int windows;
};

/**
 * struct pavo_mw - memory window, the verbs object.
 * @ib:      first
 * @charge:  see pavo_charge()
 * @account: user that it counts for
 * @dev:     its adapter
 * @none:    meaning of its key while it is not bound
 * @bound:   meaning of its key while it is bound, else NULL
 * @of_qp:   type 2, bound: in the list of its QP's memory windows
 *
 * All under the key table's lock.
 */
struct pavo_mw {
	struct ib_mw ib;
	void *charge;
	kuid_t account;
	struct pavo_dev *dev;
	struct pavo_region none;
	struct pavo_region *bound;
	struct list_head of_qp;
};

static inline struct pavo_mr *to_pavo_mr(struct ib_mr *ib)
{
	return container_of(ib, struct pavo_mr, ib);
}

static inline struct pavo_mw *to_pavo_mw(struct ib_mw *ib)
{
	return container_of(ib, struct pavo_mw, ib);
}

/** pavo_key_table_init - make an empty table. Sleeps. Return: 0; -ENOMEM. */
int pavo_key_table_init(struct pavo_key_table *table);

/** pavo_key_table_destroy - free the table, also one that pavo_key_table_init() failed to make. */
void pavo_key_table_destroy(struct pavo_key_table *table);

/**
 * pavo_key_insert - assign a key to @region and put it into the table.
 * @table:  the keys of the adapter
 * @region: its key is set
 *
 * Context: process, may sleep.
 * Return: 0; -ENOSPC: as many keys as an adapter may have; -ENOMEM.
 */
int pavo_key_insert(struct pavo_key_table *table, struct pavo_region *region);

/**
 * pavo_key_find - return the region at the index of @key, or NULL; the caller compares the keys.
 * @table: the keys of the adapter
 * @key:   the key
 *
 * Context: RCU read side, or table->lock held.
 */
struct pavo_region *pavo_key_find(struct pavo_key_table *table, u32 key);

/**
 * pavo_keys_show - print a line for each key: PD, kind (dma, pinned, dma-buf, on-demand, fast;
 * window-1, window-2), and "valid" or "free". Of a valid key also range (hexadecimal) and
 * rights. Then the key of the region below a memory window, the QP of a memory window of type
 * 2, the number of memory windows on a region. Sleeps.
 * @file: debugfs file
 * @dev:  the adapter
 */
void pavo_keys_show(struct seq_file *file, struct pavo_dev *dev);

/**
 * pavo_key_remove - remove the key of @region from the table. The caller then ends its use,
 * as after pavo_key_replace().
 * @table:  the keys of the adapter
 * @region: the region
 *
 * Context: table->lock held.
 */
void pavo_key_remove(struct pavo_key_table *table, struct pavo_region *region);

/**
 * pavo_key_replace - replace the region at the index of a key.
 * @table:  the keys of the adapter
 * @region: the new region, with its key
 *
 * Return: the old region. Packets may use it until a grace period is over; pavo_rkm_start() or
 * pavo_rkm_finish() ends the operations of peers.
 *
 * Context: table->lock held.
 */
struct pavo_region *pavo_key_replace(struct pavo_key_table *table,
				     struct pavo_region *region);

/**
 * pavo_xlate - decide whether a WQE of @pd may touch [@va, @va + @len) by the L_Key @key.
 * @dev:    the adapter
 * @pd:     PD of the QP or SRQ
 * @key:    the L_Key
 * @va:     first byte
 * @len:    bytes
 * @access: IB_ACCESS_* that must all be granted; 0 for reading
 * @region: found region, valid until rcu_read_unlock(); NULL if @len is 0
 *
 * With PAVO_ST_FAULT, @region may be passed to pavo_fault_request() only.
 *
 * The order of checks is key, PD, state, flags, length, presence. A zero-length access
 * needs no valid key (IBA 9.7.4.1.3). The key of all kernel memory (local_dma_lkey) is
 * refused for PDs of user space. Memory windows are always refused: they have no L_Key.
 *
 * Context: RCU read side, any.
 */
enum pavo_status pavo_xlate(struct pavo_dev *dev, struct pavo_pd *pd, u32 key,
			    u64 va, u64 len, int access,
			    struct pavo_region **region);

/** pavo_key_means - true if the key still names the same registration. Context: RCU read side. */
bool pavo_key_means(struct pavo_dev *dev, u32 key, u32 token);

/** pavo_check - as pavo_xlate(), but pages need not be present. */
enum pavo_status pavo_check(struct pavo_dev *dev, struct pavo_pd *pd, u32 key,
			    u64 va, u64 len, int access,
			    struct pavo_region **region);

/**
 * pavo_use_begin - begin an operation of the peer of @key_state, if it may touch the range by the
 * R_Key @key.
 * @key_state: of the QP
 * @slot:   PAVO_KEY_SLOT_*; not in use
 * @key:    the R_Key
 * @va:     first byte of the range
 * @len:    bytes
 * @access: IB_ACCESS_* that must all be granted
 *
 * Makes the checks of pavo_xlate(), without presence. If they pass and @len is not 0, @slot
 * holds the key and is as after pavo_use_enter(); otherwise it is free.
 *
 * Context: RCU read side, the responder side of @key_state.
 */
enum pavo_status pavo_use_begin(struct pavo_key_state *key_state,
				unsigned int slot, u32 key, u64 va, u64 len,
				int access);

/**
 * pavo_use_enter - begin the copy of another packet of that operation. A walker
 * waits for pavo_use_leave() or pavo_use_end() from now on.
 * @key_state: of the QP
 * @slot: as of pavo_use_begin()
 *
 * Return: PAVO_ST_OK; PAVO_ST_STATE: the key was invalidated.
 */
enum pavo_status pavo_use_enter(struct pavo_key_state *key_state,
				unsigned int slot);
void pavo_use_leave(struct pavo_key_state *key_state, unsigned int slot);

/** pavo_use_end - end the operation, in success or error; does nothing if there is none. */
void pavo_use_end(struct pavo_key_state *key_state, unsigned int slot);

/**
 * pavo_xlate_remote - find the memory of that packet, as pavo_xlate() does for L_Keys. Called
 * after pavo_use_begin() or pavo_use_enter(), before pavo_use_leave() or pavo_use_end().
 * @key_state: of the QP
 * @key:    the R_Key
 * @va:     first byte of the packet's part
 * @len:    bytes of it
 * @access: IB_ACCESS_* that must all be granted
 * @region: as of pavo_xlate()
 */
enum pavo_status pavo_xlate_remote(struct pavo_key_state *key_state, u32 key,
				   u64 va, u64 len, int access,
				   struct pavo_region **region);

/** pavo_check_remote - as pavo_xlate_remote(), but pages need not be present. */
enum pavo_status pavo_check_remote(struct pavo_key_state *key_state, u32 key,
				   u64 va, u64 len, int access);

/** pavo_check_remote_range - as pavo_check_remote(), and the key is checked also if @len is 0. */
enum pavo_status pavo_check_remote_range(struct pavo_key_state *key_state,
					 u32 key, u64 va, u64 len, int access);

/** pavo_check_remote_key - as pavo_check_remote(), of the whole region, wherever it lies. */
enum pavo_status pavo_check_remote_key(struct pavo_key_state *key_state,
				       u32 key, int access);

/**
 * pavo_mw_bind - carry out a bind (IBA 10.6.7). A bind of type 1 may also move or unbind the
 * memory window; one of type 2 takes it from unbound to bound.
 * @key_state: of the QP
 * @seg:     the bind
 * @request: of the calling side; used for PAVO_ST_WAIT
 *
 * Return: PAVO_ST_OK; PAVO_ST_BUSY: no memory now; PAVO_ST_WAIT: the bind is done, but completes
 * only after @request; or why it is not allowed.
 *
 * Context: BH disabled, RCU read side; no use of a key begun.
 */
enum pavo_status pavo_mw_bind(struct pavo_key_state *key_state,
			      const struct pavo_bind_seg *seg,
			      struct pavo_rkm_request *request);

/**
 * pavo_mr_fast_reg - carry out a REG_MR: let the key of a region that is not valid
 * name the listed pages.
 * @key_state: of the QP
 * @seg: key, address, length and rights
 *
 * Return and context: as pavo_mw_bind().
 */
enum pavo_status pavo_mr_fast_reg(struct pavo_key_state *key_state,
				  const struct pavo_bind_seg *seg);

/**
 * pavo_key_invalidate - invalidate @key, for a WQE or the peer of @key_state. @key names a memory
 * window of type 2 that is bound to @key_state, or a region of fast registration of a kernel
 * consumer.
 * @key_state: of the QP
 * @key:     the key
 * @request: as of pavo_mw_bind()
 *
 * When it is done, operations of peers by that key change no byte and send none. It does not wait
 * for uses as L_Key: a request of the consumer's own that another CPU is carrying out may
 * copy its packet to the end.
 *
 * Return and context: as pavo_mw_bind().
 */
enum pavo_status pavo_key_invalidate(struct pavo_key_state *key_state, u32 key,
				     struct pavo_rkm_request *request);

/** pavo_key_invalidate_local - likewise, for LOCAL_INV: no error if @key is free already. */
enum pavo_status pavo_key_invalidate_local(struct pavo_key_state *key_state,
					   u32 key,
					   struct pavo_rkm_request *request);

/** pavo_key_check_invalidate - make the checks of pavo_key_invalidate(). Context: RCU read side. */
enum pavo_status pavo_key_check_invalidate(struct pavo_key_state *key_state,
					   u32 key);

/** pavo_mw_forget_qp - unbind all memory windows of @key_state, whose QP ends. Sleeps. */
void pavo_mw_forget_qp(struct pavo_key_state *key_state);

/**
 * struct pavo_span - contiguous bytes of a region.
 * @page:   their page
 * @offset: of the first byte in @page
 * @len:    bytes, all in @page
 */
struct pavo_span {
	struct page *page;
	unsigned int offset;
	unsigned int len;
};

/**
 * pavo_region_span - find the first bytes of a translated range that are contiguous.
 * @region: the region
 * @va:     first byte, in the range that was translated
 * @len:    bytes of the range, from @va on; not 0
 *
 * Return: at most @len bytes in one page.
 */
struct pavo_span pavo_region_span(const struct pavo_region *region, u64 va,
				  unsigned int len);

/**
 * pavo_region_write - copy bytes of a kernel buffer to a translated range.
 * @region: the region
 * @va:     first byte
 * @from:   the buffer
 * @len:    bytes, in the range
 */
void pavo_region_write(const struct pavo_region *region, u64 va,
		       const void *from, unsigned int len);

/** pavo_region_read - copy @len bytes at @va to a kernel buffer. */
void pavo_region_read(const struct pavo_region *region, u64 va, void *to,
		      unsigned int len);

/**
 * pavo_region_store - write 8 bytes in one store.
 * @region: the region
 * @va:     the address
 * @value:  in the byte order of the packet
 *
 * Return: 0; -EINVAL: the memory behind @va is not aligned to 8 bytes.
 */
int pavo_region_store(const struct pavo_region *region, u64 va, u64 value);

/**
 * pavo_region_atomic - carry out an atomic operation on 8 bytes.
 * @region: the region
 * @va:     the address
 * @op:     the operation
 * @orig:   set to the old value, in host order
 *
 * The operation is atomic for the process that owns the memory, too.
 *
 * Return: 0; -EINVAL if the memory behind @va is not aligned to 8 bytes; -EOPNOTSUPP if it lies
 * in a PCI device; -EAGAIN if other CPUs changed the word at every attempt.
 */
int pavo_region_atomic(const struct pavo_region *region, u64 va,
		       const struct pavo_atomic *op, u64 *orig);

/* verbs objects; called by verbs/ only */
struct ib_mr *pavo_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *pavo_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 virt_addr, int access,
			       struct ib_udata *udata);
struct ib_mr *pavo_reg_dmabuf_mr(struct ib_pd *ibpd, u64 offset, u64 length,
				 u64 virt_addr, int fd, int access);
struct ib_mr *pavo_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				 u64 length, u64 virt_addr, int access,
				 struct ib_pd *ibpd, struct ib_udata *udata);
int pavo_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
struct ib_mr *pavo_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			    u32 max_num_sg);
int pavo_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset);
int pavo_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int pavo_dealloc_mw(struct ib_mw *ibmw);

#endif /* PAVO_MEMORY_H */
