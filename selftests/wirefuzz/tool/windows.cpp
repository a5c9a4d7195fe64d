// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The application's side of windows: see windows.h.
 */
#include "windows.h"

#include <system_error>
#include <vector>

#include "../../common/adapter.h"
#include "../../common/direction.h"
#include "world.h"

namespace wf {

namespace {

constexpr uint32_t fuzzed_job = 0x77, other_job = 0x78;
constexpr uint64_t secret = 0x5ec2e7, other_secret = 0x07e5ec2e7;
constexpr std::string_view window_owner = "w0";

/* The GID table's first address of IPv4. */
uint16_t index_of_ip4(const std::string &device)
{
	return common::find_gid(device,
				[](const auto &gid) { return gid.is_ipv4(); })
		.index;
}

pw::Address group_address()
{
	return pw::parse_address("239.9.0.1");
}

std::span<std::byte> bytes_of(Region &region)
{
	return {reinterpret_cast<std::byte *>(region.at), region.size};
}

} // namespace

Windows::Windows(const std::string &device, const std::string &netif,
		 Regions &regions)
	: device_(pavo::Device::open(device).value()),
	  index_(index_of_ip4(device)), memory_(regions.add("m", 0)),
	  source_(regions.add("ms", 0)), other_memory_(regions.add("m2", 0)),
	  interface_(netif)
{
	complete();
}

/* Member of the group, with a binding of each half of m. */
void Windows::join_group()
{
	(void)window_->join(group_address(), group_number);
	for (uint32_t rcxt = 0; mapping_ && rcxt < 2; rcxt++)
		(void)window_->bind(group_number, rcxt,
				    pavo::Pvo{mapping_->pvo().value +
					      rcxt * memory_.size / 2},
				    memory_.size / 2);
}

void Windows::make_window()
{
	const pw::Address peer = peer_address(false);
	pavo::WindowOptions options = {.send_frames = 64,
				       .recv_frames = 64,
				       .gid_index = index_,
				       .broadcast = true};

	window_.emplace(pavo::Window::open(*job_, options).value());
	(void)window_->set_node(peer_node, peer);
	(void)window_->set_node(group_node, group_address());
	join_group();
	rcxts_ = {};
	if (!window_->take_rcxts(rcxts_).has_value())
		rcxts_ = {};
	(void)window_->send({peer_node, 0x200}, {});
}

void Windows::complete()
{
	try {
		if (window_ && window_->lmt().value_or({}).state !=
				       pavo::WindowState::valid)
			window_.reset();
		if (!job_)
			job_ = pavo::Job::reserve(device_, fuzzed_job, secret)
				       .value();
		if (!other_job_)
			other_job_ = pavo::Job::reserve(device_, other_job,
							other_secret)
					     .value();
		if (!mapping_)
			mapping_.emplace(
				pavo::Mapping::open(*job_, bytes_of(memory_))
					.value());
		if (!source_mapping_)
			source_mapping_.emplace(
				pavo::Mapping::open(*job_, bytes_of(source_))
					.value());
		if (!other_mapping_)
			other_mapping_.emplace(
				pavo::Mapping::open(*other_job_,
						    bytes_of(other_memory_))
					.value());
		if (!window_)
			make_window();
	} catch (const std::system_error &) {
		/* Next time. */
	}
}

void Windows::allow()
{
	for (Region *region : {&memory_, &source_})
		if (region->allowed.empty())
			region->allowed.push_back({0, region->size,
						   std::string(window_owner),
						   false, true});
}

void Windows::learn_key(uint64_t from, uint64_t key)
{
	if (from == interface_.window())
		interface_.learn_key(key);
	else
		key_ = key;
}

uint64_t Windows::resolve(const Value &value) const
{
	const std::string &symbol = value.symbol;
	uint64_t base = 0;

	if (symbol == "w0")
		base = number();
	else if (symbol == "g0")
		base = group_number;
	else if (symbol == "i0")
		base = interface_.window();
	else if (symbol == "ik")
		base = interface_.key();
	else if (symbol == "k")
		base = key_;
	else if (symbol == "m" && mapping_)
		base = mapping_->pvo().value;
	else if (symbol == "ms" && source_mapping_)
		base = source_mapping_->pvo().value;
	else if (symbol == "m2" && other_mapping_)
		base = other_mapping_->pvo().value;
	else if (symbol.size() == 2 && symbol[0] == 'c' && symbol[1] >= '0' &&
		 symbol[1] <= '3')
		base = rcxts_[static_cast<size_t>(symbol[1] - '0')];
	return base + value.number;
}

/* rcxt= peer_rcxt= tid= pvo= back= len= flags= attempts= counter= */
pavo::RequestFrame Windows::request_of(const Step &step) const
{
	auto value = [&](const char *key, Value otherwise) {
		const Value *given = step.find(key);

		return resolve(given ? *given : otherwise);
	};
	pavo::RequestFrame request = {
		.local_rcxt = static_cast<uint32_t>(value("rcxt", {"c0", 0}))};

	request.remote_rcxt =
		static_cast<uint32_t>(value("peer_rcxt", {"", 5}));
	request.tid = value("tid", {"", 1});
	request.local_pvo = value("pvo", {"ms", 0});
	request.remote_pvo = value("back", {"", 0x1000});
	request.length = static_cast<uint32_t>(value("len", {"", 1000}));
	request.flags = static_cast<uint8_t>(value("flags", {"", 3}));
	request.attempts = static_cast<uint16_t>(value("attempts", {"", 0}));
	request.counter = static_cast<uint8_t>(value("counter", {"", 0}));
	return request;
}

/* The peer, or with to=1 the group. */
pavo::WindowAddress Windows::target_of(const Step &step) const
{
	if (step.number("to", 0))
		return {group_node, group_number};
	return {peer_node, 0x200};
}

/* wrdma w0 WRITE|READ ... to= */
void Windows::request(const Step &step)
{
	(void)window_->prepare_rdma(common::direction_of(step.name == "WRITE"),
				    target_of(step), request_of(step));
	(void)window_->start();
}

/* wthird w0 ... third_window= third_rcxt= */
void Windows::request_third(const Step &step)
{
	pavo::ThirdFrame third = {
		.request = request_of(step),
		.target = {peer_node, static_cast<uint32_t>(step.number(
					      "third_window", 0x201))},
		.target_rcxt =
			static_cast<uint32_t>(step.number("third_rcxt", 6))};

	third.request.flags = 0;
	(void)window_->prepare_third(target_of(step), third);
	(void)window_->start();
}

/* wheld w0 WRITE|READ ... on= target= n= */
void Windows::hold(const Step &step)
{
	const pavo::HeldRequest one = {common::direction_of(step.name ==
							    "WRITE"),
				       target_of(step), request_of(step)};
	const std::vector<pavo::HeldRequest> all(1 + step.number("n", 0) % 8,
						 one);

	(void)window_->prepare_held(static_cast<uint32_t>(step.number("on", 0)),
				    step.number("target", 1), all);
	(void)window_->start();
}

/* wcount w0 SET|CLEAR|CANCEL|QUERY|BIND|UNBIND on= value= c= */
void Windows::change_counter(const Step &step)
{
	const auto on = static_cast<uint32_t>(step.number("on", 0));
	const uint32_t rcxt = rcxts_[step.number("c", 0) % rcxts_.size()];

	if (step.name == "SET")
		(void)window_->set_counter(on, step.number("value", 0));
	else if (step.name == "BIND")
		(void)window_->bind_counter(on, rcxt);
	else if (step.name == "UNBIND")
		(void)window_->unbind_counter(rcxt);
	else if (step.name == "QUERY")
		(void)window_->query_counter(on, 7);
	else
		(void)window_->clear_counter(on, step.name == "CANCEL");
	(void)window_->start();
}

/* wgroup w0 JOIN|LEAVE|BIND|UNBIND rcxt= at= len= tid= */
void Windows::change_group(const Step &step)
{
	const auto rcxt = static_cast<uint32_t>(step.number("rcxt", 0));

	if (step.name == "JOIN")
		join_group();
	else if (step.name == "LEAVE")
		(void)window_->leave(group_number);
	else if (step.name == "UNBIND")
		(void)window_->unbind(group_number, rcxt);
	else if (mapping_)
		(void)window_->bind(
			group_number, rcxt,
			pavo::Pvo{mapping_->pvo().value + step.number("at", 0)},
			step.number("len", 4096), step.number("tid", 0));
}

bool Windows::change_window(const Step &step)
{
	const auto which = step.number("c", 0) % rcxts_.size();
	const std::span<uint32_t> one(&rcxts_[which], 1);

	if (step.verb == "wcancel")
		(void)window_->cancel(one);
	else if (step.verb == "wreturn")
		(void)window_->return_rcxts(one);
	else if (step.verb == "wtake")
		(void)window_->take_rcxts(one);
	else if (step.verb == "wdisable")
		(void)window_->disable();
	else if (step.verb == "wclose")
		window_.reset();
	else if (step.verb == "wreceive")
		window_->receive([](const pavo::Message &) {});
	else if (step.verb == "wunmap")
		mapping_.reset();
	else
		return false;
	return true;
}

bool Windows::carry_out(const Step &step)
{
	std::array<std::byte, 2032> payload{};

	if (interface_.carry_out(step))
		return true;
	if (!step.verb.starts_with('w') || step.subject != window_owner)
		return false;
	if (!window_)
		return true;
	if (step.verb == "wsend")
		(void)window_->send(target_of(step),
				    std::span(payload).first(
					    step.number("len", 64) % 2033));
	else if (step.verb == "wrdma")
		request(step);
	else if (step.verb == "wthird")
		request_third(step);
	else if (step.verb == "wheld")
		hold(step);
	else if (step.verb == "wcount")
		change_counter(step);
	else if (step.verb == "wgroup")
		change_group(step);
	else if (!change_window(step))
		return false;
	window_ ? window_->forget_sent() : void();
	return true;
}

} // namespace wf
