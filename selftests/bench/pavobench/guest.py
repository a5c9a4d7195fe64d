# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: one guest run of a script, its results read back. Called by the tools of ../; starts
# pavo-vm, which needs the build folder's files.
import contextlib
import json
import os
import pathlib
import subprocess
import sys

from . import table

HERE = pathlib.Path(__file__).resolve().parent.parent
TREE = HERE.parent.parent
BUILD = TREE / "build"
VM = TREE / "qemu-scripts/pavo-vm"
PROGRAMS = BUILD / "selftests/bench"
COUNTER = PROGRAMS / "pavo-count.so"


class GuestError(Exception):
    """The guest did not end well; the text says how."""


class Results:
    """What a run has left in its folder."""

    def __init__(self, logs):
        self.out = pathlib.Path(logs, "share/node1/out")
        try:
            text = (self.out / "environment").read_text()
        except OSError:
            raise GuestError(f"nothing was measured; logs in {logs}") from None
        self.environment = dict(line.split("=", 1)
                                for line in text.splitlines())

    def lines(self, name):
        """What a file of JSON lines has; one that is not there has none."""
        path = self.out / name
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def rows(self, round_, driver):
        """Result rows of one driver in one round."""
        return table.with_tails(self.lines(f"{round_}-{driver}.jsonl")) + [
            self._stream_row(path)
            for path in sorted(self.out.glob(f"{round_}-{driver}.*.json"))]

    @staticmethod
    def _stream_row(path):
        """What iperf3 reports of a stream, as if each write were a message."""
        size, _, test = path.name.split(".", 1)[1].removesuffix(".json").partition("@")
        size = int(size)
        row = {"op": "stream", "test": test or "wire", "size": size, "drops": 0}
        try:
            total = json.loads(path.read_text())["end"]["sum_received"]
            return {**row, "messages": total["bytes"] / size,
                    "total_ns": total["seconds"] * 1e9}
        except (KeyError, ValueError):
            return {**row, "error": "iperf3 gave no result"}

    def rounds(self, drivers):
        """All rounds every driver has finished: [{driver: rows}]."""
        finished = (self.out / "finished")
        ended = finished.read_text().split() if finished.exists() else []
        found = []
        while all(f"{len(found) + 1}-{d}" in ended for d in drivers):
            number = len(found) + 1
            found.append({d: self.rows(number, d) for d in drivers})
        return found


def missing(programs):
    """What has to be built first, or an empty list."""
    wanted = [PROGRAMS / name for name in programs]
    if os.environ.get("PAVO_KO"):
        wanted.append(pathlib.Path(os.environ["PAVO_KO"]))
    return [str(path) for path in wanted if not path.exists()]


# Spins as long as its parent lives.
SPIN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(100000):
        pass
"""


@contextlib.contextmanager
def awake():
    """Keeps the CPUs of the host from sleep, by work that gives way to all other: each
    system call of a native guest lets its CPU be idle for a moment, and on a virtual host
    the way back from sleep is long."""
    spinners = [
        # pylint: disable-next=consider-using-with
        subprocess.Popen(["chrt", "--idle", "0", "taskset", "--cpu-list", str(cpu),
                          sys.executable, "-c", SPIN])
        for cpu in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def build_modules(kernel):
    """The folder of the modules for a guest at native speed; "" is none."""
    done = subprocess.run([HERE / "modules/build", kernel, BUILD / "selftests/bench/modules"],
                          check=False, text=True, stdout=subprocess.PIPE)
    return done.stdout.strip() if done.returncode == 0 else ""


def run(logs, script, words, *, icount=False, timeout, kernel=None, native=False,
        vm_options=(), env=()):
    """Boots a guest, in which a script measures; returns Results. Raises GuestError, after which
    Results(logs) may still have what was finished."""
    # before all others on its CPU, if that is allowed
    line = ["nice", "-n", "-20"] if native else []
    line += [VM, "run", "--quiet", "--timeout", timeout, "--logs", logs]
    line += [] if native else ["--accel", "tcg"]
    line += ["--icount"] * icount + (["--kernel", kernel] if kernel else [])
    for word in env:
        line += ["--env", word]
    line += [*vm_options, HERE / script, PROGRAMS, *words]
    with awake() if native else contextlib.nullcontext():
        done = subprocess.run([str(word) for word in line], check=False, stdout=sys.stderr)
    if done.returncode:
        raise GuestError(f"the guest ended with status {done.returncode}; logs in {logs}")
    return Results(logs)
