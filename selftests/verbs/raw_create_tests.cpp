// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Commands and methods that make objects, given to the kernel without the driver's part of them. The
 * module makes no object for a process unless it counts for the user: each is refused, or is of the
 * user's share. Beside limit.share, where the provider makes them.
 */
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>

#include <fcntl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "as_user.h"
#include "comp_cntr.h"
#include "link.h"
#include "manager.h"
#include "method_call.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uid_t first_user = ordinary_user, second_user = ordinary_user + 1;
/* The row's object is made, and counts for its user. */
constexpr int charged = 0;

/* All may open the file of the device while this lives. */
class OpenToAll {
public:
	explicit OpenToAll(std::string path) : path_(std::move(path))
	{
		REQUIRE(!stat(path_.c_str(), &before_) &&
				!chmod(path_.c_str(), 0666),
			path_);
	}
	~OpenToAll() { (void)!chmod(path_.c_str(), before_.st_mode & 0777); }
	OpenToAll(const OpenToAll &) = delete;

private:
	std::string path_;
	struct stat before_ = {};
};

/*
 * A thread that acts for an ordinary user as long as it lives. The kernel takes a write only with the
 * very credentials that opened the file: to become the same user again is not enough.
 */
class User {
public:
	explicit User(uid_t user)
		: thread_([this, user] {
			  AsUser as(user);

			  serve();
		  })
	{
	}

	~User()
	{
		give(nullptr);
		thread_.join();
	}
	User(const User &) = delete;

	/* The thread does it. */
	void run(std::function<void()> task)
	{
		std::exception_ptr failure;

		give([&] {
			try {
				task();
			} catch (...) {
				failure = std::current_exception();
			}
		});
		done_.acquire();
		if (failure)
			std::rethrow_exception(failure);
	}

private:
	void give(std::function<void()> task)
	{
		task_ = std::move(task);
		given_.release();
	}

	void serve()
	{
		for (given_.acquire(); task_; given_.acquire()) {
			task_();
			done_.release();
		}
	}

	std::function<void()> task_;
	std::binary_semaphore given_{0}, done_{0};
	std::thread thread_;
};

/* A context that a user opened, with objects that do not count for it. All ends with it. */
struct Context {
	Context(Env &env, ibv_device *device, User &user)
		: far(env.info_b.gid), sgid(uint8_t(env.info_a.gid_index))
	{
		ib_uverbs_open_xrcd open = {};
		ib_uverbs_open_xrcd_resp resp = {};

		user.run([&] { verbs.reset(ibv_open_device(device)); });
		REQUIRE(verbs, "open_device: ", strerror(errno));
		pd.reset(ibv_alloc_pd(verbs.get()));
		cq.reset(ibv_create_cq(verbs.get(), 1, nullptr, nullptr, 0));
		REQUIRE(pd && cq, "PD, CQ");
		open.fd = uint32_t(-1);
		open.oflags = O_CREAT;
		REQUIRE_EQ(invoke(IB_USER_VERBS_CMD_OPEN_XRCD, &open,
				  sizeof(open), &resp, sizeof(resp)),
			   0, "XRC domain");
		xrcd = resp.xrcd_handle;
	}

	/* A command by write(). Return: errno. */
	int write_command(uint32_t number, const void *in, size_t size,
			  void *out, size_t room) const
	{
		const bool extended = number & IB_USER_VERBS_CMD_FLAG_EXTENDED;
		const size_t unit = extended ? 8 : 4;
		const ib_uverbs_ex_cmd_hdr more = {uint64_t(out), 0, 0, 0};
		ib_uverbs_cmd_hdr header = {number, 0, uint16_t(room / unit)};
		std::string bytes(sizeof(header), 0);

		if (extended)
			bytes.append(reinterpret_cast<const char *>(&more),
				     sizeof(more));
		bytes.append(static_cast<const char *>(in), size);
		/* An extended one counts what is behind its headers. */
		header.in_words =
			uint16_t((extended ? size : bytes.size()) / unit);
		memcpy(bytes.data(), &header, sizeof(header));
		return write(verbs->cmd_fd, bytes.data(), bytes.size()) < 0 ?
			       errno :
			       0;
	}

	/* The same by ioctl(), as the provider gives its commands. */
	int invoke(uint32_t number, const void *in, size_t size, void *out,
		   size_t room) const
	{
		return method(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE,
			      {{UVERBS_ATTR_CORE_IN, size, uint64_t(in)},
			       {UVERBS_ATTR_CORE_OUT, room, uint64_t(out)},
			       {UVERBS_ATTR_WRITE_CMD, 8, number}});
	}

	int method(uint16_t object, uint16_t number,
		   std::vector<Attribute> attributes) const
	{
		return call_method(*verbs, object, number, attributes);
	}

