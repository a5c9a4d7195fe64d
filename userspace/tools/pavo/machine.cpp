// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* machine.cpp - see machine.h. */
#include "machine.h"

#include <net/if_arp.h>
#include <sys/klog.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

namespace pavo {
namespace {

namespace fs = std::filesystem;

constexpr int READ_ALL = 3; /* of klogctl(): SYSLOG_ACTION_READ_ALL */
constexpr int LOG_SIZE = 10; /* SYSLOG_ACTION_SIZE_BUFFER */
/* The end of a file that is signed (kernel/module_signature.c) */
constexpr std::string_view SIGNED = "~Module signature appended~\n";

std::string read_text(const fs::path &file)
{
	std::ifstream in(file);

	return {std::istreambuf_iterator<char>(in), {}};
}

bool says(const fs::path &file, const char *text)
{
	return read_text(file).find(text) != std::string::npos;
}

/* The first name that fits, by the alphabet: an Ethernet interface, rather one that is up. */
std::string choose_interface()
{
	std::error_code error;
	std::string up, any;

	for (const auto &entry :
	     fs::directory_iterator("/sys/class/net", error)) {
		std::string name = entry.path().filename();

		if (read_text(entry.path() / "type") !=
		    std::to_string(ARPHRD_ETHER) + "\n")
			continue;
		any = any.empty() ? name : std::min(any, name);
		if (read_text(entry.path() / "operstate") == "up\n")
			up = up.empty() ? name : std::min(up, name);
	}
	if (!up.empty())
		return up;
	return any.empty() ? "eth0" : any;
}

/* Where the module of this kernel lies, as modules.dep has it; empty: it has none. */
fs::path find_module_file(const fs::path &folder)
{
	std::ifstream lines(folder / "modules.dep");

	for (std::string line; std::getline(lines, line);)
		if (has_module(line))
			return folder / line.substr(0, line.find(':'));
	return {};
}

/* The kernel looks at the file without its compression; tell nothing wrong of those. */
bool is_signed(const fs::path &file)
{
	std::string text;

	if (file.extension() != ".ko")
		return true;
	text = read_text(file);
	return text.empty() || text.ends_with(SIGNED);
}

void read_module(Machine &machine)
{
	std::error_code error;
	utsname name;

	uname(&name);
	machine.kernel = name.release;
	machine.loaded = fs::exists("/sys/module/pavo", error);
	for (const auto &entry : fs::directory_iterator("/lib/modules", error))
		if (!find_module_file(entry.path()).empty())
			machine.kernels.push_back(entry.path().filename());
	std::sort(machine.kernels.begin(), machine.kernels.end());
	fs::path file =
		find_module_file(fs::path("/lib/modules") / name.release);

	machine.installed = !file.empty();
	machine.has_signature = file.empty() || is_signed(file);
	machine.must_sign =
		says("/sys/module/module/parameters/sig_enforce", "Y") ||
		says("/sys/kernel/security/lockdown", "[integrity]") ||
		says("/sys/kernel/security/lockdown", "[confidentiality]");
}

/* Only if the module is not loaded: the log is long, and not for every user. */
std::string read_log()
{
	int size = klogctl(LOG_SIZE, nullptr, 0);
	std::string log(static_cast<size_t>(std::max(size, 0)), '\0');
	int length = klogctl(READ_ALL, log.data(), std::max(size, 0));

	log.resize(static_cast<size_t>(std::max(length, 0)));
	return log;
}

/* Adapters of rdma_rxe have an attribute for the interface below. */
void read_rxe(Machine &machine)
{
	std::error_code error;

	machine.rxe_loaded = fs::exists("/sys/module/rdma_rxe", error);
	for (const auto &entry :
	     fs::directory_iterator("/sys/class/infiniband", error))
		if (fs::exists(entry.path() / "parent", error))
			machine.rxe_adapters.push_back(entry.path().filename());
	std::sort(machine.rxe_adapters.begin(), machine.rxe_adapters.end());
}

void read_memlock(Machine &machine)
{
	rlimit limit;

	/* Processes with CAP_IPC_LOCK have no limit. */
	if (geteuid() && !getrlimit(RLIMIT_MEMLOCK, &limit) &&
	    limit.rlim_cur != RLIM_INFINITY)
		machine.memlock = limit.rlim_cur;
}

/* nft would load the module of the kernel, so ask only where that is. */
bool has_nf_tables()
{
	utsname name;

	uname(&name);
	return says("/proc/modules", "nf_tables ") ||
	       says(fs::path("/lib/modules") / name.release / "modules.builtin",
		    "/nf_tables.ko");
}

void read_rules(Machine &machine)
{
	std::array<char, 4096> part;

	if (!has_nf_tables())
		return;
	if (geteuid()) {
		machine.rules_unknown = true;
		return;
	}
	std::unique_ptr<FILE, int (*)(FILE *)> pipe(
		popen("PATH=/usr/sbin:/sbin:/usr/bin:/bin "
		      "nft -j list ruleset 2>/dev/null",
		      "re"),
		pclose);

	if (!pipe)
		return;
	while (size_t n = fread(part.data(), 1, part.size(), pipe.get()))
		machine.rules.append(part.data(), n);
}

} // namespace

Machine read_machine()
{
	std::error_code error;
	Machine machine;

	read_module(machine);
	if (!machine.loaded)
		machine.signature_refused = refuses_signatures(read_log());
	read_rxe(machine);
	machine.port_bound = has_bound_port(read_text("/proc/net/udp")) ||
			     has_bound_port(read_text("/proc/net/udp6"));
	read_memlock(machine);
	machine.has_rdma_cm = fs::exists("/dev/infiniband/rdma_cm", error);
	machine.interface = choose_interface();
	read_rules(machine);
	return machine;
}

} // namespace pavo
