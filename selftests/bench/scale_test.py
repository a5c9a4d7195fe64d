#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of what is said of many queue pairs and of a second CPU (pavobench/scale.py):
# rates of streams that overlap, ratios, bounds and what is missing. Prints TAP. Run by the
# group unit through Meson; writes into a temporary folder only.
import contextlib
import io
import json
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from pavobench import scale  # noqa: E402  (path set above)
from runner import tests  # noqa: E402


def write(count, ns):
    """A write among so many queue pairs."""
    return {"what": "write", "queue pairs": count, "ns": ns}


def stream(processes, began, took, size=64, round_=1):
    """A hundred messages of one process."""
    return {"what": "cpus", "processes": processes, "round": round_, "size": size,
            "messages": 100, "began_ns": began, "total_ns": took}


def both(took, **other):
    """Each process alone for 1,000 ns; then together, the second 100 ns later."""
    return [stream(1, 0, 1000, **other), stream(1, 5000, 1000, **other),
            stream(2, 9000, took, **other), stream(2, 9100, took, **other)]


def overlap_is_from_first_to_last():
    """200 messages in 1,000 ns and 100 ns more, beside 100 in 1,000."""
    found = scale.speeds(both(1000))
    assert list(found) == [64] and abs(found[64][0] - 2 / 1.1) < 1e-9, found


def rounds_and_sizes_are_apart():
    """Each round has its ratio; a row that failed, or half a round, has none."""
    rows = both(1000) + both(900, round_=2) + both(2000, size=65536)
    rows += both(1000, round_=3)[:3] + [{**stream(2, 0, 1, round_=3), "error": "hangs"}]
    found = scale.speeds(rows)
    assert [len(found[64]), len(found[65536])] == [2, 1], found
    assert abs(found[65536][0] - 2 / 2.1) < 1e-9


def writes_have_a_bound():
    """The median of the most, to that of the fewest."""
    fine = [write(1, 100), write(16, 500), write(1024, 110), write(1024, 900),
            write(1024, 100)]
    assert not scale.out_of_bounds({"icount": fine})
    [line] = scale.out_of_bounds({"icount": [write(1, 100), write(16384, 111)]})
    assert line.startswith("icount: a write among 16,384") and "1.11" in line


def cpus_have_a_bound():
    """Below 1.7 times is too little."""
    assert not scale.out_of_bounds({"emulated": both(1000)})
    [line] = scale.out_of_bounds({"emulated": both(1200)})
    assert "1.54" in line, line


def all_is_to_be_measured():
    """Every count up to the most; both sizes on two CPUs."""
    rows = [write(1, 100), write(16, 100)]
    guests = {"icount": rows, "emulated": both(1000)}
    assert scale.missing(guests, 16) == ["two CPUs, 65536 bytes"]
    guests["emulated"] += both(1000, size=65536)
    assert not scale.missing(guests, 16)
    assert scale.missing({**guests, "icount": rows[:1]}, 300) == [
        "icount: a write among 16 queue pairs", "icount: a write among 256 queue pairs"]


def status_and_files():
    """All of it: 1 where something is dear, with the line; files are left."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        words = []
        for name, rows in (("icount", [write(1, 100), write(16, 120)]),
                           ("emulated", both(1000) + both(1000, size=65536))):
            (out / name).write_text("\n".join(map(json.dumps, rows)))
            words.append(f"{name}={out / name}")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = scale.main(folder, "6.1", "16", *words)
        assert status == 1 and "OUT OF BOUNDS: icount" in said.getvalue()
        assert "icount: ns of a write, 16 queue pairs" in said.getvalue()
        kept = json.loads((out / "scale.json").read_text())
        assert len(kept["out_of_bounds"]) == 1 and kept["missing"] == []


TESTS = (overlap_is_from_first_to_last, rounds_and_sizes_are_apart, writes_have_a_bound,
         cpus_have_a_bound, all_is_to_be_measured, status_and_files)

sys.exit(tests.run("bench of scale", TESTS))
