#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Runs a command, and prints which frames of RoCE leave an interface meanwhile: a line
# "VLAN PCP" for each kind, sorted, or "none none" for those without a tag. Called by
# class_tests.sh.
#
# usage: priorities.py INTERFACE COMMAND...
import socket
import struct
import subprocess
import sys
import threading

ETH_P_ALL = 3
ETH_P_IP, ETH_P_IPV6, ETH_P_8021Q = 0x0800, 0x86dd, 0x8100
PACKET_AUXDATA = 8
SOL_PACKET = 263
TP_STATUS_VLAN_VALID = 1 << 4
ROCE = 4791


def is_roce(kind, packet):
    """Is it a datagram to the port of RoCE?"""
    if kind == ETH_P_IP and packet[9] == socket.IPPROTO_UDP:
        udp = (packet[0] & 15) * 4
    elif kind == ETH_P_IPV6 and packet[6] == socket.IPPROTO_UDP:
        udp = 40
    else:
        return False
    return struct.unpack_from("!H", packet, udp + 2)[0] == ROCE


def tag_of(frame, control):
    """The 16 bits of the VLAN tag, or None, and the frame's kind and packet."""
    kind, start = struct.unpack_from("!H", frame, 12)[0], 14
    tag = None
    for level, what, data in control:
        if (level, what) == (SOL_PACKET, PACKET_AUXDATA):
            status, *_, tci = struct.unpack_from("=IIIHHH", data)
            if status & TP_STATUS_VLAN_VALID:
                tag = tci
    if kind == ETH_P_8021Q:
        tag, kind = struct.unpack_from("!HH", frame, 14)
        start = 18
    return tag, kind, frame[start:]


def listen(sock, seen):
    """Until the socket is shut: fill the set."""
    while True:
        try:
            frame, control, _, source = sock.recvmsg(256, 256)
        except TimeoutError:
            if seen.over:
                return
            continue
        if source[2] != socket.PACKET_OUTGOING or len(frame) < 60:
            continue
        tag, kind, packet = tag_of(frame, control)
        if not is_roce(kind, packet):
            continue
        seen.kinds.add("none none" if tag is None else f"{tag & 0xfff} {tag >> 13}")


class Seen:
    """What was seen, and whether the command has ended."""
    kinds = set()
    over = False


def main(interface, command):
    """Listen on the interface, in a thread, while the command runs."""
    seen = Seen()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as sock:
        sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        sock.bind((interface, ETH_P_ALL))
        sock.settimeout(0.2)
        listener = threading.Thread(target=listen, args=(sock, seen))
        listener.start()
        status = subprocess.run(command, stdout=sys.stderr, check=False).returncode
        seen.over = True
        listener.join()
    print("\n".join(sorted(seen.kinds)))
    return status


sys.exit(main(sys.argv[1], sys.argv[2:]))
