/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The environment of a test: the two ends and the limits of this run.
 *
 * Owns: the rule that a test leaves nothing behind on either end. Made by
 * main.cpp, used by tap.cpp (begin, end) and every test.
 */
#pragma once

#include <string>

#include "../common/eventually.h"
#include "host.h"
#include "local_host.h"

namespace pv {

/* From so many on tests take half of the races that are asked for or all, else a part. */
constexpr uint32_t many_races = 200000;

struct EnvOptions {
	/* how long a completion may take, on a busy host */
	uint32_t patience_ms = 60000;
	uint8_t loss_timeout = 14; /* of queue pairs: 67 ms */
	uint64_t large = 64ull << 20; /* size of the large messages */
	bool huge = false; /* 2 GiB - 1 too */
	uint32_t many = 256; /* queue pairs of one adapter */
	uint32_t races = 100000; /* of writes with the end of their key */
	bool two_machines = false;
};

class Env {
public:
	Env(Host &first, Host &second, EnvOptions options, Selector selector_a,
	    Selector selector_b)
		: a(first), b(second), options(options), device_a(selector_a),
		  device_b(selector_b), info_a(first.info()),
		  info_b(second.info())
	{
	}

	void begin() { ignore_events_ = false; }

	/* Destroys everything; returns what is wrong, one line each. */
	std::string end()
	{
		std::string text = prefix("end A: ", a.clean(ignore_events_));

		return text + prefix("end B: ", b.clean(ignore_events_));
	}

	/* The test provokes errors: asynchronous events are no surprise. */
	void expect_async() { ignore_events_ = true; }

	std::chrono::milliseconds patience() const
	{
		return std::chrono::milliseconds(options.patience_ms);
	}

	/* A new pattern for every message. */
	uint64_t seed() { return ++seed_; }

	Host &a;
	Host &b;
	const EnvOptions options;
	const Selector device_a; /* meaningful when that end is local */
	const Selector device_b;
	const HostInfo info_a;
	const HostInfo info_b;

private:
	static std::string prefix(const char *who, const std::string &text)
	{
		return text.empty() ? text : who + text;
	}

	bool ignore_events_ = false;
	uint64_t seed_ = 1000;
};

/* The local ends of a test registered with PV_TEST_LOCAL. */
inline LocalHost &local(Host &host)
{
	return dynamic_cast<LocalHost &>(host);
}

inline std::string device_name(Host &host)
{
	return ibv_get_device_name(local(host).context()->device);
}

/* Waits no longer than for a completion. Return: whether it has become so. */
template <class Condition> bool eventually(Env &env, Condition &&condition)
{
	return common::eventually(condition, env.patience());
}

} // namespace pv
