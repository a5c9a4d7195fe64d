/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * adapter.h - an adapter: one RDMA device on one network interface, with the tables of its objects,
 * and their limits.
 */
#ifndef PAVO_ADAPTER_H
#define PAVO_ADAPTER_H

#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>
#include "compat.h"
#include "lookup_cache.h"
#include "memory/key_table.h"
#include "net/port.h"
#include "parent.h"
#include "accounting.h"
#include "hw_stats.h"
#include "drr.h"

struct pavo_directs;
struct pavo_windows;

/* Limits that query_device reports; module parameters lower some of them (limits.c). */
#define PAVO_MAX_SGE 30
#define PAVO_MAX_INLINE 512
#define PAVO_MAX_QP_WR 16384
#define PAVO_MAX_CQE 1048576
/* Reads and atomics of a peer that may be unanswered. */
#define PAVO_MAX_RD_ATOMIC 128
#define PAVO_MAX_DATAGRAM 4096
#define PAVO_MAX_MSG_SIZE 0x7fffffffu
#define PAVO_MAX_QP 262144
#define PAVO_MAX_CQ 262144
#define PAVO_MAX_PD 65536
#define PAVO_MAX_AH 262144
#define PAVO_MAX_SRQ 65536
#define PAVO_MAX_SRQ_WR 32768
#define PAVO_MAX_XRCD 65536
#define PAVO_MAX_COMP_CNTR 65536
/* Regions and memory windows, which share the indexes of keys. */
#define PAVO_MAX_MR 0x7fffff
#define PAVO_MAX_MW 0x7fffff
/* The interface joins each of them. */
#define PAVO_MAX_MCAST_GRP 256
/* Most copies of one packet. */
#define PAVO_MAX_MCAST_QP_ATTACH 256
#define PAVO_MAX_TOTAL_MCAST_QP_ATTACH 16384

/* Objects that are counted against their limit. */
enum pavo_object {
	PAVO_OBJ_QP,
	PAVO_OBJ_CQ,
	PAVO_OBJ_PD,
	PAVO_OBJ_AH,
	PAVO_OBJ_MR,
	PAVO_OBJ_MW,
	PAVO_OBJ_SRQ,
	PAVO_OBJ_XRCD,
	PAVO_OBJ_COMP_CNTR,
	PAVO_OBJ_ATTACH, /* queue pairs to multicast groups */
	PAVO_OBJ_COUNT,
};

/* Hashes of senders of packets to groups. */
#define PAVO_GROUP_SENDERS 64

/**
 * struct pavo_mcast - multicast groups of an adapter (qp/mcast.c).
 * @groups:   groups that have members, by GID
 * @count:    number of groups
 * @shares:   number of groups in which each user has members
 * @deferred: packets to groups that arrived after too many copies in a tick (demux.c)
 * @deferred_of: number of packets in @deferred by hash of the sender; under its lock
 * @seed:     seed of that hash
 * @work:     delivers @deferred
 */
struct pavo_mcast {
	struct hlist_head groups[64];
	u32 count;
	struct pavo_shares shares;
	struct sk_buff_head deferred;
	u16 deferred_of[PAVO_GROUP_SENDERS];
	u32 seed;
	struct work_struct work;
};

/**
 * struct pavo_dev - an adapter: one RDMA device on one network interface.
 * @ib:        the device of rdma core, first
 * @port:      interface and namespace
 * @parent:    parent device in sysfs; under adapters_lock of main.c
 * @attached:  the adapter has references to interface and namespace of @port (main.c)
 * @gone:      the interface was unregistered
 * @leaving:   the adapter is being removed: doorbell workers exit (verbs/doorbell_methods.c)
 * @port_up:   link state of the last port event
 * @link_known: @speed and @width are those of the present link
 * @speed:     of the port, enum ib_port_speed
 * @width:     of the port, enum ib_port_width
 * @stats:     its counters
 * @bad_pkeys: packets with a wrong P_Key (PortInfo, IBA 14.2.5.6)
 * @bad_qkeys: packets with a wrong Q_Key (PortInfo, IBA 14.2.5.6)
 * @held_bytes: truesize of packets that wait behind gaps (qp/out_of_order.h)
 * @softirq_bytes: memory that softirqs have allocated for queue pairs (pavo_charge_bytes())
 * @qps:       QPN -> struct pavo_qp, read under RCU
 * @qp_cache:  lookup cache of @qps
 * @srqs:      SRQN -> struct pavo_srq of XRC, read under RCU
 * @counters:  id -> counters of QPs that have counters of their own
 * @mcast:     multicast groups
 * @keys:      memory keys
 * @rkm:       remote key manager: keys that operations of peers use
 * @windows:   of window/; NULL where that part is left out (part.h)
 * @directs:   of direct/; likewise
 * @used:      number of objects, by enum pavo_object (limits.c)
 * @shares:    number of objects of each user, by enum pavo_object
 * @drr:       scheduler of the QPs
 * @drr_lock:  protects @drr, and the DRR queue of each QP
 * @wq:        works of the QPs' sides that must not run in softirq; bound to CPUs
 * @end_wq:    works for the end and the events of objects; bound to no CPU
 * @list:      in main.c's lists of live and of dead adapters
 */
struct pavo_dev {
	struct ib_device ib;
	struct pavo_port port;
	struct pavo_parent parent;
	bool attached;
	bool gone;
	bool leaving;
	bool port_up;
	bool link_known;
	u16 speed;
	u8 width;
	struct pavo_stats stats;
	atomic_t bad_pkeys;
	atomic_t bad_qkeys;
	atomic_t held_bytes;
	atomic_t softirq_bytes;
	struct xarray qps;
	struct pavo_lookup_cache qp_cache;
	struct xarray srqs;
	struct xarray counters;
	struct pavo_mcast mcast;
	struct pavo_key_table keys;
	struct pavo_rkm rkm;
	struct pavo_windows *windows;
	struct pavo_directs *directs;
	atomic_t used[PAVO_OBJ_COUNT];
	struct pavo_shares shares[PAVO_OBJ_COUNT];
	struct pavo_drr drr;
	spinlock_t drr_lock; /* drr, and req.drr of QPs */
	struct workqueue_struct *wq;
	struct workqueue_struct *end_wq;
	struct list_head list;
};

/* Count a violation. The counters of PortInfo have 16 bits and saturate. */
static inline void pavo_count_violation(atomic_t *count)
{
	atomic_add_unless(count, 1, U16_MAX);
}

static inline struct pavo_dev *to_pavo_dev(struct ib_device *ib)
{
	return container_of(ib, struct pavo_dev, ib);
}

/*
 * The adapter of a device attribute. In shared mode every namespace has a device of its own in
 * sysfs, which is not part of an ib_device; rdma core's helper handles both.
 */
#define pavo_dev_of_sysfs(device) \
	rdma_device_to_drv_device(device, struct pavo_dev, ib)

/** pavo_port_to_dev - return the adapter of a port. */
static inline struct pavo_dev *pavo_port_to_dev(struct pavo_port *port)
{
	return container_of(port, struct pavo_dev, port);
}

/* limits.c */

int pavo_limit(enum pavo_object object);
void pavo_objects_init(struct pavo_dev *dev);
void pavo_objects_end(struct pavo_dev *dev);
int pavo_object_take(struct pavo_dev *dev, enum pavo_object object,
		     kuid_t account);
void pavo_object_give(struct pavo_dev *dev, enum pavo_object object,
		      kuid_t account);

#endif /* PAVO_ADAPTER_H */
