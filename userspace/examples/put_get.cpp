// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * put_get.cpp - RDMA between two machines: the second one puts a megabyte into memory of the first,
 * which inverts each byte, and gets it back. 1st: put_get pavo0. 2nd: put_get pavo0 ADDRESS-OF-1ST
 */
#include <cstdio>
#include <exception>

#include <pavo/connect.hpp>

constexpr uint32_t size = 1 << 20;
constexpr uint64_t key = 0x7075745f676574;

int main(int argc, char **argv)
try {
	const pavo::GroupOptions options = {.host = argc > 2 ? argv[2] : "",
					    .port = 7471,
					    .size = 2,
					    .key = key};
	auto group = pavo::Group::join(options).value();
	auto device = pavo::Device::open(argc > 1 ? argv[1] : "pavo0").value();
	auto job = pavo::Job::open(device, 1001, key).value();
	auto window = pavo::open_window(group, job).value();
	auto rdma = pavo::Rdma::open(window).value();
	std::vector<std::byte> buffer(size);
	auto mapping = pavo::Mapping::open(job, buffer).value();
	auto peers = pavo::connect(group, rdma).value();
	auto pvos = group.exchange(mapping.pvo()).value();
	pavo::RdmaMove move{pvos[1], pvos[0], size}; /* local, remote */

	if (group.rank() == 1) {
		for (uint32_t i = 0; i < size; i++)
			buffer[i] = std::byte(i * 7 + i / 251);
		rdma.wait(rdma.put(peers[0], move)).value();
	}
	pavo::barrier(group, rdma).value();
	for (std::byte &byte : buffer)
		byte = group.rank() == 0 ? ~byte : std::byte(0);
	pavo::barrier(group, rdma).value();
	if (group.rank() == 1)
		rdma.wait(rdma.get(peers[0], move)).value();
	pavo::barrier(group, rdma).value();
	for (uint32_t i = 0; i < size; i++)
		if (buffer[i] != ~std::byte(i * 7 + i / 251))
			throw std::runtime_error("a byte is wrong");
	puts("every byte went to rank 0 and came back inverted");
} catch (const std::exception &error) {
	fprintf(stderr, "put_get: %s\n", error.what());
	return 1;
}
