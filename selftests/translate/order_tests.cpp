// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * order_tests.cpp - everything that an ordinary user may run out of (locked memory, room
 * of the job, places in its tables, job slots), in random order: what is refused and by
 * which error is foretold by a model, and in the end all of it is back.
 */
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <pavo/window.hpp>

#include "domain.h"
#include "world.h"

using namespace world;
using pavo::Job;
using pavo::Mapping;
using pavo::Window;

namespace {

/* Single pages, so that free places of a table can always be used. */
constexpr size_t areas = 80, locked_most = 64, quota = 32, steps = 3000;
constexpr unsigned jobs_most = 2;
/* Two FIFOs of sixteen frames. */
constexpr size_t window_pages = 16;

/* The user's job has a limit of its own where the tables have more room than that. */
size_t job_limit()
{
	return parameter("tce_small_entries") > quota ? quota * page : 0;
}

/* Places for pages in the tables of a job. */
size_t places()
{
	return size_t{parameter("tce_small_entries")} *
	       parameter("job_small_tables");
}

pavo::WindowOptions smallest()
{
	pavo::WindowOptions options;

	options.send_frames = options.recv_frames = 16;
	return options;
}

/* One user's objects, and what the limits say of one more. */
class Holdings {
public:
	Holdings()
		: device_(adapter()),
		  job_(Job::reserve(device_, job_id + 1, job_key, job_limit())
			       .value()),
		  pd_("PAVO_DEV"), memory_(areas * page), others_(pinned())
	{
	}

	/* One call of any kind. Return: it was answered as foretold. */
	bool step(std::mt19937 &random)
	{
		const size_t number = random() % areas;

		switch (random() % 8) {
		case 0:
		case 1:
			return map(number);
		case 2:
			return enroll(number);
		case 3:
			return open();
		case 4:
			return reserve();
		default:
			give_back(random, number);
			return is_counted("given back");
		}
	}

	/* As many pages as there may be, and one more. Return: they were taken. */
	bool fill()
	{
		size_t n = 0;

		while (n < areas && !may_map(n))
			if (!map(n++))
				return false;
		if (!map(n))
			return false;
		for (n = 0; n < areas && !may_register(n);)
			if (!enroll(n++))
				return false;
		return enroll(n);
	}

	/* Return: nothing of it is counted any more. */
	bool clear()
	{
		for (auto &mappings : mapped_)
			mappings.clear();
		for (auto &regions : registered_)
			regions.clear();
		windows_.clear();
		jobs_.clear();
		pavo::JobInfo now = job_.info().value();
		return is_counted("all given back") && pinned() == others_ &&
		       !now.buffers && !now.mappings;
	}

	/* Return: each kind was refused by each error that it has. */
	bool saw_all() const
	{
		const int full = job_limit() ? EDQUOT : ENOSPC;
		const bool all = refused_.contains({"map", ENOMEM}) &&
				 refused_.contains({"map", full}) &&
				 refused_.contains({"register", ENOMEM}) &&
				 refused_.contains({"window", ENOMEM}) &&
				 refused_.contains({"job", full});

		if (!all)
			for (auto &[what, error] : refused_)
				std::cout << "# refused: " << what << " by "
					  << error << std::endl;
		return all;
	}

private:
	/* ------------------------------------------------------- the model */

	template <class T> static size_t used(const T &lists)
	{
		size_t n = 0;

		for (auto &list : lists)
			n += !list.empty();
		return n;
	}

	size_t pins() const { return used(mapped_) + used(registered_); }

	int may_pin() const
	{
		return others_ + pins() < locked_most ? 0 : ENOMEM;
	}

	int may_map(size_t number) const
	{
		size_t limit = job_limit() / page;

		if (!mapped_[number].empty())
			return 0;
		if (int error = may_pin())
			return error;
		if (limit && used(mapped_) >= limit)
			return EDQUOT;
		return used(mapped_) < places() ? 0 : ENOSPC;
	}

