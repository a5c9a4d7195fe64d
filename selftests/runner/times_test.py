#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of the durations that are kept (times.py), of reading what ninja and pavo-vm
# measured (measure.py), and of the account of a run (report.py). Prints TAP. Run by the
# group unit through Meson; writes into temporary folders only.
import json
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from runner import measure, report, tests, times  # noqa: E402  (path set above)


class Kept:
    """Files of durations in a folder of their own; `told` is what was said."""

    def __init__(self):
        self.place = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.place.name)
        self.files = [folder / "build/times.json", folder / "cache/times.json"]
        self.typical = folder / "typical.json"
        self.typical.write_text('{"items": {"verbs@default": 300}}')
        self.now = 1000.0
        self.told = []

    def open(self, files=None):
        """The durations as a run finds them."""
        return times.Durations(files or self.files, self.told.append, self.typical,
                               now=lambda: self.now)


def they_survive_a_run():
    """Both files have them, and either is enough."""
    kept = Kept()
    first = kept.open()
    first.note("items", "wire@default", 40)
    first.note("tests", "wire@default: gap", 2.5)
    first.compiled = 77
    first.save()
    for files in (kept.files, kept.files[:1], kept.files[1:]):
        again = kept.open(files)
        assert again.expected("wire@default", "default") == 40
        assert again.kept["tests"]["wire@default: gap"][0] == 2.5
    assert kept.open().compiled == 77
    assert not kept.told, kept.told


def first_guesses():
    """Typical ones, those of another kernel, and what else may be."""
    kept = Kept()
    known = kept.open()
    assert known.expected("verbs@default", "default") == 300
    assert known.expected("verbs@native", "native", "verbs@default") == 300
    assert known.expected("new@default", "default") == times.UNKNOWN_GUEST
    assert known.expected("unit-new", "") == times.UNKNOWN_HOST
    known.note("items", "verbs@default", 200)
    assert known.expected("verbs@default", "default") == 200
    known.note("items", "verbs@default", 100)
    assert known.expected("verbs@default", "default") == 150


def the_typical_ones_are_readable():
    """The file of the repository."""
    known = times.Durations([], tell=lambda text: (_ for _ in ()).throw(
        AssertionError(text)))
    assert all(seconds > 0 for seconds in known.typical.values())
    assert known.typical["verbs@default"] > 10


def typical_ones_are_written():
    """In whole seconds; what is not known stays."""
    kept = Kept()
    first = kept.open()
    first.note("items", "wire@default", 40.4)
    first.note("items", "unit-quick", 0.01)
    first.write_typical(kept.typical)
    assert json.loads(kept.typical.read_text()) == {
        "items": {"unit-quick": 1, "verbs@default": 300, "wire@default": 40}}


def damaged_files_are_told():
    """They are ignored, and whole after the next run."""
    for text in ("{", "[]", '{"version": 1, "items": 3}', '{"version": 9}', "\x00\xff",
                 '{"version": 1, "items": {"a": "long"}}',
                 '{"version": 1, "tests": {"a": [-1, 2]}}',
                 '{"version": 1, "compiled": "x"}'):
        kept = Kept()
        first = kept.open()
        first.note("items", "a", 3)
        first.save()
        kept.files[0].write_text(text)
        again = kept.open()
        assert len(kept.told) == 1 and "ignored" in kept.told[0], (text, kept.told)
        assert again.expected("a", "") == 3, text
        again.save()
        kept.told.clear()
        kept.open(kept.files[:1])
        assert not kept.told, kept.told


def they_do_not_grow_for_ever():
    """Of those seen longest ago as many go as are too many."""
    kept = Kept()
    first = kept.open()
    for number in range(times.ENTRIES_MAX + 50):
        kept.now = 1000.0 + number
        first.note("tests", f"test {number}", 1)
    first.note("tests", "x" * 10000, 1)
    first.save()
    again = kept.open().kept["tests"]
    assert len(again) == times.ENTRIES_MAX
    assert "test 50" not in again and f"test {times.ENTRIES_MAX + 49}" in again
    assert max(map(len, again)) <= times.NAME_MAX


