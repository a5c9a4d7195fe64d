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
#include "regions.h"

namespace wf {

constexpr uint16_t peer_node = 1;

class Windows {
public:
	Windows(const std::string &device, Regions &regions);

	/* Makes what is missing; dead windows go. */
	void complete();
	/* The bytes that packets may change from now on. */
	void allow();
	uint32_t number() const { return window_ ? window_->number() : 0; }
	/* Of a packet of w0's: what dialogues call k. */
	void learn_key(uint64_t key) { key_ = key; }
	/* w0, k, c0 to c3, m, ms, m2. */
	uint64_t resolve(const Value &value) const;

	/* wsend, wrdma, wcancel, wreturn, wtake, wdisable, wclose, wreceive */
	bool carry_out(const Step &step);

private:
	void make_window();
	void request(const Step &step);

	pavo::Device device_;
	uint16_t index_ = 0;
	Region &memory_, &source_, &other_memory_;
	std::optional<pavo::Job> job_, other_job_;
	std::optional<pavo::Mapping> mapping_, source_mapping_, other_mapping_;
	std::optional<pavo::Window> window_;
	std::array<uint32_t, 4> rcxts_ = {};
	uint64_t key_ = 0;
};

} // namespace wf
