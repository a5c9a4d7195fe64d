// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* world.cpp - adapters, memory and processes of the tests; see world.h. */
#include "world.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>

#include "../common/errors.h"

namespace world {

using common::must_not_fail;

namespace {

std::string variable(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		throw std::runtime_error(std::string(name) + " is not set");
	return value;
}

std::byte *check(void *at)
{
	if (at == MAP_FAILED)
		common::throw_errno(errno, "mmap");
	return static_cast<std::byte *>(at);
}

} // namespace

pavo::Device adapter()
{
	return pavo::Device::open(variable("PAVO_DEV")).value();
}

pavo::Device other_adapter()
{
	return pavo::Device::open(variable("PAVO_PEER")).value();
}

size_t pinned()
{
	return common::number_behind("/proc/self/status", "VmPin:") * 1024 /
	       page;
}

Memory::Memory(size_t bytes, int flags)
	: at_(check(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0))),
	  bytes_(bytes)
{
	memset(at_, 0x5a, bytes_);
}

Memory::Memory(int fd, size_t bytes)
	: at_(check(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 0))),
	  bytes_(bytes)
{
}

Memory::~Memory()
{
	if (mapped_)
		munmap(at_, bytes_);
}

void Memory::unmap()
{
	must_not_fail(munmap(at_, bytes_), "munmap");
	mapped_ = false;
}

void Memory::replace()
{
	check(mmap(at_, bytes_, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	memset(at_, 0xa5, bytes_);
}

int refusal(const std::function<void()> &call)
{
	try {
		call();
	} catch (const std::system_error &error) {
		return error.code().value();
	}
	return 0;
}

Process::Process(const std::function<bool(Process &)> &body)
{
	must_not_fail(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				 sockets_),
		      "socketpair");
	std::cout << std::flush;
	pid_ = fork();
	must_not_fail(pid_, "fork");
	child_ = !pid_;
	close(sockets_[child_]);
	if (!child_)
		return;
	bool good = false;
	try {
		good = body(*this);
	} catch (const std::exception &error) {
		std::cout << "# the other process: " << error.what()
			  << std::endl;
	}
	_exit(good ? 0 : 1);
}

Process::~Process()
{
	if (!reaped_)
		kill();
	close(sockets_[!child_]);
}

void Process::meet()
{
	char byte = 0;

	must_not_fail(send(sockets_[!child_], &byte, 1, MSG_NOSIGNAL), "meet");
	if (recv(sockets_[!child_], &byte, 1, 0) != 1)
		throw std::runtime_error("the other process is gone");
}

void Process::kill()
{
	::kill(pid_, SIGKILL);
	waitpid(pid_, nullptr, 0);
	reaped_ = true;
}

bool Process::good()
{
	int status;

	must_not_fail(waitpid(pid_, &status, 0), "waitpid");
	reaped_ = true;
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

bool has_two_cpus()
{
	return sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

void become_user(size_t memlock, unsigned user)
{
	rlimit limit = {memlock, memlock};

	must_not_fail(setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit");
	must_not_fail(setresgid(user, user, user), "setresgid");
	must_not_fail(setresuid(user, user, user), "setresuid");
}

} // namespace world
