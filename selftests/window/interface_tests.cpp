// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * interface_tests.cpp - a network interface over a window of the second adapter, and a window of
 * its job on the first one that sends it what no interface would: packets that are cut, from
 * others, for others, and offers of packets that it cannot read. Each is counted for its reason,
 * and the network stack sees none.
 */
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "adapter.h"

using namespace windows;

namespace {

constexpr uint16_t node_of_interface = 7;
constexpr uint8_t packet_kind = PAVO_MESSAGE_NETIF,
		  offer_kind = PAVO_MESSAGE_NETIF_OFFER;
constexpr size_t ether = 14;

std::string output_of(const std::string &command)
{
	std::string text;
	char part[4096];
	FILE *pipe = popen(command.c_str(), "r");

	while (size_t n = fread(part, 1, sizeof(part), pipe))
		text.append(part, n);
	must(!pclose(pipe), "failed: " + command);
	return text;
}

std::map<std::string, uint64_t> interface_counters()
{
	std::istringstream lines(output_of("ethtool -S pv0"));
	std::map<std::string, uint64_t> counters;
	std::string name;
	uint64_t value;

	std::getline(lines, name);
	while (lines >> name >> value)
		counters[name.substr(0, name.size() - 1)] = value;
	return counters;
}

uint64_t packets_received()
{
	return std::stoull(
		output_of("cat /sys/class/net/pv0/statistics/rx_packets"));
}

std::string ip_of(const Address &address)
{
	std::ostringstream text;

	for (size_t i = 12; i < 16; i++)
		text << (i > 12 ? "." : "") << unsigned(address.gid[i]);
	return text.str();
}

/* The interface of node 7, which knows window a of a pair as node 0. */
class Interface : public Pair {
public:
	Interface()
	{
		const char *tool = getenv("PAVO_TOOL");
		std::ostringstream add;

		must(tool != nullptr, "PAVO_TOOL is not set");
		add << tool << " interface add " << device_b.name()
		    << " --name pv0 --job " << world::job_id << " --key "
		    << world::job_key << " --node " << node_of_interface
		    << " --nodes 9 --window " << window << " --gid-index "
		    << address_b.index << " --peer " << node_a << '='
		    << ip_of(address_a) << '/' << a.number();
		shell(add.str() + " >/dev/null");
		shell("ip link set pv0 up");
		must(a.set_node(node_of_interface, address_b.gid));
	}

	~Interface() { shell("ip link delete pv0"); }

	void send(const std::vector<uint8_t> &bytes, uint8_t kind = packet_kind)
	{
		auto *data = reinterpret_cast<const std::byte *>(bytes.data());

		must(a.send({node_of_interface, window}, {data, bytes.size()},
			    kind));
	}

	/* An Ethernet packet from window a's address to the interface's. */
	std::vector<uint8_t> made(uint16_t type, size_t length) const
	{
		std::vector<uint8_t> bytes(ether + length);

		name(bytes.data(), node_of_interface, window);
		name(bytes.data() + 6, node_a, a.number());
		bytes[12] = uint8_t(type >> 8);
		bytes[13] = uint8_t(type);
		return bytes;
	}

	/* IPv4 with a header and that many bytes, of no protocol. */
	std::vector<uint8_t> made_ip(size_t length) const
	{
		std::vector<uint8_t> bytes = made(0x0800, 20 + length);
		uint8_t *ip = bytes.data() + ether;

		ip[0] = 0x45;
		ip[2] = uint8_t((20 + length) >> 8);
		ip[3] = uint8_t(20 + length);
		return bytes;
	}

	/* It counts so, once, and passes nothing on. */
	void counts(const std::string &counter,
		    const std::vector<uint8_t> &bytes,
		    uint8_t kind = packet_kind)
	{
		uint64_t before = interface_counters().at(counter);
		uint64_t packets = packets_received();

		send(bytes, kind);
		EXPECT_TRUE(eventually([&] {
			return interface_counters().at(counter) == before + 1;
		})) << counter;
		EXPECT_EQ(packets_received(), packets) << counter;
	}

	void takes(const std::vector<uint8_t> &bytes)
	{
		uint64_t packets = packets_received();

		send(bytes);
		EXPECT_TRUE(eventually(
			[&] { return packets_received() == packets + 1; }));
	}

