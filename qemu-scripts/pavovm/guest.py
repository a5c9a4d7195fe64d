# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: one machine - its process, its verdict. Its command line is made by qemu.py
# or uml.py. Called by run.py, which owns the set of machines; touches the run folder
# only.
import dataclasses
import json
import os
import pathlib
import shlex
import signal
import subprocess
import time

from . import console, qemu, uml
from .common import (EXIT_CONSOLE, EXIT_DIED, EXIT_PANIC, EXIT_TIMEOUT,
                     SetupError)

# why a machine boots again, and how many boots may go wrong so: a machine that ends
# before any module is loaded is the emulator's fault, or the kernel's if it ends so each
# time; a wrong clock and a silent emulator are a busy host's. Each has a count of its own: a
# busy host takes nothing from the attempts of a lost machine.
LOST, WRONG_CLOCK, SILENT = "lost", "wrong clock", "silent"
ATTEMPTS = {LOST: 3, WRONG_CLOCK: 5, SILENT: 5}
# an emulated machine that is silent for so long while it boots has stopped
BOOT_SILENCE = 120.0


@dataclasses.dataclass
class Machine:
    """The settings that all machines of a run have in common."""
    kernel: object
    initrd: pathlib.Path
    accel: str                  # "kvm", "tcg" or "native"
    smp: int = 2
    mem: str = "2G"
    icount: bool = False
    append: str = ""
    timeout: float = 300.0
    mtu: int = 1500
    env: dict = dataclasses.field(default_factory=dict)
    allow: tuple = ()
    qemu_args: tuple = ()
    kmemleak: bool = True
    cwd: str = "/"

    @property
    def native(self):
        """Whether the kernel is a process of the host (User-Mode Linux)."""
        return self.accel == "native"


@dataclasses.dataclass
class Verdict:
    """How a machine ended. status is the exit code pavo-vm reports."""
    node: int
    status: int
    command_status: object = None
    reason: str = ""
    seconds: float = 0.0
    boot_seconds: object = None
    boots: int = 1
    boots_again: list = dataclasses.field(default_factory=list)     # why, of each
    complaints: list = dataclasses.field(default_factory=list)


