# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the user's display. Guest output goes to stdout untouched (prefixed with the
# node in a cluster); all messages of pavo-vm's own go to stderr, with a live status
# line when that is a terminal. Called by run.py and cli.py.
import os
import sys
import time

from .common import EXIT_NAMES

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
COLOURS = ("36", "33", "35", "32", "34", "31")


class Ui:
    """Progress and results of a run."""

    def __init__(self, nodes, quiet=False):
        self.nodes = nodes
        self.quiet = quiet
        self.began = time.monotonic()
        self.live = sys.stderr.isatty() and not quiet
        self.colour = sys.stdout.isatty()
        self.line_shown = False
        self.last_tick = 0.0

    def tell(self, text):
        """A line of pavo-vm's own."""
        if not self.quiet:
            self._clear()
            print(f"pavo-vm: {text}", file=sys.stderr, flush=True)

    def booted(self, guest):
        """A guest has reached its command."""
        seconds = time.monotonic() - guest.started
        who = f"node {guest.node} " if self.nodes > 1 else ""
        again = f", boot {guest.boot_attempts}" if guest.boot_attempts > 1 else ""
        self.tell(f"{who}up after {seconds:.1f} s{again}")

    def output(self, guest, data):
        """Passes whole lines of a guest on."""
        self._clear()
        out = sys.stdout.buffer
        if self.nodes == 1:
            out.write(data)
        else:
            mark = f"node{guest.node}| "
            if self.colour:
                tint = COLOURS[(guest.node - 1) % len(COLOURS)]
                mark = f"\033[{tint}m{mark}\033[0m"
            for line in data.splitlines():
                out.write(mark.encode() + line + b"\n")
        out.flush()

    def tick(self, guests, alive):
        """The live status line, ten times a second at most."""
        now = time.monotonic()
        if not self.live or now - self.last_tick < 0.1:
            return
        self.last_tick = now
        states = []
        for guest in guests:
            if guest not in alive:
                states.append("done")
            elif guest.booted():
                states.append("running")
            else:
                states.append("booting")
        seconds = now - self.began
        spin = SPINNER[int(seconds * 10) % len(SPINNER)]
        text = f"{spin} {seconds:5.1f} s  " + "  ".join(
            f"node {g.node}: {s}" for g, s in zip(guests, states))
        width = os.get_terminal_size(sys.stderr.fileno()).columns
        sys.stderr.write("\r\033[K" + text[:width - 1])
        sys.stderr.flush()
        self.line_shown = True

    def verdicts(self, verdicts, folder):
        """The end: silent when all is well, plain words when not."""
        self._clear()
        for v in verdicts:
            if v.status == 0:
                continue
            who = f"node {v.node}: " if self.nodes > 1 else ""
            self._say(f"{who}{v.reason}")
            for line in v.complaints:
                self._say(f"  | {line}")
        bad = [v for v in verdicts if v.status]
        if bad:
            self._say(f"logs in {folder}")
        elif not self.quiet:
            seconds = max(v.seconds for v in verdicts)
            self.tell(f"done in {seconds:.1f} s")

    def _say(self, text):
        print(f"pavo-vm: {text}", file=sys.stderr, flush=True)

    def _clear(self):
        if self.line_shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self.line_shown = False


def name_of(status):
    """Words for one of pavo-vm's own exit codes."""
    return EXIT_NAMES.get(status, f"status {status}")
