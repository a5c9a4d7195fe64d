# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: a run - one machine or several, from their folder to their verdicts.
# Starts them, passes their output on while they run, ends all when one is
# lost. Called by cli.py and shell.py.
import shutil
import time

from .common import EXIT_CONSOLE, EXIT_DIED, EXIT_PANIC, EXIT_TIMEOUT, script_dir
from .guest import Guest, save
from .wire import Wire

POLL_SECONDS = 0.05
GRACE_SECONDS = 20      # for the others, after one node has failed
WORST_FIRST = (EXIT_PANIC, EXIT_TIMEOUT, EXIT_DIED, EXIT_CONSOLE)


class Run:
    """The machines of one run."""

    def __init__(self, machine, nodes, folder, ui):
        self.ui = ui
        self.nodes = nodes
        self.machine = machine
        self.folder = folder
        self.share = folder / "share"
        (self.share / "common").mkdir(parents=True)
        shutil.copytree(script_dir() / "guest", self.share / "guest",
                        symlinks=True)
        self.wire = Wire(nodes, machine.native) if nodes > 1 else None
        self.guests = [
            Guest(machine, n, nodes, folder, self.share,
                  self.wire.ends[n] if self.wire else None)
            for n in range(1, nodes + 1)]
        self.read_upto = {}
        self.abort_at = None

    def execute(self, jobs):
        """Runs jobs[node] on each node; returns the verdicts."""
        try:
            for guest in self.guests:
                guest.prepare(jobs[guest.node])
                guest.start()
            self._watch()
        finally:
            self.close()
        verdicts = [g.verdict() for g in self.guests]
        save(verdicts, self.folder / "result.json")
        return verdicts

    def close(self):
        """Ends the machines that still run."""
        for guest in self.guests:
            guest.stop("ended by the host")
        if self.wire:
            self.wire.close()

    def _watch(self):
        told = set()
        alive = set(self.guests)
        while alive:
            for guest in sorted(alive, key=lambda g: g.node):
                if guest not in told and guest.booted():
                    told.add(guest)
                    self.ui.booted(guest)
                self._pass_output(guest)
                if not guest.running():
                    alive.discard(guest)
                    self._ended(guest)
            self._end_the_rest(alive)
            self.ui.tick(self.guests, alive)
            time.sleep(POLL_SECONDS)
        for guest in self.guests:
            self._pass_output(guest, last=True)

    def _ended(self, guest):
        """A lost or failed node would leave the others waiting for it."""
        status = guest.verdict().status
        if status and self.abort_at is None and self.nodes > 1:
            self.abort_at = time.monotonic() + GRACE_SECONDS
            (self.share / "common/abort").write_text(
                f"node {guest.node} failed ({status})\n")

    def _end_the_rest(self, alive):
        if self.abort_at and time.monotonic() > self.abort_at:
            for guest in alive:
                guest.stop("ended because another node had failed")

    def _pass_output(self, guest, last=False):
        """Shows the whole lines the guest has written since the last look."""
        try:
            with open(guest.own / "output", "rb") as output:
                output.seek(self.read_upto.get(guest.node, 0))
                data = output.read()
        except OSError:
            return
        end = len(data) if last else data.rfind(b"\n") + 1
        self.read_upto[guest.node] = self.read_upto.get(guest.node, 0) + end
        if end:
            self.ui.output(guest, data[:end])


def overall(verdicts):
    """One status for the run: the worst loss, else the first failure."""
    statuses = [v.status for v in verdicts]
    for code in WORST_FIRST:
        if code in statuses:
            return code
    return next((s for s in statuses if s), 0)
