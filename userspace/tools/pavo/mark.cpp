// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* mark.cpp - see mark.h. */
#include "mark.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace pavo {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path ROOTS_FOLDER = "/run/pavo";
constexpr const char *NAME = "counters.json";

/* Of this user; empty: none */
fs::path own_folder()
{
	const char *session = getenv("XDG_RUNTIME_DIR");

	if (!geteuid())
		return ROOTS_FOLDER;
	return session && *session ? fs::path(session) / "pavo" : fs::path();
}

std::string read_all(const fs::path &file)
{
	std::ifstream in(file);

	return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

Marks read_marks()
{
	Marks marks = parse_marks(read_all(ROOTS_FOLDER / NAME));

	if (geteuid() && !own_folder().empty())
		for (auto &[name, mark] :
		     parse_marks(read_all(own_folder() / NAME)))
			marks[name] = mark;
	return marks;
}

void write_marks(const Marks &marks)
{
	fs::path folder = own_folder(), part;
	std::error_code error;

	if (folder.empty())
		throw Error("no place for the mark: XDG_RUNTIME_DIR is not "
			    "set, and root only has /run/pavo");
	fs::create_directories(folder, error);
	part = folder / fmt::format("{}.{}", NAME, getpid());
	std::ofstream(part) << text_of(marks);
	if (read_all(part) != text_of(marks) ||
	    rename(part.c_str(), (folder / NAME).c_str()))
		throw Error(
			fmt::format("{}: {}", part.string(), strerror(errno)));
}

std::string text_of(const Marks &marks)
{
	json all = json::object();

	for (const auto &[name, mark] : marks)
		all[name] = {{"since", mark.since},
			     {"counters", mark.counters}};
	return all.dump(1) + "\n";
}

Marks parse_marks(const std::string &text)
{
	json all = json::parse(text, nullptr, false);
	Marks marks;

	if (!all.is_object())
		return marks;
	for (const auto &[name, one] : all.items()) {
		if (!one.is_object() || !one.contains("since") ||
		    !one["since"].is_string() || !one.contains("counters") ||
		    !one["counters"].is_object())
			continue;
		Mark &mark = marks[name];

		mark.since = one["since"];
		for (const auto &[counter, value] : one["counters"].items())
			if (value.is_number_unsigned())
				mark.counters[counter] = value;
	}
	return marks;
}

std::string now()
{
	return fmt::format("{:%Y-%m-%d %H:%M:%S}",
			   fmt::localtime(std::chrono::system_clock::to_time_t(
				   std::chrono::system_clock::now())));
}

Counters count_since(const Counters &counters, Mark &mark)
{
	Counters since = counters;

	for (auto &[name, value] : since) {
		auto then = mark.counters.find(name);

		if (then == mark.counters.end())
			continue;
		if (then->second > value) {
			mark = {};
			return counters;
		}
		value -= then->second;
	}
	return since;
}

} // namespace pavo