class Guest:
    """One machine of a run."""

    def __init__(self, machine, node, nodes, folder, share, wire):
        self.machine = machine
        self.node = node
        self.nodes = nodes
        self.folder = folder
        self.share = share
        self.wire = wire                # this node's end of the wire (wire.py), or None
        self.own = share / f"node{node}"
        self.console = folder / f"node{node}.console"
        self.messages = folder / f"node{node}.messages"     # of the emulator
        self.terminal = None            # a socket that the console is joined to
        self.process = None
        self.started = 0.0
        self.timed_out = False
        self.stopped = ""
        self.boots_again = []           # why each boot but the last was given up
        self.console_size = 0
        self.spoke = 0.0

    def prepare(self, job, shell=None):
        """Writes the files that the guest will read: environment and job."""
        self.own.mkdir()
        (self.own / "out").mkdir()
        m = self.machine
        values = {"NODES": self.nodes, "PAVO_WIRE": "1" if self.wire else "",
                  "PAVO_MTU": m.mtu, "PAVO_CWD": m.cwd,
                  "PAVO_KMEMLEAK": int(m.kmemleak),
                  "PAVO_ACCEL": "icount" if m.icount else m.accel,
                  "PAVO_LIMIT": max(int(m.timeout) - 15, 5)}
        values.update(shell or {})
        values.update(m.env)
        text = "".join(f"export {k}={shlex.quote(str(v))}\n"
                       for k, v in values.items())
        (self.own / "env").write_text(text)
        (self.own / "job").write_text(job)
        (self.own / "output").touch()

    def start(self):
        """Starts the machine in a process group of its own."""
        maker = uml if self.machine.native else qemu
        line = maker.command(self)
        (self.folder / f"node{self.node}.command").write_text(shlex.join(line) + "\n")
        self.started = self.spoke = time.monotonic()
        try:
            self.process = maker.start(self, line)
        except FileNotFoundError:
            raise SetupError(f"{line[0]} is missing; {maker.REMEDY}") from None

    def running(self):
        """Whether the machine still runs; ends it at its time limit."""
        if self.process.poll() is not None:
            if not self._boot_lost():
                return False
            self._boot_again(LOST)
        if time.monotonic() - self.started > self.machine.timeout:
            self.timed_out = True
            self.stop()
            return False
        if not self.booted():
            if self._may_again(WRONG_CLOCK) and console.wrong_clock(
                    console.read(self.console)):
                self._boot_again(WRONG_CLOCK)
            elif self._may_again(SILENT) and self._silent():
                self._boot_again(SILENT)
        return True

    @property
    def boot_attempts(self):
        """The number of boots, the last one included."""
        return len(self.boots_again) + 1

    def _may_again(self, why):
        """Whether one more boot may end for this reason."""
        return self.boots_again.count(why) + 1 < ATTEMPTS[why]

    def _silent(self):
        """Whether an emulated boot has stopped: the emulator sometimes does,
        long before the kernel knows of any module."""
        size = self.console.stat().st_size if self.console.exists() else 0
        if size != self.console_size:
            self.console_size, self.spoke = size, time.monotonic()
        return (self.machine.accel == "tcg" and
                time.monotonic() - self.spoke > BOOT_SILENCE)

    def _boot_lost(self):
        """Whether an ended machine was lost by the emulator while it booted: it
        seldom resets, panics or dies there, for no fault of the kernel's. A
        machine that QEMU refuses (status 1) or that guest/init gives up is final."""
        return (self.machine.accel == "tcg" and not self.booted() and
                self.process.returncode <= 0 and
                self._may_again(LOST) and
                not (self.timed_out or self.stopped) and
                not console.setup_failure(console.read(self.console)))

    def _boot_again(self, why):
        """For a boot that was lost, has stopped, or whose kernel measured its
        clock wrong because the host was busy: its seconds would be a fraction of
        real ones, or many of them. The console of that boot is kept beside."""
        self._kill()
        if self.console.exists():
            self.console.rename(f"{self.console}.boot{self.boot_attempts}")
        self.boots_again.append(why)
        self.console_size = 0
        self.start()

    def booted(self):
        """Whether the guest's session has begun."""
        return (self.own / "booted").exists()

    def finished(self):
        """Whether the command's status has arrived."""
        return (self.own / "status").exists()

    def stop(self, why=""):
        """Ends the machine now."""
        if self.process and self.process.poll() is None:
            self.stopped = why
            self._kill()

    def _kill(self):
        """Ends the machine with all its processes."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def _number(self, name, kind):
        try:
            return kind((self.own / name).read_text().strip())
        except (OSError, ValueError):
            return None

    def verdict(self):
        """Judges the ended machine: panic, limit, console, status."""
        v = Verdict(self.node, 0, seconds=time.monotonic() - self.started)
        v.command_status = self._number("status", int)
        v.boot_seconds = self._number("booted", float)
        v.boots = self.boot_attempts
        v.boots_again = self.boots_again
        lines = console.read(self.console)
        leaks = console.read(self.own / "kmemleak")
        panic = console.panic(lines)
        found = console.complaints(lines, self.machine.allow)
        v.complaints = console.excerpt(lines, found)
        v.complaints += console.excerpt(
            leaks, console.complaints(leaks, self.machine.allow))
        where = "" if self.booted() else self._booting()
        if v.command_status is None and panic:
            v.status, v.reason = EXIT_PANIC, f"kernel panic{where}: {panic}"
        elif self.timed_out:
            limit = f"{self.machine.timeout:.0f} s"
            v.status, v.reason = EXIT_TIMEOUT, f"time limit of {limit}{where}"
        elif v.command_status is None:
            v.status, v.reason = EXIT_DIED, self._last_words(lines) + where
        elif v.complaints:
            v.status = EXIT_CONSOLE
            v.reason = ("the kernel complained on the console (the command's "
                        f"status was {v.command_status})")
        else:
            v.status = v.command_status
            v.reason = f"status {v.status}"
        return v

    def _booting(self):
        times = f", {self.boot_attempts} times" if self.boot_attempts > 1 else ""
        return f" while booting{times}"

    def _last_words(self, lines):
        if self.stopped:
            return self.stopped
        setup = console.setup_failure(lines)
        if setup:
            return f"guest set-up failed: {setup}"
        text = " ".join(console.read(self.messages))[:400] or "no message"
        if self.process.returncode < 0:
            text += f", ended by signal {-self.process.returncode}"
        if lines:
            text += f", last on the console: {lines[-1][:200]}"
        return f"the machine ended without a status ({text})"


def save(verdicts, path):
    """Writes the verdicts for programs to read."""
    path.write_text(json.dumps([dataclasses.asdict(v) for v in verdicts],
                               indent=1) + "\n")


def job_text(command, cwd):
    """A bash script that goes to the caller's folder and runs the command."""
    enter = f"cd {shlex.quote(cwd)} 2>/dev/null || cd /\n"
    return "#!/bin/bash\n" + enter + command + "\n"


def quote(arguments):
    """One shell line from a command's arguments; a lone one is shell text."""
    if len(arguments) == 1 and not os.access(arguments[0], os.X_OK):
        return arguments[0]
    return "exec " + shlex.join(arguments)
