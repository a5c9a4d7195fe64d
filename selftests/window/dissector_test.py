#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# The Wireshark dissector, as the build makes it of packaging/wireshark, on captures of messages and of
# RDMA that were recorded between two adapters (record-capture), and on one that was cut.
# The expected values are made anew here: payloads by the pattern of the tests, the key of
# the packets by the rule in docs/protocol.md. Packets of extended operations are made up.
# Prints TAP. usage: dissector_test.py PAVO.LUA
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from runner import tests  # noqa: E402  (path set above)

LUA = pathlib.Path(sys.argv[1]).resolve()
CAPTURE = HERE / "messages.pcap"
RDMA = HERE / "rdma.pcap"
JOB_ID, JOB_KEY = 0x1000, 0x5ec2e7
LENGTHS = (0, 1, 2, 3, 48, 49, 1420)
FIELDS = ("pavo.type", "pavo.key", "pavo.node", "pavo.kind", "pavo.length",
          "pavo.payload")
FLAGS = {"notify_source": 1, "notify_target": 2, "to_fifo": 4, "from_fifo": 8}
UP_TO_BTH = 14 + 20 + 8
BTH, WETH, ICRC = 12, 16, 4
MASK = (1 << 64) - 1
MESSAGE, DATA, READ, DONE = 0xc0, 0xc1, 0xc2, 0xc3
THIRD_READ, THIRD_DATA = 0xc4, 0xc5
# Fields of packets of RDMA: name, and where they are behind the BTH.
RDMA_FIELDS = (("key", 0, 8), ("node", 8, 2), ("window", 13, 3), ("rcxt", 16, 4),
               ("peer_rcxt", 20, 4), ("tid", 24, 8), ("pvo", 32, 8), ("total", 40, 4),
               ("fragment", 44, 4), ("tag", 48, 4), ("attempts", 52, 2), ("flags", 54, 1),
               ("status", 55, 1), ("back_pvo", 56, 8))
HEADERS = {DATA: 56, READ: 64, DONE: 56}
FRAGMENT = 1380
WRONG_REGION = 4


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


def ordinary():
    """How root becomes a user for whom tshark loads scripts; it does so for root no more."""
    if os.geteuid():
        return {}
    return {"user": 65534, "group": 65534, "extra_groups": [],
            "env": {**os.environ, "HOME": "/nonexistent"}}


def dissect(capture, *options):
    """What tshark prints with the dissector. That user may not see the tree."""
    with tempfile.TemporaryDirectory() as folder, open(capture, "rb") as packets:
        os.chmod(folder, 0o755)
        lua = shutil.copy(LUA, folder)
        os.chmod(lua, 0o644)
        return subprocess.run(
            ["tshark", "-n", "-X", f"lua_script:{lua}", "-r", "-", *options],
            check=True, text=True, stdin=packets, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd="/", **ordinary()).stdout


def messages_are_shown():
    """Every field of every message."""
    options = ["-Y", "pavo", "-T", "fields"]
    for field in FIELDS:
        options += ["-e", field]
    key = siphash24((JOB_KEY, JOB_KEY ^ MASK), struct.pack("<I", JOB_ID))
    want = [["0xc0", f"0x{key:016x}", "0", "0", str(length),
             pattern(number, length).hex()]
            for number, length in enumerate(LENGTHS)]
    have = [line.split("\t") for line in dissect(CAPTURE, *options).splitlines()]
    assert have == want, f"{have} instead of {want}"
    ways = [(str(int.from_bytes(packet[5:8], "big")), str(int.from_bytes(packet[25:28], "big")))
            for packet in frames(CAPTURE)]
    text = dissect(CAPTURE, "-Y", "pavo", "-T", "fields", "-e", "pavo.to", "-e",
                   "pavo.window")
    assert [tuple(line.split("\t")) for line in text.splitlines()] == ways, text


def the_checksum_is_right():
    """Wireshark itself takes the packets for RoCE, with their ICRC."""
    for capture in CAPTURE, RDMA:
        text = dissect(capture, "-T", "fields", "-e", "infiniband.bth.opcode",
                       "-e", "infiniband.invariant.crc")
        assert len(text.splitlines()) == len(list(frames(capture))), text


