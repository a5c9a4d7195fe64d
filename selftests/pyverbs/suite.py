#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Runs rdma-core's own test-suite (the tests/ folder of a checkout, with the
# installed pyverbs) on one device and writes down how every test ended, one
# JSON object a line. Called by guest.sh, in a guest; writes that file only.
# A test that ends the interpreter, or never ends, is an error of that test:
# what remains is run by a process of its own.
#
# usage: suite.py CHECKOUT RESULTS DEVICE GID-INDEX [SECONDS-PER-TEST [TEST...]]
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal
import sys
import traceback
import unittest

sys.dont_write_bytecode = True


class TooLong(Exception):
    """The time that one test has is over."""


class Recorder(unittest.TestResult):
    """Writes a line when a test begins and one when it has ended."""

    def __init__(self, results, seconds):
        super().__init__()
        self.results = results
        self.seconds = seconds

    def record(self, test, outcome, why=""):
        """One line; a later one about the same test is the one that counts."""
        with open(self.results, "a", encoding="utf-8") as file:
            json.dump({"test": test.id(), "outcome": outcome,
                       "why": why.strip()}, file)
            file.write("\n")

    def startTest(self, test):
        super().startTest(test)
        self.record(test, "begun")
        signal.alarm(self.seconds)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def addSuccess(self, test):
        self.record(test, "passed")

    def addSkip(self, test, reason):
        self.record(test, "skipped", reason)

    def addFailure(self, test, err):
        self.record(test, "failed", self.text(err))

    def addError(self, test, err):
        # not of one test: a class or module could not be set up
        self.record(test, "error", self.text(err))

    def addSubTest(self, test, subtest, err):
        if err:
            self.record(test, "failed", self.text(err))

    @staticmethod
    def text(err):
        """What went wrong, with the lines that led there."""
        return "".join(traceback.format_exception(*err))


def out_of_time(_signal, _frame):
    """The handler of SIGALRM."""
    raise TooLong("the test took too long")


def each(suite):
    """All test cases of a suite, in its order."""
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from each(entry)
        else:
            yield entry


def load(checkout):
    """The tests, loaded the way their own run_tests.py does."""
    folder = pathlib.Path(checkout) / "tests"
    sys.path.insert(0, str(folder))
    loader = importlib.machinery.SourceFileLoader("tests",
                                                  str(folder / "__init__.py"))
    spec = importlib.util.spec_from_loader("tests", loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["tests"] = module
    loader.exec_module(module)
    # their own parser of arguments, which the tests look into
    importlib.import_module("args_parser").parser.parse_args()
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def last_lines(results):
    """Test -> how it ended, by the last line about it."""
    ended = {}
    if os.path.exists(results):
        with open(results, encoding="utf-8") as file:
            for line in file:
                entry = json.loads(line)
                ended[entry["test"]] = entry
    return ended


def run_rest(tests, results, seconds):
    """Runs what has not begun yet; ends this process."""
    done = last_lines(results)
    signal.signal(signal.SIGALRM, out_of_time)
    rest = unittest.TestSuite(t for t in tests if t.id() not in done)
    rest.run(Recorder(results, seconds))
    sys.stdout.flush()
    os._exit(0)


def main():
    """Runs all, whatever they do to the process."""
    checkout, results, device, gid = sys.argv[1:5]
    seconds = int(sys.argv[5]) if len(sys.argv) > 5 else 120
    wanted = sys.argv[6:]
    sys.argv[1:] = ["--dev", device, "--port", "1", "--gid", gid]
    tests = [t for t in each(load(checkout))
             if not wanted or any(w in t.id() for w in wanted)]
    while True:
        child = os.fork()
        if not child:
            run_rest(tests, results, seconds)
        _, status = os.waitpid(child, 0)
        broken = [e["test"] for e in last_lines(results).values()
                  if e["outcome"] == "begun"]
        with open(results, "a", encoding="utf-8") as file:
            for name in broken:
                json.dump({"test": name, "outcome": "error",
                           "why": "ended the interpreter, wait status "
                                  f"{status:#x}"}, file)
                file.write("\n")
        if not status:
            return 0
        if not broken:
            print(f"# the suite does not start: wait status {status:#x}")
            return 1


if __name__ == "__main__":
    sys.exit(main())
