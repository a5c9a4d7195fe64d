/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * abi_probe.h - what the two halves of the ABI test share.
 *
 * Owns: the numbers that are played back and looked for, the open context.
 * abi_test.cpp has the structures, abi_commands.cpp the commands.
 */
#ifndef PAVO_ABI_PROBE_H
#define PAVO_ABI_PROBE_H

#include <cerrno>
#include <cstring>
#include <vector>

#include "abi.h"
#include "fake_uverbs.h"
#include "../common/cases.h"

constexpr uint32_t UVERBS_ABI = 7;
constexpr uint32_t DRIVER_ID = 4242;
constexpr uint64_t CORE_SUPPORT = 0x1234567890abcdefull;
constexpr size_t OPS = sizeof(verbs_context_ops) / sizeof(void *);
constexpr uint64_t MAGIC = 0x6d61676963212121ull;
constexpr uint64_t ANSWER = ~MAGIC;

extern fake::Kernel *kernel;
extern ibv_context *context;

/* Objects as applications hand them in; they belong to the open context. */
struct Objects {
	ibv_pd pd = {};
	ibv_cq cq = {};
	verbs_qp qp = {};
	verbs_mr mr = {};
	ibv_ah ah = {};
	ibv_mw mw = {};
	ibv_srq srq = {};
	ibv_dm dm = {};

	Objects()
	{
		pd.context = cq.context = qp.qp.context = context;
		mr.ibv_mr.context = ah.context = mw.context = context;
		srq.context = dm.context = context;
		mr.ibv_mr.pd = &pd;
	}
};

/* The kernel's side of all commands. */
int serve(fake::Call &call);

void add_command_cases(common::Cases &cases);

#endif /* PAVO_ABI_PROBE_H */
