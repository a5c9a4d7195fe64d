// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rcxt.cpp - contexts that are given back by themselves; see rcxt.hpp. */
#include <pavo/rcxt.hpp>

#include <string>
#include <utility>

#include "error.hpp"

namespace pavo {

namespace {

std::string advice(const std::error_code &error)
{
	return error == std::errc::no_space_on_device ?
		       ": the adapter has not so many left (parameter "
		       "max_rcxts of the module)" :
		       "";
}

/* A peer may ask for data once more in between; it does not go on for ever. */
void give_back_one(Window &window, uint32_t rcxt)
{
	for (int tries = 0; tries < 1000; tries++) {
		window.cancel({&rcxt, 1});
		if (window.return_rcxts({&rcxt, 1}) !=
		    std::errc::device_or_resource_busy)
			break;
	}
}

} // namespace

Rcxts::Rcxts(Window &window, size_t n) : window_(&window)
{
	if (std::error_code error = take(n))
		throw std::system_error(error, "RDMA contexts" + advice(error));
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
	window_->cancel(rest);
	if (!window_->return_rcxts(rest))
		return;
	/* Those that a recovery took away are not there to be given back. */
	for (uint32_t rcxt : rest)
		give_back_one(*window_, rcxt);
}

std::error_code Rcxts::take(size_t n) noexcept
{
	size_t before = size();
	std::error_code error;
	uint32_t recoveries = window_->lmt(error).recoveries;

	if (!error)
		error = unless_no_memory([&] {
			numbers_.resize(before + n);
			return std::error_code();
		});
	if (error)
		return error;
	error = window_->take_rcxts(std::span(numbers_).subspan(before));
	if (error)
		numbers_.resize(before);
	else if (!before)
		recoveries_ = recoveries;
	return error;
}

std::error_code Rcxts::cancel() noexcept
{
	return window_->cancel(numbers().subspan(gone_));
}

std::error_code Rcxts::renew() noexcept
{
	std::error_code error;
	uint32_t recoveries = window_->lmt(error).recoveries;

	if (error || (recoveries == recoveries_ && !gone_))
		return error;
	/* They are gone, unless they were taken while the recovery went on. */
	give_back();
	error = window_->take_rcxts(numbers_);
	if (error)
		return error;
	gone_ = 0;
	recoveries_ = recoveries;
	return {};
}

} // namespace pavo
