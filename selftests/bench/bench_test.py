#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of what the tools say (pavobench/): ratios, medians and the floor (table.py, native.py,
# plot.py), windows (contest.py), keys, many queue pairs and a second CPU (many.py). I/Os of a disk
# are in direct_test.py. Prints TAP. Run by the group unit through Meson; writes into a temporary
# folder only.
import argparse
import contextlib
import io
import json
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from pavobench import (  # noqa: E402  (path set above)
    contest, frame, loss, many, native, plot, sharing, table)
from runner import tests  # noqa: E402

BOTH = ["rxe", "pavo"]


def row(op, test, size, ns, drops=0):
    """A result row of pavo-bench in which every message took ns."""
    # of a latency only the typical time counts, of a stream only the total
    typical, total = (ns, 1) if test == "latency" else (1, ns * 10)
    return {"op": op, "test": test, "size": size, "messages": 10,
            "total_ns": total, "typical_ns": typical, "drops": drops}


def failed(op, test, size):
    """A row without a result."""
    return {"op": op, "test": test, "size": size, "error": "hangs", "drops": 0}


def compare(op, test, size, rxe, pavo):
    """The one line for rounds with these times."""
    return table.compare([{"rxe": [row(op, test, size, a)], "pavo": [row(op, test, size, b)]}
                          for a, b in zip(rxe, pavo)], BOTH)[0]


def ratio_is_of_rounds():
    """Each round's own ratio, then the median: 3, 2, 0.5 -> 2."""
    line = compare("send", "bandwidth", 64, (300, 200, 50), (100, 100, 100))
    assert line["ratios"] == {"rxe": {"median": 2, "min": 0.5, "max": 3, "n": 3}}


def latency_uses_typical():
    """A latency row's total says nothing about one message."""
    line = compare("read", "latency", 2, (500,), (250,))
    assert line["ratios"]["rxe"]["median"] == 2
    assert line["figures"]["rxe"]["ns"]["median"] == 500
    tail = table.with_tails([{**row("write", "lat-1ms-1%", 64, 5), "p999_ns": 9, "each": True}])[1]
    assert tail["test"] == "lat-1ms-1%-p99.9" and table.time_of(tail) == 9


def figures():
    """1 MiB in 1 ms is 1000 MiB/s and 1000 messages/s."""
    found = compare("write", "rate", 2**20, (10**6,), (10**6,))["figures"]["pavo"]
    assert (found["mib_per_s"], found["messages_per_s"]) == (1000, 1000)


def floors():
    """1.0 everywhere, 1.5 for large writes and reads; equality keeps it."""
    for op, size, rxe, pavo, below in (
            ("send", 2, 100, 100, False), ("send", 2, 100, 101, True),
            ("send", 65536, 149, 100, False), ("write", 65536, 149, 100, True),
            ("write", 65536, 150, 100, False), ("read", 2**20, 149, 100, True),
            ("read", 4096, 101, 100, False)):
        line = compare(op, "bandwidth", size, (rxe,), (pavo,))
        assert (table.below_floor([line]) == [line]) == below, (op, size, rxe)


def unequal_rounds():
    """A driver that skipped a test must not go unnoticed, but where that may be."""
    rounds = [{"rxe": [row("send", "rate", 2, 1)], "pavo": []}]
    try:
        table.compare(rounds, BOTH)
    except table.UnequalRounds:
        assert table.compare(rounds, BOTH, same=False)[0]["ratios"] == {}
        return
    raise AssertionError("the table did not notice")


def failures_are_told():
    """A failed test has no ratio, and is named; the other rounds count."""
    bad, good = failed("send", "rate", 2), row("send", "rate", 2, 100)
    rounds = [{"rxe": [bad], "pavo": [good]}, {"rxe": [good], "pavo": [good]}]
    assert table.failures(rounds, BOTH) == {"rxe": ["round 1: rxe: send rate 2: hangs"],
                                            "pavo": []}
    assert table.compare(rounds, BOTH)[0]["ratios"]["rxe"]["n"] == 1
    assert not table.compare(rounds[:1], BOTH)[0]["ratios"]


