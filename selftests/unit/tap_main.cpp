// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * tap_main.cpp - main() of the unit test programs: runs the GoogleTest cases
 * and prints one kselftest TAP line per case.
 *
 * Exit status: 0 all passed, 1 a case failed, 4 every case was skipped.
 */
#include <gtest/gtest.h>

#include <iostream>
#include <sstream>
#include <string>

namespace {

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
		std::cout << "TAP version 13\n1.." << unit.test_to_run_count()
			  << std::endl;
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

		std::cout << (result.Failed() ? "not ok " : "ok ") << ++number_
			  << ' ' << test.test_suite_name() << '.'
			  << test.name();
		if (result.Skipped())
			std::cout << " # SKIP";
		std::cout << std::endl;
	}

	int number_ = 0;
};

} // namespace

int main(int argc, char **argv)
{
	testing::InitGoogleTest(&argc, argv);

	testing::UnitTest &unit = *testing::UnitTest::GetInstance();
	testing::TestEventListeners &listeners = unit.listeners();

	delete listeners.Release(listeners.default_result_printer());
	listeners.Append(new TapPrinter);
	if (RUN_ALL_TESTS())
		return 1;
	return unit.skipped_test_count() == unit.test_to_run_count() ? 4 : 0;
}
