# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: which files of the module know that adapters of one machine exchange packets otherwise than
# over a wire: with a deferred ICRC and metadata in its place, as GSO super-packets and coalesced
# packets, and by the loopback queue. Called by run.
import re

# Names by which a file shows that it knows; comments and strings do not count, nor does the
# loopback interface.
NAMES = re.compile(
    r"icrc_defer|ICRC_DEFER|_DEFERRED\b|pavo_deferred_(?!free)|coalesced|loopback|"
    r"same_host|pavo_meta|PAVO_META_|gso_backoff")
# Most files that may know.
MOST = 10
# Layers that must not know, nor the status by which net/ refuses pages.
IGNORANT = ("requester/", "responder/", "qp/", "control/", "memory/")
STATUS = "PAVO_ST_FRAGMENTS"


def code_of(text):
    """The text without comments and strings"""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    return re.sub(r'"[^"\n]*"', "", text)


def find_knowing(contents):
    """Files that know. contents: name below kernel/ -> text"""
    return sorted(name for name, text in contents.items() if NAMES.search(code_of(text)))


def check(contents):
    """What is wrong: too many files know, or one that must not."""
    knowing = find_knowing(contents)
    bad = [f"kernel/{name}: knows of batching on one machine, which is left to net/"
           for name in knowing if name.startswith(IGNORANT)]
    bad += [f"kernel/{name}: knows {STATUS}, which is for net/" for name, text in
            sorted(contents.items()) if name.startswith(IGNORANT) and STATUS in text]
    if len(knowing) > MOST:
        bad.append(f"{len(knowing)} files know of batching on one machine, and {MOST} may: "
                   + " ".join(knowing))
    return bad
