# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the command `selftests/run` - its arguments, and the choice of what runs. Called by
# ../run; hands the rest to session.py.
import argparse
import os
import pathlib
import signal
import subprocess
import sys

from . import changed, groups, host, plan, tap, times
from .session import Session

USAGE = """\
A group ends with the line 'N passed, N failed, N skipped'; so does the whole.
What a test says in a line '# shown: ...' is.
Exit status: 0 all well, 1 something failed or a group ran no test, 2 wrong use.

A group is selftests/GROUP/run[.sh]; each run-PART[.sh] beside it, and each Meson
test of suite GROUP, is an item of its own with its own log (tap-PART.log). --only
takes GROUP and GROUP-PART. selftests/runner/plan.py says on which kernels an item
runs, how many CPUs it takes and which files it depends on. Items run side by side,
the widest first, then the longest.

Results have their time: [seconds since the program began, +since the result
before]. Durations are kept in build/test-times.json and ~/.cache/pavo, the account
of a run is the file of --times (build/test-logs[/KERNEL]/times.json): items with
their tests and CPU seconds (which other work on the machine changes little), boots of machines, compile times, the longest of each, sums by kind.

Test programs find in their environment: PAVO_TREE, PAVO_BUILD, PAVO_VM (the
guest tool), PAVO_KERNEL (kernel to boot, pavo-vm reads it itself), PAVO_KO (the
module built for it), PAVO_SEATS (CPUs to use), IBV_DRIVERS (the provider of the
build folder), PAVO_LOGS (folder for logs; pavo-vm puts its own there).
"""


def default_seats(cpus):
    """Half as many again as CPUs: guests and programs wait a third of their time."""
    return cpus + cpus // 2


def _options(arguments):
    parser = argparse.ArgumentParser(
        prog="selftests/run", description="Runs the test groups.", epilog=USAGE,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="GROUP",
                        help="this group only (may be repeated; commas work)")
    parser.add_argument("--changed", metavar="BASE",
                        help="only what the change since this git revision can affect: "
                        "committed, staged, unstaged and new files")
    parser.add_argument("--kernel", default=os.environ.get("PAVO_KERNEL", ""),
                        help="all guests on this kernel (a name pavo-vm knows), not on "
                        "those of the plan")
    parser.add_argument("--plan", default="test", choices=sorted(plan.PLANS),
                        help="the table of plan.py to go by (%(default)s)")
    parser.add_argument("--jobs", type=int, metavar="N",
                        default=default_seats(os.cpu_count() or 1),
                        help="seats for guests and programs (%(default)s)")
    parser.add_argument("--times", type=pathlib.Path, metavar="FILE",
                        help="where the account of this run's time goes")
    parser.add_argument("--forget", action="store_true",
                        help="do not keep the durations: the machine is busy")
    parser.add_argument("--write-typical", action="store_true",
                        help="make the kept durations the first guess of the repository "
                        "(selftests/runner/typical.json); runs nothing")
    parser.add_argument("--list", action="store_true", help="name the groups")
    parser.add_argument("--kernels", action="store_true",
                        help="name the kernels that the guests need")
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="show passing tests too, with their times")
    options = parser.parse_args(arguments)
    options.only = [n for word in options.only for n in word.split(",") if n]
    options.jobs = max(1, options.jobs)
    return options


def cache_folder():
    """The folder that pavo-vm keeps things in, or None."""
    sys.path.insert(0, str(groups.TREE / "qemu-scripts"))
    from pavovm import common  # noqa: E402  (path set above)
    try:
        return common.cache_dir()
    except OSError:
        return None


def open_durations():
    """The durations that earlier runs kept."""
    folders = [groups.BUILD, cache_folder()]
    return times.Durations([f / "test-times.json" for f in folders if f])


def _select_changed(items, every, base, say):
    """Those of the items that the change since `base` can affect."""
    files = changed.changed_files(base, groups.TREE)
    kept = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], check=True,
                          cwd=groups.TREE, text=True, stdout=subprocess.PIPE).stdout
    selection = changed.Selection(
        every, changed.Graph(groups.TREE, groups.BUILD), groups.TREE, groups.BUILD,
        changed.scan_includes(groups.TREE, kept.splitlines()))
    whys = {item.name: why for item, why in selection.choose(files).items()}
    why = {item: whys[item.name] for item in items if item.name in whys}
    say(f"changed since {base}: {len(files)} file{'s' if len(files) != 1 else ''}",
        *changed.tell_choice(items, why))
    return list(why)


def _print_kernels(items):
    """Each once, for the Makefile."""
    print("\n".join(dict.fromkeys(item.kernel for item in items if item.kernel)))
    return 0


def _choose_items(options, say):
    """(items, how many names of --only are none)."""
    rows = plan.PLANS[options.plan]
    found = groups.discover(rows, groups.read_meson_tests(groups.BUILD))
    stop = host.read_stop(cache_folder())
    slow = stop > host.SLOW
    if slow and not options.kernel:
        say(f"a stop of a traced process takes {stop * 1e6:.0f} us here: groups of many "
            "system calls run emulated")
    items = groups.make_items(rows, found, options.only, options.kernel, slow)
    there = {name for item in items for name in (item.group, item.key)}
    unknown = [name for name in options.only if name not in there]
    for name in unknown:
        say(f"no group '{name}' (there are: {', '.join(found)})")
    if options.changed:
        every = groups.make_items(rows, found, list(found), options.kernel, slow)
        items = _select_changed(items, every, options.changed, say)
    return items, len(unknown)


def _run(options, items, unknown):
    session = Session(options, items, open_durations())

    def interrupt(_signal, _frame):
        for execution in tuple(session.running):
            execution.kill()
        print("\ninterrupted", file=sys.stderr)
        os._exit(130)

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    return session.run(unknown)


def main(arguments):
    """The command; returns the exit status."""
    options = _options(arguments)
    if options.list:
        rows = plan.PLANS[options.plan]
        found = groups.discover(rows, groups.read_meson_tests(groups.BUILD))
        print("\n".join(dict.fromkeys(
            item.group for item in groups.make_items(rows, found))))
        return 0

    if options.write_typical:
        open_durations().write_typical()
        return 0

    def say(*lines):
        # the run that follows says it
        if not options.kernels:
            print(*lines, sep="\n", flush=True)

    try:
        items, unknown = _choose_items(options, say)
    except changed.NotKnown as problem:
        print(f"--changed {options.changed}: {problem}", file=sys.stderr)
        return 2
    if options.kernels:
        return _print_kernels(items)
    if options.changed and not items and not unknown:
        say("nothing to run", str(tap.Count()))
        return 0
    return _run(options, items, unknown)
