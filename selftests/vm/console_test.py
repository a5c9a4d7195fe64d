#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of pavovm/console.py: which lines of a kernel's console are complaints, and
# which reports are a kernel's own defects that no module has caused. Prints TAP. Run by
# the group unit through Meson.
import pathlib
import sys

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "selftests"), str(TREE / "qemu-scripts")]

from pavovm import console  # noqa: E402  (path set above)
from runner import tests  # noqa: E402

RCU = ["WARNING: suspicious RCU usage", "stack backtrace:"]
LOCKS = ["WARNING: possible circular locking dependency detected",
         "kworker/0:1/17 is trying to acquire lock:"]
FLUSH = " [<6004d4fe>] ? force_flush_all+0x11e/0x260"
TLB = " [<60>] ? flush_tlb_mm+0xbe/0x270"
VECTOR = "0000 (&result->tail_lock){+...}-{2:2}, at: vector_send+0x677/0xd80"


def stamped(lines):
    """As the kernel prints them."""
    return [f"[    2.{i:06}] {line}" for i, line in enumerate(lines)]


def found(*lines):
    """Indexes of complaints."""
    return console.complaints(stamped(lines))


def reports_are_complaints():
    """Where they are in the log, and nothing else is one."""
    assert found("hello", RCU[0], "what follows") == [1]
    assert found("BUG: KASAN: use-after-free in pavo_x", "x") == [0]
    assert found("pavo: loaded", "warning: of no kernel") == []


def defects_of_the_kernel_are_excused():
    """By a function in their stack."""
    assert found(*RCU, FLUSH) == []
    assert found(*RCU, TLB) == []
    assert found(*LOCKS, VECTOR) == []


def others_of_the_kind_are_not():
    """The same first line with another stack, or the function in another report."""
    assert found(*RCU, " [<60>] ? pavo_qp_find+0x1/0x2") == [0]
    assert found(*LOCKS, "0000 (&dev->lock){+...}-{2:2}, at: pavo_x+0x6/0xd") == [0]
    assert found(*LOCKS, "0000 (&dev->lock){+...}-{2:2}, at: vector_send+0x6/0xd") == [0]
    assert found("BUG: KASAN: use-after-free", FLUSH) == [0]
    assert found(RCU[0], "WARNING: another report", FLUSH) == [0, 1]
    far = ["line"] * console.STACK_LINES
    assert found(*RCU, *far, FLUSH) == [0]


sys.exit(tests.run("console", (reports_are_complaints, defects_of_the_kernel_are_excused,
                               others_of_the_kind_are_not)))
