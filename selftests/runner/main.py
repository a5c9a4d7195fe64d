# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the command `selftests/run` - which groups, what is shown, the totals
# and the exit status. Called by ../run; writes build/test-logs.
import argparse
import concurrent.futures
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

from . import groups, tap

USAGE = """\
A group ends with the line 'N passed, N failed, N skipped'; so does the whole.
What a test says in a line '# shown: ...' is.
Exit status: 0 all well, 1 something failed or a group ran no test.
Test programs find in their environment: PAVO_TREE, PAVO_BUILD, PAVO_VM (the
guest tool), PAVO_KERNEL (kernel to boot, pavo-vm reads it itself), PAVO_KO (the
module built for it), IBV_DRIVERS (the provider of the build folder), PAVO_LOGS
(folder for logs; pavo-vm puts its own there).
"""


class Screen:
    """Progress: a live line on a terminal, plain lines elsewhere."""

    def __init__(self):
        self.began = time.monotonic()
        self.live = sys.stdout.isatty()
        self.shown = False
        self.lock = threading.Lock()

    def elapsed(self):
        """Minutes and seconds since the start."""
        seconds = int(time.monotonic() - self.began)
        return f"{seconds // 60:2d}:{seconds % 60:02d}"

    def line(self, *lines):
        """Lines that stay, and stay together."""
        with self.lock:
            self._clear()
            print(*lines, sep="\n", flush=True)

    def status(self, text):
        """The live line, on a terminal only."""
        if not self.live:
            return
        with self.lock:
            width = shutil.get_terminal_size().columns
            sys.stdout.write(f"\r\033[K{self.elapsed()} {text}"[:width + 4])
            sys.stdout.flush()
            self.shown = True

    def colour(self, code, text):
        """Text in colour on a terminal."""
        return f"\033[{code}m{text}\033[0m" if self.live else text

    def _clear(self):
        if self.shown:
            sys.stdout.write("\r\033[K")
            self.shown = False


class Seats:
    """So many guests may run at a time. Who came first is seated first: a wide
    group waits for seats, it is not overtaken."""

    def __init__(self, number):
        self.number = number
        self.free = number
        self.door = threading.Lock()
        self.left = threading.Condition()

    @contextlib.contextmanager
    def taken(self, wanted):
        """Holds `wanted` seats, or all there are."""
        wanted = min(wanted, self.number)
        with self.door, self.left:
            self.left.wait_for(lambda: self.free >= wanted)
            self.free -= wanted
        try:
            yield
        finally:
            with self.left:
                self.free += wanted
                self.left.notify_all()


class Session:
    """One call of selftests/run."""

    def __init__(self, options):
        self.options = options
        self.screen = Screen()
        self.logs = groups.BUILD / "test-logs"
        if options.kernel:
            self.logs /= options.kernel
        self.release = self._release() if self._boots() else ""
        self.running = set()

    def _boots(self):
        """Whether there will be guests; without them no kernel has to be here."""
        return not self.options.only \
            or any(n not in groups.HOST_GROUPS for n in self.options.only)

    def _release(self):
        command = [str(groups.TREE / "qemu-scripts/pavo-vm"), "kernels",
                   "--release", self.options.kernel or "default"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(1)
        return done.stdout.decode().strip()

    def run_group(self, name, programs):
        """Runs a group's programs; returns its count."""
        folder = self.logs / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        began = time.monotonic()
        self.screen.line(f"[{self.screen.elapsed()}] {name}")
        count = tap.Count()
        env = groups.environment(name, self.options.kernel or "",
                                 self.release, self.logs)
        for program in programs:
            reader = self._run_program(name, program, env, folder, count)
            count.add(reader.count)
        if count.passed + count.failed == 0 and name in self.options.only:
            self.screen.line(f"  {name}: asked for, but no test ran")
            count.failed += 1
        self.screen.line(f"[{self.screen.elapsed()}] {name} took "
                         f"{time.monotonic() - began:.0f} s, log in "
                         f"{os.path.relpath(folder)}", str(count))
        return count

    def _run_program(self, group, program, env, folder, before):
        log = folder / "tap.log"

        def on_result(kind, name):
            now = execution.reader.count
            done = before.total + now.total
            failed = before.failed + now.failed
            self.screen.status(f"{group}: {done} done, {failed} failed; {name}")
            if kind == "fail":
                self.screen.line("  " + self.screen.colour(
                    31, f"not ok {group}: {name}"))
            elif self.options.verbose or kind in ("skip", "note"):
                self.screen.line(f"  {kind} {group}: {name}")

        execution = groups.Execution(program, env, log, on_result)
        self.running.add(execution)
        self.screen.status(f"{group}: {program.name}")
        reader = execution.run()
        self.running.discard(execution)
        if reader.failures and not self.screen.live:
            self._show_tail(log)
        return reader

    def _show_tail(self, log):
        lines = log.read_text(errors="replace").splitlines()
        self.screen.line(f"  --- end of {os.path.relpath(log)}",
                         *(f"  | {line}" for line in lines[-40:]))

    def run_groups(self, found, names):
        """Yields (name, count) of each. Groups on the host have the machine to
        themselves, since they fill it; a guest seldom fills more than a CPU."""
        seats = Seats(self.options.jobs)

        def seated(name):
            with seats.taken(2 if name in groups.PAIRS else 1):
                return self.run_group(name, found[name])

        for name in (n for n in names if n in groups.HOST_GROUPS):
            yield name, self.run_group(name, found[name])
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            tasks = [(name, pool.submit(seated, name))
                     for name in names if name not in groups.HOST_GROUPS]
            for name, task in tasks:
                yield name, task.result()

    def run(self):
        """Runs what was asked for; returns the exit status."""
        found = groups.discover(self.options.only)
        wanted = self.options.only or [
            n for n in found
            if not (self.options.kernel and n in groups.ONCE)]
        total = tap.Count()
        table = []
        for name in wanted:
            if name not in found:
                self.screen.line(f"no group '{name}' (there are: "
                                 f"{', '.join(found)})")
                total.failed += 1
        for name, count in self.run_groups(
                found, [n for n in wanted if n in found]):
            table.append((name, count))
            total.add(count)
        kernel = f"kernel {self.release}: " if self.release else ""
        self.screen.line(f"[{self.screen.elapsed()}] {kernel}"
                         + ", ".join(f"{n} {c.passed}/{c.total}"
                                     for n, c in table))
        self.screen.line(str(total))
        return 1 if total.failed or total.passed == 0 else 0


def _options(arguments):
    parser = argparse.ArgumentParser(
        prog="selftests/run", description="Runs the test groups.", epilog=USAGE,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="GROUP",
                        help="this group only (may be repeated; commas work)")
    parser.add_argument("--kernel", default=os.environ.get("PAVO_KERNEL", ""),
                        help="kernel for the guests (a name pavo-vm knows)")
    parser.add_argument("--jobs", type=int, metavar="N",
                        default=max(1, (os.cpu_count() or 1)),
                        help="guests at a time (%(default)s)")
    parser.add_argument("--list", action="store_true", help="name the groups")
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="show passing tests too")
    options = parser.parse_args(arguments)
    options.only = [n for word in options.only for n in word.split(",") if n]
    return options


def main(arguments):
    """The command; returns the exit status."""
    options = _options(arguments)
    if options.list:
        print("\n".join(groups.discover()))
        return 0
    session = Session(options)

    def interrupt(_signal, _frame):
        for execution in tuple(session.running):
            execution.kill()
        print("\ninterrupted", file=sys.stderr)
        os._exit(130)

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    return session.run()
