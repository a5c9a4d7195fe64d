// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A server of ordinary sockets that forks for each connection, under the preload library of rsockets
 * (rsocket(7)): with RDMAV_FORK_SAFE=1 its children serve their connections over RDMA.
 */
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <arpa/inet.h>
#include <unistd.h>

#include "../common/adapter.h"
#include "link.h"
#include "manager.h"
#include "tap.h"

using namespace pv;

namespace {

/* Bytes of a connection, in one direction (forking.cpp). */
constexpr uint64_t amount = 200000;

std::string preload_library()
{
	for (const char *folder :
	     {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"}) {
		const std::string path =
			str(folder, "/rsocket/librspreload.so");

		if (!access(path.c_str(), R_OK))
			return path;
	}
	throw Skip("librspreload.so is not installed (librdmacm1)");
}

/* Server at the address of B, which clients reach over A. */
class Forking {
public:
	Forking(Env &env, const std::string &connections, bool fork_safe)
	{
		char address[INET_ADDRSTRLEN];

		if (env.info_b.gid.raw[10] != 0xff || access(cm_file, R_OK))
			throw Skip("rdma_cm and an address of IPv4 are needed");
		if (access(program().c_str(), X_OK))
			throw Skip("pavo-forking is not built");
		inet_ntop(AF_INET, env.info_b.gid.raw + 12, address,
			  sizeof(address));
		before_ = str("env LD_PRELOAD=", preload_library(),
			      fork_safe ? " RDMAV_FORK_SAFE=1 " : " ",
			      program(), " ");
		where_ = str(" ", address, " ", next_port++, " ");
		server_ = popen(
			(before_ + "serve" + where_ + connections + " 2>&1")
				.c_str(),
			"re");
		REQUIRE(server_, "popen");
		REQUIRE_EQ(line(), "listening\n", "the server");
	}

	~Forking()
	{
		if (server_)
			pclose(server_);
	}
	Forking(const Forking &) = delete;

	/* Exit status of a client. */
	int ask() const
	{
		return system(
			(before_ + "ask" + where_ + "2>/dev/null").c_str());
	}

	/* That of the server, when all is served. */
	int end()
	{
		for (std::string text = line(); !text.empty(); text = line())
			note(text.substr(0, text.size() - 1));
		return pclose(std::exchange(server_, nullptr));
	}

private:
	static std::string program()
	{
		return std::filesystem::read_symlink("/proc/self/exe")
			       .parent_path() /
		       "pavo-forking";
	}

	std::string line() const
	{
		char text[200] = "";

		return fgets(text, sizeof(text), server_) ? text : "";
	}

	static constexpr const char *cm_file = "/dev/infiniband/rdma_cm";
	static inline uint16_t next_port = 7100;
	std::string before_, where_;
	FILE *server_ = nullptr;
};

} // namespace

PV_TEST_LOCAL("fork.rsockets",
	      "a server under librspreload forks for each connection: with "
	      "RDMAV_FORK_SAFE=1 each child serves its own over RDMA")
{
	Moved sent(env.a, "tx_bytes"), received(env.b, "tx_bytes");
	Forking server(env, "child child parent", true);

	for (int i = 0; i < 3; i++)
		REQUIRE_EQ(server.ask(), 0, "client ", i);
	REQUIRE_EQ(server.end(), 0, "the server");
	REQUIRE(sent.by() >= 3 * amount, "bytes of the clients: ", sent.by());
	REQUIRE(received.by() >= 3 * amount, "the server's: ", received.by());
}

PV_TEST_LOCAL("fork.rsockets_unsafe",
	      "without RDMAV_FORK_SAFE the connection that a child has from "
	      "its parent ends, and the parent serves the next one")
{
	Forking server(env, "lost parent parent", false);

	/* Its memory is the parent's, so the child sees none of the bytes; but the client ends. */
	server.ask();
	for (int i = 1; i < 3; i++)
		REQUIRE_EQ(server.ask(), 0, "client ", i);
	REQUIRE_EQ(server.end(), 0, "the server");
}
