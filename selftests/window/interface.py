#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Traffic over network interfaces over windows, between nodes; interface.sh calls it. All data is
# a pattern that depends on the position, and is compared byte by byte. One node serves, by a TCP
# port at which the others meet it; each of them ends its connection when it is done.
# usage: interface.py MODE serve PORT CLIENTS ADDRESS
#        interface.py MODE client PORT MEETING-ADDRESS ADDRESS
#   MODE: ping | tcp | udp | many | few; ADDRESS: of the server; for many and few (shorter datagrams):
#   what it sends to
#        interface.py raw INTERFACE STATION TYPE LENGTH: one packet by a packet socket
import os
import select
import socket
import struct
import sys
import time

TIMEOUT = 60
TRIES = 10
# Of UDP payload: some in a frame, some in many fragments, or by RDMA.
LENGTHS = (0, 1, 900, 1300, 1400, 1472, 2000, 8192, 20000, 40001, 65400)
# To many: what IP hands over whole, and what it has split in two already; some on a bad wire.
MANY = (60000, 65506)
FEW = (3000,)
ROUNDS = 5
# Twice as many packets as there are buffers for RDMA.
STREAM = 2 << 20


def pattern(seed, length, start=0):
    """Bytes that depend on their position; a period of 251 * 253 bytes."""
    period = 251 * 253
    block = bytes((seed * 31 + i * 7 + i // 251) & 0xff for i in range(period))
    start %= period
    return (block * (length // period + 2))[start:start + length]


def family_of(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def fail(text):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {text}")


def receive_exactly(sock, length):
    data = bytearray()
    while len(data) < length:
        piece = sock.recv(min(1 << 20, length - len(data)))
        if not piece:
            fail(f"the stream ended after {len(data)} of {length} bytes")
        data += piece
    return bytes(data)


def expect(got, wanted, what):
    if got != wanted:
        at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), "the end")
        fail(f"{what}: {len(got)} bytes, {len(wanted)} expected, other ones at {at}")


def meet(port, clients):
    """The server's end of a connection to each client."""
    listener = socket.create_server(("", port))
    listener.settimeout(TIMEOUT)
    met = [listener.accept()[0] for _ in range(clients)]
    for one in met:
        one.settimeout(TIMEOUT)
    return met


def wait_for_end(met):
    for one in met:
        if one.recv(1) != b"":
            fail("a client failed")


# ------------------------------------------------------------------------ ping

def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data[:len(data) & ~1]))
    total += data[-1] << 8 if len(data) & 1 else 0
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ping_one(address, length, number):
    """Echo requests until one is answered: the first may wait for an address in vain."""
    six = ":" in address
    kind = socket.IPPROTO_ICMPV6 if six else socket.IPPROTO_ICMP
    request, reply = (128, 129) if six else (8, 0)
    sock = socket.socket(family_of(address), socket.SOCK_RAW, kind)
    data = pattern(number, length)
    for attempt in range(TRIES):
        head = struct.pack(">BBHHH", request, 0, 0, 0x7077, attempt)
        # The kernel fills ICMPv6 checksums in.
        if not six:
            head = struct.pack(">BBHHH", request, 0, checksum(head + data), 0x7077, attempt)
        sock.sendto(head + data, (address, 0))
        end = time.monotonic() + 2
        while time.monotonic() < end:
            if not select.select([sock], [], [], end - time.monotonic())[0]:
                break
            packet = sock.recv(70000)
            packet = packet if six else packet[(packet[0] & 15) * 4:]
            if packet[0] == reply and packet[4:6] == b"\x70\x77":
                expect(packet[8:], data, f"echo of {length} bytes")
                return
    fail(f"{address} answers no echo request with {length} bytes")


def ping_client(_port, address):
    for number, length in enumerate((0, 56, 1300, 4000, 60000)):
        ping_one(address, length, number)


# ------------------------------------------------------------------ TCP and UDP

def tcp_serve(port, clients, _address):
    met = meet(port, clients)
    # Clients find this port once they have met the server.
    listener = socket.create_server(("::", port + 1), family=socket.AF_INET6,
                                    dualstack_ipv6=True)
    listener.settimeout(TIMEOUT)
    for one in met:
        one.send(b"r")
    streams = [listener.accept()[0] for _ in range(clients)]
    for stream in streams:
        stream.settimeout(TIMEOUT)
        seed = receive_exactly(stream, 1)[0]
        expect(receive_exactly(stream, STREAM), pattern(seed, STREAM), "stream")
        stream.sendall(pattern(seed + 1, STREAM))
    wait_for_end(met)


def tcp_client(port, address):
    seed = os.getpid() & 0xff
    stream = socket.create_connection((address, port + 1), TIMEOUT)
    stream.settimeout(TIMEOUT)
    stream.sendall(bytes([seed]) + pattern(seed, STREAM))
    expect(receive_exactly(stream, STREAM), pattern(seed + 1, STREAM), "stream back")


def udp_serve(port, clients, _address):
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.bind(("::", port + 1))
    met = meet(port, clients)
    for one in met:
        one.send(b"r")
    while met:
        for ready in select.select([sock, *met], [], [], TIMEOUT)[0]:
            if ready is sock:
                sock.sendto(*sock.recvfrom(70000))
            else:
                wait_for_end([ready])
                met.remove(ready)


def echo(sock, to, data):
    """Returns after the datagram has come back once; networks lose some."""
    for _ in range(TRIES):
        sock.sendto(data, to)
        try:
            while True:
                # One of before may come late.
                if sock.recv(70000) == data:
                    return
        except TimeoutError:
            pass
    fail(f"no echo of {len(data)} bytes")


def udp_client(port, address):
    sock = socket.socket(family_of(address), socket.SOCK_DGRAM)
    sock.settimeout(2)
    for number, length in enumerate(LENGTHS):
        echo(sock, (address, port + 1), pattern(number, length))


# -------------------------------------------------------------- many receivers

def serve_many(port, clients, address, lengths):
    met = meet(port, clients)
    sock = socket.socket(family_of(address), socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"pv0")
    for one in met:
        receive_exactly(one, 1)
    for number in range(ROUNDS):
        waiting = list(met)
        length = lengths[number % len(lengths)]
        for _ in range(TRIES):
            sock.sendto(bytes([number]) + pattern(number, length), (address, port + 1))
            end = time.monotonic() + 2
            while waiting and time.monotonic() < end:
                for one in select.select(waiting, [], [], end - time.monotonic())[0]:
                    expect(receive_exactly(one, 1), bytes([number]), "confirmation")
                    waiting.remove(one)
            if not waiting:
                break
        else:
            fail(f"datagram {number} did not come to {len(waiting)} clients")
    for one in met:
        one.shutdown(socket.SHUT_WR)
    wait_for_end(met)


def reassembled(six):
    """How many packets the IP layer has put together."""
    if six:
        with open("/proc/net/snmp6") as file:
            return int(dict(line.split() for line in file)["Ip6ReasmOKs"])
    with open("/proc/net/snmp") as file:
        names, values = [line.split() for line in file if line.startswith("Ip:")]
    return int(values[names.index("ReasmOKs")])


def many_socket(port, address):
    six = ":" in address
    sock = socket.socket(family_of(address), socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sock.bind(("::" if six else "", port + 1))
    index = socket.if_nametoindex("pv0")
    if six:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                        socket.inet_pton(socket.AF_INET6, address) + struct.pack("@I", index))
    elif int(address.split(".")[0]) & 0xf0 == 224:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                        struct.pack("4s4si", socket.inet_aton(address), bytes(4), index))
    return sock


