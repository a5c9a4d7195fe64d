/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The application's side of windows: w0 of a job, with contexts and memory, and beside it
 * a job that no packet has the key of.
 *
 * Owns: what libpavo made. Used by: the player. Where memory lacks there is no window.
 */
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include <pavo/window.hpp>

#include "dialogue.h"
#include "interface.h"
#include "regions.h"

namespace wf {

constexpr uint16_t peer_node = 1, group_node = 3;
/* The group that w0 is in, at the address of the envelope's key `group`. */
constexpr uint32_t group_number = 0x800001;

class Windows {
public:
	Windows(const std::string &device, const std::string &netif,
		Regions &regions);

	/* Makes what is missing; dead windows go. */
	void complete();
	/* The bytes that packets may change from now on. */
	void allow();
	uint32_t number() const { return window_ ? window_->number() : 0; }
	/* Of a packet of w0's: what dialogues call k; of the interface's: ik. */
	void learn_key(uint64_t from, uint64_t key);
	/* w0, k, c0 to c3, m, ms, m2, g0, i0, ik. */
	uint64_t resolve(const Value &value) const;
	/* The one over another window of the adapter. */
	Interface &interface() { return interface_; }

	/*
	 * wsend, wrdma, wthird, wheld, wcount, wgroup, wcancel, wreturn, wtake, wdisable, wclose,
	 * wreceive
	 */
	bool carry_out(const Step &step);

private:
	void make_window();
	void join_group();
	pavo::RequestFrame request_of(const Step &step) const;
	pavo::WindowAddress target_of(const Step &step) const;
	void request(const Step &step);
	void request_third(const Step &step);
	void hold(const Step &step);
	void change_counter(const Step &step);
	void change_group(const Step &step);
	bool change_window(const Step &step);

	pavo::Device device_;
	uint16_t index_ = 0;
	Region &memory_, &source_, &other_memory_;
	std::optional<pavo::Job> job_, other_job_;
	std::optional<pavo::Mapping> mapping_, source_mapping_, other_mapping_;
	std::optional<pavo::Window> window_;
	std::array<uint32_t, 4> rcxts_ = {};
	uint64_t key_ = 0;
	Interface interface_;
};

} // namespace wf
