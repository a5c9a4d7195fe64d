/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * own.h - ownership of objects. libibverbs keeps plain pointers: a call that makes an
 * object owns it by std::unique_ptr and releases it on return; the call that ends the
 * object adopts it.
 */
#ifndef PAVO_PROVIDER_OWN_H
#define PAVO_PROVIDER_OWN_H

#include <memory>
#include <new>
#include <utility>

namespace pavo {

/** An object, or null with errno set. */
template <class T, class... Arguments>
std::unique_ptr<T> make_object(Arguments &&...arguments)
{
	return std::unique_ptr<T>(
		new (std::nothrow) T{std::forward<Arguments>(arguments)...});
}

/** Takes back what was released. */
template <class T> std::unique_ptr<T> adopt_object(T *object)
{
	return std::unique_ptr<T>(object);
}

} // namespace pavo

#endif /* PAVO_PROVIDER_OWN_H */
