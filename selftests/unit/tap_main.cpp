// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * tap_main.cpp - main() of the unit test programs: runs the GoogleTest cases
 * and prints one kselftest TAP line per case.
 */
#include <gtest/gtest.h>

#include <iostream>
#include <sstream>
#include <string>

#include "../common/tap.h"

namespace {

tap results;
int status; /* as tap_end() returns it */

// Every line of text as a TAP comment.
void comment(const std::string &text)
{
	std::istringstream lines(text);

	for (std::string line; std::getline(lines, line);)
		std::cout << "# " << line << '\n';
}

class TapPrinter : public testing::EmptyTestEventListener {
	void OnTestProgramStart(const testing::UnitTest &unit) override
	{
		tap_begin(size_t(unit.test_to_run_count()));
	}

	void OnTestPartResult(const testing::TestPartResult &part) override
	{
		if (part.passed())
			return;
		if (part.file_name())
			std::cout << "# " << part.file_name() << ':'
				  << part.line_number() << ":\n";
		comment(part.message());
	}

	void OnTestEnd(const testing::TestInfo &test) override
	{
		const testing::TestResult &result = *test.result();
		const std::string name =
			std::string(test.test_suite_name()) + '.' + test.name();

		if (result.Skipped())
			tap_skip(&results, name.c_str(), "");
		else
			tap_result(&results, result.Passed(), name.c_str());
	}

	/* Not called if tests are only listed. */
	void OnTestProgramEnd(const testing::UnitTest &) override
	{
		status = tap_end(&results);
	}
};

} // namespace

int main(int argc, char **argv)
{
	testing::InitGoogleTest(&argc, argv);

	testing::UnitTest &unit = *testing::UnitTest::GetInstance();
	testing::TestEventListeners &listeners = unit.listeners();

	delete listeners.Release(listeners.default_result_printer());
	listeners.Append(new TapPrinter);
	return RUN_ALL_TESTS() ? 1 : status;
}
