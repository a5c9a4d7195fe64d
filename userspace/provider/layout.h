/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * layout.h - libibverbs changed structures twice without changing the number of its private
 * interface. A distribution may upgrade the library and leave the provider as it is, so the
 * provider looks at the library that runs.
 */
#ifndef PAVO_PROVIDER_LAYOUT_H
#define PAVO_PROVIDER_LAYOUT_H

#include "abi.h"

namespace pavo {

/**
 * Checks that the provider fits the library that runs.
 *
 * Return: 0; EPROTO after a message on stderr that says what to do.
 */
int check_library();

/**
 * Return: offset of comp_mask in libibverbs' own verbs_qp, behind which it has a pointer;
 * 0: nowhere in ours.
 */
size_t get_comp_mask();

/** Says that qp_ex of the queue pair may be used: ibv_qp_to_qp_ex(). After check_library(). */
void announce_qp_ex(verbs_qp *qp);

} // namespace pavo

#endif /* PAVO_PROVIDER_LAYOUT_H */
