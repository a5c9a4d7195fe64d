// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The share that one user may have of each pool of an adapter, by the module's parameter
 * share_per_user, whatever other users have, and by each call that makes an object.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <sys/stat.h>

#include "../common/device.h"
#include "../common/objects.h"
#include "../common/parameter.h"
#include "as_user.h"
#include "link.h"
#include "manager.h"
#include "tap.h"
#include "xrc.h"

using namespace pv;

namespace {

constexpr uid_t one = ordinary_user, another = ordinary_user + 1;
/* More than so many are not made for a test. */
constexpr unsigned countable = 2000;

/* Objects of a kind, in the order in which it was made. */
using Objects = std::vector<common::Undo>;

void undo_all(Objects &made)
{
	for (common::Undo &object : made)
		object();
	made.clear();
}

/* Take up to @most of a kind; `full`: no more can be had. */
Objects take(common::Material &material, const std::string &kind, unsigned most,
	     bool full)
{
	Objects made;

	while (made.size() < most) {
		made.push_back(material.make(kind));
		REQUIRE(made.back(), kind, " ", made.size(), " of ", most,
			": errno ", errno);
	}
	if (!full)
		return made;
	REQUIRE(!material.make(kind), kind, ": more than ", most);
	REQUIRE_EQ(errno, ENOMEM, kind, " after ", most);
	return made;
}

/* Exactly so many can be had. */
void must_have(common::Material &material, const std::string &kind,
	       unsigned most)
{
	Objects made = take(material, kind, most, true);

	undo_all(made);
}

/* A user has a share of those that there may be: what other users have is the same to it. */
void must_share(common::Material &material, const std::string &kind,
		unsigned share)
{
	Objects of_one, of_another, of_root;

	{
		AsUser user(one);
		of_one = take(material, kind, share, true);
	}
	{
		AsUser user(another);
		of_another = take(material, kind, share, true);
	}
	of_root = take(material, kind, share + 1, false);
	{
		AsUser user(one);
		undo_all(of_one);
		of_one = take(material, kind, share, true);
	}
	/* The user that made it counts, not the one that takes it back. */
	undo_all(of_one);
	{
		AsUser user(one);
		of_one = take(material, kind, share, true);
	}
	undo_all(of_one);
	undo_all(of_another);
	undo_all(of_root);
}

/* By the name of a kind: what there may be of it. */
std::vector<std::pair<const char *, unsigned>> kinds()
{
	const auto most = [](const char *name) {
		return common::parameter(name);
	};

	return {{"pd", most("max_pd")},	    {"cq", most("max_cq")},
		{"ah", most("max_ah")},	    {"mr", most("max_mr")},
		{"mw", most("max_mw")},	    {"srq", most("max_srq")},
		{"xrcd", most("max_xrcd")}, {"qp", most("max_qp")},
		{"target", most("max_qp")}};
}

/* Percent at which a share of them is small enough for a test. */
unsigned percent_of(unsigned most)
{
	return most > countable ? 0 : 25;
}

} // namespace

PV_TEST_LOCAL("limit.share",
	      "a user has no more than its share of each kind of object, made "
	      "by whichever call, and leaves others theirs")
{
	common::Material material(
		local(env.a).raw_pd(0),
		common::address_vector(env.info_b.gid,
				       uint8_t(env.info_a.gid_index)));

	/* so that it has its domain before */
	material.make("target")();
	for (const auto &[kind, most] : kinds()) {
		const unsigned percent = percent_of(most);
		Parameter share("share_per_user", percent);

		must_share(material, kind, std::max(most * percent / 100, 1u));
	}
}

PV_TEST_LOCAL("limit.share_of_target",
	      "a target counts for the user that made it until no process has "
	      "it open")
{
	Parameter share("share_per_user", 0);
	common::Material material(
		local(env.a).raw_pd(0),
		common::address_vector(env.info_b.gid,
				       uint8_t(env.info_a.gid_index)));
	Handle xrcd = must_domain(env.a);
	Qp target, again;

	/* so that it has its domain before */
	material.make("target")();
	{
		AsUser user(one);
		target = env.a.create_qp(
			{.type = IBV_QPT_XRC_RECV, .xrcd = xrcd});
		REQUIRE(!target.error, "create_qp");
	}
	{
		AsUser user(another);
		again = env.a.open_qp(xrcd, target.number);
		REQUIRE(!again.error, "open_qp");
		/* It is not this user's. */
		must_have(material, "target", 1);
	}
	REQUIRE_EQ(env.a.destroy(Kind::qp, target.id), 0, "the first");
	{
		AsUser user(one);
		must_have(material, "target", 0);
	}
	REQUIRE_EQ(env.a.destroy(Kind::qp, again.id), 0, "the second");
	AsUser user(one);
	must_have(material, "target", 1);
}

