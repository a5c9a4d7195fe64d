# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: how tests that are Python functions are run and printed as TAP. One fails by an
# assertion or a program that failed; a text that it returns is why it skips. Called by the
# *_test.py of the unit group.
import subprocess
import tempfile


def run(label, tests):
    """Runs all of them. Return: the exit status of the program."""
    failed = 0
    print("TAP version 13")
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        result, skipped = "ok", ""
        try:
            skipped = test()
        except (AssertionError, subprocess.CalledProcessError) as error:
            failed += 1
            result = "not ok"
            for line in str(error).splitlines():
                print(f"# {line}")
        print(f"{result} {number} {label}: {test.__name__.replace('_', ' ')}"
              + (f" # SKIP {skipped}" if skipped else ""))
    return 1 if failed else 0


def give(kind, test):
    """The test, given what kind(FOLDER) makes of a folder that goes."""
    def play():
        with tempfile.TemporaryDirectory() as folder:
            return test(kind(folder))
    play.__name__ = test.__name__
    return play
