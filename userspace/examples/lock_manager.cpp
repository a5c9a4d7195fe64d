// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * lock_manager.cpp - pages that machines lock and change, and a manager that hands each page from
 * the machine that changed it last to the one that has the lock now.
 *
 *   first machine:  lock_manager pavo0 [WORKERS]           (2), the manager
 *   others:         lock_manager pavo0 ADDRESS-OF-THE-FIRST [ROUNDS]
 *
 * Every worker has memory for all pages, and the latest contents of some. To hand a page over, the
 * manager has its last owner send it to the next (third party): the page crosses the network once,
 * and neither of the two workers has a part in it. Messages may be lost: a worker repeats one that
 * was not answered, and the manager carries it out once.
 */
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <pavo/connect.hpp>

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint16_t port = 7481;
constexpr uint32_t job_id = 1009;
constexpr uint64_t key = 0x6c6f636b73;
constexpr uint32_t pages = 8;
constexpr auto answer_timeout = std::chrono::milliseconds(50);

/* A page, in which all words are the number of changes: one that is torn shows. */
struct Page {
	std::array<uint64_t, 4096> words;

	uint64_t changes() const
	{
		for (uint64_t word : words)
			if (word != words[0])
				throw std::runtime_error("a page is torn");
		return words[0];
	}
};

enum Act : uint32_t { LOCK, UNLOCK, END };

/* A worker's request; the manager answers with the same. */
struct Note {
	uint64_t number;
	uint32_t page;
	Act act;
};

void say(pavo::Rdma &rdma, pavo::WindowAddress to, const Note &note)
{
	auto sent = rdma.send(to, std::as_bytes(std::span(&note, 1)));

	/* A message that was not sent is as good as lost. */
	if (sent != pavo::Unexpected(std::errc::no_buffer_space))
		sent.value();
}

/* The objects of every machine: a window, the pages, and the other machines. */
struct End {
	End(pavo::Group &group, const std::string &adapter, uint32_t rounds)
		: device(pavo::Device::open(adapter).value()),
		  job(pavo::Job::open(device, job_id, key).value()),
		  window(pavo::open_window(group, job).value()), own(pages),
		  mapping(pavo::Mapping::open(
				  job, std::as_writable_bytes(std::span(own)))
				  .value()),
		  rdma(pavo::Rdma::open(window).value()),
		  peers(pavo::connect(group, rdma, {.hub = 0}).value()),
		  pvos(group.exchange(mapping.pvo()).value()),
		  all_rounds(group.exchange(rounds).value())
	{
	}

	pavo::Device device;
	pavo::Job job;
	pavo::Window window;
	std::vector<Page> own;
	pavo::Mapping mapping;
	pavo::Rdma rdma;
	/* Of each machine, by rank. */
	std::vector<pavo::Rdma::Peer> peers;
	std::vector<pavo::Pvo> pvos;
	std::vector<uint32_t> all_rounds;
};

/* ----------------------------------------------------------------- manager */

class Manager {
public:
	Manager(pavo::Group &group, const std::string &adapter)
		: end_(group, adapter, 0), workers_(group.size())
	{
		end_.rdma.on_message([this](const pavo::Message &message) {
			Note note;

			if (message.payload.size() != sizeof(note) ||
			    message.from.node >= workers_.size())
				return;
			memcpy(&note, message.payload.data(), sizeof(note));
			take(message.from.node, note);
		});
		group.barrier().value();
	}

	void run()
	{
		while (ended_ < workers_.size() - 1)
			end_.rdma.progress().value();
		/* Until the last answer has come, or its worker waits no more. */
		for (auto until = Clock::now() + 10 * answer_timeout;
		     Clock::now() < until;)
			(void)end_.rdma.progress();
	}

	/* All changes are in the pages that were changed last. */
	void check()
	{
		uint64_t changes = 0, wanted = 0;

		for (uint32_t i = 0; i < pages; i++) {
			if (pages_[i].owner)
				end_.rdma
					.wait(end_.rdma.get(
						end_.peers[*pages_[i].owner],
						{.local = place(0, i),
						 .remote = place(
							 *pages_[i].owner, i),
						 .length = sizeof(Page)}))
					.value();
			changes += end_.own[i].changes();
		}
		for (uint32_t rounds : end_.all_rounds)
			wanted += rounds;
		printf("%llu changes, %llu pages were handed over\n",
		       static_cast<unsigned long long>(changes),
		       static_cast<unsigned long long>(handed_));
		if (changes != wanted)
			throw std::runtime_error("a change is lost");
	}

	pavo::Rdma &rdma() { return end_.rdma; }

private:
	struct Managed {
		/* That has the latest contents; none: nothing was changed. */
		std::optional<uint16_t> owner;
		std::optional<uint16_t> holder;
		std::deque<uint16_t> waiting;
	};