	int may_register(size_t number) const
	{
		return registered_[number].empty() ? may_pin() : 0;
	}

	int may_open() const
	{
		return (windows_.size() + 1) * window_pages <= locked_most ?
			       0 :
			       ENOMEM;
	}

	/* One is reserved from the beginning. */
	int may_reserve() const
	{
		if (jobs_.size() + 1 >= jobs_most)
			return EDQUOT;
		return jobs_.size() + 1 < parameter("job_slots") ? 0 : ENOSPC;
	}

	/* ----------------------------- what is done; true: as it was foretold */

	std::span<std::byte> area(size_t number) const
	{
		return memory_.part(number * page, page);
	}

	bool map(size_t number)
	{
		return as_foretold("map", may_map(number), [&] {
			mapped_[number].push_back(
				Mapping::open(job_, area(number)).value());
		});
	}

	bool enroll(size_t number)
	{
		return as_foretold("register", may_register(number), [&] {
			Region made = region(pd_, area(number));

			if (!made)
				throw std::system_error(
					errno, std::generic_category());
			registered_[number].push_back(std::move(made));
		});
	}

	bool open()
	{
		return as_foretold("window", may_open(), [&] {
			windows_.push_back(std::make_unique<Window>(
				Window::open(job_, smallest()).value()));
		});
	}

	bool reserve()
	{
		return as_foretold("job", may_reserve(), [&] {
			uint32_t id = job_id + 2 + uint32_t(jobs_.size());

			jobs_.push_back(
				Job::reserve(device_, id, job_key).value());
		});
	}

	void give_back(std::mt19937 &random, size_t number)
	{
		switch (random() % 8) {
		case 0:
			if (!windows_.empty())
				windows_.erase(
					windows_.begin() +
					long(random() % windows_.size()));
			break;
		case 1:
			if (!jobs_.empty())
				jobs_.pop_back();
			break;
		case 2:
		case 3:
		case 4:
			if (!registered_[number].empty())
				registered_[number].pop_back();
			break;
		case 5:
			mapped_[number].clear();
			break;
		default:
			if (!mapped_[number].empty())
				mapped_[number].pop_back();
		}
	}

	bool as_foretold(const char *what, int foretold,
			 const std::function<void()> &call)
	{
		int error = refusal(call);

		if (error)
			refused_.emplace(what, error);
		if (error != foretold)
			std::cout << "# " << what << ": error " << error
				  << " and not " << foretold << std::endl;
		return error == foretold && is_counted(what);
	}

	bool is_counted(const char *what) const
	{
		const size_t now = pinned();

		if (now != others_ + pins())
			std::cout << "# " << what << ": " << now
				  << " pages pinned and not "
				  << others_ + pins() << std::endl;
		return now == others_ + pins() &&
		       job_.info().value().buffers == used(mapped_);
	}

	pavo::Device device_;
	Job job_;
	Domain pd_;
	Memory memory_;
	const size_t others_;
	std::array<std::vector<Mapping>, areas> mapped_;
	std::array<std::vector<Region>, areas> registered_;
	std::vector<std::unique_ptr<Window>> windows_;
	std::vector<Job> jobs_;
	std::set<std::pair<std::string, int>> refused_;
};

bool in_any_order(unsigned seed)
{
	Holdings holdings;
	std::mt19937 random(seed);

	for (size_t n = 0; n < steps; n++)
		if (!holdings.step(random)) {
			std::cout << "# step " << n << " of seed " << seed
				  << std::endl;
			return false;
		}
	/* Memory that came back is as good as new. */
	return holdings.saw_all() && holdings.clear() && holdings.fill() &&
	       holdings.clear();
}

TEST(Exhaustion, InAnyOrder)
{
	Parameter jobs("jobs_per_user", jobs_most);

	for (unsigned seed : {1u, 2u, 3u}) {
		Process child([seed](Process &) {
			become_user(locked_most * page);
			return in_any_order(seed);
		});

		EXPECT_TRUE(child.good()) << "seed " << seed;
	}
}

} // namespace
