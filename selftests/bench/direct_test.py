#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of what ./direct says (pavobench/direct.py), and of the copies that the counter has seen
# (profiling.py). Prints TAP. Run by the group unit through Meson; writes into a temporary folder
# only.
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from pavobench import direct, profiling, symbols  # noqa: E402  (path set above)
from runner import tests  # noqa: E402

KALLSYMS = """\
ffffffff81000000 T _text
ffffffff81001000 T entry_SYSCALL_64
ffffffff81002000 T __switch_to_asm
ffffffff81003000 T memcpy_erms
ffffffffc0001000 t copy_user_data	[other]
ffffffffc0002000 t entry_SYSCALL_64	[other]
"""
COUNTS = """\
section 0
block ffffffff81001000 3 20
block ffffffff81001003 5 20
block ffffffff81002000 2 6
block ffffffffc0002000 1 100
block 400000 10 2
block ffffffff81003010 1 7000
repeat ffffffff81003010 7000
copy ffffffff81003010 8000
copy ffffffffc0001010 200
copy 400000 7000
section 1
step ffffffff81001000 ffffffff81002000 12
"""


def io_row(way="direct", size=4096, wire="near", **others):
    """One as the program prints it, which nothing is wrong with."""
    return {"way": way, "size": size, "depth": 1, "wire": wire, "messages": 2, "copied": 0,
            "again": 0, "sent": 1 if way == "direct" else 0, "direct_copied": 0, "retransmits": 0,
            "packets": 4, "drops": 0, **others}


def counted(instructions, **others):
    """One with what the counter saw."""
    return {**io_row(**others), "instructions": instructions, "calls": 1, "switches": 2,
            "copied": 4096}


def files():
    """(sections, symbols) of the texts above."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        (path / "counts").write_text(COUNTS)
        (path / "kallsyms").write_text(KALLSYMS)
        (path / "maps").write_text("")
        return (profiling.sections(path / "counts"),
                symbols.Symbols(path / "kallsyms", path / "maps"))


def sections_have_copies():
    """Beside blocks, and in the section where they are."""
    parts, _ = files()
    assert [len(part.copies) for part in parts] == [3, 0]
    assert [part.repeats for part in parts] == [[(0xffffffff81003010, 7000)], []]
    assert parts[0].copies[0] == (0xffffffff81003010, 8000)
    assert len(parts[0].blocks) == 6 and parts[0].steps == []
    assert parts[1].steps == [(0xffffffff81001000, 0xffffffff81002000, 12)]


def direct_tells_what_was_counted():
    """Instructions of all but repetitions, entries of the kernel's, its copies, the program's."""
    parts, names = files()
    got = direct.measured(io_row(copied=4096), parts[0], names)
    assert {name: got[name] for name in (
        "instructions", "repeated", "calls", "switches", "copied_by_kernel", "copied_by_program",
        "copied", "copied_by")} == {
            "instructions": (60 + 100 + 12 + 100 + 20) / 2, "repeated": 3500, "calls": 10,
            "switches": 3, "copied_by_kernel": 4100, "copied_by_program": 4096, "copied": 8196,
            "copied_by": {"memcpy_erms": 4000, "copy_user_data": 100}}


def direct_ratios_are_of_one_round():
    """To the direct window, however much the rounds differ."""
    (entry,) = direct.compare(
        [{"direct": [counted(100)], "region": [counted(80, way="region")]},
         {"direct": [counted(1000)], "region": [counted(900, way="region")]}])
    ratio = entry["of"]["region"]["ratio"]
    assert (ratio["min"], ratio["max"], ratio["n"]) == (0.8, 0.9, 2)
    assert round(ratio["median"], 6) == 0.85
    assert entry["of"]["direct"]["instructions"]["max"] == 1000


def direct_wires_sizes_and_depths_are_apart():
    """One entry each, in the order in which they came."""
    rows = [counted(1), counted(2, wire="cut"), counted(3, size=65536), counted(4, depth=16)]
    assert [(entry["wire"], entry["size"], entry["depth"])
            for entry in direct.compare([{"direct": rows}])] \
        == [("near", 4096, 1), ("cut", 4096, 1), ("near", 65536, 1), ("near", 4096, 16)]


def without_a_direct_window_there_is_no_ratio():
    """The rest is told."""
    (entry,) = direct.compare([{"region": [counted(5, way="region")]}])
    assert "ratio" not in entry["of"]["region"]
    assert "ordinary region" in direct.text("", [entry])


def wrong(**others):
    """What is said against one row of a direct window."""
    return direct.wrong([{"direct": [io_row(**others)]}], (["near"], [4096], [1], ["direct"]))


def direct_misses_what_is_not_there():
    """A way, a size, a depth, a wire, a round in which nothing was finished."""
    wanted = ["near"], [4096], [1], ["direct", "disk"]
    assert direct.wrong([{"direct": [io_row()], "disk": [io_row("disk")]}], wanted) == []
    assert len(direct.wrong([{"direct": [io_row()]}], wanted)) == 1
    assert len(direct.wrong([{}], wanted)) == 2
    assert len(wrong(size=8192)) == 1 == len(wrong(wire="cut")) == len(wrong(depth=16))
    assert direct.wrong([{"disk": [io_row("disk")]}], (["near"], [4096], [1, 16], ["disk"])) == []


def a_window_that_is_none_is_told():
    """One that copies, or sends nothing; a lost packet of any way."""
    assert wrong() == []
    assert all(len(wrong(**{name: value})) == 1 for name, value in
               (("direct_copied", 1), ("sent", 0), ("sent", 0.5), ("drops", 1)))
    assert wrong(direct_copied=2048, retransmits=0.5) == []
    region = io_row("region", drops=1, direct_copied=1)
    assert len(direct.wrong([{"region": [region]}], (["near"], [4096], [1], ["region"]))) == 1


def direct_table():
    """Least and most where they differ, and the ratio."""
    said = direct.text("title", direct.compare(
        [{"direct": [counted(1000)], "nvmet": [counted(2500, way="nvmet")]},
         {"direct": [counted(1002)], "nvmet": [counted(2505, way="nvmet")]}]))
    assert said.startswith("title\n") and "4096 bytes, 1 at a time, same-host peers" in said
    assert all(word in said for word in ("1,001 (1,000..1,002)", "nvmet-rdma", "2.50", " 4,096 ",
                                         "1.00"))


TESTS = (sections_have_copies, direct_tells_what_was_counted, direct_ratios_are_of_one_round,
         direct_wires_sizes_and_depths_are_apart, without_a_direct_window_there_is_no_ratio,
         direct_misses_what_is_not_there, a_window_that_is_none_is_told, direct_table)

sys.exit(tests.run("bench-direct", TESTS))
