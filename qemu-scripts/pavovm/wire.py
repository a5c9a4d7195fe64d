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
import tempfile
import threading

FRAME_MAX = 69632
MULTICAST_BIT = 1


class Wire:
    """The wire of a run: one port per node."""

    def __init__(self, nodes):
        self.nodes = nodes
        # short path: a unix socket's name has room for 107 characters
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pavo-wire-"))
        self.switch = Switch(self.folder, nodes) if nodes > 2 else None

    def arguments(self, node):
        """QEMU arguments that give this node its eth0."""
        mine = self.folder / f"node{node}"
        if self.switch:
            peer = self.folder / f"port{node}"
        else:
            peer = self.folder / f"node{3 - node}"
        mac = f"52:54:00:77:00:{node:02x}"
        # event_idx: with it a wire has once stopped for ever, though QEMU had the mend
        # of the stall that is known (f937309fbdbb there). Without it every refill of the
        # receive queue is told while QEMU waits for one.
        return ["-netdev", "dgram,id=wire,local.type=unix,"
                f"local.path={mine},remote.type=unix,remote.path={peer}",
                "-device", f"virtio-net-pci,netdev=wire,mac={mac},romfile=,"
                "event_idx=off"]

    def close(self):
        """Takes the wire down."""
        if self.switch:
            self.switch.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Switch(threading.Thread):
    """Forwards frames between ports by the addresses it has seen."""

    def __init__(self, folder, nodes):
        super().__init__(daemon=True)
        self.folder = folder
        self.learned = {}
        self.select = selectors.DefaultSelector()
        self.ports = {}
        for node in range(1, nodes + 1):
            port = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            port.bind(str(folder / f"port{node}"))
            port.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
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
        if target in self.learned and not target[0] & MULTICAST_BIT:
            out = [self.learned[target]]
        else:
            out = list(self.ports)
        for node in out:
            if node != source:
                self._send(node, frame)

    def _send(self, node, frame):
        try:
            self.ports[node].sendto(frame, str(self.folder / f"node{node}"))
        except OSError:
            pass        # the machine is not there (yet, or any more)

    def close(self):
        """Ends the thread and closes the ports."""
        os.write(self.wake_write, b"x")
        self.join()
        for port in self.ports.values():
            port.close()
        self.select.close()
        os.close(self.wake_read)
        os.close(self.wake_write)
