# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the mode at native speed: its drivers, its tests, one run of ../native-guest.sh and
# what the JSON and the table have of it. Called by ../run and ../profile.
import pathlib

from . import environment, frame, guest, table

TITLE = "native speed: 1 CPU, posted lists, completion events"
KERNEL = "native"
ROUNDS = 7
# rdma_rxe works in the first namespace only, where rules make the wire one; pavo is
# measured there, too.
DRIVERS = (table.SUBJECT, table.SUBJECT_ON_RULES, "rxe", "siw", *table.STREAMS)
# name of the test, operations, sizes, queue pairs
GROUPS = (("wire", ("write", "read", "send"), (65536, 1048576), 1),
          ("wire", ("write", "send"), (64,), 1),
          ("wire-16qp", ("write", "send"), (64,), 16),
          ("wire-cut", ("write", "read", "send"), (65536, 1048576), 1),
          ("wire-cut-gro", ("write", "read", "send"), (65536, 1048576), 1),
          ("loopback", ("write",), (65536, 1048576), 1),
          ("latency", ("write", "read", "send"), (64,), 1),
          ("setup", ("write",), (16, 1024), 1))
# The same of paths with delay and faults (../native-guest.sh, make_path), by --tests alone:
# by their names, or PATHS_NAME for all
PATHS_NAME = "paths"
PATHS = tuple((f"path-{path}", ("write", "read", "send"), (65536,), 1)
              for path in ("1ms-0%", "1ms-0.1%", "1ms-1%", "1ms-5%", "1ms-reorder", "20ms-0%",
                           "20ms-1%")) + tuple(
                               (f"lat-{path}", ("write", "send"), (64,), 1)
                               for path in ("1ms-0%", "1ms-1%"))


def drivers(options):
    """Those that the user wants, and what their ratios need."""
    names = options.drivers.split(",") if options.drivers else list(DRIVERS)
    if "rxe" in names and table.SUBJECT in names and table.SUBJECT_ON_RULES not in names:
        names.insert(names.index("rxe"), table.SUBJECT_ON_RULES)
    return names + ["before"] * bool(options.before)


def chosen(text, values):
    """Those of the values that a list of the command line has; all if there is none."""
    values = [str(value) for value in values]
    return [value for value in values if value in text.split(",")] if text else values


def groups(options):
    """The words that tell the guest its tests: NAME:OPERATIONS:SIZES:QUEUE-PAIRS."""
    found = []
    for name, ops, sizes, pairs in (*GROUPS, *(PATHS if options.tests else ())):
        ops, sizes = chosen(options.ops, ops), chosen(options.sizes, sizes)
        names = (name, PATHS_NAME) if name.startswith(("path-", "lat-")) else (name,)
        if ops and sizes and chosen(options.tests, names):
            found.append(f"{name}:{','.join(ops)}:{','.join(sizes)}:{pairs}")
    return found


def boot(options, logs, rounds, names, *env):
    """One run of the guest."""
    kernel = options.kernel or KERNEL
    modules = guest.build_modules(kernel)
    return guest.run(logs, "native-guest.sh", [rounds, ",".join(names), *groups(options)],
                     native=True, timeout=options.timeout, kernel=kernel,
                     env=[*env, *([f"BENCH_MODULES={modules}"] if modules else [])])


def boot_nodes(options, logs, rounds, ways, *words, env=()):
    """One run of ../nodes-guest.sh: all tests, or those of the words."""
    return guest.run(logs, "nodes-guest.sh",
                     [rounds, ",".join(ways), guest.BUILD / "userspace/tools/pavo/pavo", *words],
                     native=True, timeout=options.timeout, kernel=KERNEL, env=env,
                     vm_options=["--mem", "1G"])


def measure(options):
    """Runs it; returns its part of the JSON."""
    names, logs = drivers(options), options.out / "native.logs"
    env = ([f"BENCH_BEFORE={pathlib.Path(options.before).resolve()}"] if options.before else [])
    results, facts = frame.measured(
        lambda: boot(options, logs, options.rounds, names, *env), logs)
    names = [name for name in names if f"{name}_absent" not in results.environment]
    return frame.with_gaps(frame.mode_of(
        "native", names, results, facts, title=TITLE, subject=table.SUBJECT,
        before_sha256=environment.sum_of(options.before)), table.SUBJECT, options.rounds)


def title_of(mode):
    """What is said of the drivers in front of the table."""
    title = "\n".join(["", *environment.about_drivers(mode["guest"])])
    if set(table.STREAMS) & set(mode["drivers"]):
        title += "\nTCP: iperf3, a system call for each message, which is dear here"
    return title
