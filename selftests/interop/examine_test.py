#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Unit test of what examine.py believes of a capture's log: one that lacks packets is
# noticed. Prints TAP. Run by the group unit through Meson; writes into a temporary folder.
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import examine  # noqa: E402  (path set above)
from runner import tests  # noqa: E402

# As dumpcap 3 and 4 end.
LOG = """Capturing on 'eth0'
File: /run/wire.pcap
Packets captured: {captured}
Packets received/dropped on interface 'eth0': {captured}/{sum} \
(pcap:{pcap}/dumpcap:{own}/flushed:{flushed}/ps_ifdrop:{interface}) (100.0%)
"""


def log(captured=7, total=0, pcap=0, own=0, flushed=0, interface=0):
    """What dumpcap says of such a capture."""
    return LOG.format(captured=captured, sum=total, pcap=pcap, own=own,
                      flushed=flushed, interface=interface)


def a_whole_capture_lacks_nothing():
    """Neither of none nor of some frames."""
    assert not examine.lacking(log(), 7)
    assert not examine.lacking(log(0), 0)


def every_kind_of_drop_is_told():
    """By the kernel, by dumpcap, at its end, by the interface."""
    for kind in ("pcap", "own", "flushed"):
        told = examine.lacking(log(total=3, **{kind: 3}), 7)
        assert len(told) == 1 and told[0].startswith("dropped: 3 of 7 "), told
    told = examine.lacking(log(interface=12), 7)
    assert len(told) == 1 and "ps_ifdrop:12" in told[0], told


def frames_that_the_file_lacks_are_told():
    """It was cut, or the folder was full."""
    told = examine.lacking(log(), 6)
    assert told == ["dumpcap captured 7 frames, the file has 6"], told


def a_log_without_an_end_is_told():
    """dumpcap was killed, or speaks another language."""
    for text in ("", "Capturing on 'eth0'\n", log().rsplit("\n", 2)[0],
                 log().replace("captured", "seen")):
        told = examine.lacking(text, 7)
        assert told and told[0] == "dumpcap did not say what it dropped", told


def the_program_fails_for_it():
    """Not only the function: the line is there, and the others after it."""
    head = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    with tempfile.TemporaryDirectory() as folder:
        capture, said = (pathlib.Path(folder, name) for name in ("c", "l"))
        capture.write_bytes(head)
        for text, line in ((log(0), "ok 1 "), (log(0, total=2, pcap=2), "not ok 1 ")):
            said.write_text(text)
            done = subprocess.run(
                [sys.executable, str(HERE / "examine.py"), str(capture),
                 str(said), "52:54:00:77:00:01"], check=False, text=True,
                stdout=subprocess.PIPE)
            lines = [each for each in done.stdout.splitlines() if "complete" in each]
            # an empty capture is wrong in other ways
            assert done.returncode == 1
            assert len(lines) == 1 and lines[0].startswith(line), done.stdout
            assert "2 wire: ICRC" in done.stdout


TESTS = (a_whole_capture_lacks_nothing, every_kind_of_drop_is_told,
         frames_that_the_file_lacks_are_told, a_log_without_an_end_is_told,
         the_program_fails_for_it)

sys.exit(tests.run("capture", TESTS))
