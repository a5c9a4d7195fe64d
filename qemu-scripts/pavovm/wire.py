# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the virtual wire between machines. Two machines are joined directly by
# a pair of datagram sockets; more of them by a small learning switch that runs
# as a thread here. Called by run.py; touches its socket folder only.
import os
import pathlib
import selectors
import shutil
import socket
import struct
import tempfile
import threading

FRAME_MAX = 69632
MULTICAST_BIT = 1
SEND_BUFFER = 1 << 20
SEND_SECONDS = 1


class End:
    """One node's end of the wire: a socket of its own, and the one it sends to."""

    def __init__(self, node, mine, peer):
        self.mine = mine
        self.peer = peer
        self.mac = f"52:54:00:77:00:{node:02x}"
        self.socket = None

    def qemu_arguments(self):
        """QEMU arguments that make it the node's eth0."""
        # event_idx: with it a wire has once stopped for ever, though QEMU had the mend
        # of the stall that is known (f937309fbdbb there). Without it the guest tells
        # every refill of the receive queue while QEMU waits for one.
        return ["-netdev", "dgram,id=wire,local.type=unix,"
                f"local.path={self.mine},remote.type=unix,remote.path={self.peer}",
                "-device", f"virtio-net-pci,netdev=wire,mac={self.mac},romfile=,"
                "event_idx=off"]

    def bind(self):
        """Makes the socket for a machine that inherits it."""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.mine))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)

    def connect(self):
        """Joins it to the peer's, which must exist."""
        self.socket.connect(str(self.peer))


class Wire:
    """The wire of a run: one end per node. Machines that are native inherit sockets."""

    def __init__(self, nodes, native):
        # short path: a unix socket's name has room for 107 characters
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pavo-wire-"))
        self.switch = Switch(self.folder, nodes) if nodes > 2 else None
        self.ends = {node: End(node, self.folder / f"node{node}", self._peer(node))
                     for node in range(1, nodes + 1)}
        if native:
            for end in self.ends.values():
                end.bind()
            for end in self.ends.values():
                end.connect()

    def _peer(self, node):
        if self.switch:
            return self.folder / f"port{node}"
        return self.folder / f"node{3 - node}"

    def close(self):
        """Takes the wire down."""
        for end in self.ends.values():
            if end.socket:
                end.socket.close()
        if self.switch:
            self.switch.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Switch(threading.Thread):
    """Forwards frames between ports by the addresses it has seen.

    A machine that sends nothing yet may still boot: it takes no frames, and one that finds no room
    in its socket is dropped, or the other machines would wait for it. One that has sent is waited
    for, so that a busy machine loses nothing, but for no longer than SEND_SECONDS."""

    def __init__(self, folder, nodes):
        super().__init__(daemon=True)
        self.folder = folder
        self.learned = {}
        self.awake = set()      # ports whose machines take frames
        self.select = selectors.DefaultSelector()
        self.ports = {}
        for node in range(1, nodes + 1):
            port = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            port.bind(str(folder / f"port{node}"))
            port.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
            port.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO,
                            struct.pack("ll", SEND_SECONDS, 0))
            self.ports[node] = port
            self.select.register(port, selectors.EVENT_READ, node)
        self.wake_read, self.wake_write = os.pipe()
        self.select.register(self.wake_read, selectors.EVENT_READ, None)
        self.start()

    def run(self):
        while True:
            for key, _ in self.select.select():
                if key.data is None:
                    return
                self._forward(key.data, key.fileobj.recv(FRAME_MAX))

    def _forward(self, source, frame):
        if len(frame) < 14:
            return
        target, sender = frame[0:6], frame[6:12]
        self.learned[sender] = source
        self.awake.add(source)
        if target in self.learned and not target[0] & MULTICAST_BIT:
            out = [self.learned[target]]
        else:
            out = list(self.ports)
        for node in out:
            if node != source:
                self._send(node, frame)

    def _send(self, node, frame):
        flags = 0 if node in self.awake else socket.MSG_DONTWAIT
        try:
            self.ports[node].sendto(frame, flags, str(self.folder / f"node{node}"))
        except OSError:
            # the machine is not there (yet, or any more), or takes nothing
            self.awake.discard(node)

    def close(self):
        """Ends the thread and closes the ports."""
        os.write(self.wake_write, b"x")
        self.join()
        for port in self.ports.values():
            port.close()
        self.select.close()
        os.close(self.wake_read)
        os.close(self.wake_write)
