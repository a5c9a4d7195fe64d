// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * table.cpp - reads the list of calls; entries.cpp says how its lines are written.
 */
#include "table.h"

#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <map>
#include <sstream>
#include <stdexcept>

namespace callfuzz {
namespace {

/* Addresses and places in files have eight bytes, the rest is numbers and handles. */
unsigned size_of(const std::string &cls)
{
	for (const char *end : {"off", "area", "mem", "pvo"})
		if (cls.size() >= strlen(end) &&
		    !cls.compare(cls.size() - strlen(end), strlen(end), end))
			return 8;
	return 4;
}

const std::map<std::string, std::pair<What, unsigned>> special = {
	{"resp", {What::response, 8}}, {"gid", {What::gid, 16}},
	{"sgid", {What::sgid, 1}},     {"sgid2", {What::sgid, 2}},
	{"sgid4", {What::sgid, 4}},    {"str", {What::text, 0}},
	{"new", {What::made, 4}},
};

std::vector<uint64_t> read_hints(const std::string &text)
{
	std::vector<uint64_t> hints;
	std::istringstream in(text);
	std::string word;

	while (std::getline(in, word, '|'))
		hints.push_back(strtoull(word.c_str(), nullptr, 0));
	return hints;
}

/* "4", "z8", "out16", "resp", or a class. */
void read_type(Field &field, const std::string &type)
{
	auto known = special.find(type);

	if (type == "dev") {
		field.what = What::file;
		field.cls = type;
	} else if (known != special.end()) {
		field.what = known->second.first;
		field.size = known->second.second;
	} else if (type[0] == 'z' && isdigit(type[1])) {
		field.what = What::padding;
		field.size = unsigned(atoi(&type[1]));
	} else if (type.substr(0, 3) == "out") {
		field.what = What::out;
		field.size = unsigned(atoi(&type[3]));
	} else if (isdigit(type[0])) {
		field.size = unsigned(atoi(type.c_str()));
	} else {
		field.what = What::value;
		field.cls = type;
		field.size = size_of(type);
	}
}

/* [ATTR@, ATTR? or +]TYPE[:NAME][{HINT|HINT...}]; @before: the field before it */
Field read_field(std::string text, const Field *before)
{
	Field field;
	size_t at = text.find_first_of("@?");

	if (text[0] == '+') {
		field.attr = before->attr;
		field.optional = before->optional;
		text.erase(0, 1);
	} else if (at != std::string::npos) {
		field.attr = int(strtol(text.c_str(), nullptr, 0));
		field.optional = text[at] == '?';
		text.erase(0, at + 1);
	}
	at = text.find('{');
	if (at != std::string::npos) {
		field.hints =
			read_hints(text.substr(at + 1, text.size() - at - 2));
		text.erase(at);
	}
	at = text.find(':');
	field.name = text.substr(at == std::string::npos ? 0 : at + 1);
	read_type(field, text.substr(0, at));
	if (field.hints.empty())
		field.hints = {0};
	return field;
}

bool takes_argument(const Field &field)
{
	return field.what != What::padding && field.what != What::response &&
	       field.what != What::made && field.what != What::out;
}

void read_fields(Entry &entry, const char *text)
{
	std::istringstream in(text);
	std::string word;

	while (in >> word) {
		entry.fields.push_back(read_field(
			word,
			entry.fields.empty() ? nullptr : &entry.fields.back()));
		Field &field = entry.fields.back();

		if (!takes_argument(field))
			continue;
		field.arg = int(entry.args.size());
		entry.args.push_back(unsigned(entry.fields.size() - 1));
	}
	if (entry.args.size() > most_args)
		throw std::logic_error(entry.name + ": too many arguments");
}

/* NAME[/CLASS]:[ATTR@]OFFSET:SIZE */
void read_outputs(Entry &entry, const char *text)
{
	std::istringstream in(text);
	std::string word;

	while (in >> word) {
		Output output;
		size_t colon = word.find(':'), slash = word.find('/');
		size_t next = word.find('@');

		output.name = word.substr(0, std::min(colon, slash));
		output.cls = slash < colon ?
				     word.substr(slash + 1, colon - slash - 1) :
				     output.name;
		if (next != std::string::npos)
			output.attr = int(strtol(&word[colon + 1], nullptr, 0));
		else
			next = colon;
		output.at = unsigned(atoi(&word[next + 1]));
		output.size = unsigned(atoi(&word[word.rfind(':') + 1]));
		entry.outputs.push_back(output);
	}
	if (entry.outputs.size() > most_outputs)
		throw std::logic_error(entry.name + ": too many outputs");
}

Entry read_line(const Line &line)
{
	static const std::map<char, How> hows = {{'h', How::hand},
						 {'w', How::write},
						 {'x', How::extended},
						 {'m', How::method},
						 {'n', How::netlink}};
	std::istringstream how(line.how + 1);
	Entry entry = {.name = line.name,
		       .makes = line.makes,
		       .how = hows.at(line.how[0])};

	how >> std::setbase(0);
	for (unsigned &number : entry.numbers)
		how >> number;
	entry.weight = line.weight;
	entry.hand = line.hand;
	read_fields(entry, line.fields);
	read_outputs(entry, line.outputs);
	return entry;
}

std::vector<Entry> read_all()
{
	std::vector<Entry> all;

	for (auto *list : {&lines(), &hand_lines()})
		for (const Line &line : *list) {
			all.push_back(read_line(line));
			all.back().index = unsigned(all.size() - 1);
		}
	return all;
}

} // namespace

const std::vector<Entry> &entries()
{
	static const std::vector<Entry> all = read_all();

	return all;
}

const Entry *find_entry(const std::string &name)
{
	static const std::map<std::string, const Entry *> by_name = [] {
		std::map<std::string, const Entry *> map;

		for (const Entry &entry : entries())
			map[entry.name] = &entry;
		return map;
	}();
	auto found = by_name.find(name);

	return found == by_name.end() ? nullptr : found->second;
}

} // namespace callfuzz
