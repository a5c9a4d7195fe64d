// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* text.cpp - see text.h. */
#include "text.h"

#include <arpa/inet.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>

namespace pavo {
namespace {

/* Lines with less room for words than this are no help. */
constexpr size_t LEAST_ROOM = 16;

} // namespace

size_t terminal_width()
{
	winsize size{};

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

std::string wrap(const std::string &text, size_t indent, size_t width)
{
	std::string done, rest = text;
	size_t taken = 0;

	if (width < indent + LEAST_ROOM)
		return text;
	while (rest.size() + taken > width) {
		/* The first line's own indentation is no place to break it. */
		size_t least = rest.find_first_not_of(' '), at;

		at = rest.rfind(' ', width - taken);
		if (at == std::string::npos || at <= least)
			at = rest.find(' ', least);
		if (at == std::string::npos)
			break;
		done += rest.substr(0, rest.find_last_not_of(' ', at) + 1);
		done += "\n" + std::string(indent, ' ');
		rest = rest.substr(rest.find_first_not_of(' ', at));
		taken = indent;
	}
	return done + rest;
}

std::string cut(const std::string &line, size_t width)
{
	return width ? line.substr(0, width) : line;
}

std::string address_of(const std::string &gid)
{
	constexpr size_t IPV4_AT = 12;
	in6_addr raw;
	std::array<char, INET6_ADDRSTRLEN> text;

	if (inet_pton(AF_INET6, gid.c_str(), &raw) != 1)
		return gid;
	if (IN6_IS_ADDR_V4MAPPED(&raw))
		return inet_ntop(AF_INET, raw.s6_addr + IPV4_AT, text.data(),
				 text.size());
	return inet_ntop(AF_INET6, &raw, text.data(), text.size());
}

} // namespace pavo
