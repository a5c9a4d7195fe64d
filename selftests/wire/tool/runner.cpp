// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Runs the cases of scripts: see runner.h.
 */
#include "runner.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace pw {

namespace {

struct Planned {
	const Script *script;
	const Case *chosen;
};

/* Files as given; folders with all *.wire below them, by name. */
std::vector<Script> read_scripts(const std::vector<std::string> &paths)
{
	std::vector<Script> scripts;

	for (const fs::path path : paths) {
		std::vector<fs::path> files;

		if (!fs::is_directory(path)) {
			scripts.push_back(read_script(path, path.stem()));
			continue;
		}
		for (const auto &entry : fs::recursive_directory_iterator(path))
			if (entry.path().extension() == ".wire")
				files.push_back(entry.path());
		std::sort(files.begin(), files.end());
		for (const fs::path &file : files) {
			fs::path name = fs::relative(file, path);

			scripts.push_back(
				read_script(file, name.replace_extension()));
		}
	}
	return scripts;
}

/* The last `count` lines: what went wrong is at the end. */
void write_trace(const std::vector<std::string> &trace, size_t count, FILE *out)
{
	const size_t skipped_lines =
		trace.size() - std::min(count, trace.size());

	if (skipped_lines)
		std::fprintf(out, "... %zu earlier lines, see --trace\n",
			     skipped_lines);
	for (size_t i = skipped_lines; i < trace.size(); i++)
		std::fprintf(out, "%s\n", trace[i].c_str());
}

/* In the child: runs the case, tells on `report` what went wrong. */
Result run_case(const RunOptions &o, const Planned &planned, FILE *report)
{
	std::unique_ptr<Bench> bench;
	std::unique_ptr<Machine> machine;
	std::string error;

	try {
		bench = o.make_bench();
		machine = std::make_unique<Machine>(*bench, o.setup,
						    *planned.chosen);
		machine->run(*planned.script);
	} catch (const std::exception &e) {
		error = e.what();
	}
	if (machine && (o.trace || !error.empty()))
		write_trace(machine->trace(), o.trace ? SIZE_MAX : 30, report);
	if (!error.empty())
		std::fprintf(report, "%s: %s\n", planned.script->path.c_str(),
			     error.c_str());
	return error.empty() ? passed : failed;
}

/* Reads what the child reports until it ends or the limit is over. */
std::string collect(int fd, pid_t child, unsigned limit)
{
	const int64_t deadline = now_ns() + 1000000000ll * limit;
	std::string text;
	char buffer[4096];

	for (;;) {
		pollfd wait{fd, POLLIN, 0};
		const int64_t left = deadline - now_ns();

		if (left <= 0)
			break;
		if (poll(&wait, 1, static_cast<int>(left / 1000000 + 1)) <= 0)
			continue;

		const ssize_t n = read(fd, buffer, sizeof(buffer));

		if (n <= 0)
			return text;
		text.append(buffer, static_cast<size_t>(n));
	}
	kill(child, SIGKILL);
	return text + "took more than " + std::to_string(limit) + " seconds\n";
}

Result run_in_child(const RunOptions &o, const Planned &planned,
		    std::string &report)
{
	int ends[2], status = 0;

	std::fflush(stdout);
	if (pipe(ends))
		throw std::runtime_error("pipe");

	const pid_t child = fork();

	if (child < 0)
		throw std::runtime_error("fork");
	if (child == 0) {
		FILE *out = fdopen(ends[1], "w");

		close(ends[0]);

		const Result result = run_case(o, planned, out);

		std::fclose(out);
		std::_Exit(result);
	}
	close(ends[1]);
	report = collect(ends[0], child, o.limit);
	close(ends[0]);
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		report += std::string("ended by signal ") +
			  strsignal(WTERMSIG(status)) + "\n";
	return WIFEXITED(status) && WEXITSTATUS(status) == passed ? passed :
								    failed;
}

void print_report(const std::string &report)
{
	for (const std::string &line : split(report, '\n'))
		std::printf("# %s\n", line.c_str());
}

Result skip(size_t number, const char *name, const std::string &why)
{
	std::printf("ok %zu %s # SKIP %s\n", number, name, why.c_str());
	return skipped;
}

/* So that a complaint on the console can be told to a case. */
void mark_kernel_log(const char *name)
{
	if (FILE *log = std::fopen("/dev/kmsg", "w")) {
		std::fprintf(log, "pavo-wire: %s\n", name);
		std::fclose(log);
	}
}

Result run_planned(const RunOptions &o, size_t number, const Planned &planned)
{
	const Script &script = *planned.script;
	const char *name = planned.chosen->name.c_str();
	const bool rxe = o.type == "rxe";
	std::string report;

	if (o.kmsg)
		mark_kernel_log(name);
	if (!script.only.empty() && script.only != o.type)
		return skip(number, name, "only for " + script.only);
	if (o.why_not)
		if (const std::string why = o.why_not(script.name);
		    !why.empty())
			return skip(number, name, why);
	if (rxe && !script.rxe_breaks.empty())
		return skip(number, name,
			    "rdma_rxe breaks: " + script.rxe_breaks);

	const Result result = run_in_child(o, planned, report);

	print_report(report);
	if (result == failed && rxe && !script.rxe_differs.empty())
		return skip(number, name,
			    "rdma_rxe differs: " + script.rxe_differs);
	std::printf("%s %zu %s\n", result == passed ? "ok" : "not ok", number,
		    name);
	return result;
}

int run_all(const RunOptions &o, const std::vector<Planned> &plan)
{
	size_t count[5] = {};
	size_t number = 0;

	Dut::load_providers();
	std::printf("TAP version 13\n1..%zu\n", plan.size());
	for (const Planned &planned : plan)
		count[run_planned(o, ++number, planned)]++;
	std::printf("# %zu passed, %zu failed, %zu skipped\n", count[passed],
		    count[failed], count[skipped]);
	if (count[failed])
		return failed;
	return count[passed] ? passed : skipped;
}

bool selected(const RunOptions &o, const std::string &name)
{
	return o.only.empty() ||
	       std::any_of(o.only.begin(), o.only.end(), [&](auto &text) {
		       return name.find(text) != std::string::npos;
	       });
}

} // namespace

void RunOptions::declare(common::CommandLine &app)
{
	app.add_rest("SCRIPT", paths, "scripts, and folders of them")
		->required();
	app.add_list("--only", only,
		     "only cases whose name contains TEXT; may be repeated");
	app.add_option("--limit", limit,
		       "seconds one case may take in all (30)")
		->check(CLI::Range(1, 3600));
	app.add_flag("--list", list, "print the names of the cases and end");
	app.add_flag("--check", check,
		     "only check the grammar of the scripts, and that each "
		     "expects something; needs no device");
	app.add_flag("--kmsg", kmsg,
		     "write the name of each case to the kernel's log");
	app.add_flag("--trace", trace,
		     "print the packets of every case, not only of failed "
		     "ones");
}

int run_scripts(const RunOptions &o)
{
	const auto scripts = read_scripts(o.paths);
	std::vector<Planned> plan;

	for (const Script &script : scripts)
		for (const Case &chosen : script.cases)
			if (selected(o, chosen.name))
				plan.push_back({&script, &chosen});
	if (plan.empty())
		throw NoCase("no case has such a name");
	for (const Planned &planned : plan) {
		if (o.list)
			std::printf("%s\n", planned.chosen->name.c_str());
		if (o.check)
			Machine::check(*planned.script, *planned.chosen);
	}
	return o.list || o.check ? 0 : run_all(o, plan);
}

} // namespace pw