def frames(capture):
    """The bytes of each packet, from its BTH on."""
    data = capture.read_bytes()
    at = 24
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16 + 14 + 20 + 8:at + 16 + size]
        at += 16 + size


def expected_fields(packet):
    """What is in a packet of RDMA, without the dissector's help."""
    opcode, pad = packet[0], packet[1] >> 4 & 3
    behind, headers = packet[12:], HEADERS[packet[0]]
    found = {"type": opcode, "to": int.from_bytes(packet[5:8], "big")}
    for name, at, size in RDMA_FIELDS:
        if at < headers:
            found[name] = int.from_bytes(behind[at:at + size], "big")
    found["payload"] = behind[headers:len(behind) - 4 - pad].hex()
    found["length"] = len(found["payload"]) // 2
    return found


def shown():
    """The same, as the dissector shows it."""
    names = ["type", "to", *(name for name, _, _ in RDMA_FIELDS), "length",
             "payload"]
    options = ["-Y", "pavo", "-T", "fields"]
    for name in names:
        options += ["-e", f"pavo.{name}"]
    for line in dissect(RDMA, *options).splitlines():
        row = dict(zip(names, line.split("\t")))
        payload = row.pop("payload", "")
        found = {name: int(value, 0) for name, value in row.items() if value}
        found["payload"] = payload
        yield found


def every_field_of_rdma_is_shown():
    """Name by name, of data, requests, and ends."""
    have, want = list(shown()), [expected_fields(packet) for packet in frames(RDMA)]
    assert have == want, f"{have} instead of {want}"


def data_of(tid, total, source, **more):
    """Packets of data, as the one that sends them fills them in."""
    return [{"type": DATA, "tid": tid, "total": total, "fragment": at // FRAGMENT,
             "payload": source[at:at + FRAGMENT].hex(), "status": 0, **more}
            for at in range(0, max(total, 1), FRAGMENT)]


def rdma_was_recorded():
    """A write, again, a read, a write of nothing, one to memory that is not there."""
    key = siphash24((JOB_KEY, JOB_KEY ^ MASK), struct.pack("<I", JOB_ID))
    tid, tag = 1 << 40, 0xabc000
    here, there = pattern(1, 3001), pattern(2, 1381)
    more = {"flags": 3, "tag": tag, "attempts": 0, "node": 0}
    want = data_of(tid + 1, 3001, here, **more)
    want += [{"type": DONE, "tid": tid + 1, "total": 3001, **more, "node": 1}]
    want += data_of(tid + 2, 3001, here, **more | {"attempts": 1})
    want += [{"type": DONE, "tid": tid + 2, "total": 3001, "node": 1}]
    more = {"flags": 2, "tag": tag, "attempts": 0, "node": 0}
    want += [{"type": READ, "tid": tid + 3, "total": 1381, **more}]
    want += data_of(tid + 3, 1381, there, **more | {"node": 1})
    more["flags"] = 1
    want += data_of(tid + 4, 0, b"", **more)
    want += [{"type": DONE, "tid": tid + 4, "total": 0, "status": 0, "node": 1}]
    want += data_of(tid + 5, 5, there[:5], **more)
    want += [{"type": DONE, "tid": tid + 5, "total": 5, "status": WRONG_REGION}]
    # A repeated operation is reported complete when its first packet comes.
    def place(packet):
        return packet.get("tid", 0), packet["type"], packet.get("fragment", 0)
    have, want = sorted(shown(), key=place), sorted(want, key=place)
    assert len(have) == len(want), f"{len(have)} packets instead of {len(want)}"
    for packet, expected in zip(have, want):
        assert packet["key"] == key, hex(packet["key"])
        assert expected.items() <= packet.items(), f"{packet}, not {expected}"
    ends_fit_together(have)


