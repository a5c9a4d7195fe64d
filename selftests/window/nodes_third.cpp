// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_third.cpp - third-party operations between machines: the one that serves is the
 * controller, and has every node send to every node, itself among them. Adapters recover in the
 * middle of the second round.
 */
#include <algorithm>
#include <array>
#include <set>

#include <pavo/rdma.hpp>

#include "nodes.h"

namespace nodes {

namespace {

constexpr size_t third_length = 60'001, most_parties = 4;
constexpr size_t third_slots = most_parties * most_parties;
constexpr uint32_t third_rounds = 2;

/* Of a node, for the others. */
struct ThirdCard {
	uint32_t window = 0;
	pavo::Gid gid = {};
	std::array<uint32_t, 4> contexts = {};
	/* Its sources are in the first half, its targets in the second. */
	pavo::Pvo memory = {};
};

struct ThirdCards {
	uint32_t parties = 0;
	std::array<ThirdCard, most_parties> all = {};
};

/* Where the data of an operation is in either half, and its number. */
size_t slot_of(size_t source, size_t target)
{
	return source * most_parties + target;
}

uint32_t tag_of(uint32_t round, size_t source, size_t target)
{
	return uint32_t(round * third_slots + slot_of(source, target));
}

/* A source and target, which a controller is, too. */
class Party {
public:
	Party(pavo::Window &window, const pavo::Job &job, uint32_t self)
		: memory_(2 * third_slots * third_length),
		  mapping_(pavo::Mapping::open(job, memory_).value()),
		  rdma(pavo::Rdma::open(window).value()), self_(self)
	{
		rdma.on_arrival([this](const pavo::RdmaArrival &arrival) {
			take(arrival);
		});
	}

	ThirdCard card(const Node &node)
	{
		ThirdCard mine{.window = node.window.number(),
			       .gid = node.address.gid,
			       .memory = mapping_.pvo()};

		must(rdma.take_rcxts(mine.contexts), "contexts");
		return mine;
	}

	/* Its packets find the others, and itself. */
	void know(Node &node, const ThirdCards &cards)
	{
		parties_ = cards.parties;
		for (uint16_t i = 0; i < cards.parties; i++)
			must(node.window.set_node(i, cards.all[i].gid),
			     "a route");
	}

	void begin(uint32_t round)
	{
		round_ = round;
		arrived_.clear();
		for (size_t target = 0; target < parties_; target++)
			fill(part(0, slot_of(self_, target)), self_,
			     tag_of(round, self_, target));
		std::ranges::fill(
			std::span(memory_).subspan(third_slots * third_length),
			std::byte(0));
	}

	/* All has come, and nothing beside it. */
	void check() const
	{
		must(arrived_.size() == parties_, "a notification is missing");
		for (size_t source = 0; source < parties_; source++)
			must_hold(part(1, slot_of(source, self_)),
				  uint32_t(source),
				  tag_of(round_, source, self_));
		for (size_t slot = 0; slot < third_slots; slot++)
			must(slot % most_parties == self_ ||
				     std::ranges::all_of(
					     part(1, slot),
					     [](std::byte byte) {
						     return byte ==
							    std::byte(0);
					     }),
			     "another's data has come");
	}

	size_t arrived() const { return arrived_.size(); }

private:
	std::span<std::byte> part(size_t half, size_t slot)
	{
		return std::span(memory_).subspan((half * third_slots + slot) *
							  third_length,
						  third_length);
	}
	std::span<const std::byte> part(size_t half, size_t slot) const
	{
		return const_cast<Party *>(this)->part(half, slot);
	}

	/* The controller says so when the data is there. */
	void take(const pavo::RdmaArrival &arrival)
	{
		size_t slot = arrival.tag % third_slots;

		must(arrival.from.node == 0 && arrival.length == third_length &&
			     arrival.tag / third_slots == round_ &&
			     slot % most_parties == self_,
		     "something else came");
		must(arrived_.insert(arrival.tag).second,
		     "a notification came twice");
		must_hold(part(1, slot), uint32_t(slot / most_parties),
			  arrival.tag);
	}

