# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: one run of chosen items - their kernels, their logs, what is told meanwhile, the
# totals and the account of time. Called by main.py; writes build/test-logs.
import dataclasses
import datetime
import os
import shutil
import subprocess
import threading
import time

from . import groups, measure, report, schedule, tap
from .program import Execution, stamp
from .screen import Screen


@dataclasses.dataclass
class Group:
    """The items of one group as they end."""
    waiting: int = 0
    began: bool = False
    seconds: float = 0.0
    count: tap.Count = dataclasses.field(default_factory=tap.Count)
    folders: dict = dataclasses.field(default_factory=dict)     # as a set, in order


def find_release(kernel, quiet=False):
    """The release of a kernel by its name, or "" after pavo-vm has said why."""
    done = subprocess.run(
        [str(groups.VM), "kernels", "--release", kernel or "default"], check=False,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL if quiet else None)
    return done.stdout.decode().strip() if done.returncode == 0 else ""


def shown(item):
    """How the screen names an item: without what nearly all have in common."""
    return item.name.removesuffix("@default")


class Session:
    """One call of selftests/run."""

    def __init__(self, options, items, durations):
        self.options = options
        self.items = items
        self.durations = durations
        self.screen = Screen()
        self.running = set()
        self.lock = threading.Lock()        # of all below: items end in threads
        self.releases = {}
        self.groups = {}
        self.account = []
        self.failed = []
        self.began = datetime.datetime.now(datetime.timezone.utc)

    def folder(self, item):
        """Where an item logs."""
        return groups.logs_folder(item.kernel or self.options.kernel) / item.group

    def duration_name(self, item):
        """The name of the kept duration."""
        wide = os.environ.get("PAVO_WIDE") or item.row.env.get("PAVO_WIDE")
        return item.name + ("+wide" if wide else "")

    def expected(self, item):
        """Seconds that it will take."""
        like = item.name if item.kernel in ("", "default") else f"{item.key}@default"
        return self.durations.expected(self.duration_name(item), item.kernel, like)

    # --- before ------------------------------------------------------------------------

    def _without(self, kernel):
        """Why items of the kernel cannot run: (all of them, those with the module)."""
        make = "" if kernel == "default" else f" KERNEL={kernel}"
        release = self.releases[kernel] = find_release(kernel)
        if not release:
            return f"kernel {kernel} is not there; get it: make kernel{make}", ""
        module = groups.BUILD / f"kernel/{release}/pavo.ko"
        if not module.is_file():
            return "", (f"kernel {kernel}: {os.path.relpath(module)} is not built; "
                        f"build it: make modules{make}")
        return "", ""

    def _drop_unready(self):
        """Fails the items that have no kernel or no module."""
        for kernel in sorted({item.kernel for item in self.items if item.kernel}):
            why_all, why_module = self._without(kernel)
            for item in [i for i in self.items if i.kernel == kernel]:
                if why_all or (why_module and item.row.module):
                    self.items.remove(item)
                    self.groups.setdefault(item.group, Group()).count.failed += 1
            if why_all or why_module:
                self.screen.line(why_all or why_module)

    def _prepare(self):
        """Fresh folders, and a group for each item."""
        self._drop_unready()
        for item in self.items:
            group = self.groups.setdefault(item.group, Group())
            group.waiting += 1
            group.folders[self.folder(item)] = True
        for group in self.groups.values():
            for folder in group.folders:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
        if any(not item.kernel for item in self.items) and "" not in self.releases:
            self.releases[""] = find_release(self.options.kernel, quiet=True)

    # --- one item ----------------------------------------------------------------------

    def play(self, item):
        """Runs an item from its start to its place in the account."""
        self._begin_item(item)
        log = self.folder(item) / item.log_name
        env = groups.environment(item, self.releases[item.kernel], self.options.kernel)
        execution = Execution(item.program, env, log,
                              lambda result: self._on_result(item, execution, result))
        self.running.add(execution)
        self.screen.status(shown(item))
        at, began = self.screen.began, time.monotonic()
        reader = execution.run()
        self.running.discard(execution)
        seconds = time.monotonic() - began
        if reader.failures and not self.screen.live:
            self._show_failures(log)
        with self.lock:
            if reader.failures:
                self.failed.append(log)
            self._keep_item(item, execution, began - at, seconds)
            self._keep_durations(item, execution, seconds)
            self._end_item(item, reader.count, seconds)

    def _begin_item(self, item):
        group = self.groups[item.group]
        with self.lock:
            first, group.began = not group.began, True
        if first:
            self.screen.line(f"[{self.screen.elapsed()}] {item.group}")

    def _keep_item(self, item, execution, began, seconds):
        """For the account of the run."""
        self.account.append({
            "name": item.name, "group": item.group, "part": item.part,
            "kernel": item.kernel, "seats": item.seats, "began": round(began, 3),
            "seconds": round(seconds, 3), "cpu": round(execution.cpu, 3),
            **dataclasses.asdict(execution.reader.count),
            "tests": [{"name": r.name, "result": r.kind, "at": round(r.at, 3),
                       "seconds": round(r.seconds, 3)} for r in execution.results]})

    def _on_result(self, item, execution, result):
        now = execution.reader.count
        self.screen.status(f"{shown(item)}: {now.total} done, {now.failed} failed; "
                           f"{result.name}")
        told = f"{shown(item)}: {result.name}"
        if result.kind == "fail":
            self.screen.line("  " + self.screen.colour(31, f"not ok {told}"))
        elif self.options.verbose and result.kind != "note":
            self.screen.line(f"  {result.kind} {told} {stamp(result)}")
        elif result.kind in ("skip", "note"):
            self.screen.line(f"  {result.kind} {told}")

    def _show_failures(self, log):
        lines = log.read_text(errors="replace").splitlines()
        self.screen.line(f"  --- of {os.path.relpath(log)}",
                         *(f"  | {line}" for line in report.pick_failures(lines)))

    def _keep_durations(self, item, execution, seconds):
        """What failed took as long as it took to fail."""
        name = self.duration_name(item)
        if execution.reader.count.failed == 0:
            self.durations.note("items", name, seconds)
        for result in execution.results:
            if result.kind == "pass":
                self.durations.note("tests", f"{name}: {result.name}", result.seconds)

    def _end_item(self, item, count, seconds):
        group = self.groups[item.group]
        group.count.add(count)
        group.seconds += seconds
        group.waiting -= 1
        if group.waiting:
            return
        if group.count.passed + group.count.failed == 0 and self.options.only:
            self.screen.line(f"  {item.group}: asked for, but no test ran")
            group.count.failed += 1
        logs = ", ".join(os.path.relpath(folder) for folder in group.folders)
        self.screen.line(f"[{self.screen.elapsed()}] {item.group} took "
                         f"{group.seconds:.0f} s, log in {logs}", str(group.count))

    # --- all of them -------------------------------------------------------------------

    def _boots(self):
        """The machines of all groups; their times are kept, too."""
        boots = []
        for name, group in self.groups.items():
            for folder in group.folders:
                kernel = "" if folder.parent.name == "test-logs" else folder.parent.name
                for boot in measure.read_boots(folder):
                    boots.append({"group": name, "kernel": kernel or "default",
                                  **dataclasses.asdict(boot)})
                    if boot.seconds:
                        self.durations.note("boots", f"{name}@{kernel or 'default'}",
                                            boot.seconds)
        return boots

    def _take_account(self):
        """Writes what this run took, tells it in short, keeps it for later runs."""
        since = self.durations.compiled
        commands = measure.read_ninja_log(groups.BUILD / ".ninja_log")
        account = report.make_account(self.account, self._boots(), commands, since)
        account["began"] = self.began.isoformat(timespec="seconds")
        account["seconds"] = round(time.monotonic() - self.screen.began, 3)
        path = self.options.times or \
            groups.logs_folder(self.options.kernel) / "times.json"
        report.save_account(account, path)
        self.screen.line(*report.tell_account(account))
        if self.options.forget:
            return
        for command in commands:
            if command.when > since:
                self.durations.note("compile", command.name, command.seconds)
                self.durations.compiled = max(self.durations.compiled, command.when)
        self.durations.save()

    def _kernel_names(self):
        """The kernels of this run with their releases."""
        return ", ".join(release if kernel in ("", "default") else f"{kernel} ({release})"
                         for kernel, release in sorted(self.releases.items())
                         if release and (kernel or len(self.releases) == 1)) or "none"

    def run(self, failed=0):
        """Runs all; `failed` is what has failed before. Returns the exit status."""
        self._prepare()
        schedule.run_items(
            schedule.Board(self.items, self.options.jobs, self.expected), self.play)
        self._take_account()
        # Again: who reads the end of a long log wants to know why.
        for log in self.failed:
            self._show_failures(log)
        total = tap.Count(failed=failed)
        self.screen.line(f"[{self.screen.elapsed()}] kernel {self._kernel_names()}")
        for name, group in self.groups.items():
            total.add(group.count)
            self.screen.line(f"{name:>12}: {group.count} ({group.seconds:.0f} s)")
        self.screen.line(str(total))
        return 1 if total.failed or total.passed == 0 else 0
