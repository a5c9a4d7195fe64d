#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The Wireshark dissector (packaging/wireshark/pavo.lua) on a capture of messages that
# were recorded between two adapters (record-capture), and on one that was cut. What they
# must be is made anew here: payloads by the pattern of the tests, the key of the
# packets by the rule in docs/protocol.md. Prints TAP.
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LUA = HERE.parents[1] / "packaging/wireshark/pavo.lua"
CAPTURE = HERE / "messages.pcap"
JOB_ID, JOB_KEY = 0x1000, 0x5ec2e7
LENGTHS = (0, 1, 2, 3, 48, 49, 1420)
FIELDS = ("pavo.type", "pavo.key", "pavo.node", "pavo.length", "pavo.payload")
MASK = (1 << 64) - 1


def siphash24(key, data):
    """SipHash-2-4 (Aumasson, Bernstein) of less than eight bytes."""
    v = [key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
         key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573]

    def rotate(x, n):
        return (x << n | x >> (64 - n)) & MASK

    def sip():
        v[0] = (v[0] + v[1]) & MASK
        v[1] = rotate(v[1], 13) ^ v[0]
        v[0] = rotate(v[0], 32)
        v[2] = (v[2] + v[3]) & MASK
        v[3] = rotate(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & MASK
        v[3] = rotate(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & MASK
        v[1] = rotate(v[1], 17) ^ v[2]
        v[2] = rotate(v[2], 32)

    word = int.from_bytes(data, "little") | len(data) << 56
    v[3] ^= word
    sip()
    sip()
    v[0] ^= word
    v[2] ^= 0xff
    for _ in range(4):
        sip()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def pattern(number, length):
    """Bytes of message `number`, as adapter.cpp makes them."""
    return bytes((number * 31 + i * 7 + i // 253) & 0xff
                 for i in range(length))


def dissect(capture, *options):
    """What tshark prints with the dissector."""
    return subprocess.run(
        ["tshark", "-n", "-X", f"lua_script:{LUA}", "-r", str(capture),
         *options], check=True, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL).stdout


def messages_are_shown():
    """Every field of every message."""
    options = ["-Y", "pavo", "-T", "fields"]
    for field in FIELDS:
        options += ["-e", field]
    key = siphash24((JOB_KEY, JOB_KEY ^ MASK), struct.pack("<I", JOB_ID))
    want = [["0xc0", f"0x{key:016x}", "0", str(length),
             pattern(number, length).hex()]
            for number, length in enumerate(LENGTHS)]
    have = [line.split("\t") for line in dissect(CAPTURE, *options).splitlines()]
    assert have == want, f"{have} instead of {want}"


def the_checksum_is_right():
    """Wireshark itself takes the packets for RoCE, with their ICRC."""
    text = dissect(CAPTURE, "-T", "fields", "-e", "infiniband.bth.opcode",
                   "-e", "infiniband.invariant.crc")
    assert len(text.splitlines()) == len(LENGTHS), text


def a_packet_that_ends_early_is_told():
    """One that is cut inside its headers is malformed, and nothing breaks."""
    data = CAPTURE.read_bytes()
    _, _, size, _ = struct.unpack_from("<IIII", data, 24)
    frame = bytearray(data[40:40 + size])
    frame = frame[:14 + 20 + 8 + 12 + 4]
    struct.pack_into(">H", frame, 14 + 2, len(frame) - 14)
    struct.pack_into(">H", frame, 14 + 20 + 4, len(frame) - 34)
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(data[:24] + struct.pack("<IIII", 0, 0, len(frame),
                                           len(frame)) + frame)
        file.flush()
        assert "ends inside its headers" in dissect(file.name, "-V")


def main():
    """One line for each test."""
    tests = (messages_are_shown, the_checksum_is_right,
             a_packet_that_ends_early_is_told)
    if not shutil.which("tshark"):
        print("1..0 # SKIP tshark is not installed")
        return 0
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} {test.__name__}")
        except (AssertionError, subprocess.CalledProcessError) as error:
            failed += 1
            print(f"# {error}\nnot ok {number} {test.__name__}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
