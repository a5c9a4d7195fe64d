// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counts every instruction a guest executes between two marks.
 *
 * A plug-in of QEMU's emulator, for the repeatable mode (one virtual CPU, one
 * thread: the counters need no locks). Owns: one counter per block of code and
 * per step from one block to the next, the file of results. Loaded by
 * ../profile and ../direct with the argument out=FILE. The marks are those of
 * ../program/pair.h. After each pair of marks it appends to FILE
 *   section N
 *   block ADDRESS INSTRUCTIONS TIMES   a block, how often it was entered
 *   repeat ADDRESS TIMES               how many of these were a string instruction, once more
 *   step FROM TO TIMES                 from which block to which, by address
 *   copy ADDRESS BYTES                 bytes that the block copied by string moves, as a
 *                                      kernel's memcpy() does on a CPU that has fast ones
 */
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

/*
 * The part of QEMU's plug-in interface, version 1, that is used here (QEMU 4.2 to 8.x; no Debian
 * package carries its header). The functions are QEMU's and are found when it loads the plug-in.
 */
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

namespace {

struct Block {
	uint64_t address;
	uint64_t instructions;
	uint64_t times;
	uint64_t copied; /* bytes */
	/* A string instruction and nothing else: the emulator enters it for each of its steps but
	 * the first. */
	bool repeats;
};

using Step = std::pair<const Block *, const Block *>;

struct StepHash {
	size_t operator()(const Step &step) const
	{
		return reinterpret_cast<uintptr_t>(step.first) * 31 +
		       reinterpret_cast<uintptr_t>(step.second) / 8;
	}
};

/* A deque, because translated code keeps pointers into it. */
std::deque<Block> blocks;
/* The emulator translates the same code again, whole or in part. */
std::map<std::pair<uint64_t, uint64_t>, Block *> known;
std::unordered_map<Step, uint64_t, StepHash> steps;
const Block *previous;
bool recording;
std::string out_path;
int sections;

constexpr unsigned char mark[] = {0x0f, 0x1f, 0x84, 0x00, 'p', 'a', 'v'};

void executed(unsigned int, void *data)
{
	auto *block = static_cast<Block *>(data);

	if (!recording)
		return;
	block->times++;
	steps[{previous, block}]++;
	previous = block;
}

/* QEMU 7.2 tells of loads, too, however one asks. */
void moved(unsigned int, qemu_plugin_meminfo_t info, uint64_t, void *data)
{
	if (recording && qemu_plugin_mem_is_store(info))
		static_cast<Block *>(data)->copied +=
			1u << qemu_plugin_mem_size_shift(info);
}

void begin(unsigned int, void *)
{
	for (Block &block : blocks)
		block.times = block.copied = 0;
	steps.clear();
	previous = nullptr;
	recording = true;
}

void end(unsigned int, void *)
{
	FILE *out = fopen(out_path.c_str(), sections ? "a" : "w");

	recording = false;
	if (!out) {
		perror(out_path.c_str());
		return;
	}
	fprintf(out, "section %d\n", sections++);
	for (const Block &block : blocks) {
		if (block.times)
			fprintf(out, "block %lx %lu %lu\n", block.address,
				block.instructions, block.times);
		if (block.times && block.repeats)
			fprintf(out, "repeat %lx %lu\n", block.address,
				block.times);
		if (block.copied)
			fprintf(out, "copy %lx %lu\n", block.address,
				block.copied);
	}
	for (const auto &[step, times] : steps)
		if (step.first)
			fprintf(out, "step %lx %lx %lu\n", step.first->address,
				step.second->address, times);
	fclose(out);
}

Block *block_of(uint64_t address, uint64_t instructions)
{
	Block *&block = known[{address, instructions}];

	if (!block)
		block = &blocks.emplace_back(address, instructions, 0, 0,
					     false);
	return block;
}

/* An instruction of the family of MOVS and STOS, without its prefixes. */
struct StringInstruction {
	StringInstruction(const unsigned char *bytes, size_t length)
	{
		while (length > 1 && is_prefix(*bytes)) {
			repeats |= (*bytes & 0xfe) == 0xf2;
			bytes++;
			length--;
		}
		moves = length == 1 && (*bytes & 0xfe) == 0xa4;
		repeats &= moves || (length == 1 && (*bytes & 0xfe) == 0xaa);
	}

	bool moves = false; /* from memory to memory */
	bool repeats = false;

private:
	/* Repetition, width of the operand, REX. */
	static bool is_prefix(unsigned char byte)
	{
		return (byte & 0xfe) == 0xf2 || byte == 0x66 ||
		       (byte & 0xf0) == 0x40;
	}
};

void translated(qemu_plugin_id_t, qemu_plugin_tb *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);
	Block *block = block_of(qemu_plugin_tb_vaddr(tb), count);

	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed,
					     QEMU_PLUGIN_CB_NO_REGS, block);
	for (size_t i = 0; i < count; i++) {
		qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		auto *bytes = static_cast<const unsigned char *>(
			qemu_plugin_insn_data(insn));

		StringInstruction string(bytes, qemu_plugin_insn_size(insn));

		block->repeats |= string.repeats && count == 1;
		if (string.moves)
			qemu_plugin_register_vcpu_mem_cb(insn, moved,
							 QEMU_PLUGIN_CB_NO_REGS,
							 QEMU_PLUGIN_MEM_W,
							 block);
		if (qemu_plugin_insn_size(insn) != sizeof(mark) + 1 ||
		    memcmp(bytes, mark, sizeof(mark)))
			continue;
		qemu_plugin_register_vcpu_insn_exec_cb(
			insn, bytes[sizeof(mark)] == 1 ? begin : end,
			QEMU_PLUGIN_CB_NO_REGS, nullptr);
	}
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *, int argc,
		    char **argv)
{
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "pavo-count: needs out=FILE\n");
		return -1;
	}
	out_path = argv[0] + 4;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}

} // extern "C"