def tests_without_a_ratio_are_told():
    """One that fails in every round has no ratio, so it must be named; one that
    succeeds once in both drivers is compared."""
    bad, good, other = failed("send", "rate", 2), row("send", "rate", 2, 100), \
        row("read", "rate", 2, 100)
    never = [{"rxe": [bad, other], "pavo": [good, other]}] * 2
    crossed = [{"rxe": [bad], "pavo": [good]}, {"rxe": [good], "pavo": [bad]}]
    told = ["send rate 2: in no round rxe and pavo both finished it, there is no ratio"]
    assert sum(bool(line["ratios"]) for line in table.compare(never, BOTH)) == 1
    assert table.vanished(never, BOTH) == told == table.vanished(crossed, BOTH)
    assert not table.vanished([*crossed, {"rxe": [good], "pavo": [good]}], BOTH)
    assert not table.vanished([{"rxe": [other], "pavo": [other]}], BOTH)


def rounds_that_lack_are_told():
    """A floor that was kept in one round of two is not a floor that is kept."""
    line = compare("send", "rate", 2, (100,), (50,))
    assert table.incomplete([line], 2) == ["send rate 2: compared with rxe in 1 of 2 rounds"]
    assert not table.incomplete([line], 1)


def table_tells():
    """What is below the floor, or dropped packets, is said in words."""
    lines = [compare("write", "bandwidth", 65536, (140,), (100,)),
             compare("write", "latency", 2, (90,), (100,))]
    lines[0]["figures"]["pavo"]["drops"] = 7
    text = table.text("t", lines, BOTH, floors=True)
    assert ("BELOW 1.5" in text and "pavo: 7 packets were dropped" in text
            and "WORSE THAN rxe" in text and "2 rows, 2 below" in text)
    assert "BELOW" not in table.text("t", lines, BOTH)


def table_has_spreads():
    """Least first, of times and of rates."""
    rounds = [{"pavo": [row("send", test, 2, ns) for test in ("latency", "rate")]}
              for ns in (1000, 3000, 2000)]
    text = table.text("t", table.compare(rounds, ["pavo"]), ["pavo"])
    assert "2.00 (1.00 - 3.00)" in text and "500 (333 - 1000)" in text
    assert "2000 (1000 - 3000)" in text


def several(times):
    """Rounds and lines of 64 KiB over the wire, for {driver: (ns of each round)}."""
    rounds = [{name: [row("stream", "wire", 65536, ns[i])] if name == "tcp" else
               [row("write", "wire", 65536, ns[i]), row("read", "wire", 65536, ns[i]),
                row("write", "loopback", 65536, ns[i]), row("write", "wire", 64, ns[i])]
               for name, ns in times.items()}
              for i in range(len(times["pavo"]))]
    return rounds, table.compare(rounds, list(times))


def several_ratios():
    """Each other one has a ratio of its own, of the same round, and a figure."""
    _, lines = several({"pavo": (100, 100, 200), "rxe": (300, 200, 200),
                        "siw": (50, 100, 100)})
    assert len(lines) == 4
    assert lines[0]["ratios"] == {"rxe": {"median": 2, "min": 1, "max": 3, "n": 3},
                                  "siw": {"median": 0.5, "min": 0.5, "max": 1, "n": 3}}
    found = lines[0]["figures"]
    assert found["pavo"]["ns"]["median"] == 100 and found["rxe"]["ns"]["max"] == 300


def several_on_one_wire():
    """The ratio to rdma_rxe is that of pavo on the wire with rules, if it was there; the
    others have that of pavo."""
    _, lines = several({"pavo": (100,), "pavo-rules": (200,), "rxe": (400,), "siw": (400,)})
    assert {name: ratio["median"] for name, ratio in lines[0]["ratios"].items()} == {
        "rxe": 2, "siw": 4}
    assert lines[0]["figures"]["pavo-rules"]["ns"]["median"] == 200


