#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Tests of the cost of a stop: what is measured, and what is kept of it.
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from runner import groups, host, plan, tests  # noqa: E402  (path set above)


class Cache:
    """A folder, a file that names the boot, and measurements that are counted."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.boot = self.folder / "boot"
        self.boot.write_text("first\n")
        self.answers = [1e-6, 2e-6, 3e-6, 4e-6]

    def read(self):
        """What the runner is told."""
        return host.read_stop(self.folder, lambda: self.answers.pop(0), self.boot)


def a_stop_takes_some_time():
    """Between a hundredth of a microsecond and a second, wherever it is allowed."""
    seconds = host.measure_stop()
    if not seconds:
        return "no process may be traced here"
    assert 1e-8 < seconds < 1, seconds
    return None


def where_nothing_may_be_traced():
    """Neither a stop that never ends nor a figure."""
    assert host._trace(  # pylint: disable=protected-access
        lambda *_: -1) == 0


def one_boot_is_measured_once(cache):
    """A second question gets the first answer, until the machine boots."""
    assert [cache.read(), cache.read()] == [1e-6, 1e-6]
    cache.boot.write_text("second\n")
    assert [cache.read(), cache.read()] == [2e-6, 2e-6]


def what_is_kept_may_be_spoilt(cache):
    """Then it is measured again."""
    wanted = list(cache.answers)
    for text in ("", "[]", "{}", '{"boot": "first", "seconds": "x"}'):
        (cache.folder / "stop-cost.json").write_text(text)
        assert cache.read() == wanted.pop(0), text


def without_a_cache_it_is_measured():
    """And kept nowhere."""
    assert host.read_stop(None, lambda: 5e-6) == 5e-6


def groups_of_many_calls_change_their_kernel():
    """Only on a host with slow stops, and only those that no kernel was named for."""
    rows = {"a": plan.Row(kernels=plan.NATIVE, calls=True),
            "b": plan.Row(kernels=plan.NATIVE),
            "c": plan.Row(kernels=plan.NATIVE + plan.DEFAULT, calls=True)}
    found = {name: [("", None)] for name in rows}

    def names(**how):
        return [item.name for item in groups.make_items(rows, found, **how)]
    assert names() == ["a@native", "b@native", "c@native", "c@default"]
    assert names(slow_calls=True) == ["a@default", "b@native", "c@default"]
    assert names(slow_calls=True, kernel="native") == ["a@native", "b@native", "c@native"]


TESTS = (a_stop_takes_some_time, where_nothing_may_be_traced,
         tests.give(Cache, one_boot_is_measured_once),
         tests.give(Cache, what_is_kept_may_be_spoilt), without_a_cache_it_is_measured,
         groups_of_many_calls_change_their_kernel)

if __name__ == "__main__":
    sys.exit(tests.run("cost of a stop", TESTS))