namespace {

constexpr char cm_file[] = "/dev/infiniband/rdma_cm";

sockaddr_in address_of(const HostInfo &info, uint16_t port)
{
	sockaddr_in address = {};

	address.sin_family = AF_INET;
	address.sin_port = htons(port);
	memcpy(&address.sin_addr, info.gid.raw + 12, 4);
	return address;
}

/* An end of a connection of rdma_cm, by calls of the kernel. It has no queue pair. */
class CmEnd {
public:
	explicit CmEnd(const Env &env)
		: env_(env), fd_(open(cm_file, O_RDWR | O_CLOEXEC))
	{
		rdma_ucm_create_id_resp made = {};
		rdma_ucm_create_id create = {};

		REQUIRE(fd_ >= 0, cm_file, ": ", strerror(errno));
		create.uid = 1; /* with 0 there are no events */
		create.response = uintptr_t(&made);
		create.ps = RDMA_PS_TCP;
		create.qp_type = IBV_QPT_RC;
		must(RDMA_USER_CM_CMD_CREATE_ID, create, sizeof(made));
		id_ = made.id;
	}
	~CmEnd() { close(fd_); }
	CmEnd(const CmEnd &) = delete;

	void listen(const sockaddr_in &address)
	{
		rdma_ucm_bind_ip bind = {};
		rdma_ucm_listen wait = {};

		memcpy(&bind.addr, &address, sizeof(address));
		bind.id = wait.id = id_;
		wait.backlog = 16;
		must(RDMA_USER_CM_CMD_BIND_IP, bind);
		must(RDMA_USER_CM_CMD_LISTEN, wait);
	}

	/* Return: 0, and the end waits for an answer; or an errno. */
	int connect(const sockaddr_in &from, const sockaddr_in &to)
	{
		rdma_ucm_resolve_ip address = {};
		rdma_ucm_resolve_route route = {};
		rdma_ucm_connect connect = {};

		memcpy(&address.src_addr, &from, sizeof(from));
		memcpy(&address.dst_addr, &to, sizeof(to));
		address.id = route.id = connect.id = id_;
		address.timeout_ms = route.timeout_ms = 5000;
		must(RDMA_USER_CM_CMD_RESOLVE_IP, address);
		must_be_told(RDMA_CM_EVENT_ADDR_RESOLVED);
		must(RDMA_USER_CM_CMD_RESOLVE_ROUTE, route);
		must_be_told(RDMA_CM_EVENT_ROUTE_RESOLVED);
		connect.conn_param.qp_num = 1234;
		connect.conn_param.valid = 1;
		return call(RDMA_USER_CM_CMD_CONNECT, connect);
	}

private:
	/* Of rdma/rdma_cma.h, which needs librdmacm. */
	enum {
		RDMA_CM_EVENT_ADDR_RESOLVED = 0,
		RDMA_CM_EVENT_ROUTE_RESOLVED = 2
	};

	template <class Body>
	int call(uint32_t number, const Body &body, uint16_t out = 0)
	{
		struct {
			rdma_ucm_cmd_hdr header;
			Body body;
		} all = {{number, sizeof(body), out}, body};

		return write(fd_, &all, sizeof(all)) < 0 ? errno : 0;
	}

	template <class Body>
	void must(uint32_t number, const Body &body, uint16_t out = 0)
	{
		REQUIRE_EQ(call(number, body, out), 0, "command ", number);
	}

	void must_be_told(uint32_t event)
	{
		pollfd told = {fd_, POLLIN, 0};
		rdma_ucm_event_resp answer = {};
		rdma_ucm_get_event get = {uintptr_t(&answer)};

		REQUIRE_EQ(poll(&told, 1, int(env_.options.patience_ms)), 1,
			   "event ", event);
		must(RDMA_USER_CM_CMD_GET_EVENT, get, sizeof(answer));
		REQUIRE_EQ(answer.event, event, "status ", int(answer.status));
	}

	const Env &env_;
	int fd_;
	uint32_t id_ = 0;
};

} // namespace

PV_TEST_LOCAL("limit.share_of_connections",
	      "an address handle that rdma_cm makes for a connection of a user "
	      "is in the user's share while no answer comes")
{
	constexpr uint16_t port = 7499;

	if (!common::is_ipv4(env.info_b.gid) || chmod(cm_file, 0666))
		throw Skip("rdma_cm and an address of IPv4 are needed");
	const sockaddr_in from = address_of(env.info_a, 0),
			  to = address_of(env.info_b, port);
	Parameter share("share_per_user", 0);
	CmEnd silent(env);
	std::deque<CmEnd> ends;
	const auto connect = [&] {
		return ends.emplace_back(env).connect(from, to);
	};

	silent.listen(to);
	{
		AsUser user(one);

		REQUIRE_EQ(connect(), 0, "the first");
		REQUIRE_EQ(connect(), ENOMEM, "one more");
	}
	{
		AsUser user(another);

		REQUIRE_EQ(connect(), 0, "another user's");
	}
	REQUIRE_EQ(connect(), 0, "root's");
	REQUIRE_EQ(connect(), 0, "root's next");
}