	std::vector<std::byte> memory_;
	pavo::Mapping mapping_;

public:
	pavo::Rdma rdma;

private:
	uint32_t self_;
	size_t parties_ = 0;
	uint32_t round_ = 0;
	std::set<uint32_t> arrived_;
};

/* Recovers the adapter in the second round, when half of the data is there. */
struct Recovery {
	Party &party;
	const Node &node;
	size_t parties;
	bool over;

	void look()
	{
		if (over || party.arrived() < parties / 2)
			return;
		over = true;
		recover(node.device.name());
	}
};

class ThirdServer {
public:
	explicit ThirdServer(const Arguments &arguments)
		: server_(arguments),
		  party_(server_.node.window, server_.node.job, 0)
	{
		cards_.parties = uint32_t(server_.meetings.size() + 1);
		must(cards_.parties <= most_parties, "too many nodes");
		cards_.all[0] = party_.card(server_.node);
		for (nodes::Meeting &meeting : server_.meetings)
			cards_.all[meeting.other()] =
				meeting.exchange(ThirdCard());
		for (nodes::Meeting &meeting : server_.meetings)
			meeting.exchange(cards_);
		party_.know(server_.node, cards_);
		for (uint16_t i = 0; i < cards_.parties; i++) {
			const ThirdCard &card = cards_.all[i];

			peers_.push_back(
				must(party_.rdma.add({{i, card.window},
						      {card.contexts.begin(),
						       card.contexts.end()}}),
				     "a peer"));
		}
	}

	void serve(uint32_t round)
	{
		Recovery recovery{party_, server_.node, cards_.parties, !round};
		size_t ended = 0;

		party_.begin(round);
		server_.together();
		for (size_t source = 0; source < cards_.parties; source++)
			for (size_t target = 0; target < cards_.parties;
			     target++)
				move(round, source, target, ended);
		until("third-party operations", [&] {
			(void)party_.rdma.progress();
			recovery.look();
			return !party_.rdma.pending();
		});
		must(ended == cards_.parties * cards_.parties,
		     "an operation has not ended once");
		(void)party_.rdma.progress();
		party_.check();
		/* They have been notified, and need look no more. */
		server_.together();
	}

private:
	void move(uint32_t round, size_t source, size_t target, size_t &ended)
	{
		const size_t at = slot_of(source, target) * third_length;
		const size_t half = third_slots * third_length;
		pavo::RdmaMove move{.local = cards_.all[target].memory +
					     (half + at),
				    .remote = cards_.all[source].memory + at,
				    .length = third_length,
				    .notify = true,
				    .tag = tag_of(round, source, target)};

		must(party_.rdma.third_party(
			     peers_[source], peers_[target], move,
			     [&ended](const pavo::Result<void> &how) {
				     must(how, "a third-party operation");
				     ended++;
			     }),
		     "a third-party operation");
	}

	Server server_;
	ThirdCards cards_;
	Party party_;
	std::vector<pavo::Rdma::Peer> peers_;
};

} // namespace

void control_third_party(const Arguments &arguments)
{
	ThirdServer server(arguments);

	for (uint32_t round = 0; round < third_rounds; round++)
		server.serve(round);
}

void serve_third_party(const Arguments &arguments)
{
	Client client(arguments);
	Party party(client.node.window, client.node.job, client.self());

	client.meeting.exchange(party.card(client.node));
	ThirdCards cards = client.meeting.exchange(ThirdCards());
	party.know(client.node, cards);
	for (uint32_t round = 0; round < third_rounds; round++) {
		Recovery recovery{party, client.node, cards.parties, !round};

		party.begin(round);
		together(client.meeting);
		until("the controller", [&] {
			(void)party.rdma.progress();
			recovery.look();
			return client.meeting.anything();
		});
		(void)party.rdma.progress();
		party.check();
		together(client.meeting);
	}
}

} // namespace nodes
