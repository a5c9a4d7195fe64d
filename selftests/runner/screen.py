# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what a person sees while tests run - a live line on a terminal, plain lines
# elsewhere. Called by session.py; writes standard output.
import shutil
import sys
import threading
import time


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
