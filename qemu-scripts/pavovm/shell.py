# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: interactive shells - joining this terminal to a machine's serial
# console. `pavo-vm shell` boots the machines and joins the first; `pavo-vm
# attach N` joins another from a second terminal. Called by cli.py.
import os
import pathlib
import select
import shutil
import socket
import sys
import tempfile
import termios
import time
import tty

from .common import EXIT_SETUP, SetupError, cache_dir
from .run import Run, overall

ESCAPE = b"\x1d"        # Ctrl-]
BOOT_SECONDS = 120
FOREVER = 10 * 365 * 86400.0


def _sockets(folder, node):
    return folder / f"console{node}"


def _connect(path):
    """The console's socket, which QEMU makes when it starts."""
    end = time.monotonic() + 10
    while True:
        link = socket.socket(socket.AF_UNIX)
        try:
            link.connect(str(path))
            return link
        except OSError:
            link.close()
            if time.monotonic() > end:
                raise SetupError(f"no console at {path}") from None
            time.sleep(0.05)


def _relay(link):
    """Joins terminal and console until either ends or Ctrl-] is typed."""
    keys = sys.stdin.fileno()
    old = termios.tcgetattr(keys) if os.isatty(keys) else None
    watched = [keys, link]
    try:
        if old:
            tty.setraw(keys)
        while True:
            ready, _, _ = select.select(watched, [], [])
            if link in ready:
                data = link.recv(65536)
                if not data:
                    return True
                os.write(sys.stdout.fileno(), data)
            if keys in ready:
                typed = os.read(keys, 4096)
                if not typed:
                    watched.remove(keys)    # no more input; see it through
                elif old and ESCAPE in typed:
                    return False
                else:
                    link.sendall(typed)
    finally:
        if old:
            termios.tcsetattr(keys, termios.TCSADRAIN, old)


def _current():
    return cache_dir("shell") / "current"


def _environment():
    size = shutil.get_terminal_size()
    return {"PAVO_SHELL": 1, "PAVO_TERM": os.environ.get("TERM", "dumb"),
            "PAVO_ROWS": size.lines, "PAVO_COLS": size.columns}


def _wait_boot(guest, ui):
    end = time.monotonic() + BOOT_SECONDS
    while not guest.booted():
        if not guest.running() or time.monotonic() > end:
            raise SetupError(f"node {guest.node} did not boot; see "
                             f"{guest.console}")
        ui.tick([guest], {guest})
        time.sleep(0.05)
    ui.booted(guest)


def run(machine, nodes, folder, ui):
    """Boots the machines, gives the first one's shell, then ends them all."""
    if machine.native:
        raise SetupError("a native kernel has no terminal for a shell; "
                         "give --kernel of an emulated one")
    machine.timeout = FOREVER
    # the shell's own terminal: only grave messages may write over it
    machine.append += " loglevel=4"
    machine.allow = (".*",)     # the user sees and judges all lines
    places = pathlib.Path(tempfile.mkdtemp(prefix="pavo-shell-"))
    whole = Run(machine, nodes, folder, ui)
    try:
        for guest in whole.guests:
            guest.prepare("", _environment())
            guest.terminal = _sockets(places, guest.node)
            guest.start()
        _current().unlink(missing_ok=True)
        _current().symlink_to(places)
        for guest in whole.guests:
            _wait_boot(guest, ui)
        if nodes > 1:
            ui.tell(f"other nodes: pavo-vm attach 2 .. {nodes}")
        ui.tell("Ctrl-] leaves at once; 'exit' ends the machine properly")
        link = _connect(_sockets(places, 1))
        link.sendall(b"\n")
        if _relay(link):
            whole.guests[0].process.wait(timeout=30)
        else:
            whole.guests[0].stop("left by the user")
            return 0
    finally:
        whole.close()
        _current().unlink(missing_ok=True)
        shutil.rmtree(places, ignore_errors=True)
    verdict = whole.guests[0].verdict()
    ui.verdicts([verdict], folder)
    return overall([verdict])


def attach(node):
    """Joins this terminal to another node of the running shell."""
    places = _current()
    if not places.exists():
        print("pavo-vm: no `pavo-vm shell` is running", file=sys.stderr)
        return EXIT_SETUP
    link = _connect(_sockets(places.resolve(), node))
    link.sendall(b"\n")
    _relay(link)
    return 0
