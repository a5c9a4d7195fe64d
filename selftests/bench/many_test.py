#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of what is said of keys, of many queue pairs and a second CPU (pavobench/many.py), and
# of I/Os of a disk and the copies that the counter has seen (direct.py, profiling.py). Prints TAP. Run by the group unit through Meson; writes into a temporary folder
# only.
import argparse
import contextlib
import io
import json
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from pavobench import direct, frame, many, profiling, symbols  # noqa: E402  (path set above)
from runner import tests  # noqa: E402


def hit(what, ns, loop=3):
    """A hit that took so long, beside the loop."""
    return [{"what": many.LOOP, "entries": 0, "ns": loop},
            {"what": what, "entries": 100, "ns": ns}]


def write(count, ns, name="regions"):
    """A write among so many."""
    return {"what": "write", name: count, "ns": ns}


def bad(rows, tool="keys"):
    """What is out of bounds."""
    return many.out_of_bounds(many.series(rows), tool)


def missing(rows, tool="keys", most=1000000):
    """What was not measured."""
    return many.missing(many.series(rows), tool, most)


def keys_gathers_rows():
    """Alike but for the time: one series; walks by their own time."""
    found = many.series([{"what": "walk", "qps": 16, "walk_ns": 5},
                         {"what": "walk", "qps": 16, "walk_ns": 7},
                         {"what": "walk", "qps": 17, "walk_ns": 1},
                         {"what": "walk", "qps": 16, "ns": 9}])
    assert list(found.values()) == [[5, 7], [1], [9]]


def keys_percentiles():
    """Of 1 to 200 the 99th is 198, of few values the last."""
    assert (many.percentile(range(1, 201), 99), many.percentile([4, 2], 99),
            many.percentile([6], 99)) == (198, 4, 6)


def keys_histograms():
    """Powers of two; an empty one in between is told, too."""
    assert many.histogram([5, 4, 7, 16]) == [(8, 3), (16, 0), (32, 1)]


def keys_has_bounds():
    """A hit takes less than a hundred, without the loop, of every kind; a lookup a tenth more
    among many; in whatever order they come."""
    assert all(not bad(hit(what, 102)) and len(bad(hit(what, 103))) == 1 for what in many.HITS)
    assert not bad([write(1000000, 110), write(10, 100)])
    assert len(bad([write(1000000, 111), write(10, 100)])) == 1


def all_rows():
    """One of each thing that is to be measured, none of them too dear."""
    rows = [row for what in many.HITS for row in hit(what, 50)]
    rows += [{"what": what, "qps": 16, "ns": 1} for what in many.WALKS]
    return rows + [write(count, 100) for count in (1000000, 10, 10000)]


def keys_misses_what_was_not_measured():
    """Each hit, the loop, walks, each number of regions; all of them if there is nothing."""
    rows, regions = all_rows(), many.AMONG["keys"][1]
    assert missing(rows) == [] == bad(rows)
    for what in (many.LOOP, *many.HITS, *many.WALKS):
        assert missing([row for row in rows if row["what"] != what]) == [what]
    for count in regions:
        assert len(missing([row for row in rows if row.get("regions") != count])) == 1
    assert len(missing([])) == 1 + sum(map(len, (many.HITS, many.WALKS, regions)))
    # those above the most are not
    left = [row for row in rows if row.get("regions", 0) < 1000000]
    assert missing(left, most=999999) == [] and len(missing(left)) == 1


def keys_table():
    """A line each, and the bars of walks."""
    said = many.text(many.series([
        {"what": "walk", "qps": 256, "walk_ns": 1000},
        {"what": "longest write", "qps": 256, "walking": True, "ns": 12345}]))
    assert ("walk, qps 256" in said and "longest write, qps 256, walking true" in said
            and "12,345" in said and "1,024      1 " + "#" * 50 in said and "18,432" in said)


def a_run_with_something_wrong_fails():
    """Where something is too dear, or was not measured."""
    judged = [many.judge(rows, "keys", 1000000)
              for rows in (all_rows(), [], all_rows() + [write(1000000, 1000)] * 2)]
    assert [is_bad for *_, is_bad in judged] == [False, True, True]
    assert "NOT MEASURED: the loop" in judged[1][0] and "OUT OF BOUNDS: a wr" in judged[2][0]
    assert len(judged[2][1]["out_of_bounds"]) == 1


def files_are_left():
    """The table and the JSON."""
    with tempfile.TemporaryDirectory() as folder:
        out, said = pathlib.Path(folder), io.StringIO()
        with contextlib.redirect_stdout(said):
            frame.leave(argparse.Namespace(out=out), "keys", "a table", {"missing": []})
        assert (out / "keys.txt").read_text() == "a table" and "a table" in said.getvalue()
        assert json.loads((out / "keys.json").read_text()) == {"missing": []}


def stream(processes, began, took, size=64, round_=1):
    """A hundred messages of one process."""
    return {"what": "cpus", "processes": processes, "round": round_, "size": size,
            "messages": 100, "began_ns": began, "total_ns": took}


