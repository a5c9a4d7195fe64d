# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: which item runs next. An item has a number of seats, and durations that are
# expected come from the caller. Called by session.py; starts threads, knows no programs.
import concurrent.futures
import time


class Board:
    """Waiting and running items. The widest come first, since seats are free together
    only then; among equals the longest. One that has to wait for seats is passed only by
    items that are expected to end before these seats are free."""

    def __init__(self, items, seats, expected, clock=time.monotonic):
        self.total = seats
        self.expected = expected
        self.clock = clock
        self.waiting = sorted(items, key=lambda item: (-self.wanted(item),
                                                       -expected(item)))
        self.running = {}

    def wanted(self, item):
        """Its seats, or all that there are."""
        return min(item.seats, self.total)

    def free(self):
        """Seats that nothing takes."""
        return self.total - sum(self.wanted(item) for item in self.running)

    def take(self):
        """The item to start now, or None."""
        room = self.free()
        for item in self.waiting:
            if self.wanted(item) <= room and (
                    item is self.waiting[0] or self._ends_in_time(item)):
                self.waiting.remove(item)
                self.running[item] = self.clock()
                return item
        return None

    def _ends_in_time(self, item):
        """Whether it is out of the way when the first that waits can begin."""
        now, room = self.clock(), self.free()
        ends = sorted((max(now, began + self.expected(other)), self.wanted(other))
                      for other, began in self.running.items())
        for end, seats in ends:
            room += seats
            if room >= self.wanted(self.waiting[0]):
                return now + self.expected(item) <= end
        return False

    def leave(self, item):
        """Its seats are free again."""
        del self.running[item]


def run_items(board, play):
    """Runs all of them, each by play(item) in a thread. Raises what play raises."""
    tasks = {}
    with concurrent.futures.ThreadPoolExecutor(board.total) as pool:
        while board.waiting or tasks:
            while item := board.take():
                tasks[pool.submit(play, item)] = item
            done, _ = concurrent.futures.wait(
                tasks, return_when=concurrent.futures.FIRST_COMPLETED)
            for task in done:
                board.leave(tasks.pop(task))
                task.result()
