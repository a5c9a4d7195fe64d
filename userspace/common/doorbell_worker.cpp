// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* doorbell_worker.cpp - see doorbell_worker.h. */
#include "doorbell_worker.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/pavo-abi.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>

namespace pavo {
namespace {

/* An attribute of a method; no more than eight bytes are in it themselves. */
struct Attribute {
	uint16_t id;
	uint16_t size;
	uint64_t value;
};

/* Calls a method of the context that takes no attribute, or one. */
int call(int fd, uint16_t method, const Attribute *attribute = nullptr)
{
	const uint16_t attrs = attribute ? 1 : 0;
	alignas(ib_uverbs_ioctl_hdr)
		std::byte command[sizeof(ib_uverbs_ioctl_hdr) +
				  sizeof(ib_uverbs_attr)] = {};
	auto *header = new (command) ib_uverbs_ioctl_hdr{};
	int err;

	header->length = static_cast<uint16_t>(sizeof(*header) +
					       attrs * sizeof(ib_uverbs_attr));
	header->object_id = PAVO_OBJECT_DOORBELLS;
	header->method_id = method;
	header->num_attrs = attrs;
	/* The kernel has given pavo no number of its own. */
	header->driver_id = RDMA_DRIVER_UNKNOWN;
	if (attribute) {
		header->attrs[0].attr_id = attribute->id;
		header->attrs[0].len = attribute->size;
		header->attrs[0].flags = UVERBS_ATTR_F_MANDATORY;
		header->attrs[0].data = attribute->value;
	}
	do
		err = ioctl(fd, RDMA_VERBS_IOCTL, header) ? errno : 0;
	while (err == EINTR);
	return err;
}

} // namespace

int kick_doorbells(int fd)
{
	return call(fd, PAVO_METHOD_DOORBELLS_KICK);
}

int ring_doorbell(int fd, uint64_t doorbell)
{
	const Attribute attribute = {PAVO_ATTR_DOORBELLS_BELL, sizeof(doorbell),
				     doorbell};

	return call(fd, PAVO_METHOD_DOORBELLS_RING, &attribute);
}

void *DoorbellWorker::run(void *self)
{
	auto *worker = static_cast<DoorbellWorker *>(self);

	pthread_setname_np(pthread_self(), "pavo-doorbells");
	call(worker->fd_, PAVO_METHOD_DOORBELLS_POLL);
	worker->runs_ = false;
	return nullptr;
}

/* The application's signals are for its own threads. */
int DoorbellWorker::begin()
{
	sigset_t all, before;
	int err;

	runs_ = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread_, nullptr, run, this);
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	if (!err)
		process_ = getpid();
	return err;
}

/* A child of fork() has no such thread, and leaves that of its parent alone. */
void DoorbellWorker::join()
{
	pthread_join(thread_, nullptr);
	process_ = 0;
}

int DoorbellWorker::set(int fd, uint32_t idle)
{
	const Attribute limit = {PAVO_ATTR_DOORBELLS_IDLE, sizeof(idle), idle};
	std::lock_guard guard(mutex_);
	bool mine = process_ == getpid();
	int err;

	if (!idle && !mine)
		return 0;
	err = call(fd, PAVO_METHOD_DOORBELLS_IDLE, &limit);
	if (mine && (!idle || !runs_))
		join();
	if (!idle)
		return 0;
	fd_ = fd;
	return err || process_ ? err : begin();
}

void DoorbellWorker::set_by_environment(int fd, const char *who)
{
	const char *text = secure_getenv("PAVO_POLL");
	unsigned long idle;
	const char *why;
	char *end;
	int err;

	if (!text || !*text)
		return;
	errno = 0;
	idle = strtoul(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || idle > UINT32_MAX) {
		why = "not a number of microseconds";
	} else {
		err = set(fd, static_cast<uint32_t>(idle));
		if (!err)
			return;
		why = err == EPERM ? "the administrator allows no polling "
				     "(parameter poll_idle_max of the module)" :
				     strerror(err);
	}
	fprintf(stderr, "%s: PAVO_POLL=%s: %s; doorbells are kicked.\n", who,
		text, why);
}

} // namespace pavo
