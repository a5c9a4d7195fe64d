// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The application's side of windows: see windows.h.
 */
#include "windows.h"

#include <system_error>

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

std::span<std::byte> bytes_of(Region &region)
{
	return {reinterpret_cast<std::byte *>(region.at), region.size};
}

} // namespace

Windows::Windows(const std::string &device, Regions &regions)
	: device_(pavo::Device::open(device).value()),
	  index_(index_of_ip4(device)), memory_(regions.add("m", 0)),
	  source_(regions.add("ms", 0)), other_memory_(regions.add("m2", 0))
{
	complete();
}

void Windows::make_window()
{
	const pw::Address peer = peer_address(false);
	pavo::WindowOptions options = {
		.send_frames = 64, .recv_frames = 64, .gid_index = index_};

	window_.emplace(pavo::Window::open(*job_, options).value());
	(void)window_->set_node(peer_node, peer);
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

uint64_t Windows::resolve(const Value &value) const
{
	const std::string &symbol = value.symbol;
	uint64_t base = 0;

	if (symbol == "w0")
		base = number();
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

/* wrdma w0 WRITE|READ rcxt= peer_rcxt= tid= pvo= back= len= flags= attempts= */
void Windows::request(const Step &step)
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
	(void)window_->prepare_rdma(common::direction_of(step.name == "WRITE"),
				    {peer_node, 0x200}, request);
	(void)window_->start();
}

bool Windows::carry_out(const Step &step)
{
	const auto which = step.number("c", 0) % rcxts_.size();
	const std::span<uint32_t> one(&rcxts_[which], 1);
	std::array<std::byte, 2032> payload{};

	if (!step.verb.starts_with('w') || step.subject != window_owner)
		return false;
	if (!window_)
		return true;
	if (step.verb == "wsend")
		(void)window_->send({peer_node, 0x200},
				    std::span(payload).first(
					    step.number("len", 64) % 2033));
	else if (step.verb == "wrdma")
		request(step);
	else if (step.verb == "wcancel")
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
	window_ ? window_->forget_sent() : void();
	return true;
}

} // namespace wf
