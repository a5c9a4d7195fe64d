#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of what make bench and make bench-windows say (pavobench/table.py, native.py, plot.py,
# contest.py): ratios, medians, the floor. Prints TAP. Run by the group unit through Meson; touches
# nothing.
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from pavobench import contest, native, plot, table  # noqa: E402  (path set above)
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


class Wanted:
    """What the command line wants."""
    ops = tests = sizes = drivers = before = None

    def __init__(self, **values):
        self.__dict__.update(values)


def native_groups():
    """The user's choice is what the guest is told."""
    assert len(native.groups(Wanted())) == 7
    assert native.groups(Wanted(ops="send", sizes="64,65536")) == [
        "wire:send:65536:1", "wire:send:64:1", "wire-16qp:send:64:16",
        "wire-cut:send:65536:1", "wire-cut-gro:send:65536:1", "latency:send:64:1"]
    assert native.groups(Wanted(tests="loopback")) == ["loopback:write:65536,1048576:1"]
    assert not native.groups(Wanted(tests="loopback", ops="read"))


def native_drivers():
    """rdma_rxe beside pavo wants pavo on its wire."""
    assert native.drivers(Wanted()) == [
        "pavo", "pavo-rules", "rxe", "siw", "tcp", "tcp-zerocopy"]
    assert native.drivers(Wanted(drivers="pavo,rxe")) == ["pavo", "pavo-rules", "rxe"]
    assert native.drivers(Wanted(drivers="rxe")) == ["rxe"]
    assert native.drivers(Wanted(drivers="pavo", before="a.ko")) == ["pavo", "before"]


def plot_draws():
    """A bar for each ratio, and the line of 1."""
    _, lines = several({"pavo": (100,), "rxe": (300,), "siw": (200,)})
    picture = plot.draw(lines, "a < b")
    assert picture.startswith("<svg") and picture.count('class="rxe"') == 4
    assert picture.count('class="siw"') == 4 and "3.00" in picture
    assert "a &lt; b" in picture and "pavo / siw (kernel TCP)" in picture


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


TESTS = (ratio_is_of_rounds, latency_uses_typical, figures, floors,
         unequal_rounds, failures_are_told, tests_without_a_ratio_are_told,
         rounds_that_lack_are_told, table_tells, table_has_spreads,
         several_ratios, several_on_one_wire, several_beside_a_stream,
         several_that_lack_are_told, several_without_pavo, several_tells, native_groups,
         native_drivers, plot_draws, plot_leaves_out_streams_of_small_writes,
         contest_ratio_is_of_rounds, contest_reordering, contest_refuses, contest_below,
         contest_tells)

sys.exit(tests.run("bench", TESTS))
