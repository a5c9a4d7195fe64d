# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: judging a kernel's console. A test that "passed" while the kernel complained has
# failed; this file knows the lines that are complaints. Called by guest.py when a
# machine has ended; reads log files only.
import re

# Every pattern is a report the kernel itself makes about a bug.
COMPLAINTS = re.compile("|".join((
    r"-{6,}\[ cut here \]-{6,}",
    r"\bWARNING: ",
    r"\bBUG: ",
    r"\bBUG [\w.-]+ \(.*\): ",             # SLUB
    r"kernel BUG at ",
    r"\bOops\b",
    r"general protection fault[,:]",        # of a program: "... fault ip:"
    r"unable to handle (kernel|page fault)",
    r"\b(invalid opcode|divide error|stack segment|double fault): ",
    r"\bKASAN: ", r"\bKFENCE: ", r"\bKCSAN: ", r"\bUBSAN: ", r"\bKMSAN: ",
    r"\bODEBUG: ",
    r"refcount_t: ",
    r"list_(add|del) corruption",
    r"kmemleak: .*new suspected",
    r"unreferenced object 0x",
    r"(INFO: )?rcu\w*:? .*(self-detected stall|detected (expedited )?stalls?)",
    r"INFO: task .* blocked for more than",
    r"INFO: trying to register non-static key",
    r"\bINFO: (suspicious|possible|inconsistent|lockdep)",
    r"DEBUG_LOCKS_WARN_ON",
    r"soft lockup|hard LOCKUP",
    r"Slab cache still has objects|Objects remaining in",
    r"kmem_cache_destroy .*still has objects",
    r"unregister_netdevice: waiting for",
    r"DMA-API: .*(device driver|debugging out)",
    r"page allocation failure: ",
    r"Kernel panic - not syncing",
)))
PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
CLOCK = re.compile(r"PIT calibration deviates from ")
SETUP = re.compile(r"pavo-vm: guest set-up failed: (.*)")

# Defects of the kernel itself: the first line of the report, and what is in it. User-Mode Linux
# walks the memory of a process without the lock: of a new one (6.1), and wherever pages of a
# file leave the page tables (6.12), as when a mapped file is truncated. The wire of 6.1 takes
# two locks in both orders.
OWN_DEFECTS = ((re.compile(r"WARNING: suspicious RCU usage"),
                re.compile(r"\? (force_flush_all|flush_tlb_mm)\+")),
               (re.compile(r"WARNING: possible circular locking dependency detected"),
                re.compile(r"&result->tail_lock\).* at: vector_send\+")))
STACK_LINES = 50

CONTEXT_LINES = 30
REPORTS_SHOWN = 4


def read(path):
    """The lines of a log, control characters removed."""
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return []
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", text)
    return text.splitlines()


def complaints(lines, allow=()):
    """Indexes of the lines that complain and are not allowed to."""
    allowed = [re.compile(pattern) for pattern in allow]
    return [i for i, line in enumerate(lines)
            if COMPLAINTS.search(line)
            and not any(a.search(line) for a in allowed)
            and not _own_defect(lines, i)]


def _own_defect(lines, index):
    """Whether the report that begins here is one of OWN_DEFECTS."""
    for first, function in OWN_DEFECTS:
        if first.search(lines[index]):
            for line in lines[index + 1:index + STACK_LINES]:
                if COMPLAINTS.search(line):
                    break
                if function.search(line):
                    return True
    return False


def panic(lines):
    """The reason of the kernel's panic, or None."""
    for line in lines:
        found = PANIC.search(line)
        if found:
            return found.group(1)
    return None


def wrong_clock(lines):
    """Whether the kernel measured its clock's speed twice, with different results."""
    return any(CLOCK.search(line) for line in lines)


def setup_failure(lines):
    """The reason why guest/init gave up, or None."""
    for line in lines:
        found = SETUP.search(line)
        if found:
            return found.group(1)
    return None


def excerpt(lines, indexes):
    """The complaints with what follows each, not more than a few."""
    shown = []
    upto = -1
    reports = 0
    for index in indexes:
        if index <= upto:
            continue
        reports += 1
        if reports > REPORTS_SHOWN:
            shown.append("... more in the console log")
            break
        upto = index + CONTEXT_LINES
        shown += lines[index:upto + 1]
    return shown
