// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * charge_tests.cpp - kernel memory that a process makes grow counts as its memory cgroup's:
 * many objects of each kind, and a process in a small cgroup that makes as many as it can.
 * Run by guest.sh in a cgroup of its own (PAVO_CGROUP), with
 * a small one beside it (PAVO_SMALL).
 */
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <rdma/pavo-abi.h>

#include "../common/child.h"
#include "../common/device.h"
#include "../common/eventually.h"
#include "../common/files.h"
#include "../common/objects.h"
#include "command.hpp"
#include "domain.h"
#include "world.h"

using namespace std::chrono_literals;
using namespace world;

namespace {

struct Kind {
	const char *name;
	size_t least; /* bytes that one of them takes, rings and all */
};

/* All that a process makes by verbs without limit of its own. */
constexpr Kind kinds[] = {{"pd", 200},	  {"ah", 150},	 {"mr", 350},
			  {"mw", 500},	  {"xrcd", 150}, {"cq", 4096},
			  {"srq", 4096},  {"qp", 8192},	 {"target", 4096},
			  {"watch", 4096}};

ibv_ah_attr way_of(ibv_pd *pd)
{
	const ibv_gid_entry own = common::addresses_of(pd->context).at(0);

	return common::address_vector(own.gid, uint8_t(own.gid_index));
}

/* The objects that they are made of. */
struct Material : Domain, common::Material {
	Material() : Domain("PAVO_DEV"), common::Material(*this, way_of(*this))
	{
	}

	common::Undo make(const std::string &kind)
	{
		return kind == "watch" ? make_watch() :
					 common::Material::make(kind);
	}

private:
	/* Of a page, in its one slot. */
	common::Undo make_watch()
	{
		const int fd = static_cast<ibv_pd *>(*this)->context->cmd_fd;
		pavo::Command open(PAVO_OBJECT_WATCH, PAVO_METHOD_WATCH_OPEN);
		pavo_mmap_info words = {};

		errno = open.new_handle(PAVO_ATTR_WATCH_HANDLE)
				.in(PAVO_ATTR_WATCH_SLOTS, uint32_t{1})
				.out(PAVO_ATTR_WATCH_WORDS, words)
				.run(fd);
		if (errno)
			return {};
		const uint32_t handle = open.made();
		const pavo_watch_set_args page = {
			.start = uintptr_t(watched_.data()),
			.length = watched_.size(),
			.slot = 0,
			.reserved = 0};
		errno = pavo::Command(PAVO_OBJECT_WATCH, PAVO_METHOD_WATCH_SET)
				.handle(PAVO_ATTR_WATCH_HANDLE, handle)
				.in(PAVO_ATTR_WATCH_SET_ARGS, page)
				.run(fd);
		if (errno)
			return {};
		return [=] {
			pavo::Command(PAVO_OBJECT_WATCH,
				      PAVO_METHOD_WATCH_CLOSE)
				.handle(PAVO_ATTR_WATCH_HANDLE, handle)
				.run(fd);
		};
	}

	alignas(4096) std::array<std::byte, 4096> watched_ = {};
};

/* Uses pages, and frees them. */
void change_pages(size_t bytes)
{
	void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	ASSERT_NE(pages, MAP_FAILED);
	munmap(pages, bytes);
}

/*
 * Kernel memory of the cgroup. Newer kernels sum up memory.stat every two seconds; where a process
 * reads cpu.stat, or where 64 pages of each CPU have changed.
 */
size_t charged()
{
	const std::string group = getenv("PAVO_CGROUP");

	change_pages(4 << 20);
	common::number_behind(group + "/cpu.stat", "usage_usec");
	return common::number_behind(group + "/memory.stat", "kernel");
}

/* Memory that is freed behind a grace period is charged for so long. */
bool falls_below(size_t bytes)
{
	return common::eventually([&] { return charged() <= bytes; }, 30s);
}

class Charged : public testing::TestWithParam<Kind> {};

TEST_P(Charged, DISABLED_ToTheCgroup)
{
	constexpr size_t count = 500;
	Material material;
	std::vector<common::Undo> made;

	made.reserve(count);
	material.make(GetParam().name)();
	const size_t before = charged();
	for (size_t i = 0; i < count; i++) {
		made.push_back(material.make(GetParam().name));
		ASSERT_TRUE(made.back()) << i << ": errno " << errno;
	}
	EXPECT_GE(charged(), before + count * GetParam().least);
	for (common::Undo &one : made)
		one();
	EXPECT_TRUE(falls_below(before + count * GetParam().least / 2));
}

/* In the small cgroup of 2 MiB: 0 if so many went into it. */
int make_many(const Kind &kind)
{
	constexpr int many = 8'000;
	std::ofstream group(getenv("PAVO_SMALL") +
			    std::string("/cgroup.procs"));

	if (!(group << getpid() << std::flush))
		return EIO;
	Material material;
	for (int i = 0; i < many; i++)
		if (!material.make(kind.name))
			return errno;
	return 0;
}

/* Refused, or ended by the kernel for want of memory; the machine has some. */
TEST_P(Charged, DISABLED_NoMoreThanASmallCgroupPaysFor)
{
	common::Child child([] { _exit(make_many(GetParam())); });
	const int status = child.wait();

	EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL :
					  WEXITSTATUS(status) == ENOMEM)
		<< "status " << status;
	Material material;
	common::Undo one = material.make(GetParam().name);
	ASSERT_TRUE(one);
	one();
}

INSTANTIATE_TEST_SUITE_P(Kinds, Charged, testing::ValuesIn(kinds),
			 [](const auto &test) { return test.param.name; });

} // namespace
