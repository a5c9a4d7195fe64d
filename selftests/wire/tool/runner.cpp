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
#include <span>

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

/* Runs the case, tells on `report` what went wrong. */
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

using Cases = std::span<const Planned>;

/*
 * A process that runs cases one after another. It reports on a pipe: lines about a case, then
 * a line with its result.
 */
class Worker {
public:
	Worker(const RunOptions &o, Cases cases);
	~Worker() { end(); }
	Worker(const Worker &) = delete;

	/* Waits for the next case. If the process ends meanwhile, the case has failed. */
	Result next(std::string &report);
	bool lives() const { return child_ > 0; }
	/* Waits for the process. "": it ended well. */
	std::string end();

private:
	static constexpr std::string_view result_mark = "=result ";

	[[noreturn]] void work(const RunOptions &o, Cases cases, int to);
	bool read_more(int64_t deadline);

	unsigned limit_;
	pid_t child_;
	int from_;
	std::string text_; /* that was read and not yet looked at */
};

Worker::Worker(const RunOptions &o, Cases cases) : limit_(o.limit)
{
	int ends[2];

	std::fflush(stdout);
	if (pipe(ends))
		throw std::runtime_error("pipe");
	child_ = fork();
	if (child_ < 0)
		throw std::runtime_error("fork");
	if (child_ == 0) {
		close(ends[0]);
		work(o, cases, ends[1]);
	}
	close(ends[1]);
	from_ = ends[0];
}

void Worker::work(const RunOptions &o, Cases cases, int to)
{
	FILE *out = fdopen(to, "w");

	for (const Planned &planned : cases) {
		const Result result = run_case(o, planned, out);

		std::fprintf(out, "%s%d\n", result_mark.data(), result);
		std::fflush(out);
	}
	std::_Exit(!o.at_end || o.at_end() ? passed : failed);
}

/* False: there is no more, or the time is over. */
bool Worker::read_more(int64_t deadline)
{
	char buffer[4096];
	pollfd wait{from_, POLLIN, 0};
	const int64_t left = deadline - now_ns();

	if (left <= 0 ||
	    poll(&wait, 1, static_cast<int>(left / 1000000 + 1)) <= 0) {
		text_ += "took more than " + std::to_string(limit_) +
			 " seconds\n";
		kill(child_, SIGKILL);
		return false;
	}

	const ssize_t n = read(from_, buffer, sizeof(buffer));

	if (n > 0)
		text_.append(buffer, static_cast<size_t>(n));
	return n > 0;
}

Result Worker::next(std::string &report)
{
	const int64_t deadline = now_ns() + 1000000000ll * limit_;
	size_t mark, line_end;

	do {
		mark = text_.starts_with(result_mark) ?
			       0 :
			       text_.find("\n" + std::string(result_mark));
		line_end = mark == std::string::npos ?
				   mark :
				   text_.find('\n', mark + 1);
		if (line_end != std::string::npos) {
			const char number = text_[line_end - 1];

			report = text_.substr(0, mark);
			text_.erase(0, line_end + 1);
			return number == '0' + passed ? passed : failed;
		}
	} while (read_more(deadline));
	report = std::move(text_);
	report += end();
	return failed;
}

std::string Worker::end()
{
	int status = 0;

	if (!lives())
		return "";
	close(from_);
	waitpid(child_, &status, 0);
	child_ = 0;
	if (WIFSIGNALED(status))
		return std::string("ended by signal ") +
		       strsignal(WTERMSIG(status)) + "\n";
	return WEXITSTATUS(status) == passed ? "" : "it ended badly\n";
}

void print_report(const std::string &report)
{
	for (const std::string &line : split(report, '\n'))
		std::printf("# %s\n", line.c_str());
}

/* So that a complaint on the console can be told to a case. */
void mark_kernel_log(const char *name)
{
	if (FILE *log = std::fopen("/dev/kmsg", "w")) {
		std::fprintf(log, "pavo-wire: %s\n", name);
		std::fclose(log);
	}
}

/* Why the case is not to be run; "": it is. */
std::string why_skip(const RunOptions &o, const Script &script)
{
	if (!script.only.empty() && script.only != o.type)
		return "only for " + script.only;
	if (o.type == "rxe" && !script.rxe_breaks.empty())
		return "rdma_rxe breaks: " + script.rxe_breaks;
	if (script.flush && o.can_flush && !o.can_flush())
		return "the device does not let regions be flushed";
	return o.why_not ? o.why_not(script.name) : "";
}

/* Prints the result of a case that was run. */
void conclude(const RunOptions &o, tap &tap, const Planned &planned,
	      Result result, const std::string &report)
{
	const Script &script = *planned.script;
	const char *name = planned.chosen->name.c_str();

	print_report(report);
	if (result == failed && o.type == "rxe" && !script.rxe_differs.empty())
		tap_skip(&tap, name,
			 ("rdma_rxe differs: " + script.rxe_differs).c_str());
	else
		tap_result(&tap, result == passed, name);
}

int run_all(const RunOptions &o, const std::vector<Planned> &plan)
{
	std::optional<Worker> worker;
	std::vector<Planned> run;
	size_t at = 0;
	tap tap = {};

	for (const Planned &planned : plan)
		if (why_skip(o, *planned.script).empty())
			run.push_back(planned);
	Dut::load_providers();
	tap_begin(plan.size());
	for (const Planned &planned : plan) {
		const std::string why = why_skip(o, *planned.script);
		const char *name = planned.chosen->name.c_str();
		std::string report;

		if (!why.empty()) {
			tap_skip(&tap, name, why.c_str());
			continue;
		}
		if (o.kmsg)
			mark_kernel_log(name);
		if (!worker || !worker->lives() || !o.together)
			worker.emplace(o, Cases(run).subspan(
						  at, o.together ?
							      run.size() - at :
							      1));
		at++;
		const Result result = worker->next(report);

		conclude(o, tap, planned, result, report);
	}
	const std::string end = worker ? worker->end() : "";

	print_report(end);
	const int status = tap_end(&tap);

	return end.empty() ? status : 1;
}

bool selected(const RunOptions &o, const std::string &name)
{
	return o.only.empty() ||
	       std::any_of(o.only.begin(), o.only.end(), [&](auto &text) {
		       return name.find(text) != std::string::npos;
	       });
}

/* Whether this program has what the script wants beside a device. */
bool can_play(const RunOptions &o, const Script &script)
{
	return (!script.in_a_row || o.in_a_row) && (!script.engine || o.engine);
}

} // namespace

void RunOptions::declare(common::CommandLine &app)
{
	app.add_rest("SCRIPT", paths, "scripts, and folders of them")
		->required();
	app.add_list("--only", only,
		     "only cases whose name contains TEXT; may be repeated");
	app.add_flag("--sample", sample,
		     "one case of each script, in turn its first, second, "
		     "and so on");
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

	size_t turn = 0;
	for (const Script &script : scripts) {
		const size_t one = turn++ % script.cases.size();

		if (!can_play(o, script) && !o.list && !o.check)
			continue;
		for (size_t i = 0; i < script.cases.size(); i++)
			if ((!o.sample || i == one) &&
			    selected(o, script.cases[i].name))
				plan.push_back({&script, &script.cases[i]});
	}
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
