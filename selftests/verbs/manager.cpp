// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Counters of the remote key manager, and links for it to walk over. */
#include "manager.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "tap.h"

namespace pv {

namespace {

/* The kernel shows numbers that are up to 10 ms old (lifespan). */
uint64_t read_number(const std::string &path)
{
	std::this_thread::sleep_for(std::chrono::milliseconds(25));

	std::ifstream file(path);
	uint64_t value;

	if (!(file >> value))
		throw Skip("no " + path);
	return value;
}

} // namespace

Moved::Moved(Host &host, const std::string &counter)
	: path_(str("/sys/class/infiniband/",
		    ibv_get_device_name(local(host).context()->device),
		    "/ports/1/hw_counters/", counter)),
	  before_(read_number(path_))
{
}

uint64_t Moved::by() const
{
	return read_number(path_) - before_;
}

Parameter::Parameter(const char *name, const std::string &value)
	: path_(str("/sys/module/pavo/parameters/", name))
{
	if (!(std::ifstream(path_) >> before_) || !set(value))
		throw Skip("no " + path_);
}

Parameter::~Parameter()
{
	set(before_);
}

bool Parameter::set(const std::string &value)
{
	return bool(std::ofstream(path_) << value << std::flush);
}

std::vector<std::string> slots_of(const Side &side)
{
	std::ifstream dump("/sys/kernel/debug/pavo/slots");
	std::string wanted =
		str(ibv_get_device_name(local(*side.host).context()->device),
		    " qp ", side.qp.number, " pd ");
	std::string line, word;

	while (std::getline(dump, line)) {
		if (!line.starts_with(wanted))
			continue;
		std::istringstream words(line.substr(line.find(':') + 1));
		std::vector<std::string> slots;

		while (words >> word)
			slots.push_back(word);
		return slots;
	}
	throw Failure(str("no line of ", wanted));
}

bool eventually(Env &env, const std::function<bool()> &condition)
{
	using namespace std::chrono;
	const auto end =
		steady_clock::now() + milliseconds(env.options.patience_ms);

	while (!condition()) {
		if (steady_clock::now() > end)
			return false;
		std::this_thread::yield();
	}
	return true;
}

std::vector<Link> many_links(Env &env, size_t count, Handle pd_b)
{
	std::vector<Link> links;
	LinkSpec spec;

	spec.cap = {4, 4, 1, 1, 0};
	spec.rd_atomic = 3;
	spec.pd_b = pd_b;
	spec.cq_a = env.a.create_cq(4096, false);
	spec.cq_b = env.b.create_cq(4096, false);
	for (size_t i = 0; i < count; i++)
		links.push_back(connect(env, spec));
	return links;
}

} // namespace pv
