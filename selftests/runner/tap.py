# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: reading kselftest TAP. A reader is fed lines, counts, and says how long each test
# took; what was planned and did not come counts as failed. Called by program.py; no I/O.
import dataclasses
import re
import time

# pavo-vm marks the lines of a cluster's nodes
NODE = re.compile(r"^(node\d+)\| ?")
PLAN = re.compile(r"^1\.\.(\d+)(\s*#\s*SKIP\b\s*(.*))?", re.IGNORECASE)
# for people, and not only for the log: what was measured, and the like
SHOWN = re.compile(r"^# shown: (.*\S)")
LINE = re.compile(r"^(not )?ok\b\s*(\d*)\s*-?\s*([^#]*?)\s*(?:#\s*(.*))?$")


@dataclasses.dataclass
class Count:
    """How many passed, failed, were skipped."""
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        """Adds another count to this one."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    @property
    def total(self):
        """All tests that were counted."""
        return self.passed + self.failed + self.skipped

    def __str__(self):
        return (f"{self.passed} passed, {self.failed} failed, "
                f"{self.skipped} skipped")


@dataclasses.dataclass
class Result:
    """One test, or a line for people (kind "note")."""
    kind: str           # pass, fail, skip, note
    name: str
    at: float           # seconds since the program began
    seconds: float      # since the result before it, or since testing began


class Reader:
    """Counts one program's TAP; tells on_result about each test and each such line.
    The time of a node's first test counts from its plan or version: a boot is no test."""

    def __init__(self, on_result=None, clock=time.monotonic):
        self.count = Count()
        self.failures = []
        self.planned = {}
        self.seen = {}
        self.plans = 0
        self.on_result = on_result or (lambda _result: None)
        self.clock = clock
        self.began = clock()
        self.before = {}
        self.last = None

    def feed(self, line):
        """Takes one line of output. Return: the result that it is, or None."""
        self.last = None
        node = NODE.match(line)
        who = node.group(1) if node else ""
        if node:
            line = line[node.end():]
        plan = PLAN.match(line)
        shown = SHOWN.match(line)
        found = LINE.match(line.rstrip())
        if plan:
            self._plan(who, plan)
        elif line.startswith("TAP version"):
            self.before[who] = self.clock()
        elif shown:
            self._tell("note", shown.group(1), who)
            self.last = None
        elif found:
            self._result(who, *found.groups())
        return self.last

    def _tell(self, kind, name, who=""):
        now = self.clock()
        self.last = Result(kind, name, now - self.began,
                           now - self.before.get(who, self.began))
        if kind != "note":
            self.before[who] = now
        self.on_result(self.last)

    def _plan(self, who, plan):
        self.plans += 1
        number = int(plan.group(1))
        self.planned[who] = self.planned.get(who, 0) + number
        if number == 0:
            self._skip(plan.group(3) or "nothing planned", who)
        else:
            self.before[who] = self.clock()

    def _skip(self, reason, who):
        self.count.skipped += 1
        self._tell("skip", reason, who)

    def _result(self, who, negated, _number, name, directive):
        self.seen[who] = self.seen.get(who, 0) + 1
        name = f"{who}: {name}" if who else name
        word = (directive or "").split(" ", 1)
        if word[0].upper() in ("SKIP", "TODO") and not (
                negated and word[0].upper() == "SKIP"):
            self._skip(f"{name}: {directive}", who)
        elif word[0].upper() == "XFAIL":
            self._skip(f"{name}: {directive}", who)
        elif negated:
            self.fail(name, who=who)
        else:
            self.count.passed += 1
            self._tell("pass", name, who)

    def fail(self, name, count=1, who=""):
        """Counts a failure, the program's own or one about the program."""
        self.count.failed += count
        self.failures.append(name)
        self._tell("fail", name, who)

    def end(self, status):
        """The program has ended: holds it to its plan and its exit status."""
        for who in set(self.planned) | set(self.seen):
            missing = self.planned.get(who, 0) - self.seen.get(who, 0)
            label = f"{who}: " if who else ""
            if missing > 0:
                self.fail(f"{label}{missing} planned but never reported",
                          missing)
            if missing < 0:
                self.fail(f"{label}more tests than the plan says "
                          f"({self.seen[who]}, not {self.planned.get(who, 0)})")
        if status not in (0, 4) and not self.count.failed:
            self.fail(f"ended with status {status} but reported no failure")
        elif status in range(240, 246):
            self.fail(f"the guest failed (pavo-vm status {status})")
        elif status == 0 and self.count.total == 0:
            self.fail("reported no test at all")
