#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Examines a capture of the interop pair: tshark must find nothing wrong with
# the packets of the device under test, and their ICRC must be right. tshark 4.0
# shows the ICRC but does not compute it, so that is done here, from IBA Annex
# A17: a CRC-32 over the packet with the fields a router may change set to ones.
# The peer's packets are checked too (the check agrees with another
# implementation), and a damaged copy (the check can fail).
#
# A capture that lacks packets says nothing about those: what dumpcap said of itself is
# read, too.
#
# Called by run.sh; reads the capture and its log, prints TAP.
# usage: examine.py CAPTURE.pcap DUMPCAP.log MAC-OF-THE-DEVICE-UNDER-TEST
import collections
import re
import struct
import subprocess
import sys
import zlib

ROCE_PORT = 4791
# From here on opcodes are the manufacturer's (IBA 9.2.1), which tshark does not know.
FIRST_OWN_OPCODE = 0xc0
ETH_VLAN, ETH_IPV4, ETH_IPV6 = 0x8100, 0x0800, 0x86dd
UDP = 17
BTH_LENGTH, ICRC_LENGTH = 12, 4
LRH_ONES = b"\xff" * 8
TSHARK_LAYERS = ("frame", "eth", "ethertype", "ip", "ipv6", "udp", "infiniband",
                 "data")

# every RC opcode the tests make the device send (IBA table 38)
RC_OPCODES = {
    0x00: "send first", 0x01: "send middle", 0x02: "send last",
    0x03: "send last with immediate", 0x04: "send only",
    0x05: "send only with immediate", 0x06: "write first",
    0x07: "write middle", 0x08: "write last",
    0x09: "write last with immediate", 0x0a: "write only",
    0x0b: "write only with immediate", 0x0c: "read request",
    0x0d: "read response first", 0x0e: "read response middle",
    0x0f: "read response last", 0x10: "read response only",
    0x11: "acknowledge", 0x12: "atomic acknowledge",
    0x13: "compare and swap", 0x14: "fetch and add"}
# UC has those of sends and writes, from 0x20 on; UD two of its own
OPCODES = {**RC_OPCODES,
           **{0x20 + code: f"UC {RC_OPCODES[code]}" for code in range(0x0c)},
           0x64: "UD send only", 0x65: "UD send only with immediate"}


def records(path):
    """The frames of a pcap file."""
    with open(path, "rb") as capture:
        head = capture.read(24)
        order = "<" if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        while True:
            head = capture.read(16)
            if len(head) < 16:
                return
            stored, real = struct.unpack(order + "8xII", head)
            frame = capture.read(stored)
            yield frame if stored == real == len(frame) else None


class Packet:
    """A RoCEv2 packet in a frame: where its parts lie."""

    def __init__(self, frame):
        self.frame = frame
        self.source = frame[6:12]
        at = 12
        kind, = struct.unpack_from(">H", frame, at)
        if kind == ETH_VLAN:
            at += 4
            kind, = struct.unpack_from(">H", frame, at)
        self.ip = at + 2
        if kind == ETH_IPV4:
            self.version = 4
            length, = struct.unpack_from(">H", frame, self.ip + 2)
            protocol = frame[self.ip + 9]
            self.udp = self.ip + (frame[self.ip] & 15) * 4
            self.end = self.ip + length
        elif kind == ETH_IPV6:
            self.version = 6
            length, = struct.unpack_from(">H", frame, self.ip + 4)
            protocol = frame[self.ip + 6]
            self.udp = self.ip + 40
            self.end = self.udp + length
        else:
            raise ValueError("not IP")
        if protocol != UDP:
            raise ValueError("not UDP")
        port, udp_length = struct.unpack_from(">HH", frame, self.udp + 2)
        if port != ROCE_PORT:
            raise ValueError("not RoCE")
        if self.end > len(frame) or udp_length != self.end - self.udp:
            raise ValueError("lengths do not agree")
        self.bth = self.udp + 8
        if self.end - self.bth < BTH_LENGTH + ICRC_LENGTH:
            raise ValueError("too short")
        self.opcode = frame[self.bth]

    def icrc_is_right(self):
        """Computes the ICRC anew and compares."""
        part = bytearray(self.frame[self.ip:self.end - ICRC_LENGTH])
        if self.version == 4:
            part[1] = 0xff                      # type of service
            part[8] = 0xff                      # time to live
            part[10:12] = b"\xff\xff"           # header checksum
        else:
            part[0] |= 0x0f                     # traffic class, flow label
            part[1:4] = b"\xff\xff\xff"
            part[7] = 0xff                      # hop limit
        udp = self.udp - self.ip
        part[udp + 6:udp + 8] = b"\xff\xff"     # UDP checksum
        part[udp + 8 + 4] = 0xff                # BTH: FECN, BECN, reserved
        wanted = zlib.crc32(LRH_ONES + bytes(part))
        stored, = struct.unpack_from("<I", self.frame, self.end - ICRC_LENGTH)
        return wanted == stored


class Tap:
    """Prints results."""

    def __init__(self):
        self.number = 0
        self.failed = False

    def result(self, good, name, *details):
        """One line, and its details when it is bad."""
        self.number += 1
        self.failed |= not good
        print(f"{'ok' if good else 'not ok'} {self.number} wire: {name}")
        if not good:
            for line in details[:20]:
                print(f"#   {line}")


