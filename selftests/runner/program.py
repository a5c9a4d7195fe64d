# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: how one test program is started, read, judged and ended. Called by session.py and
# the unit tests; writes the program's log, in which every result has its time.
import dataclasses
import errno
import os
import signal
import subprocess
import threading

from . import tap


@dataclasses.dataclass
class Program:
    """One thing to start."""
    name: str
    command: list
    protocol: str = "tap"
    cwd: str = "/"
    env: dict = dataclasses.field(default_factory=dict)
    timeout: float = 0.0        # 0: the program limits itself


def stamp(result):
    """The time of a result, for a line of the log and of the screen."""
    return f"[{result.at:.2f} s, +{result.seconds:.2f}]"


class Execution:
    """Runs one program, feeding its standard output to a TAP reader."""

    def __init__(self, program, env, log, on_result=None):
        self.program = program
        self.env = {**env, **program.env}
        self.log = log
        self.results = []
        self.on_result = on_result or (lambda _result: None)
        self.reader = tap.Reader(self._keep)
        self.process = None
        self.killed = False
        self.starting = threading.RLock()   # of both; kill() may come from another thread
        self.cpu = 0.0              # seconds, with those of all that it started and reaped

    def _keep(self, result):
        if result.kind != "note":
            self.results.append(result)
        self.on_result(result)

    def run(self):
        """Runs to the end; returns the reader."""
        with open(self.log, "ab") as log:
            log.write(f"# {' '.join(self.program.command)}\n".encode())
            log.flush()
            try:
                self._start(log)
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
                log.write(self._read(raw))
                log.flush()
            status = self._wait()
            if timer:
                timer.cancel()
            log.write(f"# status {status}\n".encode())
        self._judge(status)
        return self.reader

    def _start(self, log):
        """Starts it; raises OSError, also if kill() came first."""
        with self.starting:
            if self.killed:
                raise InterruptedError(errno.EINTR, "interrupted")
            self.process = subprocess.Popen(
                self.program.command, cwd=self.program.cwd, env=self.env,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=log, start_new_session=True)

    def _wait(self):
        """Waits for its end. Return: its status."""
        try:
            _, status, used = os.wait4(self.process.pid, 0)
        except ChildProcessError:
            return self.process.wait()      # kill() saw it first
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = used.ru_utime + used.ru_stime
        return self.process.returncode

    def _read(self, raw):
        """Takes a line. Return: the line as the log keeps it."""
        if self.program.protocol != "tap":
            return raw
        result = self.reader.feed(raw.decode("utf-8", "replace"))
        return f"{stamp(result)} ".encode() + raw if result else raw

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
        """Ends the program and what it started; it does not start after this."""
        with self.starting:
            self.killed = True
        if self.process and self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGTERM)
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
