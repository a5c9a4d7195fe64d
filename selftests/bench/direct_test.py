#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of what is said of I/Os of a disk (pavobench/direct.py), and of the copies that the
# counter has seen (pavobench/profiling.py): ratios, what is missing and what is wrong. Prints TAP. Run by the group unit through Meson; touches nothing.
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

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
"""


def row(way="direct", size=4096, wire="near", **others):
    """One as the program prints it, which nothing is wrong with."""
    return {"way": way, "size": size, "wire": wire, "messages": 2, "copied": 0,
            "again": 0, "sent": 1 if way == "direct" else 0, "direct_copied": 0,
            "packets": 4, "drops": 0, **others}


def counted(instructions, **others):
    """One with what the counter saw."""
    return {**row(**others), "instructions": instructions, "calls": 1, "switches": 2,
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


def what_was_counted_is_told_of_each():
    """Instructions of all but repetitions, entries of the kernel's, its copies, the program's."""
    parts, names = files()
    got = direct.measured(row(copied=4096), parts[0], names)
    assert got["instructions"] == (60 + 100 + 12 + 100 + 20) / 2
    assert got["repeated"] == 3500
    assert (got["calls"], got["switches"]) == (10, 3)
    assert (got["copied_by_kernel"], got["copied_by_program"]) == (4100, 4096)
    assert got["copied"] == 8196
    assert got["copied_by"] == {"memcpy_erms": 4000, "copy_user_data": 100}


def ratios_are_of_one_round():
    """To the direct window, however much the rounds differ."""
    rounds = [{"direct": [counted(100)], "region": [counted(80, way="region")]},
              {"direct": [counted(1000)], "region": [counted(900, way="region")]}]
    (entry,) = direct.compare(rounds)
    ratio = entry["of"]["region"]["ratio"]
    assert (ratio["min"], ratio["max"], ratio["n"]) == (0.8, 0.9, 2)
    assert round(ratio["median"], 6) == 0.85
    assert entry["of"]["direct"]["instructions"]["max"] == 1000


def wires_and_sizes_are_apart():
    """One entry each, in the order in which they came."""
    rows = [counted(1), counted(2, wire="cut"), counted(3, size=65536)]
    assert [(entry["wire"], entry["size"]) for entry in direct.compare([{"direct": rows}])] \
        == [("near", 4096), ("cut", 4096), ("near", 65536)]


def without_a_direct_window_there_is_no_ratio():
    """The rest is told."""
    (entry,) = direct.compare([{"region": [counted(5, way="region")]}])
    assert "ratio" not in entry["of"]["region"]
    assert "ordinary region" in direct.text("", [entry])


def wrong(**others):
    """What is said against one row of a direct window."""
    return direct.wrong([{"direct": [row(**others)]}], (["near"], [4096], ["direct"]))


def what_is_not_there_is_told():
    """A way, a size, a wire, a round in which nothing was finished."""
    wanted = ["near"], [4096], ["direct", "disk"]
    assert direct.wrong([{"direct": [row()], "disk": [row("disk")]}], wanted) == []
    assert len(direct.wrong([{"direct": [row()]}], wanted)) == 1
    assert len(direct.wrong([{}], wanted)) == 2
    assert len(wrong(size=8192)) == 1 == len(wrong(wire="cut"))


def a_window_that_is_none_is_told():
    """One that copies, or sends nothing; a lost packet of any way."""
    assert wrong() == []
    assert all(len(wrong(**{name: value})) == 1 for name, value in
               (("direct_copied", 1), ("sent", 0), ("sent", 0.5), ("drops", 1)))
    region = row("region", drops=1, direct_copied=1)
    assert len(direct.wrong([{"region": [region]}], (["near"], [4096], ["region"]))) == 1


def table():
    """Least and most where they differ, and the ratio."""
    said = direct.text("title", direct.compare(
        [{"direct": [counted(1000)], "nvmet": [counted(2500, way="nvmet")]},
         {"direct": [counted(1002)], "nvmet": [counted(2505, way="nvmet")]}]))
    assert said.startswith("title\n") and "4096 bytes, same-host peers" in said
    assert "1,001 (1,000..1,002)" in said and "nvmet-rdma" in said and "2.50" in said
    assert " 4,096 " in said and "1.00" in said


TESTS = (sections_have_copies, what_was_counted_is_told_of_each, ratios_are_of_one_round,
         wires_and_sizes_are_apart, without_a_direct_window_there_is_no_ratio,
         what_is_not_there_is_told, a_window_that_is_none_is_told, table)

sys.exit(tests.run("direct", TESTS))
