/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * compat.h - the differences between the kernels that pavo supports, and the prefix of messages.
 *
 * Compile probes (kernel/probes) define the names PAVO_HAS_, because kernels of distributions have
 * parts of newer ones. The kernel's version decides only about behaviour that no header shows. No
 * other file of the module goes by either. A name in here says what it does, not which kernel it
 * is for.
 */
#ifndef PAVO_COMPAT_H
#define PAVO_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/version.h>
#include <probed.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/* The prefix of all messages of the module, in each file that calls pr_*(). */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

/*
 * A local variable that the kernel's compiler must not clear, because each byte is written before
 * it is read. Clearing some hundred bytes for each packet takes longer than parsing it. Tests in
 * user space fill these variables with a pattern, so a read of an unwritten byte is noticed.
 */
#if __has_attribute(uninitialized) && !defined(PAVO_FILLS_STACK)
#define pavo_uncleared __attribute__((uninitialized))
#else
#define pavo_uncleared
#endif

/* create_cq gets all attributes (uverbs_attr_bundle) instead of the driver's part. */
#if PAVO_HAS_CREATE_CQ_ATTRS
#define pavo_cq_args struct uverbs_attr_bundle

static inline struct ib_udata *pavo_cq_get_udata(pavo_cq_args *args)
{
	return args ? &args->driver_udata : NULL;
}
#else
#define pavo_cq_args struct ib_udata

static inline struct ib_udata *pavo_cq_get_udata(pavo_cq_args *args)
{
	return args;
}
#endif

/* The name that an administrator gave can be protected from udev's renaming. */
#if PAVO_HAS_NAME_BY_USER
static inline void pavo_name_is_users(struct ib_device *ib)
{
	ib_mark_name_assigned_by_user(ib);
}
#else
static inline void pavo_name_is_users(struct ib_device *ib)
{
}
#endif

/*
 * Registration of user memory gets a DMA handle, always NULL: pavo has no op to
 * make one.
 */
#if PAVO_HAS_REG_MR_DMAH
#define PAVO_REG_MR_ARGS struct ib_dmah *dmah, struct ib_udata *udata
#else
#define PAVO_REG_MR_ARGS struct ib_udata *udata
#endif

/* The child_ns_type op of a kobject takes a const pointer. */
#if PAVO_HAS_CONST_KOBJECT
#define pavo_kobject_arg const struct kobject
#else
#define pavo_kobject_arg struct kobject
#endif

/* Functions that show files of a class take const pointers. */
#if PAVO_HAS_CONST_CLASS
#define pavo_class_arg const struct class
#define pavo_class_attribute_arg const struct class_attribute
#else
#define pavo_class_arg struct class
#define pavo_class_attribute_arg struct class_attribute
#endif

/* Registration of dma-bufs gets all attributes, and later a DMA handle, too. */
#if PAVO_HAS_REG_DMABUF_DMAH
#define PAVO_REG_DMABUF_ARGS \
	struct ib_dmah *dmah, struct uverbs_attr_bundle *attrs
#elif PAVO_HAS_REG_DMABUF_ATTRS
#define PAVO_REG_DMABUF_ARGS struct uverbs_attr_bundle *attrs
#else
#define PAVO_REG_DMABUF_ARGS struct ib_udata *udata
#endif

/*
 * Flags for long-term pinning for reading. The kernel has to break copy-on-write first. Newer
 * kernels do that; older ones do so only for a pin that claims to write. No declaration
 * differs.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define PAVO_FOLL_READ 0
#else
#define PAVO_FOLL_READ (FOLL_FORCE | FOLL_WRITE)
#endif

/*
 * True if the kernel allows long-term pinning, for writing, of pages that a filesystem writes back.
 * Newer kernels refuse that themselves. No declaration differs.
 */
#define PAVO_PINS_WRITTEN_BACK (LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0))

/*
 * Flag to get pages that may be memory of a PCI device. Processes of older kernels have no such
 * pages.
 */
#if PAVO_HAS_FOLL_PCI
#define PAVO_FOLL_DEVICE FOLL_PCI_P2PDMA
#else
#define PAVO_FOLL_DEVICE 0
#endif