def ends_fit_together(packets):
    """Numbers that are random: the same everywhere, with sides exchanged."""
    contexts = {(packet["node"], packet["peer_rcxt"], packet["rcxt"],
                 packet["window"], packet["to"]) for packet in packets}
    ours = packets[0]
    assert contexts == {
        (0, ours["peer_rcxt"], ours["rcxt"], ours["window"], ours["to"]),
        (1, ours["rcxt"], ours["peer_rcxt"], ours["to"], ours["window"])}, contexts
    request, wrong = packets[10], packets[13]
    for packet in packets[0:3] + packets[4:7]:
        assert packet["pvo"] == ours["pvo"] + packet["fragment"] * FRAGMENT
    assert request["pvo"] == ours["pvo"]
    for packet in packets[8:10]:
        assert packet["pvo"] == (request["back_pvo"]
                                 + packet["fragment"] * FRAGMENT)
    assert wrong["pvo"] == ours["pvo"] ^ 1 << 60


def kinds_and_results_have_names():
    """What a person reads."""
    text = dissect(RDMA, "-V")
    for words in ("Type: Data (0xc1)", "Type: Read (0xc2)", "Type: Done (0xc3)",
                  "Status: all has arrived (0)",
                  "Status: not, or no more, of that region (4)",
                  "Kind of message: of a program (0)", "= Notify the source: True",
                  "= Notify the target: False"):
        assert words in text, words


def third_party_packets_are_shown():
    """The third end, behind the headers of a request and of data."""
    first = {packet[0]: packet for packet in frames(RDMA)}
    third = struct.pack(">HHII", 0x1234, 0, 0xabcdef, 0x87654321)
    packets = [bytes([opcode, 0x40]) + first[like][2:BTH + HEADERS[like]] + third + payload
               + bytes(ICRC)
               for opcode, like, payload in ((THIRD_READ, READ, b""), (THIRD_DATA, DATA, b"abcd"))]
    names = ("type", "rcxt", "third_node", "third_window", "third_rcxt", "length")
    options = ["-T", "fields"]
    for name in names:
        options += ["-e", f"pavo.{name}"]
    have = [dict(zip(names, [int(value, 0) if value else None for value in line.split("\t")]))
            for line in made_up(packets, *options).splitlines()]
    want = {"third_node": 0x1234, "third_window": 0xabcdef, "third_rcxt": 0x87654321}
    assert len(have) == 2, have
    for shows, opcode in zip(have, (THIRD_READ, THIRD_DATA)):
        assert shows.items() >= {"type": opcode, **want}.items(), shows
    assert have[1]["length"] == 4, have
    text = made_up(packets, "-V")
    for words in "Type: Third-Party Read (0xc4)", "Type: Third-Party Data (0xc5)":
        assert words in text, words
    shorts = [packet[:len(packet) - 12] for packet in packets[:1]]
    assert reported(shorts + packets, "pavo.short") == [True, False, False]


def groups_are_told_from_windows():
    """The highest bit of the destination: of a message, and of data."""
    data = next(packet for packet in frames(RDMA) if packet[0] == DATA)
    packets = [packet[:5] + struct.pack(">I", to)[1:] + packet[8:]
               for packet in (next(frames(CAPTURE)), data) for to in (0x800005, 0x7ffff5)]
    text = made_up(packets, "-T", "fields", "-e", "pavo.group", "-e", "pavo.to")
    true = {"1": True, "True": True, "0": False, "False": False}
    have = [(true[group], int(to, 0)) for group, to in
            (line.split("\t") for line in text.splitlines())]
    assert have == [(True, 0x800005), (False, 0x7ffff5)] * 2, have
    text = made_up(packets, "-V")
    for words, times in ((" to group 5\n", 2), (f" to window {0x7ffff5}\n", 2),
                         ("= To a group: True", 2), ("= To a group: False", 2)):
        assert text.count(words) == times, (words, text.count(words))


def made_up(packets, *options):
    """What the dissector makes of packets, each from its BTH on."""
    data = CAPTURE.read_bytes()
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(data[:24])
        for packet in packets:
            frame = bytearray(data[40:40 + UP_TO_BTH]) + packet
            struct.pack_into(">H", frame, 14 + 2, len(frame) - 14)
            struct.pack_into(">H", frame, 14 + 20 + 4, len(frame) - 34)
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)
        file.flush()
        return dissect(file.name, *options)


def reported(packets, what):
    """Whether the filter takes each packet. One call for all: most of it is tshark's start."""
    taken = {int(line) for line in made_up(packets, "-Y", what, "-T", "fields", "-e",
                                           "frame.number").splitlines()}
    return [number in taken for number in range(1, len(packets) + 1)]


