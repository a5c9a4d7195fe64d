// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * table_cases.cpp - the table of a context's QPs: what is found in it while QPs come and go, and
 * the memory that it keeps.
 */
#include "played_module.h"

#include <fstream>
#include <random>
#include <set>
#include <thread>
#include <unistd.h>
#include <unordered_map>

#include "qp_table.h"

namespace {

constexpr uint32_t numbers = 1u << 24;

pavo::Qp *qp_at(uint64_t number)
{
	return reinterpret_cast<pavo::Qp *>((number + 1) << 6);
}

/* Bytes of this process in memory. */
size_t resident()
{
	std::ifstream file("/proc/self/statm");
	size_t all = 0, present = 0;

	file >> all >> present;
	return present * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/* QPs that come and go one after the other, as in a server whose clients do. */
void test_churn()
{
	pavo::QpTable table;
	std::minstd_rand random(1);
	const size_t before = resident();

	for (uint64_t i = 0; i < 20000; i++) {
		uint32_t qpn = static_cast<uint32_t>(random()) % numbers;

		REQUIRE(table.insert(qpn, qp_at(i)));
		REQUIRE_EQ(table.find(qpn), qp_at(i));
		table.remove(qpn);
		REQUIRE(!table.find(qpn));
	}
	const size_t grown = std::max(resident(), before) - before;

	REQUIRE(grown < 1 << 20, "grew by ", grown, " bytes");
}

/* Many at a time, and after them few: the memory is given back. */
void test_peak()
{
	pavo::QpTable table;
	std::unordered_map<uint32_t, pavo::Qp *> there;
	std::minstd_rand random(2);

	while (there.size() < 100000) {
		uint32_t qpn = static_cast<uint32_t>(random()) % numbers;

		REQUIRE(table.insert(qpn, qp_at(there.size())));
		there[qpn] = qp_at(there.size());
	}
	for (const auto &[qpn, qp] : there)
		REQUIRE_EQ(table.find(qpn), qp);
	for (const auto &[qpn, qp] : there)
		table.remove(qpn);
	for (const auto &[qpn, qp] : there)
		REQUIRE(!table.find(qpn));
	REQUIRE_EQ(table.size(), 4096);
}

/* Every number that a shared page may bring, and numbers that come again. */
void test_numbers()
{
	pavo::QpTable table;

	for (uint32_t qpn :
	     {0u, 1u, numbers - 1, numbers, UINT32_MAX - 1, UINT32_MAX})
		REQUIRE(!table.find(qpn));
	REQUIRE(!table.insert(numbers, qp_at(1)));
	REQUIRE(!table.insert(UINT32_MAX, qp_at(1)));
	REQUIRE(table.insert(0, qp_at(2)));
	REQUIRE(table.insert(numbers - 1, qp_at(3)));
	for (uint32_t qpn : {1u, numbers, UINT32_MAX - 1, UINT32_MAX})
		REQUIRE(!table.find(qpn));
	/* As in a child of fork(): the number of a QP that the parent has destroyed. */
	REQUIRE(table.insert(0, qp_at(4)));
	REQUIRE_EQ(table.find(0), qp_at(4));
	table.remove(0);
	REQUIRE(!table.find(0));
	REQUIRE(table.insert(0, qp_at(5)));
	REQUIRE_EQ(table.find(0), qp_at(5));
	REQUIRE_EQ(table.find(numbers - 1), qp_at(3));
}

/* A thread that polls finds its QP at any moment, and none that is not there. */
void test_readers()
{
	constexpr uint32_t fixed = 0x123456, never = 0x654321;
	pavo::QpTable table;
	std::atomic<bool> end{false};
	std::atomic<uint64_t> wrong{0}, looks{0};

	REQUIRE(table.insert(fixed, qp_at(1)));
	std::thread reader([&] {
		while (!end) {
			wrong += table.find(fixed) != qp_at(1);
			wrong += table.find(never) != nullptr;
			wrong += table.find(UINT32_MAX) != nullptr;
			looks++;
		}
	});
	std::minstd_rand random(3);

	while (!looks)
		std::this_thread::yield();
	for (int round = 0; round < 20; round++) {
		std::set<uint32_t> there;

		while (there.size() < 3000) {
			uint32_t qpn =
				static_cast<uint32_t>(random()) % numbers;

			if (qpn == fixed || qpn == never)
				continue;
			if (there.insert(qpn).second &&
			    !table.insert(qpn, qp_at(qpn)))
				wrong++;
		}
		for (uint32_t qpn : there)
			table.remove(qpn);
	}
	end = true;
	reader.join();
	REQUIRE_EQ(wrong.load(), 0);
}

} // namespace

void add_table_cases(Cases &cases)
{
	cases.push_back(
		{"20,000 queue pairs one after the other take no memory",
		 test_churn});
	cases.push_back(
		{"memory for many queue pairs is given back", test_peak});
	cases.push_back({"queue pairs are found by their numbers, and by none "
			 "that there is not",
			 test_numbers});
	cases.push_back({"a reader beside the writer finds what there is",
			 test_readers});
}
