// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A tenant has an adapter in a network namespace of its own, with the address of another adapter,
 * and a queue pair with the QPN of one there: it is the peer of a connection by all that the
 * module knows at first. It keeps no packet of the true peer away.
 */
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "../common/adapter.h"
#include "forger.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr const char *tenant_device = "t0";

void must_run(const std::string &command)
{
	REQUIRE_EQ(system(command.c_str()), 0, command);
}

/* Adapter t0 in namespace T, with that address. */
class Usurper {
public:
	Usurper(Env &env, const std::string &address)
	{
		const std::string mac =
			" lladdr 02:00:00:00:00:0d nud permanent dev ";

		if (env.info_a.gid.raw[10] != 0xff ||
		    device_name(env.b) != "vb0")
			throw Skip("of IPv4, and in the group verbs only");
		must_run("ip netns add T && "
			 "ip -n T link add d0 mtu 9000 type dummy");
		must_run("ip -n T addr add " + address +
			 "/24 dev d0 && ip -n T link set d0 up");
		must_run("ip -n T neigh replace 10.9.0.2" + mac + "d0");
		must_run(
			"ip netns exec T rdma link add t0 type pavo netdev d0");
		/* A machine on the wire has it, too. */
		if (address != "10.9.0.1")
			must_run("ip neigh replace " + address + mac + "vb");
		REQUIRE(eventually(env, is_there), tenant_device);
		host.emplace(Selector{tenant_device});
	}

	~Usurper()
	{
		host.reset();
		(void)!system("rdma link delete t0; ip netns delete T; "
			      "ip neigh flush dev vb to 10.9.0.7 nud all");
	}

	Usurper(const Usurper &) = delete;

	std::optional<LocalHost> host;

private:
	static bool is_there()
	{
		try {
			LocalHost host(Selector{tenant_device});

			return host.info().port.state == IBV_PORT_ACTIVE;
		} catch (const std::exception &) {
			return false;
		}
	}
};

/* Give both sides queue pairs that have one QPN. Some thousands have to be made. */
void make_twins(Side &one, Side &other)
{
	Side *sides[2] = {&one, &other};
	std::unordered_map<uint32_t, Qp> made[2];

	for (size_t n = 0; n < 65536; n++) {
		Side &side = *sides[n % 2];
		QpSpec spec = {.send_cq = side.send_cq.id,
			       .recv_cq = side.recv_cq.id,
			       .cap = {4, 4, 1, 1, 0},
			       .type = side.type};
		Qp qp = side.host->create_qp(spec);

		REQUIRE_EQ(qp.error, 0, "queue pair ", n);
		side.qp = qp;
		made[n % 2][qp.number] = qp;
		auto twin = made[(n + 1) % 2].find(qp.number);
		if (twin == made[(n + 1) % 2].end())
			continue;
		sides[(n + 1) % 2]->qp = twin->second;
		note(str(n, " queue pairs were made"));
		return;
	}
	throw Failure("no two have one QPN");
}

} // namespace

PV_TEST_LOCAL("pair.usurped_remote",
	      "a tenant that has address and QPN of another machine's queue "
	      "pair keeps no packet of it away")
{
	Usurper tenant(env, "10.9.0.7");
	Env usurped(*tenant.host, env.b, env.options, {tenant_device},
		    env.device_b);
	Link link = connect(usurped);
	/* As the other machine: with an ICRC, by the wire. */
	Forger remote(usurped, true);

	must_post(link.b, RecvWr{});
	remote.send({.opcode = rc_send_only_imm,
		     .qpn = link.b.qp.number,
		     .psn = link.spec.psn_a,
		     .imm = 0x900d});
	REQUIRE_EQ(wait_recv(env, link.b, "the remote peer's").imm, 0x900du,
		   "whose it is");
}

PV_TEST_LOCAL("pair.usurped_local",
	      "a tenant that has address and QPN of a queue pair of this "
	      "machine, and was there first, keeps no packet of it away")
{
	Usurper tenant(env, "10.9.0.1");
	Env usurped(*tenant.host, env.b, env.options, {tenant_device},
		    env.device_b);
	Link link = make_link(env);
	Link pair = make_link(usurped);

	make_twins(link.a, pair.a);
	pair.b = link.b;
	bring_up(pair);
	to_init(link, link.a);
	to_rtr(link, link.a);
	to_rts(link, link.a);
	prove_alive(env, link);
	no_more(pair.a, "at the tenant");
}
