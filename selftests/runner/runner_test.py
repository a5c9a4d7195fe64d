#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of what the runner makes of a program (program.py, tap.py), through which every
# verdict of every test passes: what is reported is counted and has its time, and what is
# not is a failure. Small shell scripts stand in for test programs. Prints TAP. Run by the group unit through
# Meson; writes into temporary folders only.
import pathlib
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from runner import report, tap, tests  # noqa: E402  (path set above)
from runner.program import Execution, Program  # noqa: E402


def play(script, **how):
    """Runs it as a test program; returns (passed, failed, skipped), failures."""
    program = Program("stand-in", ["sh", "-c", script], cwd="/", **how)
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "tap.log")
        reader = Execution(program, {"PATH": "/usr/bin:/bin"}, log).run()
        assert log.read_text().endswith("\n")
    count = reader.count
    return (count.passed, count.failed, count.skipped), reader.failures


def prints(*lines, status=0):
    """A program that says these lines and ends."""
    return play("".join(f"echo '{line}'\n" for line in lines) + f"exit {status}")


def what_is_reported_is_counted():
    """Each kind of line once, in a program that owns up to its failure."""
    found = prints("1..4", "ok 1 one", "not ok 2 two", "ok 3 # SKIP no room",
                   "ok 4 four", "# ok 5 is talk", status=1)
    assert found == ((2, 1, 1), ["two"]), found


def what_was_planned_has_to_come():
    """A program that stops in the middle, whatever its status."""
    found = prints("1..5", "ok 1 one", "ok 2 two")
    assert found == ((2, 3, 0), ["3 planned but never reported"]), found
    found = prints("1..3", "ok 1 one", status=139)
    assert found[0] == (1, 2, 0), found


def more_than_was_planned():
    """Tests beyond the plan: one of the numbers is wrong."""
    found = prints("1..1", "ok 1 one", "ok 2 two")
    assert found[0] == (2, 1, 0), found


def a_status_that_nothing_explains():
    """All ok, but it ended with an error, or was killed."""
    assert prints("1..1", "ok 1 one", status=1)[0] == (1, 1, 0)
    found = play("echo 1..1; echo ok 1 one; kill -SEGV $$")
    assert found[0] == (1, 1, 0), found


def a_guest_that_failed():
    """A report of its kernel counts beside whatever its tests said."""
    assert prints("1..1", "ok 1 one", status=240)[0] == (1, 1, 0)
    found = prints("1..1", "not ok 1 one", status=240)
    assert found == ((0, 2, 0), ["one", "the guest failed (pavo-vm status 240)"]), found


def nothing_at_all():
    """Silence is no success; a plan of none is skipped."""
    assert prints()[0] == (0, 1, 0)
    assert prints("hello", status=4)[0] == (0, 0, 0)
    assert prints("1..0 # SKIP no such kernel")[0] == (0, 0, 1)


def each_node_has_its_plan():
    """What one node reports too much does not make up for another."""
    found = prints("node1| 1..2", "node2| 1..2", "node1| ok 1 a", "node1| ok 2 b",
                   "node1| ok 3 c", "node2| ok 1 d")
    assert found[0] == (4, 2, 0), found


def by_status_alone():
    """Programs that speak no TAP."""
    assert play("exit 0", protocol="exit")[0] == (1, 0, 0)
    assert play("exit 77", protocol="exit")[0] == (0, 0, 1)
    assert play("exit 3", protocol="exit")[0] == (0, 1, 0)


def one_that_does_not_end():
    """It is ended with all that it started, and has failed."""
    (_, failed, _), why = play("sleep 1000 & echo 1..1; wait", timeout=0.2)
    assert failed == 1, why


def one_that_does_not_start():
    """A program that was not built."""
    program = Program("missing", ["/nonexistent/program"], cwd="/")
    with tempfile.TemporaryDirectory() as folder:
        reader = Execution(program, {}, pathlib.Path(folder, "log")).run()
    assert (reader.count.failed, reader.count.passed) == (1, 0)


def one_that_is_killed_first():
    """A run may be interrupted while it starts a program: nothing is left of that."""
    with tempfile.TemporaryDirectory() as folder:
        began = pathlib.Path(folder, "began")
        execution = Execution(
            Program("stand-in", ["sh", "-c", f"echo >{began}"], cwd="/"), {},
            pathlib.Path(folder, "log"))
        execution.kill()
        reader = execution.run()
        assert not began.exists()
    assert (reader.count.failed, reader.count.passed) == (1, 0), reader.failures