	struct Close {
		void operator()(ibv_context *c) const { ibv_close_device(c); }
		void operator()(ibv_pd *p) const { ibv_dealloc_pd(p); }
		void operator()(ibv_cq *c) const { ibv_destroy_cq(c); }
	};

	std::unique_ptr<ibv_context, Close> verbs;
	std::unique_ptr<ibv_pd, Close> pd;
	std::unique_ptr<ibv_cq, Close> cq;
	uint32_t xrcd = 0;
	ibv_gid far;
	uint8_t sgid;
	alignas(page) char memory[page];
};

/* An object in the making, by either way of giving the kernel a command. */
using Make = std::function<int(Context &, bool by_write)>;

struct Row {
	const char *name;
	int expected; /* errno, or charged */
	Make make;
	bool is_command = true;
};

/* A command whose answer has room for the core's part alone. */
template <class Command, class Response, class Fill>
Make command(uint32_t number, Fill fill)
{
	return [=](Context &context, bool by_write) {
		Command in = {};
		Response out = {};

		fill(context, in);
		if constexpr (requires { in.response; })
			in.response = uint64_t(&out);
		return by_write ? context.write_command(number, &in, sizeof(in),
							&out, sizeof(out)) :
				  context.invoke(number, &in, sizeof(in), &out,
						 sizeof(out));
	};
}

Make mr_command(uint32_t access)
{
	return command<ib_uverbs_reg_mr, ib_uverbs_reg_mr_resp>(
		IB_USER_VERBS_CMD_REG_MR, [access](auto &context, auto &in) {
			in.start = in.hca_va = uint64_t(context.memory);
			in.length = page;
			in.pd_handle = context.pd->handle;
			in.access_flags = access;
		});
}

template <class Command> void fill_qp(Context &context, Command &in, int type)
{
	in.pd_handle = type == IBV_QPT_XRC_RECV ? context.xrcd :
						  context.pd->handle;
	in.send_cq_handle = in.recv_cq_handle = context.cq->handle;
	in.max_send_wr = in.max_send_sge = 1;
	in.max_recv_wr = in.max_recv_sge = type == IBV_QPT_XRC_SEND ? 0 : 1;
	in.qp_type = uint8_t(type);
}

Make qp_command(int type)
{
	return command<ib_uverbs_create_qp, ib_uverbs_create_qp_resp>(
		IB_USER_VERBS_CMD_CREATE_QP, [type](auto &context, auto &in) {
			fill_qp(context, in, type);
		});
}

Make extended_qp_command(int type)
{
	return command<ib_uverbs_ex_create_qp, ib_uverbs_ex_create_qp_resp>(
		IB_USER_VERBS_CMD_FLAG_EXTENDED |
			IB_USER_VERBS_EX_CMD_CREATE_QP,
		[type](auto &context, auto &in) {
			fill_qp(context, in, type);
		});
}

Make xsrq_command(uint32_t type)
{
	return command<ib_uverbs_create_xsrq, ib_uverbs_create_srq_resp>(
		IB_USER_VERBS_CMD_CREATE_XSRQ, [type](auto &context, auto &in) {
			in.srq_type = type;
			in.pd_handle = context.pd->handle;
			in.max_wr = in.max_sge = 1;
			in.xrcd_handle = context.xrcd;
			in.cq_handle = context.cq->handle;
		});
}

/*
 * An extended command that the device has not. Not by write(): rdma core finds wrong lengths in it, since
 * it does not take it for an extended one then.
 */
template <class Command> Row unknown(const char *name, uint32_t number)
{
	return {name, EOPNOTSUPP,
		command<Command, uint64_t>(IB_USER_VERBS_CMD_FLAG_EXTENDED |
						   number,
					   [](auto &, auto &) {}),
		false};
}

Row qp_method(const char *name, int expected, int type)
{
	return {name, expected,
		[type](Context &context, bool) {
			const bool target = type == IBV_QPT_XRC_RECV;
			const ib_uverbs_qp_cap cap = {1, 1, 1, 1, 0};
			ib_uverbs_qp_cap given;
			uint32_t number;
			std::vector<Attribute> all = {
				{UVERBS_ATTR_CREATE_QP_HANDLE, 0, 0},
				{UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8, 0},
				{UVERBS_ATTR_CREATE_QP_CAP, sizeof(cap),
				 uint64_t(&cap)},
				{UVERBS_ATTR_CREATE_QP_TYPE, 8, uint64_t(type)},
				{UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(given),
				 uint64_t(&given)},
				{UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4,
				 uint64_t(&number)}};

			if (target)
				all.push_back(
					{UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, 0,
					 context.xrcd});
			else
				for (auto [id, handle] :
				     {std::pair(UVERBS_ATTR_CREATE_QP_PD_HANDLE,
						context.pd->handle),
				      {UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE,
				       context.cq->handle},
				      {UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE,
				       context.cq->handle}})
					all.push_back(
						{uint16_t(id), 0, handle});
			return context.method(UVERBS_OBJECT_QP,
					      UVERBS_METHOD_QP_CREATE, all);
		},
		false};
}

