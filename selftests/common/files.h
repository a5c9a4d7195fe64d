/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* files.h - reads and writes the small files in which a kernel shows its state. */
#ifndef PAVO_COMMON_FILES_H
#define PAVO_COMMON_FILES_H

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace common {

/* The kernel here lacks a file; a test of several drivers may be skipped for it. */
struct Missing : std::runtime_error {
	explicit Missing(const std::string &what)
		: std::runtime_error("no " + what)
	{
	}
};

/* The first word. Throws Missing: there is no file, or no word of that type in it. */
template <class T = std::string> T read_word(const std::string &path)
{
	std::ifstream file(path);
	T word;

	if (!(file >> word))
		throw Missing(path);
	return word;
}

/* Return: false: there is no file, or it does not take that. */
template <class T> bool write_word(const std::string &path, const T &word)
{
	return bool(std::ofstream(path) << word << std::flush);
}

/* The lines that begin so. Throws Missing. */
inline std::vector<std::string> lines_of(const std::string &path,
					 const std::string &begin = "")
{
	std::ifstream file(path);
	std::vector<std::string> lines;

	if (!file)
		throw Missing(path);
	for (std::string line; std::getline(file, line);)
		if (line.starts_with(begin))
			lines.push_back(line);
	return lines;
}

/* The number behind a word ("VmPin:" of /proc/self/status). Throws Missing. */
inline uint64_t number_behind(const std::string &path, const std::string &name)
{
	std::ifstream file(path);
	uint64_t number;

	for (std::string word; file >> word;)
		if (word == name && file >> number)
			return number;
	throw Missing(name + " in " + path);
}

} // namespace common

#endif /* PAVO_COMMON_FILES_H */
