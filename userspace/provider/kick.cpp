// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kick.cpp - the calls into the module that the data path may need.
 *
 * The kick of doorbells is a method of pavo's own without attributes, which is the cheapest call
 * of the uverbs file. The kick of receive queues, and of doorbells where the module is older than
 * that method, is the uverbs command POST_RECV or POST_SEND without a work request, written, or
 * in a method (INVOKE_WRITE). All run in the caller's context and find their work in shared
 * memory. Called by post_send.cpp, post_recv.cpp and dv.cpp.
 */
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <new>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>

#include "provider.h"

namespace pavo {
namespace {

template <class Kernel> struct Request {
	ib_uverbs_cmd_hdr hdr;
	Kernel kernel;
};

/* Attempts of a kick while the kernel has no memory: far more than a shortage lasts. */
constexpr int kick_attempts = 10000;
/* Attributes of the method that carries a command. */
constexpr size_t carriers = 3;

template <class Kernel>
int by_write(const ibv_context *context, uint32_t command, Kernel kernel,
	     size_t answer)
{
	Request<Kernel> request = {};
	ssize_t done;

	request.hdr.command = command;
	request.hdr.in_words = sizeof(request) / 4;
	request.hdr.out_words = answer / 4;
	request.kernel = kernel;
	do
		done = write(context->cmd_fd, &request, sizeof(request));
	while (done < 0 && errno == EINTR);
	return done < 0 ? errno : 0;
}

ib_uverbs_attr attribute(uint16_t id, size_t size, uint64_t data)
{
	ib_uverbs_attr attr = {};

	attr.attr_id = id;
	attr.len = size;
	attr.flags = UVERBS_ATTR_F_MANDATORY;
	attr.data = data;
	return attr;
}

template <class Kernel>
int by_ioctl(const ibv_context *context, uint32_t command, const Kernel &kernel,
	     size_t answer)
{
	alignas(ib_uverbs_ioctl_hdr)
		std::byte buffer[sizeof(ib_uverbs_ioctl_hdr) +
				 carriers * sizeof(ib_uverbs_attr)] = {};
	auto *header = new (buffer) ib_uverbs_ioctl_hdr{};
	int err;

	header->length = sizeof(buffer);
	header->object_id = UVERBS_OBJECT_DEVICE;
	header->method_id = UVERBS_METHOD_INVOKE_WRITE;
	header->num_attrs = carriers;
	header->driver_id = RDMA_DRIVER_UNKNOWN;
	header->attrs[0] = attribute(UVERBS_ATTR_CORE_IN, sizeof(kernel),
				     reinterpret_cast<uintptr_t>(&kernel));
	header->attrs[1] =
		attribute(UVERBS_ATTR_CORE_OUT, answer, kernel.response);
	header->attrs[2] =
		attribute(UVERBS_ATTR_WRITE_CMD, sizeof(uint64_t), command);
	do
		err = ioctl(context->cmd_fd, RDMA_VERBS_IOCTL, header) ? errno :
									 0;
	while (err == EINTR);
	return err;
}

/*
 * The write is the cheaper one. The kernel refuses it, for ever, to a process
 * that has changed its credentials since it opened the device, and it may find
 * no memory. The provider then tries another way.
 */
template <class Kernel>
int call_once(ibv_context *context, uint32_t command, const Kernel &kernel,
	      size_t answer)
{
	std::atomic<bool> &refused = to_context(context)->state->write_refused;

	if (!refused.load(std::memory_order_relaxed)) {
		int err = by_write(context, command, kernel, answer);

		if (!err || err == EIO)
			return err;
		if (err == EACCES)
			refused.store(true, std::memory_order_relaxed);
	}
	return by_ioctl(context, command, kernel, answer);
}

/*
 * Repeats @attempt while the kernel has no memory, for itself (ENOMEM) or for a page of the
 * caller (EFAULT; its addresses are on the provider's own stack). The requests are in the ring
 * already, and the provider cannot remove them. An application that got an error would post them
 * once more, and the module would carry out both.
 */
template <class Attempt> int insist(Attempt attempt)
{
	int err = attempt();

	for (int i = 1; i < kick_attempts && (err == ENOMEM || err == EFAULT);
	     i++) {
		sched_yield();
		err = attempt();
	}
	return err;
}

template <class Kernel, class Response>
int call(const ibv_qp *qp, uint32_t command, uint32_t wqe_size)
{
	Response resp = {};
	Kernel kernel = {};

	kernel.response = reinterpret_cast<uintptr_t>(&resp);
	kernel.qp_handle = qp->handle;
	kernel.wqe_size = wqe_size;
	return insist([&] {
		return call_once(qp->context, command, kernel, sizeof(resp));
	});
}

} // namespace

int kick_send(const ibv_qp *qp)
{
	const int fd = qp->context->cmd_fd;
	int err = insist([fd] { return kick_doorbells(fd); });

	if (err != EPROTONOSUPPORT)
		return err;
	return call<ib_uverbs_post_send, ib_uverbs_post_send_resp>(
		qp, IB_USER_VERBS_CMD_POST_SEND, sizeof(ib_uverbs_send_wr));
}

int ring_by_call(const ibv_context *context, uint64_t doorbell)
{
	const int fd = context->cmd_fd;
	int err = insist([&] { return ring_doorbell(fd, doorbell); });

	return err == EPROTONOSUPPORT ? EOPNOTSUPP : err;
}

int kick_recv(const ibv_qp *qp)
{
	return call<ib_uverbs_post_recv, ib_uverbs_post_recv_resp>(
		qp, IB_USER_VERBS_CMD_POST_RECV, sizeof(ib_uverbs_recv_wr));
}

} // namespace pavo
