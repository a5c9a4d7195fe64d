// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * result.hpp - Result, which calls of the library return: a value or an Error, with the
 * interface of std::expected.
 *
 * A call that may fail returns a Result. Objects whose making may fail are made by open(),
 * join() or reserve(). A program that prefers exceptions calls value(), which throws
 * std::system_error; the library itself throws none.
 *
 * Exceptions of a program's own callbacks reach the program. Where the process has no memory
 * left, a Result says not_enough_memory. But constructors, calls that begin with on_, and
 * progress(), in which operations of many callers go on, throw std::bad_alloc; after the latter
 * two an Rdma or a Striped can only be destroyed.
 *
 * Why Result is a class and no alias. C++20 has no std::expected, and a header that took it from
 * programs that are compiled as C++23 would name other types there than the library was compiled
 * with, so callbacks that take a Result would not link. tl::expected (libexpected-dev of Debian
 * 12 and 13) has no value() where T is void, may be ignored without a warning, and its layout,
 * which may change with its version, would be part of the library's binary interface.
 * result_test.cpp runs the same tests on Result and on std::expected: when C++23 is required,
 * Result becomes std::expected<T, Error>, and Unexpected std::unexpected<Error>.
 */
#ifndef PAVO_RESULT_HPP
#define PAVO_RESULT_HPP

#include <pavo/language.hpp>

#include <cassert>
#include <concepts>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#pragma GCC visibility push(default)

namespace pavo {

/** Why a call failed: an errno, and for some a text that says what failed and what to do. */
class Error {
public:
	/** No error: number() is 0. */
	Error() noexcept = default;
	Error(std::errc number) noexcept : number_(int(number)) {}
	Error(std::error_code code) noexcept : number_(code.value()) {}
	explicit Error(int number) noexcept : number_(number) {}
	/**
	 * @number: an errno
	 * @text: what failed, and advice; left out where there is no memory for it
	 */
	Error(int number, std::string_view text) noexcept
		: number_(number), text_(kept(text))
	{
	}

	/** True if number() is not 0. */
	explicit operator bool() const noexcept { return number_ != 0; }
	/** The errno, positive; 0: no error. */
	int number() const noexcept { return number_; }
	std::error_code code() const noexcept
	{
		return {number_, std::generic_category()};
	}
	/** A line for the user: the text, if there is one, and the meaning of the errno. */
	std::string message() const
	{
		return text_ ? *text_ + ": " + code().message() :
			       code().message();
	}
	/** Throws std::system_error with the errno, and with the text if there is one. */
	[[noreturn]] void raise() const
	{
		if (text_)
			throw std::system_error(code(), *text_);
		throw std::system_error(code());
	}

	/** Compares errnos; texts are ignored. */
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

/** An error on its way into a Result, or to compare one with; as std::unexpected<Error>. */
class Unexpected {
public:
	/** @error: an Error that is one, or an errno, a std::errc, a std::error_code */
	template <class E>
	requires(std::constructible_from<Error, E> &&
		 !std::same_as<std::remove_cvref_t<E>,
			       Unexpected>) explicit Unexpected(E &&error) noexcept
		: error_(std::forward<E>(error))
	{
		assert(error_);
	}

