#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# What can be said of the scripts without a device: each is readable and expects something,
# and what is not so is refused. Prints TAP. Run by the group unit through Meson; writes
# into a temporary folder only.
# usage: scripts_test.py PAVO-WIRE
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from runner import tests  # noqa: E402  (path set above)

SCRIPTS = HERE / "scripts"


def check(path):
    """What pavo-wire says to a script or a folder of them: status, errors."""
    done = subprocess.run([sys.argv[1], "--check", str(path)], check=False,
                          text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    return done.returncode, done.stderr


def refused(text, why):
    """A script of that text is refused with these words."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "planted.wire")
        path.write_text(text)
        status, errors = check(path)
    assert status == 1 and why in errors, \
        f"status {status}, told: {errors or 'nothing'}"


def all_are_readable():
    """As Machine::check() reads them."""
    status, errors = check(SCRIPTS)
    assert status == 0, errors


def what_expects_nothing_is_refused():
    """It would pass whatever the device does; silence is what a dead one gives, too."""
    for text in ("qp rc\nset64 r 1\n",
                 "for n 1 2\nqp rc\nset64 r 1\nend\n",
                 "qp rc\n< WRITE_ONLY psn=0 va=r rkey=r data=t:8\nsilence 5ms\n",
                 "qp rc\n< WRITE_ONLY psn=0 va=r rkey=r data=t:8\nnothing recv\n"
                 "allow ACK psn=0\nmem r:8 any\n"):
        refused(text, "it expects nothing")


def what_nobody_understands_is_refused():
    """A verb, a key, a number of words, a loop without an end."""
    for line, why in (("expect ACK psn=0", "no such verb"),
                      ("> ACK psn=0 colour=1", "no key colour= here"),
                      ("state", "wrong number of words"),
                      ("for n 1 2\nstate rts", "for without end")):
        refused(f"qp rc\nprobe psn=0 msn=1\n{line}\n", why)


TESTS = (all_are_readable, what_expects_nothing_is_refused,
         what_nobody_understands_is_refused)

sys.exit(tests.run("wire scripts", TESTS))