/*
 * Flags to get only pages that are present. Older kernels fault in huge pages in spite of
 * FOLL_NOFAULT, unless FOLL_DUMP makes holes an error. No declaration differs.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define PAVO_FOLL_THERE FOLL_NOFAULT
#else
#define PAVO_FOLL_THERE (FOLL_NOFAULT | FOLL_DUMP)
#endif

/* Getting pages of another process's memory. Older kernels can return their mappings, too. */
#if PAVO_HAS_GUP_WITHOUT_VMAS
#define pavo_get_user_pages_remote get_user_pages_remote
#else
#define pavo_get_user_pages_remote(mm, start, n, flags, pages, locked) \
	get_user_pages_remote(mm, start, n, flags, pages, NULL, locked)
#endif

/* Mapping a dma-buf for the CPU by a caller that does not hold the buffer's lock. */
#if PAVO_HAS_VMAP_UNLOCKED
#define pavo_dma_buf_vmap dma_buf_vmap_unlocked
#define pavo_dma_buf_vunmap dma_buf_vunmap_unlocked
#else
#define pavo_dma_buf_vmap dma_buf_vmap
#define pavo_dma_buf_vunmap dma_buf_vunmap
#endif

/* Functions change the flags of a mapping, and take its locks. */
#if PAVO_HAS_VM_FLAGS_SET
#define pavo_vm_flags_clear vm_flags_clear
#define pavo_vm_flags_set vm_flags_set
#else
static inline void pavo_vm_flags_clear(struct vm_area_struct *vma,
				       vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}