def several_beside_a_stream():
    """A stream stands beside each operation over the wire of its size, nothing else."""
    rounds, lines = several({"pavo": (100, 100), "tcp": (300, 100)})
    assert [(line["op"], line["test"], line["size"]) for line in lines
            if "tcp" in line["ratios"]] == [("write", "wire", 65536), ("read", "wire", 65536)]
    assert lines[0]["ratios"]["tcp"] == {"median": 2, "min": 1, "max": 3, "n": 2}
    assert not table.vanished(rounds, ["pavo", "tcp"])


def several_that_lack_are_told():
    """A driver that failed has no figure; one that failed once is named."""
    bad, good = failed("write", "wire", 65536), row("write", "wire", 65536, 100)
    names, never = ["pavo", "siw"], [{"pavo": [good], "siw": [bad]}]
    lines = table.compare(never, names)
    assert list(lines[0]["figures"]) == ["pavo"] and not lines[0]["ratios"]
    assert table.vanished(never, names) == [
        "write wire 65536: in no round siw and pavo both finished it, there is no ratio"]
    lines = table.compare([{"pavo": [good], "siw": [good]}, *never], names)
    assert table.incomplete(lines, 2) == ["write wire 65536: compared with siw in 1 of 2 rounds"]
    assert not table.incomplete(lines, 1)


def several_without_pavo():
    """Drivers alone are measured, too, and have no ratios."""
    rounds = [{"siw": [row("write", "wire", 64, 100)]}]
    (line,) = table.compare(rounds, ["siw"])
    assert list(line["figures"]) == ["siw"] and not line["ratios"]
    assert not table.vanished(rounds, ["siw"])


def several_tells():
    """Speeds least first, by the unit of their size; the CRC of each driver."""
    _, lines = several({"pavo": (10**6, 2 * 10**6, 4 * 10**6), "rxe": (2 * 10**6,) * 3})
    text = table.text("t", lines, BOTH)
    assert "31.25 (15.62 - 62.50)" in text and "1.00 (0.50 - 2.00)" in text
    assert "0.50 (0.25 - 1.00)" in text and "pavo/rdma_rxe" in text
    title = native.title_of({"guest": {"pavo_crc32": "x", "siw_absent": "no module"},
                             "drivers": BOTH})
    assert title == "\npavo: CRC by x\nsiw: no module"


def wanted(**values):
    """What the command line wants."""
    return argparse.Namespace(**{**dict.fromkeys(
        ("ops", "tests", "sizes", "drivers", "before")), **values})


def native_groups():
    """The user's choice is what the guest is told."""
    assert len(native.groups(wanted())) == 8
    assert native.groups(wanted(ops="send", sizes="64,65536")) == [
        "wire:send:65536:1", "wire:send:64:1", "wire-16qp:send:64:16",
        "wire-cut:send:65536:1", "wire-cut-gro:send:65536:1", "latency:send:64:1"]
    assert native.groups(wanted(tests="loopback")) == ["loopback:write:65536,1048576:1"]
    assert not native.groups(wanted(tests="loopback", ops="read"))
    assert native.groups(wanted(tests="path-1ms-1%", ops="read")) == ["path-1ms-1%:read:65536:1"]
    assert len(native.groups(wanted(tests="paths"))) == len(native.PATHS)
    assert native.groups(wanted(tests="lat-1ms-1%", ops="send")) == ["lat-1ms-1%:send:64:1"]


def native_drivers():
    """rdma_rxe beside pavo wants pavo on its wire."""
    assert native.drivers(wanted()) == [
        "pavo", "pavo-rules", "rxe", "siw", "tcp", "tcp-zerocopy"]
    assert native.drivers(wanted(drivers="pavo,rxe")) == ["pavo", "pavo-rules", "rxe"]
    assert native.drivers(wanted(drivers="rxe")) == ["rxe"]
    assert native.drivers(wanted(drivers="pavo", before="a.ko")) == ["pavo", "before"]


