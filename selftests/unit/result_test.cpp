// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* result_test.cpp - what calls of the library return (pavo/result.hpp). */
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <pavo/result.hpp>

using pavo::Error;
using pavo::Result;

namespace {

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

TEST(Result, HasAValueOrAnError)
{
	Result<int> good = 7;
	Result<int> bad = Error(ENOSPC);

	EXPECT_TRUE(good.ok());
	EXPECT_EQ(good.value(), 7);
	EXPECT_FALSE(good.error());
	EXPECT_EQ(good.error().number(), 0);
	EXPECT_FALSE(bad.ok());
	EXPECT_TRUE(bad.error());
	EXPECT_EQ(bad.error().number(), ENOSPC);
	EXPECT_EQ(bad.error().code(), std::errc::no_space_on_device);
	EXPECT_EQ(std::move(good).value_or(8), 7);
	EXPECT_EQ(std::move(bad).value_or(8), 8);
}

TEST(Result, OfNothingIsOkOrNot)
{
	Result<void> good;
	Result<void> bad = Error(std::errc::io_error);
	Result<void> none = Error();

	EXPECT_TRUE(good.ok());
	EXPECT_TRUE(none.ok());
	EXPECT_FALSE(bad.ok());
	EXPECT_EQ(bad.error().number(), EIO);
	EXPECT_NO_THROW(good.value());
	EXPECT_EQ(thrown_by([&] { bad.value(); }).first, EIO);
}

TEST(Result, IsComparedWithAnErrno)
{
	Result<int> good = EIO;
	Result<int> bad = Error(EIO, "a text");

	EXPECT_NE(good, std::errc::io_error) << "its value is no error";
	EXPECT_EQ(bad, std::errc::io_error) << "texts do not matter";
	EXPECT_NE(bad, std::errc::no_space_on_device);
	EXPECT_EQ(Result<void>(Error(EIO)), std::errc::io_error);
	EXPECT_NE(Result<void>(), std::errc::io_error);
	EXPECT_EQ(bad.error(), Error(EIO));
}

TEST(Result, ThrowsItsErrorWithTheText)
{
	Result<std::string> plain = Error(ENOENT);
	Result<std::string> advised = Error(ENOENT, "job 7 is not here");
	const std::string meaning =
		std::error_code(ENOENT, std::generic_category()).message();

	EXPECT_EQ(plain.error().message(), meaning);
	EXPECT_EQ(advised.error().message(), "job 7 is not here: " + meaning);
	EXPECT_EQ(thrown_by([&] { (void)plain.value(); }).first, ENOENT);
	EXPECT_EQ(thrown_by([&] { (void)advised.value(); }),
		  std::pair(ENOENT, advised.error().message()));
	EXPECT_EQ(thrown_by([&] { (void)advised->size(); }).first, ENOENT);
	/* The text is copied with the error to another Result. */
	Result<void> outer = advised.error();
	EXPECT_EQ(thrown_by([&] { outer.value(); }).second,
		  advised.error().message());
}

/* Windows and their kin are of this kind. */
TEST(Result, HandsOverWhatCannotBeCopied)
{
	Result<std::unique_ptr<int>> made = std::make_unique<int>(7);

	static_assert(!std::is_copy_constructible_v<decltype(made)>);
	EXPECT_EQ(**made.operator->(), 7);
	std::unique_ptr<int> own = std::move(made).value();
	ASSERT_TRUE(own);
	EXPECT_EQ(*own, 7);
}

} // namespace
