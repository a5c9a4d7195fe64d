/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The end that lives in another process: every call of Host becomes a request
 * on a stream socket and is carried out by serve() over there.
 *
 * Owns: the socket. Made by: main.cpp (--connect), process_tests.cpp.
 * serve() is the other side: main.cpp (--server), forked children.
 */
#pragma once

#include "host.h"

namespace pv {

class RemoteHost : public Host {
public:
	explicit RemoteHost(int fd) : fd_(fd) {}
	~RemoteHost() override;

	HostInfo info() override;
	Pd alloc_pd() override;
	Cq create_cq(int depth, bool events) override;
	Mr reg_mr(MrSpec spec) override;
	Qp create_qp(QpSpec spec) override;
	int destroy(Kind kind, Handle id) override;
	std::string clean(bool ignore_events) override;

	Srq create_srq(SrqSpec spec) override;
	int modify_srq(Handle srq, ibv_srq_attr attr, int mask) override;
	SrqState query_srq(Handle srq) override;
	PostResult post_srq(Handle srq, std::vector<RecvWr> wrs) override;
	Made open_xrcd() override;
	Qp open_qp(Handle xrcd, uint32_t number) override;
	Made create_ah(ibv_gid gid) override;
	int attach(Handle qp, ibv_gid gid) override;
	int detach(Handle qp, ibv_gid gid) override;

	int modify(Handle qp, ibv_qp_attr attr, int mask) override;
	QpState query(Handle qp, int mask) override;
	PostResult post_send(Handle qp, std::vector<SendWr> wrs) override;
	PostResult post_recv(Handle qp, std::vector<RecvWr> wrs) override;

	std::vector<Wc> poll(Handle cq, uint32_t count, uint32_t ms) override;
	int arm(Handle cq, bool solicited_only) override;
	bool wait_event(Handle cq, uint32_t ms) override;
	AsyncEvent async_event(uint32_t ms) override;

	void fill(Handle mr, int64_t offset, uint64_t length, uint64_t seed,
		  uint64_t position) override;
	int64_t verify(Handle mr, int64_t offset, uint64_t length,
		       uint64_t seed, uint64_t position) override;
	uint64_t load(Handle mr, int64_t offset) override;
	void store(Handle mr, int64_t offset, uint64_t value) override;

private:
	template <auto Method, typename... Args> auto call(const Args &...args);

	int fd_;
};

/* Carries out the calls that arrive on `fd` until the other side closes it. */
void serve(Host &host, int fd);

/* Control sockets between machines. */
int listen_on(uint16_t port);
int accept_from(int listener);
int connect_to(const std::string &address, uint16_t port, unsigned seconds);

} // namespace pv
