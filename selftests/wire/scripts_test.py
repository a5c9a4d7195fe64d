#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Checks scripts without a device: each is readable and expects something, and one that is
# not so is refused; each has a row in transitions.md, and the names there are
# those of scripts. Prints TAP. Run by the group unit through Meson; writes
# into a temporary folder only.
# usage: scripts_test.py PAVO-WIRE
import pathlib
import re
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


def rows(text):
    """(transition, [scripts it names]) of a table of transitions. A heading names the
    folder of what follows."""
    folder = ""
    for line in text.splitlines():
        heading = re.match(r"## (\w+)/$", line)
        row = re.match(r"\| (.+) \| (.*) ?\|$", line)
        if heading:
            folder = heading[1]
        elif row and row[1] != "transition":
            yield row[1], [f"{folder}/{name}"
                           for name in re.findall(r"`([\w-]+)`", row[2])]


def mistakes(text, scripts):
    """What is wrong with a table of transitions, in words."""
    table = list(rows(text))
    named = {name for _, names in table for name in names}
    return [f"no row names {name}" for name in sorted(scripts - named)] + \
        [f"there is no script {name}" for name in sorted(named - scripts)] + \
        [f"no script: {transition}" for transition, names in table if not names]


def every_script_has_a_transition():
    """And every transition a script."""
    found = {str(path.relative_to(SCRIPTS).with_suffix(""))
             for path in SCRIPTS.rglob("*.wire")}
    wrong = mistakes((HERE / "transitions.md").read_text(), found)
    assert not wrong, "\n".join(wrong)
    assert len(found) >= 250, f"only {len(found)} scripts"


def a_table_that_is_wrong_is_told():
    """A script without a row, a row without a script, a name of nothing, and one that
    is right in another folder only."""
    text = ("## requester/\n| transition | scripts |\n|---|---|\n"
            "| sends | `one` `two` |\n| waits | |\n## responder/\n"
            "| answers | `one` |\n")
    assert mistakes(text, {"requester/one", "responder/two"}) == [
        "no row names responder/two", "there is no script requester/two",
        "there is no script responder/one", "no script: waits"]


TESTS = (all_are_readable, what_expects_nothing_is_refused,
         what_nobody_understands_is_refused, every_script_has_a_transition,
         a_table_that_is_wrong_is_told)

sys.exit(tests.run("wire scripts", TESTS))
