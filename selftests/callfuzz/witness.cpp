// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * witness.cpp - see director.h: honest traffic of another process beside all programs.
 */
#include <chrono>
#include <csignal>
#include <cstring>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>

#include "../faults/ends.h"
#include "director.h"

namespace callfuzz {

[[noreturn]] static void testify(Shared &shared)
{
	try {
		faults::Witness witness("wa0", "wb0");

		for (;;) {
			witness.testify();
			shared.witnessed++;
			std::this_thread::sleep_for(
				std::chrono::milliseconds(300));
		}
	} catch (const std::exception &failure) {
		strncpy(shared.testimony, failure.what(),
			sizeof(shared.testimony) - 1);
	}
	_exit(1);
}

pid_t start_witness(Shared &shared, unsigned patience)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		faults::patience = patience;
		testify(shared);
	}
	return pid;
}

} // namespace callfuzz
