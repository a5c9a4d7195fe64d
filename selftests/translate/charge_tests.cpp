// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * charge_tests.cpp - kernel memory that a process makes grow counts as its memory cgroup's:
 * many objects of each kind, and a process in a small cgroup that makes as many as it can.
 * Run by guest.sh in a cgroup of its own (PAVO_CGROUP), with
 * a small one beside it (PAVO_SMALL).
 */
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <pavo/mr_cache.h>

#include "../common/eventually.h"
#include "../common/files.h"
#include "domain.h"
#include "world.h"

using namespace std::chrono_literals;
using namespace world;

namespace {

using Undo = std::function<void()>;

/* What objects are made of. */
struct Material {
	Domain pd{"PAVO_DEV"};
	ibv_context *context = static_cast<ibv_pd *>(pd)->context;
	ibv_cq *cq = ibv_create_cq(context, 1, nullptr, nullptr, 0);
	Memory memory{page};
	ibv_xrcd_init_attr xrcd = {
		IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, -1, O_CREAT};
	ibv_srq_init_attr srq = {nullptr, {1, 1, 0}};
	ibv_qp_init_attr qp = {};
	ibv_ah_attr ah = {};

	Material()
	{
		qp.send_cq = qp.recv_cq = cq;
		qp.cap = {1, 1, 1, 1, 0};
		qp.qp_type = IBV_QPT_RC;
		ah.is_global = 1;
		ah.port_num = 1;
		for (int i = 0; i < 16; i++) {
			ibv_gid_entry entry = {};

			if (ibv_query_gid_ex(context, 1, uint32_t(i), &entry,
					     0) ||
			    entry.gid_type != IBV_GID_TYPE_ROCE_V2)
				continue;
			ah.grh.sgid_index = uint8_t(i);
			ah.grh.dgid = entry.gid;
		}
	}
	~Material() { ibv_destroy_cq(cq); }
	Material(const Material &) = delete;
};

template <typename Object, typename Unmake>
Undo undo(Object *object, Unmake unmake)
{
	if (!object)
		return {};
	return [=] {
		unmake(object);
	};
}

struct Kind {
	const char *name;
	size_t least; /* bytes that one of them takes, rings and all */
	Undo (*make)(Material &);
};

/* Everything of verbs that a process makes without limit of its own. */
const Kind kinds[] = {
	{"pd", 200,
	 [](Material &m) {
		 return undo(ibv_alloc_pd(m.context), ibv_dealloc_pd);
	 }},
	{"ah", 150,
	 [](Material &m) {
		 return undo(ibv_create_ah(m.pd, &m.ah), ibv_destroy_ah);
	 }},
	{"mr", 800,
	 [](Material &m) {
		 return undo(ibv_reg_mr(m.pd, m.memory.at(), 64, 0),
			     ibv_dereg_mr);
	 }},
	{"mw", 500,
	 [](Material &m) {
		 return undo(ibv_alloc_mw(m.pd, IBV_MW_TYPE_1), ibv_dealloc_mw);
	 }},
	{"xrcd", 150,
	 [](Material &m) {
		 return undo(ibv_open_xrcd(m.context, &m.xrcd), ibv_close_xrcd);
	 }},
	{"cq", 4096,
	 [](Material &m) {
		 return undo(ibv_create_cq(m.context, 1, nullptr, nullptr, 0),
			     ibv_destroy_cq);
	 }},
	{"srq", 4096,
	 [](Material &m) {
		 return undo(ibv_create_srq(m.pd, &m.srq), ibv_destroy_srq);
	 }},
	{"qp", 8192,
	 [](Material &m) {
		 return undo(ibv_create_qp(m.pd, &m.qp), ibv_destroy_qp);
	 }},
	/* A cache of regions opens one, for its entries. */
	{"watch", 4096,
	 [](Material &m) {
		 return undo(pavo_mr_cache_create(m.pd, 0, nullptr),
			     pavo_mr_cache_destroy);
	 }},
};

/* Kernel memory of the cgroup. */
size_t charged()
{
	return common::number_behind(
		getenv("PAVO_CGROUP") + std::string("/memory.stat"), "kernel");
}

/* What is freed behind a grace period is charged for so long. */
bool falls_below(size_t bytes)
{
	return common::eventually([&] { return charged() <= bytes; }, 30s);
}

class Charged : public testing::TestWithParam<Kind> {};

TEST_P(Charged, DISABLED_ToTheCgroup)
{
	constexpr size_t count = 500;
	Material material;
	std::vector<Undo> made;

	made.reserve(count);
	GetParam().make(material)();
	const size_t before = charged();
	for (size_t i = 0; i < count; i++) {
		made.push_back(GetParam().make(material));
		ASSERT_TRUE(made.back()) << i << ": errno " << errno;
	}
	EXPECT_GE(charged(), before + count * GetParam().least);
	for (Undo &one : made)
		one();
	EXPECT_TRUE(falls_below(before + count * GetParam().least / 2));
}

/* In the small cgroup of 4 MiB: 0 if so many went into it. */
int make_many(const Kind &kind)
{
	constexpr int many = 16'000;
	std::ofstream group(getenv("PAVO_SMALL") +
			    std::string("/cgroup.procs"));

	if (!(group << getpid() << std::flush))
		return EIO;
	Material material;
	for (int i = 0; i < many; i++)
		if (!kind.make(material))
			return errno;
	return 0;
}

/* Refused, or ended by the kernel for want of memory; the machine has some. */
TEST_P(Charged, DISABLED_NoMoreThanASmallCgroupPaysFor)
{
	const pid_t child = fork();
	int status = 0;

	ASSERT_GE(child, 0);
	if (!child)
		_exit(make_many(GetParam()));
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL :
					  WEXITSTATUS(status) == ENOMEM)
		<< "status " << status;
	Material material;
	Undo one = GetParam().make(material);
	ASSERT_TRUE(one);
	one();
}

INSTANTIATE_TEST_SUITE_P(Kinds, Charged, testing::ValuesIn(kinds),
			 [](const auto &test) { return test.param.name; });

} // namespace
