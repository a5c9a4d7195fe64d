// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Host calls over a stream socket: marshalling, the caller and the server.
 *
 * A request is length, method number, arguments; an answer is length, one byte
 * (0: result follows, 1: the text of an exception). Both sides are this very
 * program, so trivially copyable values travel as they are.
 *
 * Called by: tests through Host; main.cpp and forked children through serve().
 */
#include "remote_host.h"

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <type_traits>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

namespace pv {

namespace {

constexpr size_t message_limit = 16 << 20;

class Buffer {
public:
	template <typename T> void put(const T &value)
	{
		if constexpr (requires { value.sges; }) {
			std::apply([&](auto &...part) { (put(part), ...); },
				   parts_of(value));
		} else {
			static_assert(std::is_trivially_copyable_v<T>);
			append(&value, sizeof(value));
		}
	}

	template <typename T> void put(const std::vector<T> &values)
	{
		put(uint64_t(values.size()));
		for (const T &value : values)
			put(value);
	}

	void put(const std::string &text)
	{
		put(uint64_t(text.size()));
		append(text.data(), text.size());
	}

	template <typename T> void get(T &value)
	{
		if constexpr (requires { value.sges; })
			std::apply([&](auto &...part) { (get(part), ...); },
				   parts_of(value));
		else
			take(&value, sizeof(value));
	}

	template <typename T> void get(std::vector<T> &values)
	{
		uint64_t count;

		get(count);
		if (count > message_limit)
			throw std::runtime_error("control message broken");
		values.resize(count);
		for (T &value : values)
			get(value);
	}

	void get(std::string &text)
	{
		uint64_t length;

		get(length);
		if (length > data.size() - at_)
			throw std::runtime_error("control message broken");
		text.resize(length);
		take(text.data(), length);
	}

	std::vector<char> data;

private:
	/* The parts of a request, in the order in which it travels. */
	template <typename Wr> static auto parts_of(Wr &wr)
	{
		if constexpr (requires { wr.opcode; })
			return std::tie(wr.id, wr.opcode, wr.flags, wr.imm,
					wr.remote, wr.rkey, wr.compare_add,
					wr.swap, wr.srqn, wr.ah, wr.remote_qpn,
					wr.qkey, wr.sges);
		else
			return std::tie(wr.id, wr.sges);
	}

	void append(const void *from, size_t length)
	{
		const char *bytes = static_cast<const char *>(from);

		data.insert(data.end(), bytes, bytes + length);
	}

	void take(void *to, size_t length)
	{
		if (length > data.size() - at_)
			throw std::runtime_error("control message broken");
		if (length)
			memcpy(to, data.data() + at_, length);
		at_ += length;
	}