def plot_draws():
    """A bar for each ratio, and the line of 1."""
    _, lines = several({"pavo": (100,), "rxe": (300,), "siw": (200,)})
    picture = plot.draw(lines, "a < b")
    assert picture.startswith("<svg") and picture.count('class="rxe"') == 4
    assert picture.count('class="siw"') == 4 and "3.00" in picture
    # the number of a ratio stands behind its range, of however many rounds that is
    assert picture == plot.draw([{**line, "ratios": {
        name: {**ratio, "n": 99} for name, ratio in line["ratios"].items()}} for line in lines],
        "a < b")
    assert "a &lt; b" in picture and "pavo / siw (kernel TCP)" in picture


def sharing_judges():
    """Rates of queue pairs whose counts wrap, the share of TCP; no round that was not finished."""
    assert sharing.jain([5, 5, 5, 5]) == 1 and sharing.jain([1, 0, 0, 0]) == 0.25
    assert sharing.jain([]) == 0

    def look(seconds, *counts):
        pairs = [{"qpn": number, "type": "RC", "details": {"sq_completed": count}}
                 for number, count in enumerate(counts)]
        pairs.append({"qpn": 99, "type": "GSI", "details": {"sq_completed": 0}})
        return f"{seconds}\n{json.dumps([{'queue_pairs': pairs}])}"

    with tempfile.TemporaryDirectory() as name:
        folder, run = pathlib.Path(name), "1-red:2:1:dctcp"
        (folder / f"{run}.begin").write_text(look(10.5, 2 ** 32 - 1000, 0))
        (folder / f"{run}.end").write_text(look(14.5, 1000, 1000))
        for when, marked in (("begin", 5), ("end", 20)):
            (folder / f"{run}.{when}.queue").write_text(
                f"Sent 1 bytes 1 pkt (dropped {marked // 4 + 1}, overlimits 4)\n marked {marked}")
        (folder / f"{run}.tcp1").write_text(
            '{"end": {"sum_received": {"bits_per_second": 131072000}}}')
        (row, none) = sharing.judge(folder, ["red:2:1:dctcp", "red:1:0"], 2)
    one, = row["rounds"]
    assert [round(rate, 3) for rate in one["pairs"]] == [262.144, 131.072]
    assert one["streams"] == [131.072] and round(one["tcp_of_fair"], 3) == 0.75
    assert round(one["jain"], 3) == 0.9 and not none["rounds"] and none["jain"] is None
    assert [one[key] for key in ("dropped_at_start", "dropped", "marked")] == [2, 4, 15]
    assert "0.75" in sharing.text([row, none]) and "no result" in sharing.text([row, none])


def loss_draws():
    """A curve for each driver and operation of the paths of 1 ms, and what was sent in vain."""
    lines = [{"op": "write", "test": test, "figures": {
        name: {"mib_per_s": speed} for name, speed in speeds.items()}}
        for test, speeds in (("path-1ms-0%", {"pavo": 100, "siw": 50}),
                             ("path-1ms-1%", {"pavo": 80, "siw": 5}),
                             ("path-20ms-0%", {"pavo": 1000}), ("wire", {"pavo": 5000}))]
    assert loss.curves(lines, "write") == {"pavo": [(0, 100), (1, 80)], "siw": [(0, 50), (1, 5)]}
    picture = loss.draw(lines, [(0, 0), (1, 0.5)], "a < b")
    assert picture.count("<polyline") == 3 and "a &lt; b" in picture and ">100<" in picture
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, vain in ((1, 4), (2, 8), (3, 6)):
            file = folder / f"{number}-pavo.path-1ms-1%.write.counters"
            (folder / (file.name + ".before")).write_text("bench0 tx_packets 100\n")
            file.write_text(f"bench0 tx_packets 300\nbench1 duplicate_request {vain}\n")
        assert loss.needless(folder, "pavo", "write") == [(1.0, 3.0)]
        assert loss.needless(folder, "pavo", "send") == []


