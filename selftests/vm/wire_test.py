#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of the switch in pavovm/wire.py: frames go where they belong, and a machine that takes
# none stops no other one. Prints TAP. Run by the group unit through Meson.
import pathlib
import socket
import sys
import threading

sys.dont_write_bytecode = True
TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "selftests"), str(TREE / "qemu-scripts")]

from pavovm.wire import Wire  # noqa: E402  (path set above)
from runner import tests  # noqa: E402

ABSENT = b"\x52\x54\x00\x77\x00\xee"
ALL = b"\xff" * 6
# more than a datagram socket holds, whose limit is net.unix.max_dgram_qlen
MANY = 2000


class Machines:
    """Sockets where machines would be, at a wire of three."""

    def __init__(self):
        self.wire = Wire(3, native=False)
        self.sockets = {}
        for node, end in self.wire.ends.items():
            mine = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            mine.bind(str(end.mine))
            mine.settimeout(10)
            self.sockets[node] = mine

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for mine in self.sockets.values():
            mine.close()
        self.wire.close()

    def mac(self, node):
        """Of that node."""
        return bytes(int(part, 16) for part in self.wire.ends[node].mac.split(":"))

    def send(self, node, target, text):
        """A frame of a node."""
        self.sockets[node].sendto(target + self.mac(node) + b"\x08\x00" + text,
                                  str(self.wire.ends[node].peer))

    def receive(self, node):
        """The next frame that a node takes: its text."""
        return self.sockets[node].recv(2000)[14:]


def frames_go_where_they_belong():
    """To all as long as the address is unknown, then to its machine alone."""
    with Machines() as here:
        here.send(1, here.mac(2), b"first")
        assert here.receive(2) == here.receive(3) == b"first"
        here.send(2, here.mac(1), b"answer")
        assert here.receive(1) == b"answer"
        here.send(1, here.mac(2), b"second")
        here.send(1, ALL, b"to all")
        assert here.receive(2) == b"second" and here.receive(2) == b"to all"
        assert here.receive(3) == b"to all"


def two_talk(here):
    """More broadcasts than the socket of the third machine holds: each reaches the second one."""
    for i in range(MANY):
        here.send(1, ALL, b"%d" % i)
        assert here.receive(2) == b"%d" % i


def one_that_boots_stops_no_other():
    """It takes no frames yet, and has sent none."""
    with Machines() as here:
        two_talk(here)


def one_that_has_stopped_stops_no_other():
    """The others wait for it once."""
    with Machines() as here:
        here.send(3, ALL, b"up")
        assert here.receive(1) == here.receive(2) == b"up"
        two_talk(here)


def one_that_is_busy_loses_nothing():
    """As long as it takes frames at all."""
    with Machines() as here:
        here.send(2, ABSENT, b"up")
        assert here.receive(1) == here.receive(3) == b"up"
        sender = threading.Thread(target=lambda: [
            here.send(1, here.mac(2), b"%d" % i) for i in range(MANY)])
        sender.start()
        for i in range(MANY):
            assert here.receive(2) == b"%d" % i
        sender.join()


sys.exit(tests.run("wire", (frames_go_where_they_belong, one_that_boots_stops_no_other,
                            one_that_has_stopped_stops_no_other, one_that_is_busy_loses_nothing)))
