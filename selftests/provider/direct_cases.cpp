// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct_cases.cpp - direct windows: which calls the provider makes, in which order, and answers
 * of the module that it must not believe.
 */
#include "pavo_dv_direct.h"
#include "played_module.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr pavodv_direct_attr few = {0x12345678, 4, 4096, 2};
constexpr uint32_t handle = 77;

/* A module with direct windows, while it lives. */
class DirectModule {
public:
	DirectModule()
	{
		calm_engine();
		kernel->handler = [this](fake::Call &call) {
			return call.object == PAVO_OBJECT_DIRECT ? run(call) :
								   serve(call);
		};
	}
	~DirectModule() { kernel->handler = serve; }
	DirectModule(const DirectModule &) = delete;

	/* Answers. */
	uint32_t registers_size = 4096;
	uint64_t registers = 4 * 4096;
	int open_error = 0;
	int arm_error = 0;
	/* The calls that came. */
	std::vector<uint32_t> methods;
	uint64_t doorbell = 0; /* of the last call that armed */
	pavo_direct_open_args opened = {};
	pavo_direct_arm_args armed = {};
	pavo_direct_count_args counted = {};

	bool has_seen(uint32_t method) const
	{
		for (uint32_t seen : methods)
			if (seen == method)
				return true;
		return false;
	}

private:
	int open_window(fake::Call &call)
	{
		opened = call.input<pavo_direct_open_args>(
			PAVO_ATTR_DIRECT_OPEN_ARGS);
		if (open_error)
			return open_error;
		int fd = memfd_create("direct", MFD_CLOEXEC);

		REQUIRE(fd >= 0 && !ftruncate(fd, 1 << 20), "memfd");
		call.output(PAVO_ATTR_DIRECT_OPEN_RESP,
			    pavo_direct_open_resp{.base = opened.base,
						  .length = 4 * 4096,
						  .registers = registers,
						  .registers_size =
							  registers_size,
						  .lkey = 0x4711,
						  .fd = fd,
						  .reserved = 0});
		call.set_word(PAVO_ATTR_DIRECT_HANDLE, handle);
		return 0;
	}

	int run(fake::Call &call)
	{
		methods.push_back(call.method);
		if (call.method == PAVO_METHOD_DIRECT_OPEN)
			return open_window(call);
		REQUIRE_EQ(call.word.at(PAVO_ATTR_DIRECT_HANDLE), handle);
		if (call.method == PAVO_METHOD_DIRECT_ARM) {
			armed = call.input<pavo_direct_arm_args>(
				PAVO_ATTR_DIRECT_ARM_ARGS);
			const auto with =
				call.word.find(PAVO_ATTR_DIRECT_DOORBELL);

			doorbell = with == call.word.end() ? 0 : with->second;
			return arm_error;
		}
		if (call.method == PAVO_METHOD_DIRECT_COUNT)
			counted = call.input<pavo_direct_count_args>(
				PAVO_ATTR_DIRECT_COUNT_ARGS);
		return 0;
	}
};

void test_direct_calls()
{
	DirectModule module;
	User user;
	pavodv_direct window = {};

	REQUIRE_EQ(pavodv_direct_open(user.pd, &few, &window), 0);
	REQUIRE_EQ(module.opened.base, few.base);
	REQUIRE_EQ(module.opened.ranges, few.ranges);
	REQUIRE_EQ(module.opened.range_size, few.range_size);
	REQUIRE_EQ(module.opened.buffers, few.buffers);
	REQUIRE_EQ(module.opened.flags, 0u);
	REQUIRE_EQ(window.lkey, 0x4711u);
	REQUIRE_EQ(window.length, 4u * 4096);
	REQUIRE_EQ(pavodv_direct_address(&window, 2, 0x88), 0x12347700u);
	static_cast<char *>(window.memory)[3 * 4096] = 1;
	pavo_direct_register state = {.buffer = 1};
	REQUIRE_EQ(pavodv_direct_read_register(&window, 3, &state), 0);
	REQUIRE_EQ(state.buffer, 0u);
	REQUIRE_EQ(pavodv_direct_read_register(&window, 4, &state), EINVAL);
	REQUIRE_EQ(pavodv_direct_arm(&window, 3, 100, PAVO_DIRECT_READ), 0);
	REQUIRE_EQ(module.armed.range, 3u);
	REQUIRE_EQ(module.armed.total, 100u);
	REQUIRE_EQ(module.armed.flags, PAVO_DIRECT_READ);
	REQUIRE_EQ(pavodv_direct_count(&window, 3, 50), 0);
	REQUIRE_EQ(module.counted.range, 3u);
	REQUIRE_EQ(module.counted.bytes, 50u);
	REQUIRE_EQ(pavodv_direct_disarm(&window, 3), 0);
	int fd = window.fd;

	REQUIRE_EQ(pavodv_direct_close(&window), 0);
	REQUIRE(module.has_seen(PAVO_METHOD_DIRECT_CLOSE));
	REQUIRE_EQ(fcntl(fd, F_GETFD), -1, "the file is open");
	REQUIRE_EQ(window.fd, -1);
	/* Without a base it is that of the mapping. */
	pavodv_direct_attr attr = few;

	attr.base = 0;
	REQUIRE_EQ(pavodv_direct_open(user.pd, &attr, &window), 0);
	REQUIRE_EQ(module.opened.base,
		   reinterpret_cast<uintptr_t>(window.memory));
	REQUIRE_EQ(pavodv_direct_close(&window), 0);
}