def two_runs_at_a_time():
    """What the other run wrote stays."""
    kept = Kept()
    first, second = kept.open(), kept.open()
    first.note("items", "a", 1)
    second.note("items", "b", 2)
    first.save()
    second.save()
    assert {"a", "b"} <= set(kept.open().kept["items"])


def a_folder_that_cannot_be_written():
    """It is told; the other file is written."""
    kept = Kept()
    kept.files[0].parent.write_text("no folder")
    first = kept.open(kept.files[1:])
    first.files = kept.files
    first.note("items", "a", 1)
    first.save()
    assert len(kept.told) == 1 and "not kept" in kept.told[0], kept.told
    assert kept.open(kept.files[1:]).expected("a", "") == 1


def what_ninja_measured():
    """The last time of a command counts, once for all that it made."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, ".ninja_log")
        log.write_text("# ninja log v5\n0\t1000\t5\ta.o\tAA\n0\t7000\t9\ta.o\tAB\n"
                       "7000\t8500\t10\tlib.so\tBB\n7000\t8500\t10\tlib.so.1\tBB\n"
                       "damaged\n1\tx\t3\tb.o\tCC\n")
        found = measure.read_ninja_log(log)
        assert [(c.name, c.seconds, c.when) for c in found] == [
            ("a.o", 7.0, 9), ("lib.so", 1.5, 10)], found
        assert measure.read_ninja_log(pathlib.Path(folder, "none")) == []


def what_pavo_vm_measured():
    """Machines boot side by side; what cannot be read, and files of guests, are no boot."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (
                ("guest-1/result.json",
                 '[{"node": 1, "seconds": 9, "boot_seconds": 4.5, "boots": 1},'
                 ' {"node": 2, "seconds": 9, "boot_seconds": 5.5, "boots": 2}]'),
                ("vm/lost/result.json", '[{"node": 1, "boot_seconds": null}]'),
                ("guest-2/result.json", "{"), ("guest-3/result.json", "[1]"),
                ("guest-1/share/node1/out/result.json", "[]")):
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        found = {b.folder: (b.seconds, len(b.nodes)) for b in measure.read_boots(folder)}
    assert found == {"guest-1": (5.5, 2), "vm/lost": (0.0, 1)}, found


def an_account():
    """Sums by kind, and the longest first."""
    def item(name, group, kernel, seconds, *tests):
        return {"name": name, "group": group, "kernel": kernel, "seconds": seconds,
                "cpu": seconds / 2, "tests": [{"name": n, "seconds": s} for n, s in tests]}

    account = report.make_account(
        [item("verbs@default", "verbs", "default", 100, ("slow", 60), ("quick", 1)),
         item("unit-wire", "unit", "", 7, ("codec", 6)), item("lint", "lint", "", 5)],
        [{"seconds": 20.0}, {"seconds": 5.0}],
        [measure.Compiled("old.o", 50, 10), measure.Compiled("new.o", 8, 20)], 10)
    assert account["kinds"] == {"compile": 8, "boots": 25, "guest tests": 75,
                                "host tests": 7, "lint": 5}, account["kinds"]
    assert [t["name"] for t in account["longest"]] == ["slow", "codec", "quick"]
    assert account["compile"]["all_seconds"] == 58
    assert [c["name"] for c in account["compile"]["longest"]] == ["new.o"]
    told = report.tell_account(account)
    assert told[1].endswith("60.0 s  verbs@default: slow"), told
    assert told[-1] == ("CPU seconds: 56, most of them for verbs@default 50, unit-wire 4, "
                        "lint 2"), told
    assert told[-2] == ("time by kind: compile 8 s, boots 25 s, guest tests 75 s, "
                        "host tests 7 s, lint 5 s"), told
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "new/times.json")
        report.save_account(account, path)
        assert json.loads(path.read_text())["version"] == 1


TESTS = (they_survive_a_run, first_guesses, the_typical_ones_are_readable,
         typical_ones_are_written,
         damaged_files_are_told, they_do_not_grow_for_ever, two_runs_at_a_time,
         a_folder_that_cannot_be_written, what_ninja_measured, what_pavo_vm_measured,
         an_account)

sys.exit(tests.run("durations", TESTS))
