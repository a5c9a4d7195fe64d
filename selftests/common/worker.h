/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* worker.h - the doorbell workers of this process, as the kernel shows its threads. */
#ifndef PAVO_COMMON_WORKER_H
#define PAVO_COMMON_WORKER_H

#include <filesystem>
#include <fstream>
#include <string>

namespace common {

/*
 * Does one sleep? Its flag alone does not tell: the worker sets it, then looks at the doorbells
 * once more.
 */
inline bool worker_sleeps()
{
	for (const auto &task :
	     std::filesystem::directory_iterator("/proc/self/task")) {
		std::ifstream stat(task.path() / "stat");
		std::string line;

		std::getline(stat, line);
		if (line.find("(pavo-doorbells) S") != line.npos)
			return true;
	}
	return false;
}

} // namespace common

#endif /* PAVO_COMMON_WORKER_H */