Row cq_method()
{
	return {"CQ by method", EINVAL,
		[](Context &context, bool) {
			uint32_t cqes;

			return context.method(
				UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE,
				{{UVERBS_ATTR_CREATE_CQ_HANDLE, 0, 0},
				 {UVERBS_ATTR_CREATE_CQ_CQE, 4, 1},
				 {UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8, 0},
				 {UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4, 0},
				 {UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4,
				  uint64_t(&cqes)}});
		},
		false};
}

Row srq_method()
{
	return {"SRQ by method", EINVAL,
		[](Context &context, bool) {
			uint32_t wrs, sges;

			return context.method(
				UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE,
				{{UVERBS_ATTR_CREATE_SRQ_HANDLE, 0, 0},
				 {UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, 0,
				  context.pd->handle},
				 {UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 8, 0},
				 {UVERBS_ATTR_CREATE_SRQ_MAX_WR, 4, 1},
				 {UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 4, 1},
				 {UVERBS_ATTR_CREATE_SRQ_LIMIT, 4, 0},
				 {UVERBS_ATTR_CREATE_SRQ_TYPE, 8, 0},
				 {UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4,
				  uint64_t(&wrs)},
				 {UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4,
				  uint64_t(&sges)}});
		},
		false};
}

/* A method that the device has not; the new handle is the first of its attributes. */
Row unknown_method(const char *name, uint16_t object, uint16_t number)
{
	return {name, EPROTONOSUPPORT,
		[=](Context &context, bool) {
			return context.method(object, number, {{0, 0, 0}});
		},
		false};
}

/* The context of a file that is opened anew. */
int make_context(Context &context, bool by_write)
{
	const std::string path =
		str("/dev/infiniband/", context.verbs->device->dev_name);
	const int used = context.verbs->cmd_fd;
	const int fresh = open(path.c_str(), O_RDWR | O_CLOEXEC);
	const Make make =
		command<ib_uverbs_get_context, ib_uverbs_get_context_resp>(
			IB_USER_VERBS_CMD_GET_CONTEXT, [](auto &, auto &) {});
	uint32_t vectors;
	uint64_t support;

	REQUIRE(fresh >= 0, path);
	context.verbs->cmd_fd = fresh;
	/* Newer kernels take the number of a command, where it is invoked, for files that a context asks for. */
	const int error =
		by_write ?
			make(context, true) :
			context.method(
				UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT,
				{{UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4,
				  uint64_t(&vectors)},
				 {UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8,
				  uint64_t(&support)}});

	context.verbs->cmd_fd = used;
	close(fresh);
	return error;
}