	size_t at_ = 0;
};

void send_all(int fd, const void *from, size_t length)
{
	const char *bytes = static_cast<const char *>(from);

	while (length) {
		ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			throw std::runtime_error("control connection lost");
		bytes += sent;
		length -= sent;
	}
}

bool receive_all(int fd, void *to, size_t length)
{
	char *bytes = static_cast<char *>(to);

	while (length) {
		ssize_t got = recv(fd, bytes, length, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		bytes += got;
		length -= got;
	}
	return true;
}

void send_message(int fd, const Buffer &buffer)
{
	uint32_t length = uint32_t(buffer.data.size());

	send_all(fd, &length, sizeof(length));
	send_all(fd, buffer.data.data(), length);
}

bool receive_message(int fd, Buffer &buffer)
{
	uint32_t length;

	if (!receive_all(fd, &length, sizeof(length)) || length > message_limit)
		return false;
	buffer.data.resize(length);
	return receive_all(fd, buffer.data.data(), length);
}

/* The methods by number: the same table on both sides. */
constexpr auto methods = std::make_tuple(
	&Host::info, &Host::alloc_pd, &Host::create_cq, &Host::reg_mr,
	&Host::create_qp, &Host::destroy, &Host::clean, &Host::modify,
	&Host::query, &Host::post_send, &Host::post_recv, &Host::poll,
	&Host::arm, &Host::wait_event, &Host::async_event, &Host::fill,
	&Host::verify, &Host::load, &Host::store, &Host::create_srq,
	&Host::modify_srq, &Host::query_srq, &Host::post_srq, &Host::open_xrcd,
	&Host::open_qp, &Host::create_ah, &Host::attach, &Host::detach,
	&Host::counter, &Host::knows_ext, &Host::create_ext_cq,
	&Host::poll_arrivals);
constexpr size_t method_count = std::tuple_size_v<decltype(methods)>;

template <auto Method, size_t I = 0> constexpr uint32_t number_of()
{
	static_assert(I < method_count, "method missing in the table");
	using Entry = std::tuple_element_t<I, decltype(methods)>;

	if constexpr (std::is_same_v<std::remove_const_t<Entry>,
				     decltype(Method)>) {
		if constexpr (std::get<I>(methods) == Method)
			return I;
		else
			return number_of<Method, I + 1>();
	} else {
		return number_of<Method, I + 1>();
	}
}

template <typename R, typename... Args>
void carry_out(Host &host, R (Host::*method)(Args...), Buffer &in, Buffer &out)
{
	std::tuple<std::decay_t<Args>...> args;

	std::apply([&](auto &...arg) { (in.get(arg), ...); }, args);
	auto invoke = [&](auto &...arg) { return (host.*method)(arg...); };

	if constexpr (std::is_void_v<R>) {
		std::apply(invoke, args);
		out.put(uint8_t(0));
	} else {
		R result = std::apply(invoke, args);

		out.put(uint8_t(0));
		out.put(result);
	}
}

template <size_t I = 0>
void dispatch(Host &host, uint32_t number, Buffer &in, Buffer &out)
{
	if constexpr (I < method_count) {
		if (number == I)
			carry_out(host, std::get<I>(methods), in, out);
		else
			dispatch<I + 1>(host, number, in, out);
	} else {
		throw std::runtime_error("unknown control method");
	}
}

template <typename R, typename... Args> R result_of(R (Host::*)(Args...));

/* An end to which every call is a request on a socket. */
class RemoteHost : public Host {
	int fd_;

	template <auto Method, typename... Args> auto ask(const Args &...args)
	{
		using R = decltype(result_of(Method));
		Buffer out, in;
		uint8_t failed;

		out.put(number_of<Method>());
		(out.put(args), ...);
		send_message(fd_, out);
		if (!receive_message(fd_, in))
			throw std::runtime_error("control connection lost");
		in.get(failed);
		if (failed) {
			std::string text;

			in.get(text);
			throw std::runtime_error("other end: " + text);
		}
		if constexpr (!std::is_void_v<R>) {
			R result;

			in.get(result);
			return result;
		}
	}

public:
	explicit RemoteHost(int fd) : fd_(fd) {}
	~RemoteHost() override { close(fd_); }

	/* The call @name, as it is, at the other end. */
#define FORWARD(result, name, parameters, ...)        \
	result name parameters override               \
	{                                             \
		return ask<&Host::name>(__VA_ARGS__); \
	}
	FORWARD(HostInfo, info, ())
	FORWARD(Pd, alloc_pd, ())
	FORWARD(Cq, create_cq, (int depth, bool events), depth, events)
	FORWARD(Mr, reg_mr, (MrSpec spec), spec)
	FORWARD(Qp, create_qp, (QpSpec spec), spec)
	FORWARD(int, destroy, (Kind kind, Handle id), kind, id)
	FORWARD(std::string, clean, (bool ignore_events), ignore_events)
	FORWARD(Srq, create_srq, (SrqSpec spec), spec)
	FORWARD(int, modify_srq, (Handle srq, ibv_srq_attr attr, int mask), srq,
		attr, mask)
	FORWARD(SrqState, query_srq, (Handle srq), srq)
	FORWARD(PostResult, post_srq, (Handle srq, std::vector<RecvWr> wrs),
		srq, wrs)
	FORWARD(Made, open_xrcd, ())
	FORWARD(Qp, open_qp, (Handle xrcd, uint32_t number), xrcd, number)
	FORWARD(Made, create_ah, (ibv_gid gid), gid)
	FORWARD(int, attach, (Handle qp, ibv_gid gid), qp, gid)
	FORWARD(int, detach, (Handle qp, ibv_gid gid), qp, gid)
	FORWARD(int, modify, (Handle qp, ibv_qp_attr attr, int mask), qp, attr,
		mask)
	FORWARD(QpState, query, (Handle qp, int mask), qp, mask)
	FORWARD(PostResult, post_send, (Handle qp, std::vector<SendWr> wrs), qp,
		wrs)
	FORWARD(PostResult, post_recv, (Handle qp, std::vector<RecvWr> wrs), qp,
		wrs)
	FORWARD(std::vector<Wc>, poll, (Handle cq, uint32_t count, uint32_t ms),
		cq, count, ms)
	FORWARD(int, arm, (Handle cq, bool solicited_only), cq, solicited_only)
	FORWARD(bool, wait_event, (Handle cq, uint32_t ms), cq, ms)
	FORWARD(AsyncEvent, async_event, (uint32_t ms), ms)
	FORWARD(void, fill,
		(Handle mr, int64_t offset, uint64_t length, uint64_t seed,
		 uint64_t position),
		mr, offset, length, seed, position)
	FORWARD(int64_t, verify,
		(Handle mr, int64_t offset, uint64_t length, uint64_t seed,
		 uint64_t position),
		mr, offset, length, seed, position)
	FORWARD(uint64_t, load, (Handle mr, int64_t offset), mr, offset)
	FORWARD(void, store, (Handle mr, int64_t offset, uint64_t value), mr,
		offset, value)
	FORWARD(uint64_t, counter, (std::string name), name)
	FORWARD(bool, knows_ext, ())
	FORWARD(Cq, create_ext_cq, (bool events), events)
	FORWARD(std::vector<Arrival>, poll_arrivals, (Handle cq, uint32_t most),
		cq, most)
#undef FORWARD
};

} // namespace

std::unique_ptr<Host> remote_host(int fd)
{
	return std::make_unique<RemoteHost>(fd);
}

void serve(Host &host, int fd)
{
	for (;;) {
		Buffer in, out;
		uint32_t number;

		if (!receive_message(fd, in))
			break;
		try {
			in.get(number);
			dispatch(host, number, in, out);
		} catch (const std::exception &error) {
			out = Buffer();
			out.put(uint8_t(1));
			out.put(std::string(error.what()));
		}
		send_message(fd, out);
	}
	host.clean(true);
}

int listen_on(uint16_t port)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1, off = 0;
	sockaddr_in6 any = {.sin6_family = AF_INET6,
			    .sin6_port = htons(port),
			    .sin6_addr = in6addr_any};

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (fd < 0 ||
	    bind(fd, reinterpret_cast<sockaddr *>(&any), sizeof(any)) ||
	    listen(fd, 1))
		throw std::runtime_error(
			str("cannot listen: ", strerror(errno)));
	return fd;
}

int accept_from(int listener)
{
	int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
	int on = 1;

	if (fd < 0)
		throw std::runtime_error(str("accept: ", strerror(errno)));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* The server may still be starting: tries again until `seconds` are over. */
int connect_to(const std::string &address, uint16_t port, unsigned seconds)
{
	using clock = std::chrono::steady_clock;
	auto deadline = clock::now() + std::chrono::seconds(seconds);
	addrinfo hints = {}, *found = nullptr;

	hints.ai_socktype = SOCK_STREAM;
	if (getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints,
			&found))
		throw std::runtime_error(str("no such address: ", address));
	for (;;) {
		int fd =
			socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int on = 1;

		if (!connect(fd, found->ai_addr, found->ai_addrlen)) {
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on,
				   sizeof(on));
			freeaddrinfo(found);
			return fd;
		}
		close(fd);
		if (clock::now() > deadline)
			throw std::runtime_error(str(address, ": no server"));
		std::this_thread::sleep_for(std::chrono::milliseconds(100));
	}
}

} // namespace pv