def plot_leaves_out_streams_of_small_writes():
    """Beside 64 KiB a stream is a measure of system calls, and siw is the kernel's TCP."""
    ratio = {"median": 2, "min": 1, "max": 3}
    lines = [{"op": "write", "test": "wire", "size": size, "ratios": {"siw": ratio, "tcp": ratio}}
             for size in (1 << 16, 1 << 20)]
    picture = plot.draw(lines, "")
    assert picture.count('class="siw"') == 2 and picture.count('class="tcp"') == 1


def contest_ratio_is_of_rounds():
    """That of each round with windows of the same round; others have none."""
    rounds = [{"windows": [row("send", "rate", 2, w)],
               "rxe": [row("send", "rate", 2, r), row("send", "rate", 64, 1)]}
              for w, r in ((100, 300), (100, 200), (400, 100))]
    first, second = table.compare(rounds, ["windows", "rxe"], contest.FIRST, same=False)
    assert first["ratios"]["rxe"] == {"median": 2, "min": 0.25, "max": 3, "n": 3}
    assert first["figures"]["windows"]["ns"] == {"median": 100, "min": 100, "max": 400, "n": 3}
    assert list(second["figures"]) == ["rxe"] and not second["ratios"]


def wire(ahead, packets=1000):
    """The rows of a wire that sent so many of the packets ahead."""
    return [[{"kind": "noqueue", "packets": 7, "requeues": 7},
             {"kind": "netem", "packets": packets, "requeues": ahead}]]


def reorder(*rounds):
    """What is found of rounds that took so long, with so many of 1000 packets ahead; those that
    have no rows are left out."""
    return contest.reordering(
        [{"windows": ([row("write", "bandwidth", 65536, 100)],
                      [row("write", "bandwidth", 65536, ns)], wire(part)),
          "rxe-ud": ([], [], wire(0, 0))} for ns, part in rounds])


def contest_reordering():
    """Half as much goodput is 0.5, by rounds."""
    found, refused = reorder((100, 100), (200, 200), (400, 400))
    assert list(found) == ["windows"] and not refused
    assert found["windows"]["ratio"] == {"median": 0.5, "min": 0.25, "max": 1, "n": 3}
    assert found["windows"]["ahead"] == {"median": 0.2, "min": 0.1, "max": 0.4, "n": 3}


def contest_refuses():
    """A wire that did not send about a quarter ahead says nothing of reordering."""
    for part in (200, 250, 300):
        found, refused = reorder((200, part))
        assert "windows" in found and not refused, part
        assert f"{part / 10:.1f} ({part / 10:.1f} - " in contest.text(found, [])
    for parts in ((0,), (70,), (199,), (301,), (250, 70, 71)):
        found, refused = reorder(*((200, part) for part in parts))
        assert not found and list(refused) == ["windows"], parts
    assert refused["windows"].startswith("windows: of the packets 7.1 (7.0 - 25.0) % were sent")
    # what was not looked at is none
    found, refused = contest.reordering(
        [{"rxe": ([row("write", "bandwidth", 65536, 1)],) * 2 + ([],)}])
    assert not found and refused["rxe"].startswith("rxe: of the packets 0.0 (")


def contest_below():
    """Only windows have to keep their goodput."""
    left = {"windows": {"ratio": {"median": 0.94}}, "rxe": {"ratio": {"median": 0.1}}}
    told = contest.below(left)
    left["windows"]["ratio"]["median"] = 0.95
    assert (len(told) == 1 and "0.94" in told[0] and not contest.below(left)
            and not contest.below({}))