def message_of(kind, payload):
    """A message of that kind."""
    packet = bytearray(next(frames(CAPTURE))[:BTH + WETH])
    packet[1] = packet[1] & ~0x30 | (-len(payload) & 3) << 4
    packet[BTH + 10] = kind
    return packet + payload + bytes(-len(payload) & 3) + bytes(ICRC)


def fields_of(messages, *fields):
    """Of messages, (kind, payload) each: their fields, as numbers."""
    options = ["-T", "fields"]
    for field in fields:
        options += ["-e", f"pavo.{field}"]
    text = made_up([message_of(*message) for message in messages], *options)
    return [[int(value, 0) if value else None for value in line.split("\t")]
            for line in text.splitlines()]


def control_messages_are_shown():
    """Control messages between libraries: after a recovery, and of striping."""
    control = struct.pack(">B3xIIQ", 2, 0x12345678, 0x9abcdef0, 1 << 40)
    names = ("kind", "control", "control.rcxt", "control.now", "control.ended")
    # Of another length it is none, nor is a program's.
    none = (1, control[:-1]), (1, control + b"0"), (0, control), (2, control), (77, control)
    have = fields_of([(1, control), *none], *names)
    want = [[1, 2, 0x12345678, 0x9abcdef0, 1 << 40]]
    want += [[kind, None, None, None, None] for kind, _ in none]
    assert have == want, f"{have} instead of {want}"
    control = struct.pack(">BxHIQQQI", 3, 0x102, 0x3040506, 7, 5, 1 << 33, 0xabc)
    transfer = struct.pack(">BBBxHxxQQQIIIxxxxQ", 1, 2, 4, 1344, 9, 7, 1 << 50, 5000, 0xabc, 3, 0xf0)
    have, = fields_of([(6, transfer + bytes(968))], "kind", "control", "control.flags", "control.status",
                      "control.chunk_bytes", "control.number", "control.oldest", "control.pvo",
                      "control.total", "control.tag", "control.chunk", "control.mask")
    assert have == [6, 1, 2, 4, 1344, 9, 7, 1 << 50, 5000, 0xabc, 3, 0xf0], have
    have, = fields_of([(6, transfer[:-1])], "kind", "control")
    assert have == [6, None], have
    have, = fields_of([(2, control)], "kind", "control", "control.path", "control.token", "control.number",
                 "control.oldest", "control.length", "control.tag")
    assert have == [2, 3, 0x102, 0x3040506, 7, 5, 1 << 33, 0xabc], have


def messages_of_interfaces_are_shown():
    """The packet inside, to its last header; and an offer of one."""
    offer = struct.pack("<QQII", 1 << 40, 0xd5e6d523456789ab, 0x12345678, 65000)
    names = ("kind", "offer.tid", "offer.pvo", "offer.rcxt", "offer.length")
    have = fields_of([(8, offer), (8, offer[:-1]), (7, offer[:20])], *names)
    want = [[8, 1 << 40, 0xd5e6d523456789ab, 0x12345678, 65000],
            [8, None, None, None, None], [7, None, None, None, None]]
    assert have == want, f"{have} instead of {want}"
    packet = bytes.fromhex("020001000384" "020002000385" "0800" "4500003012342003401100000a4d0002"
                           "0a4d00ff") + bytes(28)
    text = made_up([message_of(7, packet)], "-T", "fields", "-e", "eth.src", "-e", "ip.src",
                   "-e", "ip.frag_offset")
    have = [field.split(",")[-1] for field in text.strip().split("\t")]
    assert have == ["02:00:02:00:03:85", "10.77.0.2", "3"], text


def flags_are_shown_one_by_one():
    """All that there are, in every combination."""
    packet = next(frames(RDMA))
    at = BTH + WETH + 38
    options = ["-T", "fields"]
    for name in FLAGS:
        options += ["-e", f"pavo.flags.{name}"]
    text = made_up([packet[:at] + bytes([flags]) + packet[at + 1:]
                    for flags in range(16)], *options)
    true = {"1": True, "True": True, "0": False, "False": False}
    have = [[true[value] for value in line.split("\t")] for line in text.splitlines()]
    want = [[bool(flags & bit) for bit in FLAGS.values()] for flags in range(16)]
    assert have == want, have


