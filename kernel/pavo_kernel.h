/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo_kernel.h - for kernel consumers: operations of pavo's adapters that the kernel's verbs have
 * no names for (sources.md#ext-swap, sources.md#ext-immediate), and direct windows
 * (sources.md#direct).
 *
 * A consumer includes this beside <rdma/ib_verbs.h> and <rdma/pavo-abi.h>, and is built with
 * Module.symvers of pavo. Other drivers refuse these operations, which are numbers that the kernel
 * leaves to drivers.
 */
#ifndef PAVO_KERNEL_H
#define PAVO_KERNEL_H

#include <linux/bits.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>

/**
 * PAVO_WR_SWAP - swap in eight bytes, and return the old ones. A struct ib_atomic_wr with
 * @remote_addr, a multiple of 8, @rkey and @swap.
 */
#define PAVO_WR_SWAP ((enum ib_wr_opcode)IB_WR_RESERVED1)
/** PAVO_WR_IMM64 - send eight bytes to the completion of a receive. A struct pavo_imm64_wr. */
#define PAVO_WR_IMM64 ((enum ib_wr_opcode)IB_WR_RESERVED2)

/* Opcodes of their completions. */
#define PAVO_WC_SWAP ((enum ib_wc_opcode)0x40)
#define PAVO_WC_IMM64 ((enum ib_wc_opcode)0x41)
#define PAVO_WC_RECV_IMM64 ((enum ib_wc_opcode)(IB_WC_RECV | 0x41))

/**
 * struct pavo_imm64_wr - request of eight bytes of immediate data.
 * @wr:   without entries; IB_SEND_SOLICITED as for sends
 * @data: the bytes as on the wire
 */
struct pavo_imm64_wr {
	struct ib_send_wr wr;
	__be64 data;
};

static inline const struct pavo_imm64_wr *
pavo_get_imm64_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, struct pavo_imm64_wr, wr);
}

/* They are where a completion has VLAN and source address of a datagram. */
static inline void pavo_wc_set_imm64(struct ib_wc *wc, __be64 data)
{
	memcpy(wc->smac, &data, sizeof(wc->smac));
	memcpy(&wc->vlan_id, (u8 *)&data + sizeof(wc->smac),
	       sizeof(wc->vlan_id));
}

/** pavo_wc_get_imm64 - return the eight bytes of a PAVO_WC_RECV_IMM64, as on the wire. */
static inline __be64 pavo_wc_get_imm64(const struct ib_wc *wc)
{
	__be64 data;

	memcpy(&data, wc->smac, sizeof(wc->smac));
	memcpy((u8 *)&data + sizeof(wc->smac), &wc->vlan_id,
	       sizeof(wc->vlan_id));
	return data;
}

struct file;
struct pavo_direct;

/**
 * pavo_kernel_direct_open - open a direct window.
 * @pd:   protection domain of a kernel consumer; stays until the window is closed
 * @args: the window
 * @resp: set: its addresses and its L_Key for work requests; no file descriptor
 *
 * The buffers are not charged as locked memory. Process context.
 * Return: the window, or an error pointer: -EOPNOTSUPP: not an adapter of pavo, or a domain of a
 * process; -EINVAL, -EMFILE, -ENOMEM.
 */
struct pavo_direct *
pavo_kernel_direct_open(struct ib_pd *pd,
			const struct pavo_direct_open_args *args,
			struct pavo_direct_open_resp *resp);

/**
 * pavo_kernel_direct_close - close a window in any state of its ranges. Process context.
 * @window: requests that name it fail; I/Os in flight hold their files and its memory
 */
void pavo_kernel_direct_close(struct pavo_direct *window);

/**
 * pavo_kernel_direct_io - arm ranges, have the adapter do an I/O for each, and post the requests
 * that name them.
 * @window: the window
 * @ios:    one for each range; @fd is not used
 * @files:  the file of each; the adapter takes references
 * @n:      1 to PAVO_DIRECT_IOS
 * @qp:     queue pair of the same adapter
 * @wr:     as of ib_post_send()
 * @bad_wr: set if that fails
 *
 * A request completes when the I/O of its range and the transfer are over; an I/O that fails, or is
 * short, fails the request with the vendor error PAVO_VE_DIRECT_IO. Process context; does not wait
 * for devices.
 * Return: 0, or an errno, and no range stays armed: those of struct pavo_direct_io_args, and of
 * ib_post_send(). In the latter case requests in front of @bad_wr were posted, and fail.
 */
int pavo_kernel_direct_io(struct pavo_direct *window,
			  const struct pavo_direct_io_args *ios,
			  struct file *const *files, u32 n, struct ib_qp *qp,
			  const struct ib_send_wr *wr,
			  const struct ib_send_wr **bad_wr);

#endif /* PAVO_KERNEL_H */
