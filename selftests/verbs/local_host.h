/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The end that lives in this process: stock libibverbs on one device.
 *
 * Owns: the device context and every object made through it, and the guarded
 * memory behind the regions. Made by: main.cpp (both ends, or the served one),
 * process_tests.cpp. Touches: the device, nothing else.
 */
#pragma once

#include <functional>
#include <map>
#include <stdexcept>

#include "host.h"

namespace pv {

enum class GidKind { v4, v6 };

struct Selector {
	std::string device;
	GidKind gid = GidKind::v4;
	int gid_index = -1; /* -1: found by kind */
	uint8_t sl = 0; /* of paths that name none */
	uint8_t traffic_class = 0; /* likewise */
};

/* Throws where @objects have none of that handle. */
template <typename Object>
Object &look_up(std::map<Handle, Object> &objects, Handle id, const char *what)
{
	auto found = objects.find(id);

	if (found == objects.end())
		throw std::runtime_error(std::string("no such ") + what);
	return found->second;
}

class LocalHost : public Host {
public:
	explicit LocalHost(const Selector &selector);
	~LocalHost() override;

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
	uint64_t counter(std::string name) override;

	/* For tests that must call libibverbs themselves (threads, fork). */
	ibv_context *context() { return context_; }
	ibv_pd *raw_pd(Handle id);
	ibv_qp *raw_qp(Handle id);
	ibv_cq *raw_cq(Handle id);
	ibv_mr *raw_mr(Handle id);
	ibv_srq *raw_srq(Handle id);
	ibv_xrcd *raw_xrcd(Handle id);
	uint8_t *memory(Handle mr);
	/* @place: memory of another region, or none */
	int rereg(Handle mr, int flags, Handle pd, const Mr *place,
		  unsigned access);
	/* A CQ made in another way, with this channel and cq_context. */
	using CqMaker =
		std::function<ibv_cq *(ibv_comp_channel *channel, void *id)>;
	Cq make_cq(const CqMaker &maker, bool events);

private:
	struct CqObject {
		ibv_cq *cq;
		ibv_comp_channel *channel;
		unsigned unacked;
	};
	struct MrObject {
		ibv_mr *mr; /* null: not registered */
		uint8_t *map; /* guard, data, guard */
		size_t map_length;
		uint8_t *data;
		size_t length;
	};

	struct Attached {
		Handle qp;
		ibv_gid gid;
	};

	std::string leave_groups();
	void choose_gid(const Selector &selector);
	void set_class(ibv_ah_attr *attr) const;
	MrObject &region(Handle id);
	ibv_sge convert(const Sge &sge);
	bool guards_intact(const MrObject &object) const;
	int destroy_cq(Handle id);
	int destroy_mr(Handle id);
	int destroy_service(Kind kind, Handle id);
	/* By that call, and out of the list of those that are there. */
	template <typename Object>
	int destroy_in(std::map<Handle, Object *> &objects, Handle id,
		       const char *what, int (*call)(Object *))
	{
		int error = call(look_up(objects, id, what));

		if (!error)
			objects.erase(id);
		return error;
	}
	void set_remote(const SendWr &from, ibv_send_wr *to);

	ibv_context *context_ = nullptr;
	uint32_t gid_index_ = 0;
	ibv_gid gid_ = {};
	uint8_t sl_ = 0;
	uint8_t traffic_class_ = 0;
	Handle next_ = 1;
	Handle default_pd_ = 0;
	std::string broken_guards_;
	std::map<Handle, ibv_pd *> pds_;
	std::map<Handle, CqObject> cqs_;
	std::map<Handle, MrObject> mrs_;
	std::map<Handle, ibv_qp *> qps_;
	std::map<Handle, ibv_srq *> srqs_;
	std::map<Handle, ibv_xrcd *> xrcds_;
	std::map<Handle, ibv_ah *> ahs_;
	std::vector<Attached> attached_;
};

} // namespace pv