std::vector<Row> rows()
{
	return {
		{"context", EINVAL, make_context},
		{"PD", charged,
		 command<ib_uverbs_alloc_pd, ib_uverbs_alloc_pd_resp>(
			 IB_USER_VERBS_CMD_ALLOC_PD, [](auto &, auto &) {})},
		{"AH", charged,
		 command<ib_uverbs_create_ah, ib_uverbs_create_ah_resp>(
			 IB_USER_VERBS_CMD_CREATE_AH,
			 [](auto &context, auto &in) {
				 in.pd_handle = context.pd->handle;
				 memcpy(in.attr.grh.dgid, context.far.raw, 16);
				 in.attr.grh.sgid_index = context.sgid;
				 in.attr.grh.hop_limit = 1;
				 in.attr.is_global = in.attr.port_num = 1;
			 })},
		{"MR", charged, mr_command(IBV_ACCESS_LOCAL_WRITE)},
		{"MR on demand", charged, mr_command(IBV_ACCESS_ON_DEMAND)},
		{"MW", charged,
		 command<ib_uverbs_alloc_mw, ib_uverbs_alloc_mw_resp>(
			 IB_USER_VERBS_CMD_ALLOC_MW,
			 [](auto &context, auto &in) {
				 in.pd_handle = context.pd->handle;
				 in.mw_type = IBV_MW_TYPE_1;
			 })},
		{"XRC domain", charged,
		 command<ib_uverbs_open_xrcd, ib_uverbs_open_xrcd_resp>(
			 IB_USER_VERBS_CMD_OPEN_XRCD,
			 [](auto &, auto &in) {
				 in.fd = uint32_t(-1);
				 in.oflags = O_CREAT;
			 })},
		{"CQ", EINVAL,
		 command<ib_uverbs_create_cq, ib_uverbs_create_cq_resp>(
			 IB_USER_VERBS_CMD_CREATE_CQ,
			 [](auto &, auto &in) {
				 in.cqe = 1;
				 in.comp_channel = -1;
			 })},
		{"CQ, extended", EINVAL,
		 command<ib_uverbs_ex_create_cq, ib_uverbs_ex_create_cq_resp>(
			 IB_USER_VERBS_CMD_FLAG_EXTENDED |
				 IB_USER_VERBS_EX_CMD_CREATE_CQ,
			 [](auto &, auto &in) {
				 in.cqe = 1;
				 in.comp_channel = -1;
			 })},
		{"ring of a CQ", EINVAL,
		 command<ib_uverbs_resize_cq, ib_uverbs_resize_cq_resp>(
			 IB_USER_VERBS_CMD_RESIZE_CQ,
			 [](auto &context, auto &in) {
				 in.cq_handle = context.cq->handle;
				 in.cqe = 8;
			 })},
		{"SRQ", EINVAL,
		 command<ib_uverbs_create_srq, ib_uverbs_create_srq_resp>(
			 IB_USER_VERBS_CMD_CREATE_SRQ,
			 [](auto &context, auto &in) {
				 in.pd_handle = context.pd->handle;
				 in.max_wr = in.max_sge = 1;
			 })},
		{"SRQ, extended", EINVAL, xsrq_command(IBV_SRQT_BASIC)},
		{"SRQ of XRC", EINVAL, xsrq_command(IBV_SRQT_XRC)},
		{"RC", EINVAL, qp_command(IBV_QPT_RC)},
		{"UC", EINVAL, qp_command(IBV_QPT_UC)},
		{"UD", EINVAL, qp_command(IBV_QPT_UD)},
		{"initiator of XRC", EINVAL, qp_command(IBV_QPT_XRC_SEND)},
		{"target of XRC", charged, qp_command(IBV_QPT_XRC_RECV)},
		{"RC, extended", EINVAL, extended_qp_command(IBV_QPT_RC)},
		{"target of XRC, extended", charged,
		 extended_qp_command(IBV_QPT_XRC_RECV)},
		unknown<ib_uverbs_create_flow>(
			"flow", IB_USER_VERBS_EX_CMD_CREATE_FLOW),
		unknown<ib_uverbs_ex_create_wq>("WQ",
						IB_USER_VERBS_EX_CMD_CREATE_WQ),
		unknown<ib_uverbs_ex_create_rwq_ind_table>(
			"table of WQs",
			IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL),
		cq_method(),
		srq_method(),
		qp_method("RC by method", EINVAL, IBV_QPT_RC),
		qp_method("target of XRC by method", charged, IBV_QPT_XRC_RECV),
		unknown_method("WQ by method", UVERBS_OBJECT_WQ,
			       UVERBS_METHOD_WQ_CREATE),
		unknown_method("device memory", UVERBS_OBJECT_DM,
			       UVERBS_METHOD_DM_ALLOC),
		unknown_method("counters", UVERBS_OBJECT_COUNTERS,
			       UVERBS_METHOD_COUNTERS_CREATE),
		unknown_method("flow action", UVERBS_OBJECT_FLOW_ACTION,
			       UVERBS_METHOD_FLOW_ACTION_ESP_CREATE),
	};
}

/* Newer kernels have completion counters. */
Row counter_row(Env &env)
{
	Row row = unknown_method("completion counter", cntr::object,
				 cntr::create);

	if (has_counters(*local(env.a).raw_pd(0)->context))
		row.expected = charged;
	return row;
}

/* With a share of one object of each kind. */
void must_hold(Env &env, User &one, User &another, const Row &row,
	       bool by_write)
{
	ibv_device *device = local(env.a).raw_pd(0)->context->device;
	const std::string what =
		str(row.name, by_write ? " by write()" : " by ioctl()");
	Context first(env, device, one), second(env, device, another);

	one.run([&] {
		REQUIRE_EQ(row.make(first, by_write), row.expected, what);
		REQUIRE_EQ(row.make(first, by_write),
			   row.expected == charged ? ENOMEM : row.expected,
			   what, " once more");
	});
	another.run([&] {
		REQUIRE_EQ(row.make(second, by_write), row.expected, what,
			   " by another user");
	});
}

} // namespace

PV_TEST_LOCAL("limit.raw_create",
	      "each command or method that makes an object, without the "
	      "driver's part, is refused or counts for the user")
{
	OpenToAll open(str("/dev/infiniband/",
			   local(env.a).raw_pd(0)->context->device->dev_name));
	Parameter share("share_per_user", 0);
	User one(first_user), another(second_user);

	must_hold(env, one, another, counter_row(env), false);
	for (const Row &row : rows()) {
		must_hold(env, one, another, row, false);
		if (row.is_command)
			must_hold(env, one, another, row, true);
	}
}
