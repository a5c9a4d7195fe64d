# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: reading kselftest TAP. A reader is fed lines and counts; what was
# planned and did not come counts as failed. Called by groups.py; no I/O.
import dataclasses
import re

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


class Reader:
    """Counts one program's TAP; tells on_result about each test and each such line."""

    def __init__(self, on_result=None):
        self.count = Count()
        self.failures = []
        self.planned = {}
        self.seen = {}
        self.plans = 0
        self.on_result = on_result or (lambda *_: None)

    def feed(self, line):
        """Takes one line of output."""
        node = NODE.match(line)
        who = node.group(1) if node else ""
        if node:
            line = line[node.end():]
        plan = PLAN.match(line)
        if plan:
            self._plan(who, plan)
            return
        shown = SHOWN.match(line)
        if shown:
            self.on_result("note", shown.group(1))
            return
        found = LINE.match(line.rstrip())
        if found:
            self._result(who, *found.groups())

    def _plan(self, who, plan):
        self.plans += 1
        number = int(plan.group(1))
        self.planned[who] = self.planned.get(who, 0) + number
        if number == 0:
            self._skip(plan.group(3) or "nothing planned")

    def _skip(self, reason):
        self.count.skipped += 1
        self.on_result("skip", reason)

    def _result(self, who, negated, _number, name, directive):
        self.seen[who] = self.seen.get(who, 0) + 1
        name = f"{who}: {name}" if who else name
        word = (directive or "").split(" ", 1)
        if word[0].upper() in ("SKIP", "TODO") and not (
                negated and word[0].upper() == "SKIP"):
            self._skip(f"{name}: {directive}")
        elif word[0].upper() == "XFAIL":
            self._skip(f"{name}: {directive}")
        elif negated:
            self.fail(name)
        else:
            self.count.passed += 1
            self.on_result("pass", name)

    def fail(self, name, count=1):
        """Counts a failure, the program's own or one about the program."""
        self.count.failed += count
        self.failures.append(name)
        self.on_result("fail", name)

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
