// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * connect.hpp - connects windows of a group's processes: exchanges addresses and contexts by the
 * group (group.hpp).
 */
#ifndef PAVO_CONNECT_HPP
#define PAVO_CONNECT_HPP

#include <pavo/language.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include <pavo/group.hpp>
#include <pavo/rdma.hpp>
#include <pavo/window.hpp>

#pragma GCC visibility push(default)

namespace pavo {

/**
 * Opens a window of @job for a process of @group: its node number is the rank, it may send to all
 * ranks, and it uses the adapter's first IPv4 address, or the first global IPv6 address where
 * there is none. The other @options are as given. Fails as Device::address() and Window::open().
 */
Result<Window> open_window(const Group &group, const Job &job,
			   WindowOptions options = {}) noexcept;

struct ConnectOptions {
	/**
	 * RDMA contexts that each of two processes takes for the other's operations: as many of
	 * their pieces are under way at a time. 1 to 256, the same in all processes.
	 */
	uint32_t contexts = 4;
	/** The one process that all others do RDMA with; none: each with each. The same in all. */
	std::optional<uint16_t> hub = {};
};

/**
 * Gives @window routes to the windows that the other processes of the group call this with, which
 * are of the same job. WindowOptions::node has to be another for each machine: Group::rank() will
 * do, if WindowOptions::nodes is Group::size() or more.
 *
 * Return: addresses of the windows of all processes, by rank. Fails with EINVAL: processes with
 * different addresses have the same node number, or one is WindowOptions::nodes or more; as
 * Group::exchange(), Window::gid() and Window::set_node().
 */
Result<std::vector<WindowAddress>> connect(Group &group, Window &window);

/**
 * The same for RDMA: also exchanges contexts.
 *
 * Return: the processes as peers, by rank. put() and get() fail with EINVAL to this process's own
 * rank, and to ranks that have only the hub in common with it. Fails also with EINVAL:
 * ConnectOptions::contexts; EMSGSIZE: it differs between processes; as Rdma::take_rcxts().
 */
Result<std::vector<Rdma::Peer>> connect(Group &group, Rdma &rdma,
					const ConnectOptions &options = {});

/**
 * Waits until all processes of the group have called it, and calls Rdma::progress() meanwhile, so
 * that their operations go on. Fails as Group::exchange().
 */
Result<void> barrier(Group &group, Rdma &rdma);

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_CONNECT_HPP
