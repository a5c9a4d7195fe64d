// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* findings.cpp - see findings.h. */
#include "findings.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "filter.h"
#include "text.h"
#include "units.h"

namespace pavo {
namespace {

/* Least MTU of an interface for a path MTU: kernel/verbs/device.c asks rdma core (iboe_get_mtu()). */
constexpr unsigned int HEADERS = 96;
constexpr unsigned int LEAST_PATH_MTU = 256, USUAL_PATH_MTU = 1024;

/* Less than that, and programs that register buffers of usual sizes fail. */
constexpr uint64_t LITTLE_MEMORY = 64 << 20, NO_MEMORY = 64 << 10;

constexpr const char *MEMLOCK_REMEDY =
	"ulimit -l unlimited    # in this shell; for good: a line "
	"\"* - memlock unlimited\" in /etc/security/limits.d/rdma.conf";

void find_module(const Machine &machine, std::vector<Finding> &found)
{
	if (machine.loaded)
		return;
	if (machine.installed &&
	    (machine.signature_refused ||
	     (machine.must_sign && !machine.has_signature))) {
		found.push_back(
			{Severity::trouble, "signature_refused",
			 machine.signature_refused ?
				 "the kernel refused the module's signature: "
				 "sign it with a key of this machine" :
				 "the kernel takes signed modules only (Secure "
				 "Boot), and pavo has no signature: sign it "
				 "with a key of this machine",
			 "mokutil --import /var/lib/dkms/mok.pub    # then "
			 "reboot, and enrol the key\n"
			 "/lib/modules/$(uname -r)/build/scripts/sign-file "
			 "sha256 /var/lib/dkms/mok.key /var/lib/dkms/mok.pub "
			 "$(modinfo -n pavo)\n"
			 "modprobe pavo"});
		return;
	}
	if (!machine.installed) {
		std::string others;

		for (const std::string &kernel : machine.kernels)
			others += (others.empty() ? "" : ", ") + kernel;
		found.push_back(
			{Severity::trouble, "no_module",
			 fmt::format(
				 "there is no module for this kernel ({}){}",
				 machine.kernel,
				 others.empty() ? "" : ", only for " + others),
			 "make install    # in pavo's sources, with the headers "
			 "of this kernel"});
		return;
	}
	found.push_back({Severity::trouble, "not_loaded",
			 "the module is not loaded", "modprobe pavo"});
}

void find_holder(const Machine &machine, std::vector<Finding> &found)
{
	std::string remedy;

	if (!machine.port_bound)
		return;
	if (!machine.rxe_loaded && machine.rxe_adapters.empty()) {
		found.push_back({Severity::trouble, "port_taken",
				 "a process has UDP port 4791, which RoCEv2 "
				 "needs in this network namespace",
				 "ss -ulpn 'sport = :4791'    # names it"});
		return;
	}
	for (const std::string &name : machine.rxe_adapters)
		remedy += "rdma link delete " + name + "\n";
	found.push_back({Severity::trouble, "port_taken_by_rxe",
			 "rdma_rxe has UDP port 4791: a network namespace has "
			 "either its adapters or pavo's",
			 remedy + "rmmod rdma_rxe"});
}

void find_memlock(const Machine &machine, std::vector<Finding> &found)
{
	if (!machine.memlock || *machine.memlock >= LITTLE_MEMORY)
		return;
	found.push_back({*machine.memlock <= NO_MEMORY ? Severity::trouble :
							 Severity::note,
			 "memlock",
			 fmt::format("processes of this user may register {} "
				     "of memory (ulimit -l)",
				     bytes(*machine.memlock)),
			 MEMLOCK_REMEDY});
}

void find_link(const Device &device, std::vector<Finding> &found)
{
	if (device.netdev.empty()) {
		found.push_back({Severity::trouble, "interface_gone",
				 "its interface was removed",
				 "rdma link delete " + device.name});
	} else if (!device.netdev_up) {
		found.push_back(
			{Severity::trouble, "link_down",
			 fmt::format("its interface {} is down", device.netdev),
			 fmt::format("ip link set {} up", device.netdev)});
	} else if (!device.carrier) {
		found.push_back({Severity::trouble, "no_carrier",
				 fmt::format("its interface {} has no carrier: "
					     "the cable, or the other end",
					     device.netdev),
				 fmt::format("ip link show {}; ethtool {}",
					     device.netdev, device.netdev)});
	} else if (device.state != "ACTIVE") {
		found.push_back({Severity::trouble, "port_down",
				 fmt::format("the port is {} though its "
					     "interface {} is up",
					     device.state, device.netdev)});
	}
}

void find_mtu(const Device &device, std::vector<Finding> &found)
{
	unsigned int mtu = device.netdev_mtu;
	bool little = mtu < LEAST_PATH_MTU + HEADERS;

	if (!mtu || device.netdev.empty() || mtu >= USUAL_PATH_MTU + HEADERS)
		return;
	found.push_back(
		{little ? Severity::trouble : Severity::note, "mtu",
		 fmt::format("the MTU of {} is {}: {}", device.netdev, mtu,
			     little ? "no packet of RDMA fits; at least 352" :
				      "packets carry less than 1024 bytes"),
		 fmt::format("ip link set {} mtu 1500    # at both ends, or "
			     "9000 for packets of 4096 bytes",
			     device.netdev)});
}

void find_addresses(const Device &device, std::vector<Finding> &found)
{
	bool any = false, ipv4 = false;

	for (const Gid &gid : device.gids) {
		std::string address = address_of(gid.gid);

		any = any || !address.starts_with("fe80:");
		ipv4 = ipv4 || address.find('.') != std::string::npos;
	}
	if (device.netdev.empty() || ipv4)
		return;
	std::string remedy =
		fmt::format("ip addr add ADDRESS/24 dev {}", device.netdev);

	if (device.gids.empty())
		found.push_back({Severity::trouble, "no_gid",
				 fmt::format("it has no RoCE v2 GID: {} has no "
					     "address",
					     device.netdev),
				 remedy});
	else
		found.push_back(
			{Severity::note, "no_ipv4",
			 fmt::format("{} has no IPv4 address{}: programs that "
				     "are given one do not find the adapter",
				     device.netdev,
				     any ? "" : " and no global IPv6 address"),
			 remedy});
}

void find_filter(const Device &device, const Machine &machine,
		 std::vector<Finding> &found)
{
	for (const Blocking &chain :
	     find_blocking(machine.rules, device.netdev)) {
		std::string name = fmt::format("{} {} {}", chain.family,
					       chain.table, chain.chain);

		found.push_back(
			{chain.certain ? Severity::trouble : Severity::note,
			 chain.incoming ? "filtered_in" : "filtered_out",
			 fmt::format("the packet filter drops {} packets of "
				     "UDP port 4791{} (nft list chain {})",
				     chain.incoming ? "incoming" : "outgoing",
				     chain.certain ?
					     "" :
					     " unless a rule for some hosts or "
					     "interfaces lets them pass",
				     name),
			 fmt::format("nft insert rule {} udp dport 4791 accept",
				     name)});
	}
}

/* Requests that came to a queue pair with PSNs which no loss explains. */
constexpr const char *FAR_ADVICE =
	"requests with PSNs far from the expected one: a host or a process "
	"forges packets to this queue pair, or its peer lost its state "
	"(docs/security.md)";

} // namespace

std::vector<Finding> find_in(const Machine &machine,
			     const std::vector<std::string> &adapters)
{
	std::vector<Finding> found;

	find_module(machine, found);
	if (adapters.empty()) {
		find_holder(machine, found);
		if (found.empty())
			found.push_back(
				{Severity::trouble, "no_adapter",
				 "there is no adapter",
				 fmt::format("rdma link add pavo0 type pavo "
					     "netdev {}",
					     machine.interface)});
	}
	find_memlock(machine, found);
	if (machine.loaded && !machine.has_rdma_cm)
		found.push_back({Severity::note, "no_rdma_cm",
				 "programs that use rdma_cm (rping, pavo-copy) "
				 "find no connection manager",
				 "modprobe rdma_ucm"});
	if (machine.rules_unknown)
		found.push_back({Severity::note, "rules_unknown",
				 "only root can see whether the packet filter "
				 "drops UDP port 4791",
				 "sudo pavo check"});
	return found;
}

std::vector<Finding> find_in(const Device &device, const Machine &machine)
{
	std::vector<Finding> found;

	find_link(device, found);
	find_mtu(device, found);
	find_addresses(device, found);
	find_filter(device, machine, found);
	return found;
}

std::vector<Finding> find_in(const Counters &counters)
{
	std::vector<Finding> found;

	for (Severity severity : {Severity::trouble, Severity::note})
		for (const auto &[name, value] : counters) {
			Meaning meaning = meaning_of(name);

			if (value && meaning.severity == severity)
				found.push_back(
					{.severity = severity,
					 .what = name,
					 .text = std::string(meaning.advice),
					 .value = value,
					 .counter = true});
		}
	return found;
}

std::vector<Finding> find_in(const std::vector<QueuePair> &queue_pairs)
{
	std::vector<Finding> found;

	for (const QueuePair &qp : queue_pairs) {
		auto far = qp.details.find("far_requests");

		if (far == qp.details.end() || !far->second)
			continue;
		found.push_back(
			{.what = "far_requests",
			 .text = fmt::format("queue pair {} of {} ({}): {} {}",
					     qp.number, qp.owner, qp.pid,
					     far->second, FAR_ADVICE),
			 .value = far->second,
			 .qpn = qp.number});
	}
	return found;
}

bool has_trouble(const std::vector<Finding> &findings)
{
	return std::any_of(findings.begin(), findings.end(),
			   [](const Finding &finding) {
				   return finding.severity == Severity::trouble;
			   });
}

const char *severity_name(Severity severity)
{
	switch (severity) {
	case Severity::trouble:
		return "trouble";
	case Severity::note:
		return "note";
	default:
		return "none";
	}
}

bool has_module(const std::string &dependencies)
{
	std::istringstream lines(dependencies);

	for (std::string line; std::getline(lines, line);) {
		std::string path = line.substr(0, line.find(':'));
		std::string name = path.substr(path.rfind('/') + 1);

		if (name == "pavo.ko" || name.starts_with("pavo.ko."))
			return true;
	}
	return false;
}

bool refuses_signatures(const std::string &log)
{
	std::istringstream lines(log);

	for (std::string line; std::getline(lines, line);) {
		/* kernel/module/signing.c, and security/lockdown */
		if ((line.find("Loading of ") != line.npos &&
		     line.find("module") != line.npos &&
		     line.find("is rejected") != line.npos) ||
		    line.find("unsigned module loading is restricted") !=
			    line.npos)
			return true;
	}
	return false;
}

bool has_bound_port(const std::string &sockets)
{
	std::istringstream lines(sockets);

	for (std::string line; std::getline(lines, line);) {
		std::istringstream words(line);
		std::string slot, local;

		if (words >> slot >> local && local.ends_with(":12B7"))
			return true;
	}
	return false;
}

} // namespace pavo
