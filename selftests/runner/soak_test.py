#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Test of selftests/soak, in a small tree of its own with a group that fails in some of its
# repetitions. Prints TAP. Run by the group unit through Meson; writes into temporary
# folders only.
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from runner import tests  # noqa: E402  (path set above)
from runner.stand_in import Tree  # noqa: E402

# Fails each third time; tells the kernel, and how many are busy.
GROUP = """#!/bin/bash
tries=$(dirname "$0")/tries
echo >>"$tries"
echo "# kernel <$PAVO_KERNEL>"
mkfifo "$PAVO_LOGS/pipe"
read -ra parent </proc/$PPID/stat
pgrep -c -P "${parent[3]}" -f getppid >"$(dirname "$0")/busy"
echo 1..2
echo ok 1 steady
[ $(($(wc -l <"$tries") % 3)) != 0 ] && echo ok 2 flaky && exit
echo not ok 2 flaky
exit 1
"""


def failures_are_counted(tree):
    """By test; their logs stay, and those of the others do not."""
    tree.script("selftests/wire/run", GROUP)
    status, said = tree.run("selftests/soak", "wire", "--times", "7", "--load", "0")
    assert status == 1, said
    lines = said.splitlines()
    assert lines[-1] == "wire: 2 of 7 repetitions failed", said
    assert "   2 times: wire@default: flaky" in lines, said
    assert any(line.startswith("duration: minimum ") for line in lines), said
    assert "   3 of 7: " in said and "FAILED: wire@default: flaky" in said, said
    kept = tree.path / "build/soak/wire"
    assert sorted(p.name for p in kept.iterdir()) == ["3", "6"]
    assert "not ok 2 flaky" in (kept / "3/wire/tap.log").read_text()
    assert "not ok wire: flaky" in (kept / "3/said").read_text()
    assert (kept / "6/wire/pipe").is_fifo()
    assert json.loads((kept / "6/times.json").read_text())["items"]
    assert not (tree.path / "build/test-times.json").exists()


def none_failed(tree):
    """Nothing is left of an earlier soak."""
    tree.script("selftests/wire/run", GROUP)
    tree.file("build/soak/wire/9/said")
    status, said = tree.run("selftests/soak", "wire", "--times", "2", "--load", "0")
    assert status == 0 and said.endswith("wire: 0 of 2 repetitions failed\n"), said
    assert not list((tree.path / "build/soak").glob("wire/*"))


def another_kernel(tree):
    """By option and by environment."""
    tree.kernel("6.12")
    tree.script("selftests/wire/run", GROUP)
    tree.file("selftests/wire/tries", "\n\n")
    assert tree.run("selftests/soak", "wire", "--times", "1", "--load", "0",
                    "--kernel", "6.12")[0] == 1
    log = tree.path / "build/soak/wire/1/6.12/wire/tap.log"
    assert "# kernel <6.12>" in log.read_text()
    tree.file("selftests/wire/tries", "\n\n")
    assert tree.run("selftests/soak", "wire", "--times", "1", "--load", "0",
                    PAVO_KERNEL="6.12")[0] == 1
    assert log.is_file()


def one_that_ends_without_a_word(tree):
    """There is no account of it; it has failed all the same."""
    tree.script("selftests/run", "#!/bin/sh\nexit 9\n")
    status, said = tree.run("selftests/soak", "wire", "--times", "1", "--load", "0")
    assert status == 1 and "selftests/run ended with status 9" in said, said


def wait_for_word(fifo, process):
    """Waits until something is written to a FIFO. A process that ended before writes nothing."""
    with open(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb") as end:
        while not select.select([end], [], [], 0.1)[0] or not end.read():
            assert process.poll() is None, process.stdout.read()


def the_load_ends_with_it(tree):
    """As many busy processes as asked for, also when it is interrupted, and none after."""
    if not shutil.which("pgrep"):
        return "procps is not installed"
    tree.script("selftests/wire/run", GROUP)
    tree.run("selftests/soak", "wire", "--times", "1", "--load", "1")
    assert int((tree.path / "selftests/wire/busy").read_text()) == os.cpu_count()
    tree.script("selftests/wire/run", "#!/bin/sh\necho 1..1\n"
                f"echo >{tree.path}/began; exec sleep 1000\n")
    os.mkfifo(tree.path / "began")
    soak = subprocess.Popen([str(tree.path / "selftests/soak"), "wire", "--load", "1"],
                            env={**os.environ, "PAVO_CACHE": str(tree.cache)},
                            stdout=subprocess.PIPE, text=True)
    wait_for_word(tree.path / "began", soak)

    def children(pid):
        return subprocess.run(["pgrep", "-P", str(pid)], check=False, text=True,
                              stdout=subprocess.PIPE).stdout.split()

    begun = children(soak.pid)
    begun += [pid for child in begun for pid in children(child)]
    assert len(begun) == os.cpu_count() + 2, begun
    soak.send_signal(signal.SIGTERM)
    assert soak.wait() == 143
    assert not any(pathlib.Path(f"/proc/{pid}").exists() for pid in begun)
    return None


def wrong_use(tree):
    """It is told, and nothing runs."""
    for arguments in ((), ("wire", "--times", "0"), ("wire", "--load", "-1")):
        assert tree.run("selftests/soak", *arguments)[0] == 2


TESTS = [tests.give(Tree, test) for test in (
    failures_are_counted, none_failed, another_kernel, one_that_ends_without_a_word,
    the_load_ends_with_it, wrong_use)]

sys.exit(tests.run("soak", TESTS))