def a_packet_that_ends_early_is_reported():
    """One that is cut inside its headers is malformed, and nothing breaks."""
    message = next(frames(CAPTURE))
    first = {packet[0]: packet for packet in frames(RDMA)}
    for packet, headers in ((message, WETH), (first[DATA], HEADERS[DATA]),
                            (first[READ], HEADERS[READ]), (first[DONE], HEADERS[DONE])):
        # There is no pad behind headers only.
        packet = packet[:1] + bytes([packet[1] & ~0x30]) + packet[2:]
        whole = BTH + headers + ICRC
        have = reported([packet[:n] for n in range(BTH + 1, whole + 1)], "pavo.short")
        assert have == [n < whole for n in range(BTH + 1, whole + 1)], (packet[0], have)


EXT_FIELDS = ("ext", "ext.queue", "ext.code", "ext.reserved", "ext.id", "ext.key", "ext.address", "ext.data",
              "ext.mask", "ext.compare", "ext.compare_mask", "ext.syndrome", "ext.msn",
              "ext.original", "ext.immediate", "ext.flush", "ext.length")
EXT_ATOMIC = struct.Struct(">IIIQQQQQ")
OPERANDS = (0xa1b2c3d4, 0x191a1b1c, 0x1112131415161718, 0x2122232425262728,
            0x3132333435363738, 0x4142434445464748, 0x5152535455565758)


def extended(opcode, behind, pad=0):
    """A packet of an extended operation: BTH, header or payload, pad, a checksum."""
    return struct.pack(">BBHII", opcode, 0x40 | pad << 4, 0xffff, 0x108, 0x80000020) \
        + behind + bytes(pad) + bytes(ICRC)


def fields_of_extended(*packets):
    """The fields that the dissector shows of each packet: names and numbers."""
    options = ["-Y", "pavo.ext", "-T", "fields"]
    for name in EXT_FIELDS:
        options += ["-e", f"pavo.{name}"]
    return [{name: int(value, 0) for name, value in zip(EXT_FIELDS, line.split("\t")) if value}
            for line in made_up(packets, *options).splitlines()]


def extended_atomics_are_shown():
    """Every field of a request, by its bytes, and of a response."""
    names = ("ext.id", "ext.key", "ext.address", "ext.data", "ext.mask", "ext.compare",
             "ext.compare_mask")
    requests = [extended(0xe0, EXT_ATOMIC.pack(word, *OPERANDS))
                for word in (0, 1, 2, 15, 0xabcdef12)]
    want = [{"ext": 0xe0, "ext.code": word & 15, "ext.reserved": word >> 4,
             **dict(zip(names, OPERANDS))} for word in (0, 1, 2, 15, 0xabcdef12)]
    have = fields_of_extended(*requests)
    assert have == want, f"{have} instead of {want}"
    response = extended(0xe1, struct.pack(">IIQ", 0x1f000102, 0xa1b2c3d4, 0x8070605040302010))
    want = [{"ext": 0xe1, "ext.syndrome": 0x1f, "ext.msn": 0x102, "ext.id": 0xa1b2c3d4,
             "ext.original": 0x8070605040302010}]
    have = fields_of_extended(response)
    assert have == want, f"{have} instead of {want}"


def immediate_data_is_shown():
    """Eight bytes, with and without solicited event; other lengths are reported."""
    packets, want = [], []
    for opcode in 0xe2, 0xe3:
        packets.append(extended(opcode, bytes(range(1, 9))))
        want.append({"ext": opcode, "ext.immediate": 0x0102030405060708})
        for length in 0, 4, 7, 9, 12:
            packets.append(extended(opcode, bytes(length), -length & 3))
            want.append({"ext": opcode})
    have = fields_of_extended(*packets)
    assert have == want, f"{have} instead of {want}"
    have = reported(packets, "pavo.ext.not_eight")
    assert have == ["ext.immediate" not in fields for fields in want], have