	struct Worker {
		pavo::WindowAddress address;
		Note note = {};
		bool answered = true;
	};

	pavo::Pvo place(uint16_t rank, uint32_t page) const
	{
		return end_.pvos[rank] + page * sizeof(Page);
	}

	void take(uint16_t rank, const Note &note)
	{
		Worker &worker = workers_[rank];

		if (note.number < worker.note.number || note.page >= pages)
			return;
		if (note.number == worker.note.number) {
			if (worker.answered)
				answer(rank);
			return;
		}
		worker.note = note;
		worker.answered = false;
		if (note.act == LOCK) {
			pages_[note.page].waiting.push_back(rank);
			grant(note.page);
			return;
		}
		ended_ += note.act == END;
		answer(rank);
		if (note.act == UNLOCK) {
			pages_[note.page].holder.reset();
			grant(note.page);
		}
	}

	void answer(uint16_t rank)
	{
		workers_[rank].answered = true;
		say(end_.rdma, end_.rdma.address(end_.peers[rank]),
		    workers_[rank].note);
	}

	/* Let the next one have the page, once it has its contents. */
	void grant(uint32_t number)
	{
		Managed &page = pages_[number];

		if (page.holder || page.waiting.empty())
			return;
		uint16_t to = page.waiting.front();
		std::optional<uint16_t> from = page.owner;
		page.waiting.pop_front();
		page.holder = page.owner = to;
		if (!from || *from == to) {
			answer(to);
			return;
		}
		handed_++;
		end_.rdma
			.third_party(end_.peers[*from], end_.peers[to],
				     {.local = place(to, number),
				      .remote = place(*from, number),
				      .length = sizeof(Page)},
				     [this, to](const pavo::Result<void> &how) {
					     how.value();
					     answer(to);
				     })
			.value();
	}

	End end_;
	std::vector<Worker> workers_;
	std::array<Managed, pages> pages_;
	size_t ended_ = 0;
	uint64_t handed_ = 0;
};

/* ----------------------------------------------------------------- workers */

class Worker {
public:
	Worker(pavo::Group &group, const std::string &adapter, uint32_t rounds)
		: end_(group, adapter, rounds), rounds_(rounds),
		  random_(group.rank())
	{
		end_.rdma.on_message([this](const pavo::Message &message) {
			Note note;

			if (message.payload.size() != sizeof(note))
				return;
			memcpy(&note, message.payload.data(), sizeof(note));
			answered_ = std::max(answered_, note.number);
		});
		group.barrier().value();
	}

	void run()
	{
		for (uint32_t round = 0; round < rounds_; round++) {
			random_ = random_ * 0x5851f42d4c957f2d + 1;
			uint32_t number = uint32_t(random_ >> 33) % pages;

			ask(number, LOCK);
			Page &page = end_.own[number];
			page.words.fill(page.changes() + 1);
			ask(number, UNLOCK);
		}
		ask(0, END);
	}

	pavo::Rdma &rdma() { return end_.rdma; }

private:
	/* Until it is answered. */
	void ask(uint32_t page, Act act)
	{
		const Note note{++number_, page, act};
		auto asked = Clock::now() - answer_timeout;

		for (; answered_ < number_; (void)end_.rdma.progress())
			if (Clock::now() - asked >= answer_timeout) {
				say(end_.rdma, end_.rdma.address(end_.peers[0]),
				    note);
				asked = Clock::now();
			}
	}

	End end_;
	uint32_t rounds_;
	uint64_t random_;
	uint64_t number_ = 0;
	uint64_t answered_ = 0;
};

bool is_number(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

} // namespace

int main(int argc, char **argv)
{
	const bool first = argc == 2 || (argc == 3 && is_number(argv[2]));
	const int number = argc > (first ? 2 : 3) ? atoi(argv[argc - 1]) :
			   first		  ? 2 :
						    1000;

	if (argc < 2 || argc > 4 ||
	    (first ? number < 1 || number > 60 : number < 1)) {
		fprintf(stderr, "usage: lock_manager ADAPTER "
				"[WORKERS | ADDRESS [ROUNDS]]\n");
		return 2;
	}
	try {
		auto group = pavo::Group::join(
				     {.host = first ? "" : argv[2],
				      .port = port,
				      .size = uint16_t(first ? number + 1 : 0),
				      .key = key})
				     .value();

		if (first) {
			Manager manager(group, argv[1]);

			manager.run();
			manager.check();
			pavo::barrier(group, manager.rdma()).value();
		} else {
			Worker worker(group, argv[1], uint32_t(number));

			worker.run();
			pavo::barrier(group, worker.rdma()).value();
		}
	} catch (const std::exception &error) {
		fprintf(stderr, "lock_manager: %s\n", error.what());
		return 1;
	}
	return 0;
}
