// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * result_test.cpp - what calls of the library return (pavo/result.hpp). Where the compiler has
 * std::expected (C++23; meson.build) the tests of the interface run on that, too, and so say that
 * Result means the same.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <version>

#ifdef __cpp_lib_expected
#include <expected>
#endif

#include <pavo/result.hpp>

using pavo::Error;
using pavo::Result;
using pavo::Unexpected;

namespace {

struct Own {
	template <class T> using Of = Result<T>;
	using Wrong = Unexpected;
};

#ifdef __cpp_lib_expected
struct Standard {
	template <class T> using Of = std::expected<T, Error>;
	using Wrong = std::unexpected<Error>;
};
using Kinds = testing::Types<Own, Standard>;
#else
using Kinds = testing::Types<Own>;
#endif

template <class Kind> class Interface : public testing::Test {
};
TYPED_TEST_SUITE(Interface, Kinds);

TYPED_TEST(Interface, HasAValueOrAnError)
{
	using R = typename TypeParam::template Of<int>;
	using Wrong = typename TypeParam::Wrong;
	R good = 7, zero, bad = Wrong(ENOSPC);
	const R &same = good;

	static_assert(std::is_same_v<typename R::value_type, int>);
	static_assert(std::is_same_v<typename R::error_type, Error>);
	static_assert(!std::is_convertible_v<R, bool>);
	static_assert(!std::is_convertible_v<Error, R>);
	EXPECT_TRUE(good.has_value() && good);
	EXPECT_FALSE(bad.has_value() || bad);
	EXPECT_EQ(*good, 7);
	EXPECT_EQ(same.value(), 7);
	EXPECT_EQ(*zero, 0);
	EXPECT_EQ(bad.error().number(), ENOSPC);
	EXPECT_EQ(good.value_or(8), 7);
	EXPECT_EQ(bad.value_or(8), 8);
	good.value() = 9;
	EXPECT_EQ(*same, 9);
	good = bad;
	EXPECT_FALSE(same.has_value());
}

TYPED_TEST(Interface, OfNothing)
{
	using R = typename TypeParam::template Of<void>;
	using Wrong = typename TypeParam::Wrong;
	R good, bad = Wrong(std::errc::io_error);

	EXPECT_TRUE(good.has_value());
	EXPECT_FALSE(bad.has_value());
	EXPECT_EQ(bad.error(), Error(EIO));
	EXPECT_NO_THROW(good.value());
	EXPECT_ANY_THROW(bad.value());
	EXPECT_EQ(good, R());
	EXPECT_NE(good, bad);
}

TYPED_TEST(Interface, IsComparedWithValuesAndErrors)
{
	using R = typename TypeParam::template Of<int>;
	using Wrong = typename TypeParam::Wrong;
	R good = EIO, bad = Wrong(Error(EIO, "a text"));

	EXPECT_EQ(good, EIO);
	EXPECT_NE(good, ENOSPC);
	EXPECT_NE(bad, EIO) << "it has no value";
	EXPECT_NE(good, Wrong(EIO)) << "its value is no error";
	EXPECT_EQ(bad, Wrong(std::errc::io_error)) << "texts do not matter";
	EXPECT_NE(bad, Wrong(ENOSPC));
	EXPECT_EQ(good, R(EIO));
	EXPECT_NE(good, bad);
}

/* Windows and their kin are of this kind. */
TYPED_TEST(Interface, HandsOverWhatCannotBeCopied)
{
	using R = typename TypeParam::template Of<std::unique_ptr<int>>;
	R made = std::make_unique<int>(7);

	static_assert(!std::is_copy_constructible_v<R>);
	static_assert(std::is_same_v<decltype(std::move(made).value()),
				     std::unique_ptr<int> &&>);
	EXPECT_EQ(*made->get(), 7);
	std::unique_ptr<int> own = std::move(made).value();
	ASSERT_TRUE(own);
	EXPECT_EQ(*own, 7);
}

/* std::expected has these from version 202211 on. */
template <class Kind> void follow()
{
	using R = typename Kind::template Of<int>;
	using Nothing = typename Kind::template Of<void>;
	using Wrong = typename Kind::Wrong;
	const R good = 7, bad = Wrong(ENOSPC);
	auto half = [](int value) -> R {
		if (value % 2)
			return Wrong(EINVAL);
		return value / 2;
	};
	auto text = [](int value) { return std::to_string(value); };

	EXPECT_EQ(R(8).and_then(half), 4);
	EXPECT_EQ(good.and_then(half), Wrong(EINVAL));
	EXPECT_EQ(bad.and_then(half), Wrong(ENOSPC));
	EXPECT_EQ(good.transform(text), "7");
	EXPECT_EQ(bad.transform(text), Wrong(ENOSPC));
	EXPECT_EQ(good.transform([](int) {}), Nothing());
	EXPECT_EQ(Nothing().and_then([&] { return good; }), 7);
	EXPECT_EQ(Nothing().transform([] { return 8; }), 8);
	EXPECT_EQ(bad.or_else([](const Error &error) -> R {
		return error.number();
	}),
		  ENOSPC);
	EXPECT_EQ(good.or_else([](const Error &) -> R { return 1; }), 7);
	EXPECT_EQ(bad.error_or(Error()), Error(ENOSPC));
	EXPECT_FALSE(good.error_or(Error()));
	auto other = [](const Error &error) {
		return Error(error.number() + 1);
	};
	EXPECT_EQ(bad.transform_error(other), Wrong(ENOSPC + 1));
	EXPECT_EQ(good.transform_error(other), 7);

	typename Kind::template Of<std::string> name = "from a literal";
	EXPECT_EQ(name.transform([](std::string &own) { return own += '!'; }),
		  "from a literal!");
	EXPECT_EQ(*name, "from a literal!");
	name = Wrong(EIO);
	name.error() = Error(EPERM);
	EXPECT_EQ(name.or_else([](Error &error) -> decltype(name) {
		return Wrong(error.number() + 1);
	}),
		  Wrong(EPERM + 1));

	auto made = typename Kind::template Of<std::unique_ptr<int>>(
			    std::make_unique<int>(7))
			    .transform([](std::unique_ptr<int> own) {
				    return *own + 1;
			    });
	EXPECT_EQ(made, 8);
}

TEST(Result, OneCallFollowsAnother)
{
	follow<Own>();
#if defined(__cpp_lib_expected) && __cpp_lib_expected >= 202211L
	follow<Standard>();
#endif
}

/* Errno and text of the exception that @call throws. */
template <class Call> std::pair<int, std::string> thrown_by(Call &&call)
{
	try {
		call();
	} catch (const std::system_error &error) {
		return {error.code().value(), error.what()};
	}
	return {0, ""};
}

TEST(Result, ThrowsItsErrorWithTheText)
{
	Result<std::string> plain = Unexpected(ENOENT);
	Result<std::string> advised =
		Unexpected(Error(ENOENT, "job 7 is not here"));
	const std::string meaning =
		std::error_code(ENOENT, std::generic_category()).message();

	EXPECT_EQ(plain.error().message(), meaning);
	EXPECT_EQ(advised.error().message(), "job 7 is not here: " + meaning);
	EXPECT_EQ(thrown_by([&] { (void)plain.value(); }).first, ENOENT);
	EXPECT_EQ(thrown_by([&] { (void)advised.value(); }),
		  std::pair(ENOENT, advised.error().message()));
	/* The text is copied with the error to another Result. */
	Result<void> outer = advised.transform([](const std::string &) {});
	EXPECT_EQ(thrown_by([&] { outer.value(); }).second,
		  advised.error().message());
}

TEST(Result, IsMadeOfAnErrnoThatMayBeNone)
{
	EXPECT_TRUE(pavo::to_result(Error()).has_value());
	EXPECT_TRUE(pavo::to_result(std::error_code()).has_value());
	EXPECT_EQ(pavo::to_result(Error(EIO)), Unexpected(EIO));
}

} // namespace