def extended_operations_of_xrc_name_a_queue():
    """The shared receive queue is in requests alone, and in front of what RC has."""
    header = struct.pack(">I", 0xabcdef)
    operands = EXT_ATOMIC.pack(1, *OPERANDS)
    plain, = fields_of_extended(extended(0xe0, operands))
    have, = fields_of_extended(extended(0xe4, header + operands))
    assert have == {**plain, "ext": 0xe4, "ext.queue": 0xabcdef}, have
    answer = struct.pack(">IIQ", 0x1f000102, 0xa1b2c3d4, 0x8070605040302010)
    plain, = fields_of_extended(extended(0xe1, answer))
    have, = fields_of_extended(extended(0xe5, answer))
    assert have == {**plain, "ext": 0xe5}, have
    for opcode in 0xe6, 0xe7:
        have = fields_of_extended(extended(opcode, header + bytes(range(1, 9))))
        assert have == [{"ext": opcode, "ext.queue": 0xabcdef,
                         "ext.immediate": 0x0102030405060708}], have
    text = made_up([extended(0xe4, header + operands)], "-V")
    assert "XRC Atomic Request, Swap" in text, text


def flushes_are_shown():
    """Placement and selectivity, and the range; of XRC the queue, too."""
    header = struct.pack(">I", 0xabcdef)
    for word in (0x01, 0x12, 0x13, 0xffffffc1):
        place = struct.pack(">IQII", word, 0x1112131415161718, 0xa1b2c3d4, 4096)
        want = {"ext": 0x1c, "ext.flush": word & 63, "ext.reserved": word >> 6,
                "ext.address": 0x1112131415161718, "ext.key": 0xa1b2c3d4, "ext.length": 4096}
        have = fields_of_extended(extended(0x1c, place), extended(0xbc, header + place))
        assert have == [want, {**want, "ext": 0xbc, "ext.queue": 0xabcdef}], have
    text = made_up([extended(0x1c, place)], "-V")
    for words in "Type: Flush (0x1c)", "global visibility, of a range":
        assert words in text, text


def extended_operations_have_names():
    """The words that a person reads."""
    request = EXT_ATOMIC.pack(0, *OPERANDS)
    packets = [extended(0xe0, request[:3] + bytes([code]) + request[4:]) for code in range(4)]
    packets += [extended(0xe1, bytes(16)), extended(0xe2, bytes(8)), extended(0xe3, bytes(8))]
    text = made_up(packets, "-V")
    for words in ("Type: Atomic Request (0xe0)", "Type: Atomic Response (0xe1)",
                  "Type: Immediate Data (0xe2)",
                  "Type: Immediate Data with Solicited Event (0xe3)",
                  "= Atomic operation: FetchAdd (0)", "= Atomic operation: Swap (1)",
                  "= Atomic operation: CmpSwap (2)", "Atomic Request, FetchAdd",
                  "Atomic Request, reserved"):
        assert words in text, words


def extended_packets_of_wrong_length_are_reported():
    """A header that ends early, and bytes behind one."""
    packets, short, surplus = [], [], []
    for opcode, length in (0xe0, 52), (0xe1, 16):
        for n in range(0, length + 8, 4):
            packets.append(extended(opcode, bytes(n)))
            short.append(n < length)
            surplus.append(n > length)
    have = fields_of_extended(*[packet for packet, early in zip(packets, short) if early])
    assert have == [{"ext": packet[0]} for packet, early in zip(packets, short) if early], have
    assert reported(packets, "pavo.short") == short
    assert reported(packets, "pavo.surplus") == surplus


TESTS = (messages_are_shown, the_checksum_is_right, every_field_of_rdma_is_shown,
         rdma_was_recorded, kinds_and_results_have_names, flags_are_shown_one_by_one,
         control_messages_are_shown, messages_of_interfaces_are_shown, third_party_packets_are_shown,
         groups_are_told_from_windows,
         a_packet_that_ends_early_is_reported,
         extended_atomics_are_shown, immediate_data_is_shown,
         extended_operations_of_xrc_name_a_queue, flushes_are_shown, extended_operations_have_names,
         extended_packets_of_wrong_length_are_reported)

if not shutil.which("tshark"):
    print("1..0 # SKIP tshark is not installed")
    sys.exit(0)
sys.exit(tests.run("dissector", TESTS))