def lacking(log, frames):
    """What a capture of so many frames lacks, in words, by what dumpcap said at its
    end; nothing if it is whole."""
    captured = re.search(r"^Packets captured: (\d+)$", log, re.M)
    lost = re.search(r"^Packets received/dropped on interface .*: (\d+)/(\d+) \((.*?)\)",
                     log, re.M)
    if not captured or not lost:
        return ["dumpcap did not say what it dropped", *log.splitlines()[-5:]]
    words = []
    # Its sum leaves out what the interface itself had no room for.
    if any(int(count) for count in [lost[2], *re.findall(r":(\d+)", lost[3])]):
        words.append(f"dropped: {lost[2]} of {lost[1]} ({lost[3]})")
    if int(captured[1]) != frames:
        words.append(f"dumpcap captured {captured[1]} frames, the file has {frames}")
    return words


def complete_check(tap, path, log):
    """Nothing that was on the wire is missing."""
    with open(log, errors="replace") as file:
        missing = lacking(file.read(), sum(1 for _ in records(path)))
    tap.result(not missing, "the capture is complete, nothing was dropped", *missing)


def own_check(tap, path, mac):
    """Every packet's structure and ICRC; returns the number of the device's that have
    an opcode of IBA."""
    seen = collections.Counter()
    peers = 0
    bad = []
    bad_of_peer = []
    versions = collections.Counter()
    first = None
    for number, frame in enumerate(records(path), 1):
        if frame is None:
            tap.result(False, "the capture is whole", f"frame {number} is cut")
            return 0
        mine = frame[6:12] == mac
        try:
            packet = Packet(frame)
        except ValueError as problem:
            (bad if mine else bad_of_peer).append(f"frame {number}: {problem}")
            continue
        if not packet.icrc_is_right():
            (bad if mine else bad_of_peer).append(
                f"frame {number}: opcode {packet.opcode:#x}, wrong ICRC")
        if mine:
            seen[packet.opcode] += 1
            versions[packet.version] += 1
            first = first or frame
        else:
            peers += 1
    total = sum(seen.values())
    print(f"# {total} packets of the device, {peers} of the peer; "
          f"{dict(versions)}")
    tap.result(not bad and total > 0,
               "ICRC and lengths of every packet of the device are right", *bad)
    tap.result(not bad_of_peer and peers > 0,
               "the check agrees with every packet of the peer", *bad_of_peer)
    missing = [name for code, name in OPCODES.items() if not seen[code]]
    tap.result(not missing, "the device sent every opcode of RC, UC and UD", *missing)
    tap.result(versions[4] > 0 and versions[6] > 0,
               "over IPv4 and over IPv6", dict(versions))
    caught = first is not None
    for at in (-ICRC_LENGTH - 1, -1, 14 + 12) if first else ():
        damaged = bytearray(first)
        damaged[at] ^= 0x10
        caught &= not Packet(bytes(damaged)).icrc_is_right()
    tap.result(caught, "a damaged packet would have been noticed")
    return sum(count for opcode, count in seen.items() if opcode < FIRST_OWN_OPCODE)


def payload_guessers():
    """Options that keep tshark from guessing what the payload may be: the
    test patterns look like one protocol or another now and then."""
    done = subprocess.run(["tshark", "-G", "protocols"], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in done.stdout.decode().splitlines():
        name = line.split("\t")[2]
        if name not in TSHARK_LAYERS:
            yield f"--disable-protocol={name}"
    # One byte 8 and its pad are the beginning of an IP packet to this one.
    yield "--disable-heuristic=eth_over_ib"


def tshark(path, display_filter, *fields):
    """Lines of the frames that match."""
    command = ["tshark", "-n", "-r", path, "-o", "ip.check_checksum:TRUE",
               "-o", "udp.check_checksum:TRUE",
               "-o", "udp.ignore_ipv6_zero_checksum:TRUE",
               *payload_guessers(), "-Y", display_filter,
               "-T", "fields", "-e", "frame.number"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True,
                          stderr=subprocess.DEVNULL)
    return done.stdout.decode().splitlines()


def tshark_check(tap, path, mac, total):
    """tshark's opinion of the device's packets."""
    mine = f"eth.src == {mac}"
    known = tshark(path, f"{mine} && infiniband.bth && infiniband.invariant.crc")
    tap.result(len(known) == total and total > 0,
               "tshark takes every packet with an opcode of IBA for RoCE",
               f"{len(known)} of {total}")
    wrong = tshark(path, f"{mine} && (_ws.malformed || _ws.unreassembled || "
                   "_ws.expert.severity == error)", "_ws.col.Info",
                   "_ws.expert.message")
    tap.result(not wrong, "tshark finds no malformed packet and no error",
               *wrong)


def main():
    """The program."""
    path, log, mac = sys.argv[1:]
    print("TAP version 13")
    tap = Tap()
    try:
        complete_check(tap, path, log)
        total = own_check(tap, path, bytes.fromhex(mac.replace(":", "")))
        tshark_check(tap, path, mac, total)
    except (OSError, subprocess.CalledProcessError) as problem:
        tap.result(False, "the capture can be read", problem)
    print(f"1..{tap.number}")
    return int(tap.failed)


if __name__ == "__main__":
    sys.exit(main())