	static constexpr uint32_t window = 901;

private:
	static void name(uint8_t *to, uint16_t node, uint32_t number)
	{
		const uint8_t bytes[6] = {2,
					  uint8_t(node >> 8),
					  uint8_t(node),
					  uint8_t(number >> 16),
					  uint8_t(number >> 8),
					  uint8_t(number)};

		memcpy(to, bytes, sizeof(bytes));
	}
};

TEST(Interface, DropsPacketsThatAreCut)
{
	Interface interface;

	interface.takes(interface.made_ip(100));
	interface.counts("rx_drop_length", {});
	interface.counts("rx_drop_length", std::vector<uint8_t>(13));
	auto bytes = interface.made_ip(100);
	bytes.resize(ether + 19);
	interface.counts("rx_drop_truncated", bytes);
	bytes = interface.made_ip(100);
	bytes.pop_back();
	interface.counts("rx_drop_truncated", bytes);
	bytes = interface.made_ip(100);
	bytes[ether] = 0x44;
	interface.counts("rx_drop_truncated", bytes);
	bytes[ether] = 0x65;
	interface.counts("rx_drop_truncated", bytes);
	bytes = interface.made_ip(100);
	bytes[ether + 2] = bytes[ether + 3] = 0;
	interface.counts("rx_drop_truncated", bytes);
	interface.counts("rx_drop_truncated", interface.made(0x86dd, 39));
	bytes = interface.made(0x86dd, 60);
	bytes[ether] = 0x60;
	bytes[ether + 5] = 21;
	interface.counts("rx_drop_truncated", bytes);
	bytes[ether + 5] = 20;
	interface.takes(bytes);
	interface.counts("rx_drop_truncated", interface.made(0x0806, 27));
	interface.takes(interface.made_ip(0));
}

TEST(Interface, DropsPacketsOfOthersAndForOthers)
{
	Interface interface;
	auto bytes = interface.made_ip(100);

	bytes[7] ^= 1;
	interface.counts("rx_drop_source", bytes);
	bytes = interface.made_ip(100);
	bytes[5] ^= 1;
	interface.counts("rx_drop_destination", bytes);
	/* Broadcasts are for all, groups for members. */
	memset(bytes.data(), 0xff, 6);
	interface.takes(bytes);
	const uint8_t group[6] = {1, 0, 0x5e, 1, 2, 3};
	uint64_t packets = packets_received();
	memcpy(bytes.data(), group, 6);
	interface.send(bytes);
	interface.counts("rx_drop_kind", interface.made_ip(9), 200);
	EXPECT_EQ(packets_received(), packets);
	shell("ip link set pv0 allmulticast on");
	interface.takes(bytes);
	/* A window of the job that is in no table: another one of this node, and another node. */
	pavo::WindowOptions options = {.node = node_a,
				       .gid_index = interface.address_a.index};
	auto other = pavo::Window::open(interface.job_a, options).value();
	must(other.set_node(node_of_interface, interface.address_b.gid));
	uint64_t before = interface_counters().at("rx_drop_node");
	must(other.send({node_of_interface, Interface::window}, pattern(1, 100),
			packet_kind));
	EXPECT_TRUE(eventually([&] {
		return interface_counters().at("rx_drop_node") == before + 1;
	}));
}

std::vector<uint8_t> made_offer(uint64_t tid, uint64_t pvo, uint32_t rcxt,
				uint32_t length)
{
	std::vector<uint8_t> bytes(24);

	memcpy(bytes.data(), &tid, 8);
	memcpy(bytes.data() + 8, &pvo, 8);
	memcpy(bytes.data() + 16, &rcxt, 4);
	memcpy(bytes.data() + 20, &length, 4);
	return bytes;
}

TEST(Interface, RefusesOffersThatItCannotRead)
{
	Interface interface;
	auto bytes = made_offer(1, 0, 0, 5000);

	bytes.pop_back();
	interface.counts("rx_drop_offer", bytes, offer_kind);
	bytes.resize(25);
	interface.counts("rx_drop_offer", bytes, offer_kind);
	interface.counts("rx_drop_offer", made_offer(1, 0, 0, 13), offer_kind);
	interface.counts("rx_drop_offer", made_offer(1, 0, 0, 65537),
			 offer_kind);
	interface.counts("rx_drop_offer", made_offer(1, 0, 0, ~0u), offer_kind);
	interface.counts("rx_drop_offer", made_offer(~0ull, 0, 0, 5000),
			 offer_kind);
	/* A context that there is not, again and again: it gives up. */
	interface.counts("rx_drop_rdma", made_offer(1, 0, 77, 5000),
			 offer_kind);
	EXPECT_GE(interface_counters().at("rx_rdma_retries"), 3u);
	/* More than a node may have waiting. */
	uint64_t before = interface_counters().at("rx_drop_no_buffer");
	for (uint32_t i = 0; i < 60; i++)
		interface.send(made_offer(2, 0, 1000 + i, 5000), offer_kind);
	EXPECT_TRUE(eventually([&] {
		return interface_counters().at("rx_drop_no_buffer") > before;
	}));
	EXPECT_TRUE(eventually(
		[&] { return interface_counters().at("rx_drop_rdma") >= 48; }));
	interface.takes(interface.made_ip(100));
}

/* The next end of an operation at window a, whose FIFO has messages of the interface, too. */
pavo::PvoResult ended_at(pavo::Window &window)
{
	pavo::DoneFrame done{};
	bool found = false;

	EXPECT_TRUE(eventually([&] {
		window.receive(
			[&](const pavo::Message &message) {
				found = message.type ==
					pavo::FrameType::rdma_done;
				if (found)
					done = message.done();
			},
			1);
		return found;
	}));
	return done.status;
}

/* Memory of the job that an honest context of window a gives away. */
TEST(Interface, ReadsAPacketThatIsOffered)
{
	Interface interface;
	Buffer buffer(interface.job_a, 1 << 16, 1);
	auto bytes = interface.made_ip(9000);
	uint64_t packets = packets_received();
	uint32_t rcxt;

	must(interface.a.take_rcxts({&rcxt, 1}));
	memcpy(buffer.memory.all().data(), bytes.data(), bytes.size());
	interface.send(made_offer(5, buffer.pvo(), rcxt,
				  uint32_t(bytes.size())),
		       offer_kind);
	EXPECT_EQ(ended_at(interface.a), pavo::PvoResult::ok);
	EXPECT_TRUE(
		eventually([&] { return packets_received() == packets + 1; }));
	/* The same offer once more is one of before. */
	interface.counts("rx_drop_duplicate",
			 made_offer(5, buffer.pvo(), rcxt,
				    uint32_t(bytes.size())),
			 offer_kind);
	/* One of a packet that is cut, and one of another's. */
	interface.counts("rx_drop_truncated",
			 made_offer(20, buffer.pvo(), rcxt, 8000), offer_kind);
	EXPECT_EQ(ended_at(interface.a), pavo::PvoResult::ok);
	interface.counts("rx_drop_source",
			 made_offer(40, buffer.pvo(1), rcxt, 8000), offer_kind);
	EXPECT_EQ(ended_at(interface.a), pavo::PvoResult::ok);
}

TEST(Interface, IsMadeByRootForAJobOfItsOwnKey)
{
	Interface interface;
	const std::string add = std::string(getenv("PAVO_TOOL")) +
				" interface add " + interface.device_b.name() +
				" --node 1 ";
	auto refused = [&](const std::string &options, const char *why) {
		shell("! " + add + options + " >/tmp/refused 2>&1");
		EXPECT_NE(output_of("cat /tmp/refused").find(why),
			  std::string::npos)
			<< options << output_of("cat /tmp/refused");
	};
	const std::string job = "--job " + std::to_string(world::job_id) + ' ';
	const std::string key = "--key " + std::to_string(world::job_key) + ' ';

	refused(job + "--key 1", "another key");
	refused(job + key + "--window 901", "another window");
	refused(job + key + "--name pv0", "File exists");
	refused(job + key + "--window 16777216", "Invalid argument");
	refused(job + key + "--peer 1=10.9.0.1/5", "Invalid argument");
	refused(job + key + "--nodes 2000", "Invalid argument");
	shell("! setpriv --reuid 1000 --clear-groups " + add + job + key +
	      " >/tmp/refused 2>&1");
	EXPECT_NE(output_of("cat /tmp/refused").find("CAP_NET_ADMIN"),
		  std::string::npos);
}

} // namespace
