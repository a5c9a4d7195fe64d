/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The application's side: an adapter's objects through libibverbs, of every kind that
 * packets can reach, and what symbols of dialogues stand for.
 *
 * Owns: every object of verbs, and the requests that were posted. Used by: the player.
 * Calls that fail are no faults: a dialogue may ask for anything, and memory may lack.
 */
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <infiniband/verbs.h>

#include "../../wire/tool/frame.h"
#include "dialogue.h"
#include "regions.h"

namespace wf {

/* A queue pair, connected to a peer that exists only in the fuzzer. */
struct Target {
	std::string name;
	ibv_qp_type type;
	bool ipv6, shared; /* its receives come from an SRQ */
	uint32_t remote_qpn;

	ibv_qp *qp = nullptr;
	uint32_t rq = 0, sq = 0; /* first PSNs */
	uint32_t mtu = 1024; /* bytes */
	uint32_t msn = 0; /* of what the peer answered */
	bool begun = false; /* by the dialogue that is played */
	std::unordered_set<uint64_t> posted = {}; /* not completed */

	bool is_xrc() const
	{
		return type == IBV_QPT_XRC_RECV || type == IBV_QPT_XRC_SEND;
	}
	bool is_reliable() const { return type == IBV_QPT_RC || is_xrc(); }
};

/* Shared receive queues: s0 and s1 are of XRC, s2 is plain. */
struct Shared {
	std::string name;
	bool other_pd;
	ibv_srq *srq = nullptr;
	std::unordered_set<uint64_t> posted = {};
};

/* Told of every completion: of which target, what it was, how it ended. */
using OnCompletion = std::function<void(const ibv_wc &)>;

class World {
public:
	explicit World(const std::string &device);
	~World();
	World(const World &) = delete;

	const pw::Address &address(bool ipv6) const { return gids_[ipv6].gid; }
	ibv_context *context() const { return context_; }
	Regions &regions() { return *regions_; }
	std::vector<Target> &targets() { return targets_; }
	Target *target(std::string_view name);
	Target *target_of_qpn(uint32_t qpn);
	/* Of packets of the adapter: by the number of its peer. */
	Target *target_of_peer(uint32_t qpn);

	/* The value of that field; psn and fields of windows are left out. */
	uint64_t resolve(std::string_view field, const Value &value) const;

	/* Posted requests have no completion any more. */
	void reset(Target &target);
	/* One that was reset, or is made anew; connects it as the step says. */
	void begin(Target &target, const Step &step);
	void destroy(Target &target);
	void set_state(Target &target, ibv_qp_state state, const Step &step);
	ibv_qp_state state(Target &target);
	void post(Target &target, const Step &step);
	void receive(Target &target, const Step &step);
	void bind(const Step &step);
	void attach(Target &target, bool on);
	void arm();
	/* Throws Violation where one completes that was not posted, or twice. */
	void poll(const OnCompletion &on_completion);
	/* Where memory lacked: what is missing is made. */
	void complete();

private:
	struct GidEntry {
		pw::Address gid{};
		uint8_t index = 0;
	};

	bool find_addresses();
	void make_shared(Shared &shared);
	void make_windows();
	void make_qp(Target &target);
	void forget(Target &target);
	int to_init(Target &target, const Step &step);
	int to_rtr(Target &target, const Step &step);
	int to_rts(Target &target, const Step &step);
	ibv_ah_attr peer_attr(bool ipv6) const;
	uint64_t base(std::string_view field, std::string_view symbol) const;
	uint64_t new_id() { return ++last_id_; }
	bool fill_send(Target &target, const Step &step, ibv_send_wr &wr);
	void post_extended(Target &target, const Step &step);
	std::vector<ibv_sge> pieces(const Step &step, const Value &at,
				    const std::string &owner);
	void bind_first(Target &target, ibv_mw_bind_info &info);
	void bind_second(Target &target, ibv_mw_bind_info &info);
	void invalidate(Target &target);
	void settle(const ibv_wc &wc);
	void take_events();

	ibv_context *context_;
	ibv_pd *pd_ = nullptr, *other_pd_ = nullptr;
	ibv_comp_channel *channel_ = nullptr;
	ibv_cq *cq_ = nullptr;
	ibv_xrcd *xrcd_ = nullptr;
	ibv_ah *handle_ = nullptr;
	std::array<ibv_mw *, 2> windows_ = {};
	uint32_t second_key_ = 0; /* of a window of type 2, as bound */
	std::array<GidEntry, 2> gids_;
	std::unique_ptr<Regions> regions_;
	std::vector<Target> targets_;
	std::vector<Shared> shared_;
	uint64_t last_id_ = 0;
};

/* The peers that QPs are connected to. */
pw::Address peer_address(bool ipv6);
constexpr uint32_t datagram_qkey = 0x11111111;

} // namespace wf
