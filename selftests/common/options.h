/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* options.h - the command line of a test program, by CLI11. */
#ifndef PAVO_COMMON_OPTIONS_H
#define PAVO_COMMON_OPTIONS_H

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace common {

/* Of an option that comes twice the last counts: a script adds to what another says. */
class CommandLine : public CLI::App {
public:
	explicit CommandLine(const std::string &description)
		: CLI::App(description)
	{
		option_defaults()->multi_option_policy(
			CLI::MultiOptionPolicy::TakeLast);
	}

	/* An option that adds a value each time it comes. */
	template <class T>
	CLI::Option *add_list(const std::string &name, std::vector<T> &values,
			      const std::string &help)
	{
		return add_option(name, values, help)
			->allow_extra_args(false)
			->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
	}

	/* All that is left of the command line. */
	CLI::Option *add_rest(const std::string &name,
			      std::vector<std::string> &values,
			      const std::string &help)
	{
		return add_option(name, values, help)
			->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
	}

	/* Ends the program for --help and for wrong use. */
	void read(int argc, char **argv)
	{
		try {
			parse(argc, argv);
		} catch (const CLI::ParseError &error) {
			::exit(exit(error) ? 2 : 0);
		}
	}
};

} // namespace common

#endif /* PAVO_COMMON_OPTIONS_H */