def both(took, **other):
    """Each process alone for 1,000 ns; then together, the second 100 ns later."""
    return [stream(1, 0, 1000, **other), stream(1, 5000, 1000, **other),
            stream(2, 9000, took, **other), stream(2, 9100, took, **other)]


def speeds(rows):
    """{size: ratios}."""
    found = many.series(rows)
    return {dict(parameters)["size"]: values for (_, parameters, _), values in found.items()}


def scale_overlap_is_from_first_to_last():
    """200 messages in 1,000 ns and 100 ns more, beside 100 in 1,000."""
    found = speeds(both(1000))
    assert list(found) == [64] and abs(found[64][0] - 2 / 1.1) < 1e-9, found


def scale_rounds_and_sizes_are_apart():
    """Each round has its ratio; a row that failed, or half a round, has none."""
    rows = both(1000) + both(900, round_=2) + both(2000, size=65536)
    rows += both(1000, round_=3)[:3] + [{**stream(2, 0, 1, round_=3), "error": "hangs"}]
    found = speeds(rows)
    assert [len(found[64]), len(found[65536])] == [2, 1], found
    assert abs(found[65536][0] - 2 / 2.1) < 1e-9


def crowd(*times):
    """Writes among queue pairs: (how many, ns)."""
    return [write(count, ns, "queue pairs") for count, ns in times]


def scale_has_bounds():
    """The median of the most, to that of the fewest; below 1.7 times on two CPUs."""
    fine = crowd((1, 100), (16, 500), (1024, 110), (1024, 900), (1024, 100))
    assert not bad(fine + both(1000), "scale")
    [line] = bad(crowd((1, 100), (16384, 111)), "scale")
    assert line.startswith("a write among 16,384 queue pairs") and "1.11" in line
    [line] = bad(both(1200), "scale")
    assert "1.54" in line, line


def scale_wants_all():
    """Every count up to the most; both sizes on two CPUs."""
    rows = crowd((1, 100), (16, 100)) + both(1000)
    assert missing(rows, "scale", 16) == ["two CPUs to one, 65536 bytes"]
    rows += both(1000, size=65536)
    assert not missing(rows, "scale", 16)
    assert missing(rows[:1] + rows[2:], "scale", 300) == [
        "a write among 16 queue pairs", "a write among 256 queue pairs"]
    assert "1.20" in many.text(many.series(crowd((1, 100), (16, 120))))


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
    return {"way": way, "size": size, "wire": wire, "messages": 2, "copied": 0,
            "again": 0, "sent": 1 if way == "direct" else 0, "direct_copied": 0,
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


def direct_wires_and_sizes_are_apart():
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
    return direct.wrong([{"direct": [io_row(**others)]}], (["near"], [4096], ["direct"]))


def direct_misses_what_is_not_there():
    """A way, a size, a wire, a round in which nothing was finished."""
    wanted = ["near"], [4096], ["direct", "disk"]
    assert direct.wrong([{"direct": [io_row()], "disk": [io_row("disk")]}], wanted) == []
    assert len(direct.wrong([{"direct": [io_row()]}], wanted)) == 1
    assert len(direct.wrong([{}], wanted)) == 2
    assert len(wrong(size=8192)) == 1 == len(wrong(wire="cut"))


def a_window_that_is_none_is_told():
    """One that copies, or sends nothing; a lost packet of any way."""
    assert wrong() == []
    assert all(len(wrong(**{name: value})) == 1 for name, value in
               (("direct_copied", 1), ("sent", 0), ("sent", 0.5), ("drops", 1)))
    region = io_row("region", drops=1, direct_copied=1)
    assert len(direct.wrong([{"region": [region]}], (["near"], [4096], ["region"]))) == 1


def direct_table():
    """Least and most where they differ, and the ratio."""
    said = direct.text("title", direct.compare(
        [{"direct": [counted(1000)], "nvmet": [counted(2500, way="nvmet")]},
         {"direct": [counted(1002)], "nvmet": [counted(2505, way="nvmet")]}]))
    assert said.startswith("title\n") and "4096 bytes, near peers" in said
    assert all(word in said for word in ("1,001 (1,000..1,002)", "nvmet-rdma", "2.50", " 4,096 ",
                                         "1.00"))


TESTS = (keys_gathers_rows, keys_percentiles, keys_histograms, keys_has_bounds,
         keys_misses_what_was_not_measured, keys_table, a_run_with_something_wrong_fails,
         files_are_left, scale_overlap_is_from_first_to_last, scale_rounds_and_sizes_are_apart,
         scale_has_bounds, scale_wants_all, sections_have_copies,
         direct_tells_what_was_counted, direct_ratios_are_of_one_round,
         direct_wires_and_sizes_are_apart, without_a_direct_window_there_is_no_ratio,
         direct_misses_what_is_not_there, a_window_that_is_none_is_told, direct_table)

sys.exit(tests.run("bench of many", TESTS))
