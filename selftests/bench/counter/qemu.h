/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The part of QEMU's plug-in interface, version 1, that the instruction counter uses
 * (QEMU 4.2 to 8.x; no Debian package carries its header).
 *
 * Owns: the declarations. Used by: count.cpp. The functions are QEMU's and are
 * found when it loads the plug-in.
 */
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using qemu_plugin_id_t = uint64_t;
using qemu_plugin_meminfo_t = uint32_t;
struct qemu_info_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

constexpr int QEMU_PLUGIN_CB_NO_REGS = 0;
constexpr int QEMU_PLUGIN_MEM_W = 2;

size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb *tb);
qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const qemu_plugin_insn *insn);

void qemu_plugin_register_vcpu_tb_trans_cb(
	qemu_plugin_id_t id,
	void (*translated)(qemu_plugin_id_t id, qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb *tb,
					  void (*executed)(unsigned int cpu,
							   void *data),
					  int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn *insn,
					    void (*executed)(unsigned int cpu,
							     void *data),
					    int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(
	qemu_plugin_insn *insn,
	void (*accessed)(unsigned int cpu, qemu_plugin_meminfo_t info,
			 uint64_t address, void *data),
	int flags, int accesses, void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
unsigned int qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);

} // extern "C"
