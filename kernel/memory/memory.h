/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * memory.h - the door of memory/ (VirtToPhys): keys to memory.
 *
 * Owns: the table of keys of an adapter and the regions behind them. This is
 * the only place that decides whether a piece of memory may be touched.
 *
 * Lifetime: a region is found and used inside one RCU read-side section
 * (packet processing always is one) and never kept beyond it; users look the
 * key up again for every packet. Peers' operations are noted in slots (rkm.h):
 * whoever takes a key's meaning away changes the table first, has those slots walked
 * and completes after that: from then on no byte changes through the key, and what is
 * written later is not read by it, since what peers read is copied into packets. Without
 * pavo_copy_reads pages of plain regions are attached to packets, which may wait in a queue
 * of the interface (docs/architecture.md, "What waits in a queue"); those of a region with
 * @copied never are.
 * Deregistration also waits for a grace period, for users by L_Key.
 */
#ifndef PAVO_MEMORY_H
#define PAVO_MEMORY_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/siphash.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>
#include "adapter.h"
#include "memory/odp.h"
#include "memory/pd.h"
#include "memory/pin.h"
#include "memory/rkm.h"

struct page;
struct sk_buff;
struct pavo_atomic;
struct pavo_dev;
struct pavo_dmabuf;
struct pavo_fast;
struct pavo_pd;
struct pavo_mr;
struct pavo_mw;
struct pavo_holder;

/* Translation status (sources.md#engine-7-1-3); from STATE on they are ours. */
enum pavo_xlate {
	PAVO_XLATE_OK = 0,
	PAVO_XLATE_LENGTH = 1, /* outside of the region */
	PAVO_XLATE_KEY = 2, /* no such key */
	PAVO_XLATE_FLAGS = 3, /* access not granted */
	PAVO_XLATE_PD = 4, /* of another protection domain */
	PAVO_XLATE_STATE = 5, /* invalidated, or not yet valid */
	PAVO_XLATE_QP = 6, /* window that is bound to another QP */
	PAVO_XLATE_FAULT =
		7, /* allowed, but pages are not there: pavo_fault_ask */
};

/**
 * struct pavo_xlate_codes - what a translation status is to those who are told.
 * @vendor: vendor_err of the completion when it was a work request's own memory, or a
 *          key that it was to change,
 * @status: and the completion's status (IBA 11.6.2) if it was memory, or a key that the
 *          peer wanted to be invalidated,
 * @bind:   or if it was a key that the request itself was to change
 * @nak:    AETH syndrome (IBA 9.7.5.2.4) when it was a peer's request that named the key,
 * @recv:   or when a peer's request took a receive WQE that did
 */
struct pavo_xlate_codes {
	enum pavo_vendor_err vendor;
	enum ib_wc_status status;
	enum ib_wc_status bind;
	u8 nak;
	u8 recv;
};

const struct pavo_xlate_codes *pavo_xlate_code(enum pavo_xlate status);

/**
 * pavo_xlate_vendor - the codes with that @vendor.
 * Return: with IB_WC_GENERAL_ERR if it is not the vendor_err of a translation.
 */
const struct pavo_xlate_codes *pavo_xlate_vendor(enum pavo_vendor_err vendor);

/* Beside enum pavo_vendor_err, never shown: nothing is wrong, but wait. */
#define PAVO_VE_WAIT ((enum pavo_vendor_err)0xff)

/** Pages of a region of fast registration at most. */
#define PAVO_MAX_FAST_PAGES 512
/** Longest region: its page list has to fit one kvmalloc(). */
#define PAVO_MAX_MR_SIZE BIT_ULL(39)

/** Bits of a key below its index: a bind or a fast registration chooses them. */
#define PAVO_KEY_TAG 0xffu

/**
 * struct pavo_region - what a key means: a piece of memory and what may be
 * done to it.
 * @key:     24 bits of index, 8 bits that tell a stale key
 * @access:  IB_ACCESS_*
 * @valid:   may be used; if not, the key is there for its owner only
 * @copied:  its pages are not to be attached to packets
 * @paged:   there is an @odp, and @window: a @mw; set when it gets into the table
 * @pd:      whose it is
 * @holder:  windows of type 2: the only QP by which peers may use it
 * @iova:    virtual address of the first byte, as users of the key name it
 * @length:  bytes
 * @offset:  of the first byte from the start of pages[0]
 * @pages:   one per PAGE_SIZE; NULL for the region of all kernel memory (DMA)
 * @odp:     keeper of the pages where they come and go, else NULL
 * @mr:      the MR whose memory it is; NULL for a window that is not bound
 * @mw:      the window, if it is one: it has no L_Key
 *
 * Constant while the key is in the table: a change of meaning is a new region in
 * the place of the old one. All that an access to pinned memory looks at, by remote or
 * local key, comes first and is one cache line (of 64 bytes; kmalloc() aligns to 128).
 */
