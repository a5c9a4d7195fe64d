/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * doorbell_worker.h - a thread that a process gives to an adapter, so that nothing has to kick
 * while it is awake (PAVO_METHOD_DOORBELLS_POLL in <rdma/pavo-abi.h>), and the kick.
 *
 * Used by the provider and by libpavo, each for the uverbs files that it opens. Depends on the
 * interface of the module and on threads; throws nothing.
 */
#ifndef PAVO_DOORBELL_WORKER_H
#define PAVO_DOORBELL_WORKER_H

#include <atomic>
#include <cstdint>
#include <mutex>

#include <pthread.h>
#include <sys/types.h>

namespace pavo {

class DoorbellWorker {
public:
	DoorbellWorker() = default;
	/** Ends the worker. The file is still open. */
	~DoorbellWorker() { set(fd_, 0); }
	DoorbellWorker(const DoorbellWorker &) = delete;
	DoorbellWorker &operator=(const DoorbellWorker &) = delete;

	/**
	 * Sets the idle limit of the worker of @fd's context, and starts it if it does not run.
	 * @idle: microseconds, 0: ends it. Return: 0 or errno; EPERM: the administrator allows
	 * no polling; EAGAIN: no thread could be made; EIO: the adapter is gone.
	 */
	int set(int fd, uint32_t idle);

	/** Does as the variable PAVO_POLL of the environment says; @who complains if it cannot. */
	void set_by_environment(int fd, const char *who);

private:
	int begin();
	void join();
	static void *run(void *self);

	std::mutex mutex_;
	int fd_ = -1;
	pid_t process_ = 0; /* whose thread it is; 0: there is none */
	pthread_t thread_ = {};
	std::atomic<bool> runs_{false}; /* it may have ended by itself */
};

/** Has the module take all doorbells of @fd's context. Return: 0 or errno. */
int kick_doorbells(int fd);

/** Gives the module a doorbell beside the page. Return: 0 or errno. */
int ring_doorbell(int fd, uint64_t doorbell);

} // namespace pavo

#endif /* PAVO_DOORBELL_WORKER_H */
