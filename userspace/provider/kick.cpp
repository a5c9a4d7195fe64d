// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kick.cpp - the two calls into the module that the data path may need.
 *
 * They are the uverbs commands POST_SEND and POST_RECV without a work request;
 * the module's method runs in the caller's context and finds its work in
 * shared memory. Called by post_send.cpp, post_recv.cpp and dv.cpp.
 */
#include <cerrno>
#include <unistd.h>

#include "provider.h"

namespace pavo {
namespace {

template <class Kernel> struct Request {
	ib_uverbs_cmd_hdr hdr;
	Kernel kernel;
};

template <class Kernel, class Response>
int call(const ibv_qp *qp, uint32_t command, uint32_t wqe_size)
{
	Response resp = {};
	Request<Kernel> request = {};
	ssize_t done;

	request.hdr.command = command;
	request.hdr.in_words = sizeof(request) / 4;
	request.hdr.out_words = sizeof(resp) / 4;
	request.kernel.response = reinterpret_cast<uintptr_t>(&resp);
	request.kernel.qp_handle = qp->handle;
	request.kernel.wqe_size = wqe_size;
	do
		done = write(qp->context->cmd_fd, &request, sizeof(request));
	while (done < 0 && errno == EINTR);
	return done < 0 ? errno : 0;
}

} // namespace

int kick_send(const ibv_qp *qp)
{
	return call<ib_uverbs_post_send, ib_uverbs_post_send_resp>(
		qp, IB_USER_VERBS_CMD_POST_SEND, sizeof(ib_uverbs_send_wr));
}

int kick_recv(const ibv_qp *qp)
{
	return call<ib_uverbs_post_recv, ib_uverbs_post_recv_resp>(
		qp, IB_USER_VERBS_CMD_POST_RECV, sizeof(ib_uverbs_recv_wr));
}

} // namespace pavo
