#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of what is said of keys (pavobench/keys.py): series, percentiles, histogram,
# what is too dear and what is missing. Prints TAP. Run by the group unit through Meson;
# touches nothing.
import contextlib
import io
import json
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from pavobench import keys  # noqa: E402  (path set above)
from runner import tests  # noqa: E402


def hit(what, ns, loop=3):
    """A hit that took so long, beside the loop."""
    return [{"what": keys.LOOP, "entries": 0, "ns": loop},
            {"what": what, "entries": 100, "ns": ns}]


def writes(few, many):
    """Writes among ten and a million regions."""
    return [{"what": "write", "regions": 1000000, "ns": many},
            {"what": "write", "regions": 10, "ns": few}]


def dear(rows):
    """How many are."""
    return len(keys.too_dear(keys.series(rows)))


def rows_are_gathered():
    """Alike but for the time: one series; walks by their own time."""
    found = keys.series([{"what": "walk", "qps": 16, "walk_ns": 5},
                         {"what": "walk", "qps": 16, "walk_ns": 7},
                         {"what": "walk", "qps": 17, "walk_ns": 1},
                         {"what": "walk", "qps": 16, "ns": 9}])
    assert list(found.values()) == [[5, 7], [1], [9]]


def percentiles():
    """Of 1 to 200 the 99th is 198, of few values the last."""
    assert (keys.percentile(range(1, 201), 99), keys.percentile([4, 2], 99),
            keys.percentile([6], 99)) == (198, 4, 6)


def histograms():
    """Powers of two; an empty one in between is told, too."""
    assert keys.histogram([5, 4, 7, 16]) == [(8, 3), (16, 0), (32, 1)]


def hits_have_a_bound():
    """Less than a hundred, without the loop; every kind of hit."""
    assert all(dear(hit(what, 102)) == 0 and dear(hit(what, 103)) == 1
               for what in keys.HITS)


def lookups_have_a_bound():
    """A tenth more among many; in whatever order they come."""
    assert dear(writes(100, 110)) == 0 and dear(writes(100, 111)) == 1


def all_rows():
    """One of each thing that is to be measured, none of them too dear."""
    rows = [row for what in keys.HITS for row in hit(what, 50)]
    rows += [{"what": what, "qps": 16, "ns": 1} for what in keys.WALKS]
    return rows + writes(100, 100) + [{"what": "write", "regions": 10000, "ns": 100}]


def what_was_not_measured_is_told():
    """Each hit, the loop, walks, each number of regions; all of them if there is nothing."""
    rows = all_rows()
    assert keys.missing(keys.series(rows), 1000000) == [] == keys.too_dear(keys.series(rows))
    for what in (keys.LOOP, *keys.HITS, *keys.WALKS):
        left = [row for row in rows if row["what"] != what]
        assert keys.missing(keys.series(left), 1000000) == [what]
    for count in keys.REGIONS:
        left = [row for row in rows if row.get("regions") != count]
        assert len(keys.missing(keys.series(left), 1000000)) == 1
    assert len(keys.missing({}, 1000000)) == 1 + sum(
        map(len, (keys.HITS, keys.WALKS, keys.REGIONS)))


def fewer_regions_may_be_asked_for():
    """Those above the most are not missed."""
    left = [row for row in all_rows() if row.get("regions", 0) < 1000000]
    assert keys.missing(keys.series(left), 999999) == []
    assert len(keys.missing(keys.series(left), 1000000)) == 1


def a_run_without_rows_fails():
    """As one does in which something is too dear."""
    keys.environment.describe = lambda release: {}
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rows"
        status = []
        for rows in (all_rows(), [], all_rows() + writes(100, 1000)):
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
            with contextlib.redirect_stdout(io.StringIO()):
                status.append(keys.main(folder, "", "1000000", str(file)))
        assert status == [0, 1, 1]


def table():
    """A line each, and the bars of walks."""
    said = keys.text(keys.series([
        {"what": "walk", "qps": 256, "walk_ns": 1000},
        {"what": "longest write", "qps": 256, "walking": True, "ns": 12345}]))
    assert ("walk, qps 256" in said and "longest write, qps 256, walking true" in said
            and "12,345" in said and "1,024      1 " + "#" * 50 in said
            and "18,432" in said)


TESTS = (rows_are_gathered, percentiles, histograms, hits_have_a_bound,
         lookups_have_a_bound, what_was_not_measured_is_told, fewer_regions_may_be_asked_for,
         a_run_without_rows_fails, table)

sys.exit(tests.run("keys", TESTS))
