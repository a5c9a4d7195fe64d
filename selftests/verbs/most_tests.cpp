// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * As many objects of each kind as the device says, not one more; and what one
 * user gives back another may have. For an adapter with low limits: see the
 * module's parameters.
 */
#include <cerrno>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>

#include "../common/parameter.h"
#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

/* More than so many are not made for a test. */
constexpr int few = 2000;

/* What all users have of a kind, as `rdma resource show` counts. -1: unknown. */
int in_use(const std::string &device, const std::string &kind)
{
	FILE *out = popen(("rdma resource show " + device).c_str(), "r");
	char line[512] = "";

	REQUIRE(out, "popen");
	std::string text = fgets(line, sizeof(line), out) ? line : "";
	pclose(out);
	const size_t at = text.find(" " + kind + " ");
	return at == std::string::npos ?
		       -1 :
		       atoi(text.c_str() + at + kind.size() + 2);
}

/* Verbs do not tell it. 0: the module does not, either. */
int max_xrcd()
{
	try {
		return int(common::parameter("max_xrcd"));
	} catch (const common::Missing &) {
		return 0;
	}
}

using Undo = std::function<void()>;

struct Maker {
	const char *kind; /* as `rdma resource` calls it, or would */
	int most;
	std::function<Undo()> make; /* nothing: refused, errno says why */
};

/* An object of libibverbs together with what unmakes it. */
template <typename Object, typename Unmake>
Undo undo(Object *object, Unmake unmake)
{
	if (!object)
		return {};
	return [=] {
		unmake(object);
	};
}

void to_the_edge(const std::string &device, const Maker &maker)
{
	const int before = in_use(device, maker.kind);
	std::vector<Undo> made;

	while (Undo one = maker.make()) {
		made.push_back(one);
		REQUIRE(int(made.size()) <= maker.most, maker.kind,
			": more than the device says");
	}
	REQUIRE_EQ(errno, ENOMEM, maker.kind, " after ", made.size());
	/* the kernel's own users have the rest */
	if (before >= 0)
		REQUIRE_EQ(int(made.size()) + before, maker.most, maker.kind);
	else
		REQUIRE_EQ(int(made.size()), maker.most, maker.kind);

	made.back()();
	made.back() = maker.make();
	REQUIRE(made.back(), maker.kind,
		": none in the place of one that went");
	REQUIRE(!maker.make(), maker.kind, ": one too many");
	for (Undo &one : made)
		one();
}

/* What the makers make things of. */
struct Material {
	explicit Material(Env &env);
	~Material() { ibv_destroy_cq(cq); }
	Material(const Material &) = delete;

	std::vector<Maker> makers();

	ibv_context *context;
	ibv_pd *pd;
	ibv_cq *cq;
	ibv_device_attr dev;
	char memory[64];
	ibv_xrcd_init_attr xrcd = {
		IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, -1, O_CREAT};
	ibv_srq_init_attr srq = {nullptr, {1, 1, 0}};
	ibv_qp_init_attr qp = {};
	ibv_ah_attr ah = {};
};

Material::Material(Env &env)
	: context(local(env.a).context()), pd(local(env.a).raw_pd(0)),
	  cq(ibv_create_cq(context, 1, nullptr, nullptr, 0)),
	  dev(env.info_a.device)
{
	REQUIRE(cq, "CQ");
	qp.send_cq = qp.recv_cq = cq;
	qp.cap = {1, 1, 1, 1, 0};
	qp.qp_type = IBV_QPT_RC;
	ah.is_global = 1;
	ah.port_num = 1;
	ah.grh.dgid = env.info_b.gid;
	ah.grh.sgid_index = uint8_t(env.info_a.gid_index);
}

std::vector<Maker> Material::makers()
{
	return {
		{"qp", dev.max_qp,
		 [this] {
			 return undo(ibv_create_qp(pd, &qp), ibv_destroy_qp);
		 }},
		{"cq", dev.max_cq,
		 [this] {
			 return undo(ibv_create_cq(context, 1, nullptr, nullptr,
						   0),
				     ibv_destroy_cq);
		 }},
		{"pd", dev.max_pd,
		 [this] {
			 return undo(ibv_alloc_pd(context), ibv_dealloc_pd);
		 }},
		{"mr", dev.max_mr,
		 [this] {
			 return undo(ibv_reg_mr(pd, memory, sizeof(memory), 0),
				     ibv_dereg_mr);
		 }},
		{"srq", dev.max_srq,
		 [this] {
			 return undo(ibv_create_srq(pd, &srq), ibv_destroy_srq);
		 }},
		{"ah", dev.max_ah,
		 [this] {
			 return undo(ibv_create_ah(pd, &ah), ibv_destroy_ah);
		 }},
		{"mw", dev.max_mw,
		 [this] {
			 return undo(ibv_alloc_mw(pd, IBV_MW_TYPE_1),
				     ibv_dealloc_mw);
		 }},
		{"xrcd", max_xrcd(),
		 [this] {
			 return undo(ibv_open_xrcd(context, &xrcd),
				     ibv_close_xrcd);
		 }},
	};
}

} // namespace

PV_TEST_LOCAL(
	"limit.objects",
	"as many objects of each kind as the device says, and not one more")
{
	Material material(env);
	int tried = 0;

	for (const Maker &maker : material.makers()) {
		if (!maker.most || maker.most > few)
			continue;
		to_the_edge(env.device_a.device, maker);
		tried++;
	}
	if (!tried)
		throw Skip(str("no limit below ", few,
			       "; the module's parameters set them"));
}
