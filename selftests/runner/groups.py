# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what groups there are and how a test program is started. A group is
# selftests/NAME/run[.sh] and the Meson tests of suite NAME. Called by main.py;
# writes logs below build/test-logs/GROUP.
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import threading

from . import tap

TREE = pathlib.Path(__file__).resolve().parents[2]
BUILD = TREE / "build"
# The cheapest first; of those with guests, which run side by side, the widest,
# then the longest.
# Unknown groups come last.
ORDER = ("lint", "unit", "interop", "apps", "vm", "life", "verbs", "kverbs", "translate", "wire",
         "faults", "window", "direct", "fuzz")
# Only when asked for by name: one measures, one needs the sanitizer kernel, one
# the source of rdma-core.
NOT_GROUPS = ("bench", "planted", "pyverbs")
HOST_GROUPS = ("lint", "unit")          # no guest: the same for every kernel
ONCE = HOST_GROUPS + ("vm",)            # not again for other kernels
PAIRS = ("interop", "apps", "vm")       # two guests at a time, not one


@dataclasses.dataclass
class Program:
    """One thing to start."""
    name: str
    command: list
    protocol: str = "tap"
    cwd: str = str(TREE)
    env: dict = dataclasses.field(default_factory=dict)
    timeout: float = 0.0        # 0: the program limits itself


def _meson_programs():
    """Meson's registered tests by suite (a test may be in several)."""
    if not (BUILD / "build.ninja").is_file():
        return {}
    text = subprocess.run(["meson", "introspect", "--tests", str(BUILD)],
                          check=True, stdout=subprocess.PIPE).stdout
    suites = {}
    for test in json.loads(text):
        program = Program(test["name"], test["cmd"],
                          "tap" if test["protocol"] == "tap" else "exit",
                          test.get("workdir") or str(BUILD),
                          test.get("env", {}), max(test["timeout"], 0) * 4.0)
        for suite in test["suite"]:
            suites.setdefault(suite.split(":")[-1], []).append(program)
    return suites


def discover(also=()):
    """All groups: name -> programs, in the order they should run. `also`
    names what is left out unless asked for."""
    found = {}
    for folder in sorted((TREE / "selftests").iterdir()):
        for name in ("run", "run.sh"):
            script = folder / name
            if folder.is_dir() and os.access(script, os.X_OK) \
                    and (folder.name not in NOT_GROUPS
                         or folder.name in also):
                found.setdefault(folder.name, []).append(
                    Program(folder.name, [str(script)]))
                break
    for suite, programs in _meson_programs().items():
        if suite not in ("pavo", ""):
            found.setdefault(suite, []).extend(programs)
    known = [n for n in ORDER if n in found]
    return {n: found[n] for n in known + sorted(set(found) - set(known))}


def environment(group, kernel, release, logs):
    """What a test program may rely on."""
    env = dict(os.environ)
    env.update(PAVO_TREE=str(TREE), PAVO_BUILD=str(BUILD),
               PAVO_GROUP=group, PAVO_LOGS=str(logs / group),
               PAVO_VM=str(TREE / "qemu-scripts/pavo-vm"),
               PAVO_KERNEL=kernel,
               PAVO_KO=str(BUILD / f"kernel/{release}/pavo.ko"),
               IBV_DRIVERS=str(BUILD / "userspace/provider/libpavo"))
    return env


class Execution:
    """Runs one program, feeding its standard output to a TAP reader."""

    def __init__(self, program, env, log, on_result):
        self.program = program
        self.env = {**env, **program.env}
        self.log = log
        self.reader = tap.Reader(on_result)
        self.process = None

    def run(self):
        """Runs to the end; returns the reader."""
        with open(self.log, "ab") as log:
            log.write(f"# {' '.join(self.program.command)}\n".encode())
            log.flush()
            try:
                self.process = subprocess.Popen(
                    self.program.command, cwd=self.program.cwd, env=self.env,
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=log, start_new_session=True)
            except OSError as problem:
                log.write(f"# {problem}\n".encode())
                self.reader.fail(f"{self.program.name}: does not start "
                                 f"({problem.strerror}); built?")
                return self.reader
            timer = None
            if self.program.timeout:
                timer = threading.Timer(self.program.timeout, self.kill)
                timer.start()
            for raw in self.process.stdout:
                log.write(raw)
                log.flush()
                if self.program.protocol == "tap":
                    self.reader.feed(raw.decode("utf-8", "replace"))
            status = self.process.wait()
            if timer:
                timer.cancel()
            log.write(f"# status {status}\n".encode())
        self._judge(status)
        return self.reader

    def _judge(self, status):
        if self.program.protocol == "tap":
            self.reader.end(status)
        elif status == 0:
            self.reader.feed(f"ok 1 {self.program.name}")
        elif status in (4, 77):
            self.reader.feed(f"ok 1 {self.program.name} # SKIP")
        else:
            self.reader.fail(f"{self.program.name}: status {status}")

    def kill(self):
        """Ends the program and what it started."""
        if self.process and self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGTERM)
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