def contest_tells():
    """Failures have a line, and every figure its spread."""
    rounds = [{"windows": [row("write", "bandwidth", 65536, 10**6)],
               "rxe": [failed("write", "bandwidth", 65536)]}]
    names = ["windows", "rxe"]
    text = table.text("t", table.compare(rounds, names, contest.FIRST, same=False), names,
                      contest.FIRST)
    assert "62.50 (62.50 - 62.50)" in text and table.failures(rounds, names)["rxe"] == [
        "round 1: rxe: write bandwidth 65536: hangs"]
    assert "2 ns    (1 - 3), n 3" in contest.text({}, contest.idle(
        [{"what": "opening", "windows": 7, "unit": "ns", "value": value} for value in (1, 3, 2)]))
    told = contest.idle([{**row("send", test, 64, 5), "windows": 9} for test in ("latency", "rate")])
    assert [(line["what"], line["median"]) for line in told] == [
        ("message there", 5), ("message of many", 5)]


def nodes_tell_packets():
    """Those of an operation, by rounds, in both ways; streams and failures have none."""
    def sent(packets):
        return [{**row("cast2", "one", 4096, 1), "tx_packets": packets},
                row("stream", "wire", 65536, 1), failed("third", "one", 4096)]

    said = contest.packets_text([{"with": sent(10), "without": sent(20)},
                                 {"with": sent(30), "without": sent(20)}])
    line = said.splitlines()[-1]
    assert line.split()[:3] == ["cast2", "one", "4096"], line
    assert "2.0 (1.0 - 3.0)" in line and "2.0 (2.0 - 2.0)" in line
    assert "stream" not in said and "third" not in said


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
        {"what": "longest write", "qps": 256, "walking": True, "ns": 12345}]), "keys")
    assert ("walk, qps 256" in said and "longest write, qps 256, walking true" in said
            and "12,345" in said and "1,024      1 " + "#" * 50 in said and "18,432" in said)


def a_run_with_something_wrong_fails():
    """Where something is too dear, or was not measured."""
    judged = [many.judge(rows, "keys", 1000000)
              for rows in (all_rows(), [], all_rows() + [write(1000000, 1000)] * 2)]
    assert [is_bad for *_, is_bad in judged] == [False, True, True]
    assert "NOT MEASURED: the loop" in judged[1][0] and "OUT OF BOUNDS: write among" in judged[2][0]
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
    assert line.startswith("write among 16,384 queue pairs") and "1.11" in line
    [line] = bad(both(1200), "scale")
    assert "1.54" in line, line


def scale_wants_all():
    """Every count up to the most; both sizes on two CPUs."""
    rows = crowd((1, 100), (16, 100)) + both(1000)
    assert missing(rows, "scale", 16) == ["two CPUs to one, 65536 bytes"]
    rows += both(1000, size=65536)
    assert not missing(rows, "scale", 16)
    assert missing(rows[:1] + rows[2:], "scale", 300) == [
        "write among 16 queue pairs", "write among 256 queue pairs"]
    assert "1.20" in many.text(many.series(crowd((1, 100), (16, 120))), "scale")


TESTS = (ratio_is_of_rounds, latency_uses_typical, figures, floors,
         unequal_rounds, failures_are_told, tests_without_a_ratio_are_told,
         rounds_that_lack_are_told, table_tells, table_has_spreads,
         several_ratios, several_on_one_wire, several_beside_a_stream,
         several_that_lack_are_told, several_without_pavo, several_tells, native_groups,
         native_drivers, plot_draws, sharing_judges, loss_draws, plot_leaves_out_streams_of_small_writes,
         contest_ratio_is_of_rounds, contest_reordering, contest_refuses, contest_below,
         contest_tells, nodes_tell_packets,
         keys_gathers_rows, keys_percentiles, keys_histograms, keys_has_bounds,
         keys_misses_what_was_not_measured, keys_table, a_run_with_something_wrong_fails,
         files_are_left, scale_overlap_is_from_first_to_last, scale_rounds_and_sizes_are_apart,
         scale_has_bounds, scale_wants_all)

sys.exit(tests.run("bench", TESTS))