def cpu_seconds_are_counted():
    """Of the program and of what it started and waited for; waiting costs none."""
    def cpu_of(script):
        program = Program("busy", ["sh", "-c", script], cwd="/")
        with tempfile.TemporaryDirectory() as folder:
            execution = Execution(program, {"PATH": "/usr/bin:/bin"},
                                  pathlib.Path(folder, "log"))
            execution.run()
        return execution.cpu

    burn = "timeout -s INT 0.3 sh -c 'while :; do :; done'"
    idle, busy = cpu_of("sleep 0.3; echo 1..0"), cpu_of(f"{burn}; {burn}; echo 1..0")
    assert 0 < idle < busy, (idle, busy)


def timed(*lines):
    """Feeds (seconds, line) by a clock of its own; returns (name, at, seconds) of each."""
    now, found = [0.0], []
    reader = tap.Reader(found.append, clock=lambda: now[0])
    for now[0], line in lines:
        reader.feed(line)
    return [(r.name, r.at, r.seconds) for r in found if r.kind != "note"]


def each_result_has_its_time():
    """Since the program began, and since the result before."""
    found = timed((1.0, "ok 1 one"), (1.5, "# shown: talk"), (4.0, "not ok 2 two"),
                  (4.5, "ok 3 # SKIP no"))
    assert [f[1:] for f in found] == [(1.0, 1.0), (4.0, 3.0), (4.5, 0.5)], found


def a_boot_is_no_part_of_a_test():
    """Before the version or the plan there was no test; a plan at the end is no start."""
    found = timed((30.0, "TAP version 13"), (31.0, "1..2"), (33.0, "ok 1 one"),
                  (34.0, "ok 2 two"), (60.0, "1..1"), (61.0, "ok 3 another guest's"))
    assert [f[2] for f in found] == [2.0, 1.0, 1.0], found
    found = timed((30.0, "node1| TAP version 13"), (33.0, "node1| ok 1 one"),
                  (33.0, "node1| 1..1"))
    assert found == [("node1: one", 33.0, 3.0)], found


def nodes_do_not_share_a_clock():
    """Each node's time is since its own result before."""
    found = timed((10.0, "node1| 1..2"), (11.0, "node2| 1..1"), (12.0, "node1| ok 1 a"),
                  (14.0, "node2| ok 1 b"), (15.0, "node1| ok 2 c"))
    assert [f[2] for f in found] == [2.0, 3.0, 3.0], found


def the_log_has_the_times():
    """Beside each result, and nowhere else."""
    script = "echo 1..1; echo '# talk'; echo ok 1 one"
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "tap.log")
        execution = Execution(Program("stand-in", ["sh", "-c", script]), {}, log)
        execution.run()
        lines = log.read_text().splitlines()
    assert lines[1:3] == ["1..1", "# talk"], lines
    assert re.fullmatch(r"\[\d+\.\d\d s, \+\d+\.\d\d\] ok 1 one", lines[3]), lines
    assert [r.name for r in execution.results] == ["one"], execution.results


def a_failure_is_shown_with_its_reasons():
    """Those before and behind its result, and none of others; without a failed result the
    end of the log is shown."""
    passed = [f"[{n}.00 s, +1.00] ok {n} fine" for n in range(200)]
    bad = ["# grew by 2", "[200.00 s, +1.00] node1| not ok 201 bad", "# and why", "# node1"]
    picked = report.pick_failures(passed + bad + passed)
    assert picked == ["[...]", *bad], picked
    noise = ["noise"] * 100
    picked = report.pick_failures(noise + bad + noise)
    assert len(picked) == 1 + report.BEFORE + report.BEHIND, picked
    assert report.pick_failures(passed) == passed[-40:]
    assert report.pick_failures(["not ok 1 a"]) == ["not ok 1 a"]
    assert len(report.pick_failures(["not ok 1 a"] * 1000)) == report.MOST


TESTS = (what_is_reported_is_counted, what_was_planned_has_to_come,
         more_than_was_planned, a_status_that_nothing_explains, a_guest_that_failed,
         nothing_at_all, each_node_has_its_plan, by_status_alone, cpu_seconds_are_counted,
         one_that_does_not_end, one_that_does_not_start,
         one_that_is_killed_first, each_result_has_its_time,
         a_boot_is_no_part_of_a_test, nodes_do_not_share_a_clock, the_log_has_the_times,
         a_failure_is_shown_with_its_reasons)

sys.exit(tests.run("runner", TESTS))