def many_serve(port, clients, address):
    serve_many(port, clients, address, MANY)


def few_serve(port, clients, address):
    serve_many(port, clients, address, FEW)


def receive_many(meeting, port, address, lengths):
    sock = many_socket(port, address)
    before = reassembled(":" in address)
    meeting.send(b"r")
    seen = set()
    while True:
        ready = select.select([sock, meeting], [], [], TIMEOUT)[0]
        if not ready:
            fail("nothing comes")
        if sock in ready:
            data = sock.recv(70000)
            expect(data[1:], pattern(data[0], lengths[data[0] % len(lengths)]),
                   f"datagram {data[0]}")
            # Others may still wait for this one: it is sent again, and confirmed once.
            if data[0] not in seen:
                seen.add(data[0])
                meeting.send(data[:1])
        elif meeting.recv(1) == b"":
            break
    if reassembled(":" in address) < before + ROUNDS:
        fail("the IP layer has reassembled nothing")


# ------------------------------------------------------------------------ main

def ping_serve(port, clients, _address):
    met = meet(port, clients)
    for one in met:
        one.send(b"r")
    wait_for_end(met)


def send_raw(interface, station, kind, length):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((interface, 0))
    head = bytes.fromhex(station.replace(":", "")) + bytes([2, 0, 0, 0, 0, 0])
    sock.send(head + struct.pack(">H", int(kind, 0)) + pattern(1, int(length)))


def main():
    if sys.argv[1] == "raw":
        send_raw(*sys.argv[2:])
        return
    mode, role, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if role == "serve":
        globals()[f"{mode}_serve"](port, int(sys.argv[4]), sys.argv[5])
        return
    meeting = socket.create_connection((sys.argv[4], port), TIMEOUT)
    meeting.settimeout(TIMEOUT)
    if mode in ("many", "few"):
        receive_many(meeting, port, sys.argv[5], MANY if mode == "many" else FEW)
    else:
        receive_exactly(meeting, 1)
        globals()[f"{mode}_client"](port, sys.argv[5])


main()