/* One call arms and shows the request, which no kick of another thread can do before. */
void test_direct_post()
{
	DirectModule module;
	User user;
	pavodv_direct window = {};
	ibv_sge sge = {0x12345678, 100, 0x4711};
	ibv_send_wr wr = {.wr_id = 1,
			  .sg_list = &sge,
			  .num_sge = 1,
			  .opcode = IBV_WR_SEND,
			  .send_flags = IBV_SEND_SIGNALED},
		    *bad = nullptr;
	pavodv_qp about = {};

	REQUIRE_EQ(pavodv_direct_open(user.pd, &few, &window), 0);
	const uint32_t before = engine.doorbell_page()->prod;

	REQUIRE_EQ(pavodv_query_qp(user.qp, &about), 0);
	REQUIRE_EQ(about.sq_head, 0u);
	REQUIRE_EQ(pavodv_direct_arm(&window, 1, 100, 0), 0);
	REQUIRE_EQ(module.doorbell, 0u, "arming alone rings");
	engine.send_kicks = 0;
	module.methods.clear();
	REQUIRE_EQ(pavodv_direct_post(&window, 0, 100, PAVO_DIRECT_WAIT,
				      user.qp, &wr, &bad),
		   0);
	REQUIRE_EQ(module.methods.size(), 1u, "calls");
	REQUIRE_EQ(engine.send_kicks, 0);
	REQUIRE_EQ(engine.doorbell_page()->prod, before, "the ring");
	REQUIRE_EQ(module.doorbell >> PAVO_DB_QPN_SHIFT, user.qp->qp_num);
	REQUIRE_EQ(module.armed.range, 0u);
	REQUIRE_EQ(module.armed.flags, PAVO_DIRECT_WAIT);
	REQUIRE_EQ(pavodv_query_qp(user.qp, &about), 0);
	REQUIRE_EQ(about.sq_head, 1u);

	/* Neither is done. */
	module.arm_error = EAGAIN;
	REQUIRE_EQ(pavodv_direct_post(&window, 1, 100, 0, user.qp, &wr, &bad),
		   EAGAIN);
	REQUIRE(bad == &wr);
	REQUIRE_EQ(engine.doorbell_page()->prod, before);
	REQUIRE_EQ(pavodv_query_qp(user.qp, &about), 0);
	REQUIRE_EQ(about.sq_head, 1u);
	REQUIRE_EQ(engine.send_kicks, 0);
	module.arm_error = 0;
	module.methods.clear();
	sge.length = 100;
	wr.num_sge = 1000;
	REQUIRE_EQ(pavodv_direct_post(&window, 1, 100, 0, user.qp, &wr, &bad),
		   EINVAL);
	REQUIRE(!module.has_seen(PAVO_METHOD_DIRECT_ARM));
	user.go(IBV_QPS_RESET);
	wr.num_sge = 1;
	REQUIRE_EQ(pavodv_direct_post(&window, 1, 100, 0, user.qp, &wr, &bad),
		   EINVAL);
	REQUIRE(!module.has_seen(PAVO_METHOD_DIRECT_ARM));
	REQUIRE_EQ(pavodv_direct_close(&window), 0);
}

void test_direct_refusals()
{
	DirectModule module;
	User user;
	pavodv_direct window = {};

	/* Numbers that are not even asked for. */
	for (const pavodv_direct_attr &attr :
	     {pavodv_direct_attr{0, 0, 4096, 1},
	      {0, UINT32_MAX, UINT32_MAX, 1},
	      {0, 1, 0, 1}})
		REQUIRE_EQ(pavodv_direct_open(user.pd, &attr, &window), EINVAL);
	REQUIRE(module.methods.empty());
	module.open_error = EPROTONOSUPPORT;
	REQUIRE_EQ(pavodv_direct_open(user.pd, &few, &window), EOPNOTSUPP);
	module.open_error = ENOMEM;
	REQUIRE_EQ(pavodv_direct_open(user.pd, &few, &window), ENOMEM);
	module.open_error = 0;
	/* Registers that are fewer than the ranges, or nowhere: the window is closed again. */
	module.registers_size = 4 * sizeof(pavo_direct_register) - 1;
	REQUIRE_EQ(pavodv_direct_open(user.pd, &few, &window), EPROTO);
	REQUIRE_EQ(module.methods.back(), PAVO_METHOD_DIRECT_CLOSE);
	module.registers_size = 4096;
	module.registers = 1;
	module.methods.clear();
	REQUIRE_EQ(pavodv_direct_open(user.pd, &few, &window), EINVAL);
	REQUIRE_EQ(module.methods.back(), PAVO_METHOD_DIRECT_CLOSE);
	REQUIRE(!window.context);
}

} // namespace

void add_direct_cases(Cases &cases)
{
	cases.insert(cases.end(),
		     {
			     {"direct windows", test_direct_calls},
			     {"a range is armed before its request is shown",
			      test_direct_post},
			     {"direct windows that cannot be made",
			      test_direct_refusals},
		     });
}