	const Error &error() const &noexcept { return error_; }
	Error &&error() &&noexcept { return std::move(error_); }

private:
	Error error_;
};

/**
 * The result of a call: a T, or an Error. T may be void. The members are those of std::expected
 * that a program calls with a result; there are no emplace(), swap(), in-place constructors and
 * rebind, and no conversion from a Result of another type. value() throws another exception, and an
 * error stays an Error.
 */
template <class T> class [[nodiscard]] Result {
	static constexpr bool empty = std::is_void_v<T>;
	using Value = std::conditional_t<empty, std::monostate, T>;

public:
	using value_type = T;
	using error_type = Error;

	Result() noexcept requires std::default_initializable<Value>
	= default;
	/** Succeeded, with what a T can be made of. */
	template <class U = Value>
	requires(!empty && std::is_constructible_v<Value, U> &&
		 !std::is_same_v<std::remove_cvref_t<U>, Result> &&
		 !std::is_same_v<
			 std::remove_cvref_t<U>,
			 Unexpected>) explicit(!std::is_convertible_v<U, Value>)
		Result(U &&value) noexcept(
			std::is_nothrow_constructible_v<Value, U>)
		: held_(std::in_place_index<0>, std::forward<U>(value))
	{
	}
	Result(Unexpected error) noexcept
		: held_(std::in_place_index<1>, std::move(error).error())
	{
	}

	/** True if the call succeeded. */
	bool has_value() const noexcept { return held_.index() == 0; }
	explicit operator bool() const noexcept { return has_value(); }

	/** The T. Throws the error as std::system_error. */
	Value &value() & requires(!empty) { return must(), **this; }
	const Value &value() const &requires(!empty) { return must(), **this; }
	Value &&value() && requires(!empty)
	{
		return must(), *std::move(*this);
	}
	void value() const &requires empty { must(); }

	/** The T, of a Result that has_value(). */
	Value &operator*() &noexcept requires(!empty)
	{
		return *get<0>(&held_);
	}
	const Value &operator*() const &noexcept requires(!empty)
	{
		return *get<0>(&held_);
	}
	Value &&operator*() &&noexcept requires(!empty)
	{
		return std::move(*get<0>(&held_));
	}
	Value *operator->() noexcept requires(!empty) { return get<0>(&held_); }
	const Value *operator->() const noexcept requires(!empty)
	{
		return get<0>(&held_);
	}

	/** The error, of a Result that has no value. */
	Error &error() &noexcept { return *get<1>(&held_); }
	const Error &error() const &noexcept { return *get<1>(&held_); }
	Error &&error() &&noexcept { return std::move(*get<1>(&held_)); }

	/** The T, or @other of a Result that has none. */
	template <class U = Value>
	Value value_or(U &&other) const &requires(!empty)
	{
		return has_value() ? **this : Value(std::forward<U>(other));
	}
	template <class U = Value> Value value_or(U &&other) && requires(!empty)
	{
		return has_value() ? *std::move(*this) :
				     Value(std::forward<U>(other));
	}

	/** The error, or @other of a Result that has a value. */
	template <class G = Error> Error error_or(G &&other) const &
	{
		return has_value() ? Error(std::forward<G>(other)) : error();
	}

	/** The Result that @next returns when called with the T; else the error. */
	template <class F> auto and_then(F &&next) &
	{
		return chain(std::forward<F>(next), *this);
	}
	template <class F> auto and_then(F &&next) const &
	{
		return chain(std::forward<F>(next), *this);
	}
	template <class F> auto and_then(F &&next) &&
	{
		return chain(std::forward<F>(next), std::move(*this));
	}

	/** A Result of what @change returns when called with the T; else the error. */
	template <class F> auto transform(F &&change) &
	{
		return map(std::forward<F>(change), *this);
	}
	template <class F> auto transform(F &&change) const &
	{
		return map(std::forward<F>(change), *this);
	}
	template <class F> auto transform(F &&change) &&
	{
		return map(std::forward<F>(change), std::move(*this));
	}

	/** The same T, or what @other returns, such a Result, when called with the error. */
	template <class F> Result or_else(F &&other) &
	{
		return has_value() ?
			       *this :
			       std::invoke(std::forward<F>(other), error());
	}
	template <class F> Result or_else(F &&other) const &
	{
		return has_value() ?
			       *this :
			       std::invoke(std::forward<F>(other), error());
	}
	template <class F> Result or_else(F &&other) &&
	{
		return has_value() ? std::move(*this) :
				     std::invoke(std::forward<F>(other),
						 std::move(*this).error());
	}

	/** The same T, or the error that @change makes of the error. */
	template <class F> Result transform_error(F &&change) const &
	{
		return has_value() ?
			       *this :
			       Unexpected(std::invoke(std::forward<F>(change),
						      error()));
	}
	template <class F> Result transform_error(F &&change) &&
	{
		return has_value() ?
			       std::move(*this) :
			       Unexpected(
				       std::invoke(std::forward<F>(change),
						   std::move(*this).error()));
	}

	/** Equal: both have equal values, or both have equal errors. */
	friend bool
	operator==(const Result &a,
		   const Result &b) requires std::equality_comparable<Value>
	{
		return a.held_ == b.held_;
	}
	/** Has a value that is equal to @value, which is a T or converts to one. */
	template <class U>
	requires(!empty && std::is_convertible_v<const U &, const Value &> &&
		 !std::is_same_v<U, Result> &&
		 !std::is_same_v<U, Unexpected>) friend bool
	operator==(const Result &result, const U &value)
	{
		return result.has_value() && *result == value;
	}
	/** Has an error that is equal to that of @error. */
	friend bool operator==(const Result &result, const Unexpected &error)
	{
		return !result.has_value() && result.error() == error.error();
	}

private:
	/* Not as std::get(), which throws: a Result without it is a fault of the program. */
	template <size_t index, class Held>
	static auto *get(Held *held) noexcept
	{
		auto *found = std::get_if<index>(held);

		assert(found);
		return found;
	}

	/* Calls @call with the value, or with nothing where T is void. */
	template <class F, class Self>
	static decltype(auto) apply(F &&call, Self &&self)
	{
		if constexpr (empty)
			return std::invoke(std::forward<F>(call));
		else
			return std::invoke(std::forward<F>(call),
					   *std::forward<Self>(self));
	}

	template <class F, class Self> static auto chain(F &&next, Self &&self)
	{
		using Next = std::remove_cvref_t<decltype(apply(
			std::forward<F>(next), std::forward<Self>(self)))>;

		return self.has_value() ?
			       apply(std::forward<F>(next),
				     std::forward<Self>(self)) :
			       Next(Unexpected(
				       std::forward<Self>(self).error()));
	}

	template <class F, class Self> static auto map(F &&change, Self &&self)
	{
		using Changed = std::remove_cvref_t<decltype(apply(
			std::forward<F>(change), std::forward<Self>(self)))>;
		using Next = Result<Changed>;

		if (!self.has_value())
			return Next(
				Unexpected(std::forward<Self>(self).error()));
		if constexpr (std::is_void_v<Changed>) {
			apply(std::forward<F>(change),
			      std::forward<Self>(self));
			return Next();
		} else {
			return Next(apply(std::forward<F>(change),
					  std::forward<Self>(self)));
		}
	}

	void must() const
	{
		if (!has_value())
			error().raise();
	}

	std::variant<Value, Error> held_;
};

/** A Result without value from a call that returns an errno: failed, unless @error is none. */
inline Result<void> to_result(Error error) noexcept
{
	if (error)
		return Unexpected(std::move(error));
	return {};
}

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_RESULT_HPP
