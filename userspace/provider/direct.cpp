// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct.cpp - direct windows by the methods of the uverbs file; see pavo_dv_direct.h. Called by
 * applications.
 */
#include "pavo_dv_direct.h"

#include <cerrno>
#include <span>

#include <sys/mman.h>
#include <unistd.h>

#include "command.hpp"
#include "direct_register.hpp"
#include "sq_chain.h"

using namespace pavo;

#define PAVO_PUBLIC [[gnu::visibility("default")]]

namespace {

/* A module without these methods calls them unknown. */
int run(Command &command, int fd)
{
	int err;

	do
		err = command.run(fd);
	while (err == EINTR);
	return err == EPROTONOSUPPORT ? EOPNOTSUPP : err;
}

Command command_of(const pavodv_direct &window, uint16_t method)
{
	Command command(PAVO_OBJECT_DIRECT, method);

	command.handle(PAVO_ATTR_DIRECT_HANDLE, window.handle);
	return command;
}

int close_object(const pavodv_direct &window)
{
	Command command = command_of(window, PAVO_METHOD_DIRECT_CLOSE);

	return run(command, window.context->cmd_fd);
}

/* Addresses of this process that are nothing else; where a window is to be mapped. */
void *reserve(size_t length)
{
	void *at = mmap(nullptr, length, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? nullptr : at;
}

void unmap(pavodv_direct &window)
{
	munmap(window.memory, window.length);
	if (window.registers)
		munmap(const_cast<pavo_direct_register *>(window.registers),
		       window.registers_size);
}

/* Return: 0 or errno. The window's addresses are reserved. */
int map(pavodv_direct &window, uint64_t registers)
{
	void *at = mmap(window.memory, window.length, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, window.fd, 0);

	if (at == MAP_FAILED)
		return errno;
	at = mmap(nullptr, window.registers_size, PROT_READ, MAP_SHARED,
		  window.fd, off_t(registers));
	if (at == MAP_FAILED)
		return errno;
	window.registers = static_cast<const pavo_direct_register *>(at);
	return 0;
}

/* Return: 0 or errno. */
int open_object(ibv_pd *pd, const pavo_direct_open_args &args,
		pavodv_direct &window)
{
	Command command(PAVO_OBJECT_DIRECT, PAVO_METHOD_DIRECT_OPEN);
	pavo_direct_open_resp resp = {};

	command.new_handle(PAVO_ATTR_DIRECT_HANDLE)
		.handle(PAVO_ATTR_DIRECT_PD, pd->handle)
		.in(PAVO_ATTR_DIRECT_OPEN_ARGS, args)
		.out(PAVO_ATTR_DIRECT_OPEN_RESP, resp);
	int err = run(command, pd->context->cmd_fd);

	if (err)
		return err;
	window.base = resp.base;
	window.lkey = resp.lkey;
	window.registers_size = resp.registers_size;
	window.handle = command.made();
	window.fd = resp.fd;
	err = resp.registers_size < args.ranges * sizeof(pavo_direct_register) ?
		      EPROTO :
		      map(window, resp.registers);
	if (err) {
		close_object(window);
		close(window.fd);
	}
	return err;
}

} // namespace

PAVO_PUBLIC int pavodv_direct_open(ibv_pd *pd, const pavodv_direct_attr *attr,
				   pavodv_direct *window)
{
	pavodv_direct made = {};
	int err;

	if (!is_pavo(pd->context))
		return EOPNOTSUPP;
	if (!attr->ranges || attr->ranges > PAVO_DIRECT_RANGES ||
	    !attr->range_size || attr->range_size > PAVO_DIRECT_RANGE_SIZE)
		return EINVAL;
	made.context = pd->context;
	made.length = uint64_t(attr->ranges) * attr->range_size;
	made.ranges = attr->ranges;
	made.range_size = attr->range_size;
	made.buffers = attr->buffers;
	made.memory = reserve(made.length);
	if (!made.memory)
		return ENOMEM;
	err = open_object(
		pd,
		{.base = attr->base ? attr->base :
				      reinterpret_cast<uintptr_t>(made.memory),
		 .ranges = attr->ranges,
		 .range_size = attr->range_size,
		 .buffers = attr->buffers,
		 .flags = 0},
		made);
	if (err) {
		unmap(made);
		return err;
	}
	*window = made;
	return 0;
}

PAVO_PUBLIC int pavodv_direct_close(pavodv_direct *window)
{
	int err;

	unmap(*window);
	err = close_object(*window);
	close(window->fd);
	*window = {};
	window->fd = -1;
	return err;
}

namespace {

/* Arms; then the module takes the doorbell, if there is one. Return: 0 or errno. */
int arm(const pavodv_direct &window, const pavo_direct_arm_args &args,
	const uint64_t *doorbell = nullptr)
{
	Command command = command_of(window, PAVO_METHOD_DIRECT_ARM);

	command.in(PAVO_ATTR_DIRECT_ARM_ARGS, args);
	if (doorbell)
		command.in(PAVO_ATTR_DIRECT_DOORBELL, *doorbell);
	return run(command, window.context->cmd_fd);
}

} // namespace

PAVO_PUBLIC int pavodv_direct_arm(const pavodv_direct *window, uint32_t range,
				  uint32_t total, uint32_t flags)
{
	return arm(*window, {.range = range,
			     .total = total,
			     .flags = flags,
			     .reserved = 0});
}

PAVO_PUBLIC int pavodv_direct_read_register(const pavodv_direct *window,
					    uint32_t range,
					    pavo_direct_register *state)
{
	if (range >= window->ranges)
		return EINVAL;
	*state = pavo::read_register(window->registers[range]);
	return 0;
}

PAVO_PUBLIC int pavodv_direct_count(const pavodv_direct *window, uint32_t range,
				    uint32_t bytes)
{
	Command command = command_of(*window, PAVO_METHOD_DIRECT_COUNT);
	const pavo_direct_count_args args = {.range = range, .bytes = bytes};

	command.in(PAVO_ATTR_DIRECT_COUNT_ARGS, args);
	return run(command, window->context->cmd_fd);
}

PAVO_PUBLIC int pavodv_direct_disarm(const pavodv_direct *window,
				     uint32_t range)
{
	Command command = command_of(*window, PAVO_METHOD_DIRECT_DISARM);

	command.in(PAVO_ATTR_DIRECT_RANGE, range);
	return run(command, window->context->cmd_fd);
}

PAVO_PUBLIC int pavodv_direct_export(const pavodv_direct *window,
				     uint32_t range, int *fd)
{
	Command command = command_of(*window, PAVO_METHOD_DIRECT_EXPORT);
	int32_t exported = -1;
	int err;

	command.in(PAVO_ATTR_DIRECT_RANGE, range)
		.out(PAVO_ATTR_DIRECT_FD, exported);
	err = run(command, window->context->cmd_fd);
	if (!err)
		*fd = exported;
	return err;
}

namespace {

/* Arms and starts the I/Os, all or none; then the module takes the doorbell, if there is one. */
int start(const pavodv_direct &window, std::span<const pavo_direct_io_args> ios,
	  const uint64_t *doorbell = nullptr)
{
	Command command = command_of(window, PAVO_METHOD_DIRECT_IO);

	command.in_array(PAVO_ATTR_DIRECT_IO_ARGS, ios);
	if (doorbell)
		command.in(PAVO_ATTR_DIRECT_DOORBELL, *doorbell);
	return run(command, window.context->cmd_fd);
}

/*
 * Puts the requests into the queue. One call, @arm(doorbell), then arms and shows them to the
 * module, so that no worker and no kick of another thread finds them before. The lock keeps other
 * threads from the slots meanwhile. Return: 0, or errno and neither is done.
 */
template <typename Arm>
int arm_and_post(Qp *qp, ibv_send_wr *wr, ibv_send_wr **bad_wr, Arm &&arm)
{
	std::lock_guard guard(qp->sq.lock);
	SqChain chain(qp);

	for (ibv_send_wr *next = wr; next; next = next->next) {
		int err = chain.add(*next);

		if (err) {
			*bad_wr = next;
			return err;
		}
	}
	if (chain.empty())
		return EINVAL;
	return chain.announce_by(arm);
}

} // namespace

PAVO_PUBLIC int pavodv_direct_post(const pavodv_direct *window, uint32_t range,
				   uint32_t total, uint32_t flags, ibv_qp *qp,
				   ibv_send_wr *wr, ibv_send_wr **bad_wr)
{
	*bad_wr = wr;
	if (qp->context != window->context || !may_send(qp->state))
		return EINVAL;
	const pavo_direct_arm_args args = {
		.range = range, .total = total, .flags = flags, .reserved = 0};

	return arm_and_post(to_qp(qp), wr, bad_wr, [&](uint64_t doorbell) {
		return arm(*window, args, &doorbell);
	});
}

PAVO_PUBLIC int pavodv_direct_io(const pavodv_direct *window,
				 const pavo_direct_io_args *ios, uint32_t n,
				 ibv_qp *qp, ibv_send_wr *wr,
				 ibv_send_wr **bad_wr)
{
	const std::span all(ios, n);

	*bad_wr = wr;
	if (!n || n > PAVO_DIRECT_IOS)
		return EINVAL;
	if (!wr)
		return start(*window, all);
	if (qp->context != window->context || !may_send(qp->state))
		return EINVAL;
	return arm_and_post(to_qp(qp), wr, bad_wr, [&](uint64_t doorbell) {
		return start(*window, all, &doorbell);
	});
}