static inline void pavo_vm_flags_set(struct vm_area_struct *vma,
				     vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

/* Names of symbol namespaces are words, later strings. */
#if PAVO_HAS_IMPORT_NS_WORD
#define PAVO_IMPORT_DMA_BUF MODULE_IMPORT_NS(DMA_BUF)
#else
#define PAVO_IMPORT_DMA_BUF MODULE_IMPORT_NS("DMA_BUF")
#endif

/* A trace event knows the source of a string from its declaration. */
#if PAVO_HAS_ASSIGN_STR_ONE
#define pavo_assign_str(dst, src) __assign_str(dst)
#else
#define pavo_assign_str(dst, src) __assign_str(dst, src)
#endif

/*
 * Atomic write. Older kernels have no names for it, and their consumers do not request it. The
 * values are those of the verbs in user space.
 */
#if PAVO_HAS_ATOMIC_WRITE
#define PAVO_CAP_ATOMIC_WRITE IB_DEVICE_ATOMIC_WRITE
#define PAVO_WR_ATOMIC_WRITE IB_WR_ATOMIC_WRITE
#define PAVO_WC_ATOMIC_WRITE IB_WC_ATOMIC_WRITE
#else
#define PAVO_CAP_ATOMIC_WRITE 0
#define PAVO_WR_ATOMIC_WRITE 15
#define PAVO_WC_ATOMIC_WRITE ((enum ib_wc_opcode)9)
#endif

/*
 * Access flags for RDMA FLUSH, which a newer libibverbs may pass for a queue pair. Older kernels
 * have no names for them, and refuse them for regions. The values are those of the verbs in user
 * space. A region has the right to persistence only where the kernel can write a CPU's caches back.
 */
#if PAVO_HAS_FLUSH && IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API)
#define PAVO_CAP_FLUSH (IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_FLUSH_PERSISTENT)
#define PAVO_MR_ACCESS_FLUSH \
	(IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)
#elif PAVO_HAS_FLUSH
#define PAVO_CAP_FLUSH IB_DEVICE_FLUSH_GLOBAL
#define PAVO_MR_ACCESS_FLUSH IB_ACCESS_FLUSH_GLOBAL
#else
#define PAVO_CAP_FLUSH 0
#define PAVO_MR_ACCESS_FLUSH 0
#endif

#if PAVO_HAS_FLUSH
#define PAVO_ACCESS_FLUSH_GLOBAL IB_ACCESS_FLUSH_GLOBAL
#define PAVO_ACCESS_FLUSH_PERSISTENT IB_ACCESS_FLUSH_PERSISTENT
#else
#define PAVO_ACCESS_FLUSH_GLOBAL BIT(8)
#define PAVO_ACCESS_FLUSH_PERSISTENT BIT(9)
#endif

/* Capabilities for flushes and atomic writes of on-demand regions. */
#if PAVO_HAS_ODP_FLUSH
#define PAVO_ODP_NEWER (IB_ODP_SUPPORT_FLUSH | IB_ODP_SUPPORT_ATOMIC_WRITE)
#else
#define PAVO_ODP_NEWER 0
#endif

/* Signalling an eventfd always adds one. */
#if PAVO_HAS_EVENTFD_ADDS_ONE
#define pavo_eventfd_signal(ctx) eventfd_signal(ctx)
#else
#define pavo_eventfd_signal(ctx) eventfd_signal((ctx), 1)
#endif

/*
 * Defined where crc32_le() uses tables although the CPU may have carry-less multiplication: on
 * newer kernels where CRC32_ARCH is off, as in User-Mode Linux.
 */
#if defined(CONFIG_X86_64) && !IS_ENABLED(CONFIG_CRC32_ARCH)
#define PAVO_CRC32_BY_VECTORS 1
/* The accelerated CRC-32 is in the crypto API only. */
#elif !PAVO_HAS_CRC32_OF_CPU
#define PAVO_CRC32_BY_CRYPTO 1
#endif

/*
 * Completion counters. Older kernels have none: no process can make one, and these types only let
 * the code compile.
 */
#if PAVO_HAS_COMP_CNTR
#define PAVO_COMP_CNTR_OPS                                 \
	.create_comp_cntr = pavo_create_comp_cntr,         \
	.destroy_comp_cntr = pavo_destroy_comp_cntr,       \
	.modify_comp_cntr = pavo_modify_comp_cntr,         \
	.read_comp_cntr = pavo_read_comp_cntr,             \
	.query_comp_cntr_caps = pavo_query_comp_cntr_caps, \
	.qp_attach_comp_cntr = pavo_qp_attach_comp_cntr,   \
	INIT_RDMA_OBJ_SIZE(ib_comp_cntr, pavo_comp_cntr, ib),
#else
#define PAVO_COMP_CNTR_OPS
struct ib_comp_cntr {
	struct ib_device *device;
};

struct ib_comp_cntr_caps {
	u64 max_value;
	u32 max_counters;
	u32 supported_qp_attach_ops;
};

struct ib_qp_attach_comp_cntr_attr {
	u32 op_mask;
};

enum ib_comp_cntr_entry {
	IB_COMP_CNTR_ENTRY_COMP,
	IB_COMP_CNTR_ENTRY_ERR,
};

enum ib_comp_cntr_modify_op {
	IB_COMP_CNTR_MODIFY_OP_SET,
	IB_COMP_CNTR_MODIFY_OP_INC,
};
#endif

/* Binding a QP to counters gets the port. */
#if PAVO_HAS_COUNTER_PORT
#define PAVO_COUNTER_QP struct ib_qp *ibqp, u32 port
#else
#define PAVO_COUNTER_QP struct ib_qp *ibqp
#endif

/* rdma core has to know the size of the counter object. */
#if PAVO_HAS_COUNTER_SIZE
struct pavo_counter_object {
	struct rdma_counter counter;
};

#define PAVO_COUNTER_OBJ_SIZE \
	INIT_RDMA_OBJ_SIZE(rdma_counter, pavo_counter_object, counter),
#else
#define PAVO_COUNTER_OBJ_SIZE
#endif

/* rdma core calls a driver to initialize its part of a counter object; pavo has none. */
#if PAVO_HAS_COUNTER_INIT
static inline void pavo_init_counter(struct rdma_counter *counter)
{
}

#define PAVO_COUNTER_INIT .counter_init = pavo_init_counter,
#else
#define PAVO_COUNTER_INIT
#endif

/* Splicing from a file that has read_iter. */
#if PAVO_HAS_COPY_SPLICE
#define pavo_splice_read copy_splice_read
#else
#define pavo_splice_read generic_file_splice_read
#endif

/* One call sets up an hrtimer and its function. */
#if PAVO_HAS_HRTIMER_SETUP
#define pavo_hrtimer_setup hrtimer_setup
#else
#define pavo_hrtimer_setup(timer, fn, clock, mode)      \
	do {                                            \
		hrtimer_init((timer), (clock), (mode)); \
		(timer)->function = (fn);               \
	} while (0)
#endif

/* Only processes can resize a CQ, and the size is unsigned. */
#if PAVO_HAS_RESIZE_USER_CQ
#define pavo_resize_cq_op resize_user_cq
#define pavo_cq_size unsigned int
#else
#define pavo_resize_cq_op resize_cq
#define pavo_cq_size int
#endif

/* A work queue whose items stay on their CPU needs a flag. */
#if PAVO_HAS_WQ_PERCPU
#define PAVO_WQ_PERCPU WQ_PERCPU
#else
#define PAVO_WQ_PERCPU 0
#endif

/* The page descriptors of a fragment may be apart. In newer kernels they are side by side. */
#if PAVO_HAS_NTH_PAGE
#define pavo_nth_page nth_page
#else
#define pavo_nth_page(page, n) ((page) + (n))
#endif

/* Functions of tunnels take struct sock in place of struct socket. */
#if PAVO_HAS_TUNNEL_SOCK
#define pavo_tunnel_sock(sock) ((sock)->sk)
#else
#define pavo_tunnel_sock(sock) (sock)
#endif

/*
 * Functions of IPv6 for net/. In older kernels IPv6 may be a module, which is called by the
 * function table ipv6_stub; in newer ones it is built in or absent.
 */
#if PAVO_HAS_IPV6_STUB
#include <net/ipv6_stubs.h>
static inline struct dst_entry *pavo_ip6_find_route(struct net *net,
						    struct flowi6 *fl)
{
	return ipv6_stub->ipv6_dst_lookup_flow(net, NULL, fl, NULL);
}

static inline struct net_device *pavo_ip6_dev_find(struct net *net,
						   const struct in6_addr *addr)
{
	return ipv6_stub->ipv6_dev_find(net, addr, NULL);
}
#elif IS_ENABLED(CONFIG_IPV6)
#include <net/addrconf.h>
#include <net/ipv6.h>
static inline struct dst_entry *pavo_ip6_find_route(struct net *net,
						    struct flowi6 *fl)
{
	return ip6_dst_lookup_flow(net, NULL, fl, NULL);
}

static inline struct net_device *pavo_ip6_dev_find(struct net *net,
						   const struct in6_addr *addr)
{
	return ipv6_dev_find(net, addr, NULL);
}
#else
static inline struct dst_entry *pavo_ip6_find_route(struct net *net,
						    struct flowi6 *fl)
{
	return ERR_PTR(-EAFNOSUPPORT);
}

static inline struct net_device *pavo_ip6_dev_find(struct net *net,
						   const struct in6_addr *addr)
{
	return NULL;
}
#endif

/* An administrator cannot move the interface to another network namespace. */
#if PAVO_HAS_NETNS_IMMUTABLE
#define pavo_keep_in_namespace(dev) ((dev)->netns_immutable = true)
#elif PAVO_HAS_NETNS_LOCAL
#define pavo_keep_in_namespace(dev) ((dev)->netns_local = true)
#else
#define pavo_keep_in_namespace(dev) ((dev)->features |= NETIF_F_NETNS_LOCAL)
#endif

/* netdev_lockdep_set_classes() moved out of netdevice.h. */
#if PAVO_HAS_NETDEV_LOCK_HEADER
#include <net/netdev_lock.h>
#endif

/* The common handle of remote KCOV coverage is a structure, empty without KCOV. */
#if PAVO_HAS_KCOV_HANDLE && defined(CONFIG_KCOV)
#define pavo_kcov_handle(number) \
	((struct kcov_common_handle_id){ .val = (number) })
#elif PAVO_HAS_KCOV_HANDLE
#define pavo_kcov_handle(number) ((struct kcov_common_handle_id){})
#else
#define pavo_kcov_handle(number) (number)
#endif

#endif /* PAVO_COMPAT_H */
