// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * result.hpp - how calls of the library fail, all of them in one way.
 *
 * A call that may fail returns a Result. Objects whose making may fail are made by open(),
 * Job::reserve() and Job::join(). A program that prefers exceptions calls value(), which
 * throws std::system_error; the library itself throws none.
 *
 * The caller gets what a program's own functions throw. Where the process has no memory
 * left, a Result says not_enough_memory. But constructors, calls that begin with on_, and
 * progress(), in which operations of many callers go on, throw std::bad_alloc; after the
 * latter two an Rdma or a Striped can only be ended.
 */
#ifndef PAVO_RESULT_HPP
#define PAVO_RESULT_HPP

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

namespace pavo {

/** The reason why a call failed: an errno, and advice where there is some. */
class Error {
public:
	/** None: the call did not fail. */
	Error() noexcept = default;
	Error(std::errc number) noexcept : number_(int(number)) {}
	Error(std::error_code code) noexcept : number_(code.value()) {}
	explicit Error(int number) noexcept : number_(number) {}
	/** @text: what failed, and advice; left out where there is no memory for it */
	Error(int number, std::string_view text) noexcept
		: number_(number), text_(kept(text))
	{
	}

	/** There is one. */
	explicit operator bool() const noexcept { return number_ != 0; }
	/** The errno; 0: none. */
	int number() const noexcept { return number_; }
	std::error_code code() const noexcept
	{
		return {number_, std::generic_category()};
	}
	/** A line for the user: the text, and what the errno means. */
	std::string message() const
	{
		return text_ ? *text_ + ": " + code().message() :
			       code().message();
	}
	/** Throws it as std::system_error. */
	[[noreturn]] void raise() const
	{
		if (text_)
			throw std::system_error(code(), *text_);
		throw std::system_error(code());
	}

	/** Texts do not matter. */
	friend bool operator==(const Error &a, const Error &b) noexcept
	{
		return a.number_ == b.number_;
	}

private:
	using Text = std::shared_ptr<const std::string>;

	static Text kept(std::string_view text) noexcept
	{
		try {
			return std::make_shared<const std::string>(text);
		} catch (const std::bad_alloc &) {
			return {};
		}
	}

	int number_ = 0;
	Text text_;
};

/** The result of a call: a T, or the reason why there is none. */
template <class T> class [[nodiscard]] Result {
public:
	Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
	/** @error: there is one */
	Result(Error error) noexcept
		: held_(std::in_place_index<1>, std::move(error))
	{
	}

	bool ok() const noexcept { return held_.index() == 0; }
	/** None if it is ok. */
	Error error() const noexcept
	{
		return ok() ? Error() : std::get<1>(held_);
	}

	/** The T. Throws the error as std::system_error, as all below but value_or(). */
	T &value() & { return must(), std::get<0>(held_); }
	const T &value() const & { return must(), std::get<0>(held_); }
	T value() && { return must(), std::get<0>(std::move(held_)); }
	T *operator->() { return &value(); }
	const T *operator->() const { return &value(); }
	/** @other: taken where the call failed */
	T value_or(T other) &&
	{
		return ok() ? std::get<0>(std::move(held_)) : std::move(other);
	}

	friend bool operator==(const Result &result, std::errc number) noexcept
	{
		return result.error() == Error(number);
	}

private:
	void must() const
	{
		if (!ok())
			std::get<1>(held_).raise();
	}

	std::variant<T, Error> held_;
};

/** The same of a call that has nothing to return. */
template <> class [[nodiscard]] Result<void> {
public:
	/** It is ok. */
	Result() noexcept = default;
	/** @error: none: it is ok */
	Result(Error error) noexcept : error_(std::move(error)) {}

	bool ok() const noexcept { return !error_; }
	const Error &error() const noexcept { return error_; }
	/** Throws the error as std::system_error. */
	void value() const
	{
		if (error_)
			error_.raise();
	}

	friend bool operator==(const Result &result, std::errc number) noexcept
	{
		return result.error_ == Error(number);
	}

private:
	Error error_;
};

} // namespace pavo

#endif // PAVO_RESULT_HPP