struct pavo_region {
	u32 key;
	int access;
	bool valid;
	bool copied;
	bool paged;
	bool window;
	struct pavo_pd *pd;
	const struct pavo_holder *holder;
	u64 iova;
	u64 length;
	u64 offset;
	struct page **pages;
	/* the end of that line */
	struct pavo_odp *odp;
	struct pavo_mr *mr;
	struct pavo_mw *mw;
	struct rcu_head rcu;
};

/**
 * struct pavo_memory - what the pages of a region are from.
 * @pin:    pinned memory of a process
 * @dmabuf: or memory of another driver
 * @odp:    or memory of a process that is not pinned
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
 * @region:  what the key means now
 * @memory:  nothing for kernel regions
 * @fast:    regions of fast registration (kernel consumers), else NULL
 * @windows: bound to it, under the key table's lock; while there are any the
 *           region stays what it is
 */
struct pavo_mr {
	struct ib_mr ib;
	struct pavo_dev *dev;
	struct pavo_region *region;
	struct pavo_memory memory;
	struct pavo_fast *fast;
	unsigned int windows;
};

/**
 * struct pavo_mw - memory window, the verbs object.
 * @ib:      first
 * @none:    what its key means while it is not bound
 * @bound:   what it means while it is; NULL: not bound
 * @of_qp:   type 2, bound: in the list of its QP's windows
 *
 * All under the key table's lock.
 */
