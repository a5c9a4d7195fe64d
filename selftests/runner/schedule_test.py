#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of the order in which items run (schedule.py), with items that run on a clock
# of the test. Prints TAP. Run by the group unit through Meson; touches nothing.
import dataclasses
import pathlib
import sys
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from runner import schedule, tests  # noqa: E402  (path set above)


@dataclasses.dataclass(eq=False)
class Played:
    """An item: what is expected of it, and how long it takes."""
    name: str
    expected: float
    seats: int = 1
    takes: float = 0.0

    def seconds(self):
        """How long it takes in truth."""
        return self.takes or self.expected


def play(items, seats):
    """Plays a schedule; returns name -> second at which it began, and the last second."""
    now, began = 0.0, {}
    board = schedule.Board(items, seats, lambda item: item.expected, clock=lambda: now)
    while board.waiting or board.running:
        while item := board.take():
            began[item.name] = now
        assert sum(board.wanted(i) for i in board.running) <= seats
        assert board.running, "free seats, and nothing runs"
        first = min(board.running, key=lambda i: board.running[i] + i.seconds())
        now = board.running[first] + first.seconds()
        board.leave(first)
    return began, now


def longest_first():
    """Two seats are filled from the long end, so the end is even."""
    began, end = play([Played("a", 1), Played("b", 5), Played("c", 3), Played("d", 3)], 2)
    assert began == {"b": 0, "c": 0, "d": 3, "a": 5}, began
    assert end == 6, end


def widest_first():
    """Both seats are free at the start without waiting."""
    began, end = play([Played("long", 9), Played("pair", 2, seats=2),
                       Played("other", 3, seats=2), Played("short", 9)], 2)
    assert began == {"other": 0, "pair": 3, "long": 5, "short": 5}, began
    assert end == 14, end


def one_that_is_wider_than_the_machine():
    """It gets all seats."""
    began, _ = play([Played("pair", 2, seats=2), Played("one", 1)], 1)
    assert began == {"pair": 0, "one": 2}, began


def waiting_for_seats_does_not_starve():
    """A second pair on three seats: what runs beside the first is out of the way when
    it ends, and nothing longer begins."""
    items = [Played("pair", 4, seats=2), Played("next", 3, seats=3)] + \
        [Played(f"one{n}", 3) for n in range(9)]
    began, _ = play(items, 3)
    assert began["next"] <= 7, began
    items = [Played("pair", 9, seats=2), Played("other", 8, seats=2), Played("short", 2)]
    began, _ = play(items, 3)
    assert began == {"pair": 0, "short": 0, "other": 9}, began


def a_long_one_does_not_pass():
    """It would hold up the wide one that waits; a short one does not."""
    items = [Played("pair", 4, seats=2), Played("other", 3, seats=2), Played("long", 6),
             Played("short", 3)]
    began, _ = play(items, 3)
    assert began == {"pair": 0, "short": 0, "other": 4, "long": 4}, began


def one_that_is_late_is_not_passed():
    """What runs longer than expected may end at any time: nothing more begins."""
    items = [Played("wide", 9, seats=2, takes=20), Played("two", 8, seats=2),
             Played("a", 5), Played("b", 5), Played("c", 5)]
    began, _ = play(items, 3)
    assert began["two"] == 20, began
    assert sorted(began[n] for n in "abc")[1] >= 20, began


def all_run_side_by_side():
    """Threads: two meet, and as many as there are seats."""
    meeting = threading.Barrier(2, timeout=30)
    played = []

    def run(item):
        if item.expected:
            meeting.wait()
        played.append(item.name)

    items = [Played("a", 1), Played("b", 1), Played("c", 0)]
    schedule.run_items(schedule.Board(items, 2, lambda item: item.expected), run)
    assert sorted(played) == ["a", "b", "c"], played


def what_fails_is_told():
    """An error in a thread is not lost."""
    def run(_item):
        raise ValueError("planted")

    try:
        schedule.run_items(schedule.Board([Played("a", 1)], 2, lambda _: 1), run)
    except ValueError:
        return
    raise AssertionError("no error")


TESTS = (longest_first, widest_first, one_that_is_wider_than_the_machine,
         waiting_for_seats_does_not_starve, a_long_one_does_not_pass,
         one_that_is_late_is_not_passed, all_run_side_by_side, what_fails_is_told)

sys.exit(tests.run("schedule", TESTS))
