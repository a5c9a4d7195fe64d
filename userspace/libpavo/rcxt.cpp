// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rcxt.cpp - contexts that are given back by themselves; see rcxt.hpp. */
#include <pavo/rcxt.hpp>

#include <string>
#include <utility>

#include "error.hpp"

namespace pavo {

namespace {

/* The same, with advice. */
Error with_text(const Error &error)
{
	if (error == std::errc::no_space_on_device)
		return {error.number(),
			"RDMA contexts: the adapter has not so many left "
			"(parameter max_rcxts of the module)"};
	return {error.number(), "RDMA contexts"};
}

/* A peer may ask for data once more in between; it does not go on for ever. */
void give_back_one(Window &window, uint32_t rcxt)
{
	for (int tries = 0; tries < 1000; tries++) {
		(void)window.cancel({&rcxt, 1});
		if (window.return_rcxts({&rcxt, 1}) !=
		    Unexpected(std::errc::device_or_resource_busy))
			break;
	}
}

} // namespace

Result<Rcxts> Rcxts::open(Window &window, size_t n) noexcept
{
	Rcxts made(window);

	if (auto taken = made.take(n); !taken)
		return Unexpected(with_text(taken.error()));
	return made;
}

Rcxts::~Rcxts()
{
	give_back();
}

Rcxts::Rcxts(Rcxts &&from) noexcept
	: window_(from.window_), numbers_(std::exchange(from.numbers_, {})),
	  gone_(std::exchange(from.gone_, 0)), recoveries_(from.recoveries_)
{
}

Rcxts &Rcxts::operator=(Rcxts &&from) noexcept
{
	std::swap(window_, from.window_);
	std::swap(numbers_, from.numbers_);
	std::swap(gone_, from.gone_);
	std::swap(recoveries_, from.recoveries_);
	return *this;
}

void Rcxts::give_back() noexcept
{
	auto rest = numbers().subspan(gone_);

	gone_ = size();
	(void)window_->cancel(rest);
	if (window_->return_rcxts(rest).has_value())
		return;
	/* Those that a recovery took away are not there to be given back. */
	for (uint32_t rcxt : rest)
		give_back_one(*window_, rcxt);
}

Result<void> Rcxts::take(size_t n) noexcept
{
	size_t before = size();
	auto lmt = window_->lmt();

	if (!lmt)
		return Unexpected(lmt.error());
	auto taken = guarded([&] {
		numbers_.resize(before + n);
		return window_->take_rcxts(std::span(numbers_).subspan(before));
	});
	if (!taken)
		numbers_.resize(before);
	else if (!before)
		recoveries_ = lmt->recoveries;
	return taken;
}

Result<void> Rcxts::cancel() noexcept
{
	return window_->cancel(numbers().subspan(gone_));
}

Result<void> Rcxts::renew() noexcept
{
	auto lmt = window_->lmt();

	if (!lmt)
		return Unexpected(lmt.error());
	if (lmt->recoveries == recoveries_ && !gone_)
		return {};
	/* They are gone, unless they were taken while the recovery went on. */
	give_back();
	if (auto taken = window_->take_rcxts(numbers_); !taken)
		return taken;
	gone_ = 0;
	recoveries_ = lmt->recoveries;
	return {};
}

} // namespace pavo