struct pavo_mw {
	struct ib_mw ib;
	void *charge;
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

void pavo_key_table_init(struct pavo_key_table *table);
void pavo_key_table_destroy(struct pavo_key_table *table);

/** pavo_key_insert - give @region a key and let it be found; may sleep. */
int pavo_key_insert(struct pavo_key_table *table, struct pavo_region *region);

/**
 * pavo_keys_show - a line for each key: its PD, what it is a key of (dma, pinned, dma-buf,
 * on-demand, fast; window-1, window-2), whether it means anything, and then its range
 * (hexadecimal), its rights, the key of the region below a window, the QP of a window of
 * type 2, the windows on a region. Sleeps.
 */
void pavo_keys_show(struct seq_file *file, struct pavo_dev *dev);

/**
 * pavo_key_remove - take the key of @region out of the table. What it meant ends as
 * what pavo_key_replace() returns.
 *
 * Context: table->xa locked.
 */
void pavo_key_remove(struct pavo_key_table *table, struct pavo_region *region);

/**
 * pavo_key_replace - the index of @region means @region from now on.
 *
 * Return: what it meant before, which may be looked at until a grace period is
 * over; its use ends with pavo_rkm_start() or pavo_rkm_finish().
 *
 * Context: table->xa locked.
 */
struct pavo_region *pavo_key_replace(struct pavo_key_table *table,
				     struct pavo_region *region);

/**
 * pavo_xlate - may a WQE of the holder of @pd touch [@va, @va + @len) by the
 * L_Key @key?
 * @access: IB_ACCESS_* that must all be granted; 0 for reading
 * @region: found region, valid until rcu_read_unlock(); NULL if @len is 0
 *
 * With PAVO_XLATE_FAULT @region is what to ask for the missing pages; nothing
 * else may be done with it.
 *
 * The order of checks is key, PD, state, flags, length, presence. A zero-length access
 * needs no valid key (IBA 9.7.4.1.3). Keys of kernel PDs (local_dma_lkey) are
 * refused for PDs of user space, windows for everybody: they have no L_Key.
 *
 * Context: RCU read side, any.
 */
enum pavo_xlate pavo_xlate(struct pavo_dev *dev, struct pavo_pd *pd, u32 key,
			   u64 va, u64 len, int access,
			   struct pavo_region **region);

/** pavo_check - the same question, asked without the wish to touch. */
enum pavo_xlate pavo_check(struct pavo_dev *dev, struct pavo_pd *pd, u32 key,
			   u64 va, u64 len, int access,
			   struct pavo_region **region);

/**
 * pavo_use_begin - an operation of the peer of @holder begins: may it touch the range by
 * the R_Key @key?
 * @slot: PAVO_KEY_SLOT_*; not in use
 *
 * Checked as by pavo_xlate(), all of the range but its presence. If that is granted,
 * and @len is not 0, @slot holds the key and is as after pavo_use_enter();
 * otherwise it is free.
 *
 * Context: RCU read side, the responder side of @holder.
 */
enum pavo_xlate pavo_use_begin(struct pavo_holder *holder, unsigned int slot,
			       u32 key, u64 va, u64 len, int access);

/**
 * pavo_use_enter - a packet of that operation. False: its key was invalidated.
 * Who invalidates it now waits for pavo_use_leave() or pavo_use_end().
 */
bool pavo_use_enter(struct pavo_holder *holder, unsigned int slot);
void pavo_use_leave(struct pavo_holder *holder, unsigned int slot);

/** pavo_use_end - the operation is over, or failed, or there is none. */
void pavo_use_end(struct pavo_holder *holder, unsigned int slot);

/**
 * pavo_xlate_remote - where is the memory of that packet, as pavo_xlate()? Between
 * pavo_use_begin() or pavo_use_enter() and the end of that.
 */
enum pavo_xlate pavo_xlate_remote(struct pavo_holder *holder, u32 key, u64 va,
				  u64 len, int access,
				  struct pavo_region **region);

/** pavo_check_remote - the same question, asked without the wish to touch. */
enum pavo_xlate pavo_check_remote(struct pavo_holder *holder, u32 key, u64 va,
				  u64 len, int access);

/**
 * pavo_mw_bind - carry out a bind: type 1 also another one or none, type 2 from
 * unbound to bound (IBA 10.6.7).
 * @request: of the side that asks; for PAVO_VE_WAIT
 *
 * Return: 0, a positive enum pavo_vendor_err if it is not allowed, -ENOMEM.
 * PAVO_VE_WAIT: it is done, but may complete only when @request is.
 *
 * Context: BH disabled, RCU read side; no use of a key begun.
 */
int pavo_mw_bind(struct pavo_holder *holder, const struct pavo_bind_seg *seg,
		 struct pavo_rkm_request *request);

/**
 * pavo_mr_fast_reg - carry out a REG_MR: the key of a region that is not valid
 * gets the listed pages as its meaning.
 *
 * Return and context: as pavo_mw_bind().
 */
int pavo_mr_fast_reg(struct pavo_holder *holder,
		     const struct pavo_bind_seg *seg);

/**
 * pavo_key_invalidate - take the validity of @key away, for a WQE or the peer
 * of @holder: a window of type 2 that is bound to @holder, or a region of a kernel
 * consumer's fast registration. When it is done no byte changes or leaves any
 * more by what peers do with that key. Who uses it as L_Key is not waited for: a
 * request of the consumer's own that is being carried out on another CPU may copy
 * its packet to the end.
 *
 * Return, @request and context: as pavo_mw_bind().
 */
int pavo_key_invalidate(struct pavo_holder *holder, u32 key,
			struct pavo_rkm_request *request);

/** pavo_key_invalidate_local - the same for LOCAL_INV, which may find it done. */
int pavo_key_invalidate_local(struct pavo_holder *holder, u32 key,
			      struct pavo_rkm_request *request);

/** pavo_key_check_invalidate - would it be allowed? Context: RCU read side. */
int pavo_key_check_invalidate(struct pavo_holder *holder, u32 key);

/** pavo_mw_forget_qp - @holder goes: its windows are not bound any more. */
void pavo_mw_forget_qp(struct pavo_holder *holder);

/**
 * pavo_region_page - the page that holds @va, a translated address.
 * @offset: of @va in the page; bytes up to the end of the page are contiguous
 */
struct page *pavo_region_page(const struct pavo_region *region, u64 va,
			      unsigned int *offset);

/**
 * pavo_page_from_skb - copy @n bytes to @page from @offset on, not beyond its end.
 * @skb, @from: source, offset from skb->data
 *
 * Return: 0, or -EFAULT if the packet is shorter than said.
 */
int pavo_page_from_skb(struct page *page, unsigned int offset,
		       struct sk_buff *skb, unsigned int from, unsigned int n);

/**
 * pavo_region_from_skb - the one copy of receiving: packet to memory.
 * @va, @len: inside the range that was translated
 * @skb, @from: source, offset from skb->data
 *
 * Return: 0, or -EFAULT if the packet is shorter than said.
 */
int pavo_region_from_skb(const struct pavo_region *region, u64 va,
			 struct sk_buff *skb, unsigned int from,
			 unsigned int len);

/** pavo_region_write - like pavo_region_from_skb() from a kernel buffer. */
void pavo_region_write(const struct pavo_region *region, u64 va,
		       const void *from, unsigned int len);

/* What peers read is copied into packets, whatever it is of; no page is attached. */
extern bool pavo_copy_reads;

/** pavo_region_read - copy @len bytes at @va out to a kernel buffer. */
void pavo_region_read(const struct pavo_region *region, u64 va, void *to,
		      unsigned int len);

/**
 * pavo_region_attach - the pages of @len bytes at @va become payload of @skb, each with
 * a reference (pavo_tx_add_page()).
 *
 * Return: false if that cannot be, or the skb has no room for as many: it is of no use
 * any more, and the caller copies into another.
 */
bool pavo_region_attach(const struct pavo_region *region, u64 va,
			struct sk_buff *skb, unsigned int len);

/**
 * pavo_region_store - write 8 bytes at @va at once; @value as it is in memory.
 *
 * Return: 0, or -EINVAL if the memory behind @va is not aligned to 8 bytes.
 */
int pavo_region_store(const struct pavo_region *region, u64 va, u64 value);

/**
 * pavo_region_atomic - carry out an atomic operation on 8 bytes at @va.
 * @orig: what the memory held before, in host order
 *
 * Atomic also towards the CPUs of the process that owns the memory.
 *
 * Return: 0; -EINVAL if the memory behind @va is not aligned to 8 bytes; -EAGAIN if a CPU
 * changed it each time that the adapter looked.
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
