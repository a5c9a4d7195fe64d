// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* table.cpp - see table.h. */
#include "table.h"

#include <rdma/pavo-abi.h>

#include <cinttypes>
#include <cstdio>

#include <rdma/pavo-abi.h>

#include "../common/files.h"

namespace windows {

std::string line_of(const pavo::Device &device, const pavo::Window &window)
{
	const std::string begin = device.name() + " window " +
				  std::to_string(window.number()) + " ";
	auto lines = common::lines_of(tables, begin);

	return lines.empty() ? "" : lines[0];
}

std::string as_text(const pavo::Device &device, const pavo::Lmt &lmt)
{
	auto number = [](uint64_t n) {
		char text[32];

		snprintf(text, sizeof(text), "0x%" PRIx64, n);
		return std::string(text);
	};
	auto dec = [](uint64_t n) { return std::to_string(n); };
	char key[32];

	snprintf(key, sizeof(key), "%016" PRIx64, uint64_t(lmt.key));
	return device.name() + " window " + dec(lmt.window) + " job " +
	       dec(lmt.job) + " node " + dec(lmt.node) + " key " + key +
	       " recv " + dec(lmt.recv_frames) + " at " +
	       number(lmt.recv_offset) + " count " + dec(lmt.recv_count) +
	       " free " + dec(lmt.recv_free) + " threshold " +
	       dec(lmt.recv_threshold) + " early " + dec(lmt.recv_early) +
	       " send " + dec(lmt.send_frames) + " at " +
	       number(lmt.send_offset) + " count " + dec(lmt.send_count) +
	       " ready " + dec(lmt.send_ready) + " threshold " +
	       dec(lmt.send_threshold) + " quantum " + dec(lmt.quantum) +
	       " left " + dec(lmt.quantum_left) + " rcxts " + dec(lmt.rcxts) +
	       " of " + dec(lmt.rcxts_owned) + " head " +
	       number(lmt.rcxt_head) + " tail " + number(lmt.rcxt_tail) +
	       " fatal " + number(lmt.fatal_rcxt) + " recoveries " +
	       dec(lmt.recoveries) + " events " + number(lmt.events) +
	       " handlers " + number(lmt.handlers) + " ready " +
	       number(lmt.handlers_ready) + " violations " +
	       dec(lmt.violations) + " rcxt " + number(lmt.violation_rcxt) +
	       " node " + dec(lmt.violation_node) + " window " +
	       dec(lmt.violation_window) + " kept " + dec(lmt.event_kept) +
	       (lmt.flags & PAVO_WINDOW_BROADCAST ? " broadcast" : "") +
	       (lmt.state == pavo::WindowState::dead	 ? " dead" :
		lmt.state == pavo::WindowState::disabled ? " disabled" :
							   "");
}

} // namespace windows
