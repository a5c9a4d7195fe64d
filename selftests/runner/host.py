# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what a stop of a traced process costs on this host. User-Mode Linux stops a process
# twice for each of its system calls and page faults, so it says whether tests that make many
# are faster in a native guest or in an emulated one. Called by main.py; keeps the figure in
# the cache, for one boot.
import ctypes
import json
import os
import pathlib
import signal
import time

BOOT = pathlib.Path("/proc/sys/kernel/random/boot_id")
PTRACE_TRACEME, PTRACE_SYSCALL = 0, 24
ROUNDS, STOPS = 10, 300
# At 17 us group life, of 3,000 processes, takes as long in a native guest as in an emulated
# one on a quiet host. At 10 us life, apps and paths take 400 CPU seconds natively, and 1,230 emulated.
SLOW = 13e-6


def _trace(ptrace):
    """Seconds of one stop; the quickest round, which the host's other work disturbed least."""
    child = os.fork()
    if not child:
        if ptrace(PTRACE_TRACEME, 0, None, None):
            os._exit(1)
        os.kill(os.getpid(), signal.SIGSTOP)
        while True:
            os.getppid()
    if not os.WIFSTOPPED(os.waitpid(child, 0)[1]):
        return 0.0          # not allowed here
    try:
        rounds = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            for _ in range(STOPS):
                ptrace(PTRACE_SYSCALL, child, None, None)
                os.waitpid(child, 0)
            rounds.append((time.perf_counter() - began) / STOPS)
        return min(rounds)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def measure_stop():
    """Seconds of one stop, by processes on one CPU as native guests are; 0 if no process
    may be traced."""
    ptrace = ctypes.CDLL(None).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    ptrace.restype = ctypes.c_long
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        return _trace(ptrace)
    finally:
        os.sched_setaffinity(0, allowed)


def read_stop(folder, measure=measure_stop, boot=BOOT):
    """Seconds of one stop, measured once in a boot and kept in the folder (None: nowhere):
    a caller that asks twice in a run gets one answer."""
    kept = folder / "stop-cost.json" if folder else None
    this_boot = boot.read_text().strip()
    try:
        known = json.loads(kept.read_text())
        if known["boot"] == this_boot:
            return float(known["seconds"])
    except (AttributeError, OSError, ValueError, KeyError, TypeError):
        pass
    seconds = measure()
    try:
        if kept:
            kept.write_text(json.dumps({"boot": this_boot, "seconds": seconds}))
    except OSError:
        pass                    # the next one measures again
    return seconds
