// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* connect.cpp - see connect.hpp. */
#include <pavo/connect.hpp>

#include <algorithm>
#include <cstring>

#include <endian.h>

#include "error.hpp"

namespace pavo {

namespace {

constexpr Rdma::Peer no_peer = ~Rdma::Peer(0);
constexpr uint32_t max_contexts = 256;

/* Of the window of one process. On the way the numbers are little-endian, as those of contexts. */
struct Introduction {
	Gid gid;
	uint32_t window;
	uint16_t node;
	uint16_t reserved;
};

Introduction to_little_endian(Introduction one)
{
	one.window = htole32(one.window);
	one.node = htole16(one.node);
	return one;
}

/* Routes to a node are those of one window of it. */
void must_be_a_machine_each(const std::vector<Introduction> &all)
{
	for (size_t i = 0; i < all.size(); i++)
		for (size_t j = 0; j < i; j++)
			if (all[i].node == all[j].node &&
			    all[i].gid != all[j].gid)
				fail(EINVAL,
				     "ranks " + std::to_string(j) + " and " +
					     std::to_string(i) +
					     " have the same node number");
}

/* Contexts that each process takes for each other one, by the rank of one, then of the other. */
class Contexts {
public:
	Contexts(const Group &group, const ConnectOptions &options)
		: group_(group), options_(options),
		  own_(size_t(group.size()) * options.contexts)
	{
	}

	bool are_peers(uint16_t other) const
	{
		return other != group_.rank() &&
		       (!options_.hub || other == *options_.hub ||
			group_.rank() == *options_.hub);
	}

	/* Those of this process that @other may use. */
	std::span<uint32_t> taken_for(uint16_t other)
	{
		return std::span(own_).subspan(other * options_.contexts,
					       options_.contexts);
	}

	/* As they are sent to the other processes. */
	std::vector<uint32_t> to_send() const
	{
		std::vector<uint32_t> numbers = own_;

		for (uint32_t &number : numbers)
			number = htole32(number);
		return numbers;
	}

	/* Those of @other that this process may use. @all: to_send() of all processes. */
	std::vector<uint32_t> taken_by(uint16_t other,
				       const std::vector<std::byte> &all) const
	{
		std::vector<uint32_t> rcxts(options_.contexts);
		size_t at =
			other * own_.size() + group_.rank() * options_.contexts;

		memcpy(rcxts.data(), &all[at * sizeof(uint32_t)],
		       rcxts.size() * sizeof(uint32_t));
		for (uint32_t &rcxt : rcxts)
			rcxt = le32toh(rcxt);
		return rcxts;
	}

private:
	const Group &group_;
	const ConnectOptions &options_;
	std::vector<uint32_t> own_;
};

} // namespace

Result<Window> open_window(const Group &group, const Job &job,
			   WindowOptions options) noexcept
{
	options.node = group.rank();
	options.nodes = std::max<uint32_t>(options.nodes, group.size());
	return job.file()
		->address(IpVersion::v4)
		.or_else([&](const Error &) {
			return job.file()->address(IpVersion::v6);
		})
		.and_then([&](const AdapterAddress &address) {
			options.gid_index = address.index;
			return Window::open(job, options);
		});
}

Result<std::vector<WindowAddress>> connect(Group &group, Window &window)
{
	return guarded([&]() -> Result<std::vector<WindowAddress>> {
		auto gid = window.gid();

		if (!gid)
			return Unexpected(gid.error());
		const Introduction mine = {.gid = *gid,
					   .window = window.number(),
					   .node = window.address().node,
					   .reserved = 0};
		auto all = group.exchange(to_little_endian(mine));
		std::vector<WindowAddress> windows;

		if (!all)
			return Unexpected(all.error());
		std::ranges::transform(*all, all->begin(), to_little_endian);
		must_be_a_machine_each(*all);
		for (const Introduction &one : *all) {
			auto routed = window.set_node(one.node, one.gid);

			if (!routed)
				return Unexpected(routed.error());
			windows.push_back({one.node, one.window});
		}
		return windows;
	});
}

Result<std::vector<Rdma::Peer>> connect(Group &group, Rdma &rdma,
					const ConnectOptions &options)
{
	return guarded([&]() -> Result<std::vector<Rdma::Peer>> {
		if (!options.contexts || options.contexts > max_contexts ||
		    options.hub.value_or(0) >= group.size())
			fail(EINVAL, "contexts or hub of a group");
		auto windows = connect(group, rdma.window());
		Contexts contexts(group, options);
		std::vector<Rdma::Peer> peers(group.size(), no_peer);

		if (!windows)
			return Unexpected(windows.error());
		for (uint16_t other = 0; other < group.size(); other++)
			if (contexts.are_peers(other)) {
				auto taken = rdma.take_rcxts(
					contexts.taken_for(other));

				if (!taken)
					return Unexpected(taken.error());
			}
		const std::vector<uint32_t> own = contexts.to_send();
		auto all = group.exchange_bytes(std::as_bytes(std::span(own)));

		if (!all)
			return Unexpected(all.error());
		for (uint16_t other = 0; other < group.size(); other++)
			if (contexts.are_peers(other)) {
				auto added = rdma.add(
					{(*windows)[other],
					 contexts.taken_by(other, *all)});

				if (!added)
					return Unexpected(added.error());
				peers[other] = *added;
			}
		return peers;
	});
}

Result<void> barrier(Group &group, Rdma &rdma)
{
	/* Operations that cannot go on end with their error. */
	return group.barrier([&] { (void)rdma.progress(); });
}

} // namespace pavo
