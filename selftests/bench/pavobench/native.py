# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: the mode at native speed: its drivers, its tests, one run of ../native-guest.sh and
# what the JSON and the table have of it. Called by ../run.
import os
import pathlib
import time

from . import environment, guest, table

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
          ("latency", ("write", "read", "send"), (64,), 1))


def drivers(options):
    """Those that the user wants, and what their ratios need."""
    names = options.drivers.split(",") if options.drivers else list(DRIVERS)
    if "rxe" in names and table.SUBJECT in names and table.SUBJECT_ON_RULES not in names:
        names.insert(names.index("rxe"), table.SUBJECT_ON_RULES)
    if options.before:
        names.append("before")
    return names


def chosen(text, values):
    """Those of the values that a list of the command line has; all if there is none."""
    wanted = text.split(",") if text else [str(value) for value in values]
    return [str(value) for value in values if str(value) in wanted]


def groups(options):
    """The words that tell the guest its tests: NAME:OPERATIONS:SIZES:QUEUE-PAIRS."""
    found = []
    for name, ops, sizes, pairs in GROUPS:
        ops, sizes = chosen(options.ops, ops), chosen(options.sizes, sizes)
        if ops and sizes and chosen(options.tests, (name,)):
            found.append(f"{name}:{','.join(ops)}:{','.join(sizes)}:{pairs}")
    return found


def environment_of(options):
    """What the guest's script is told by its environment."""
    modules = guest.build_modules(options.kernel or KERNEL)
    return [f"BENCH_MODULES={modules}"] if modules else []


def _boot(options, logs, names):
    kernel = options.kernel or KERNEL
    env = environment_of(options)
    if options.before:
        env.append(f"BENCH_BEFORE={pathlib.Path(options.before).resolve()}")
    return guest.run(logs, options.rounds, names, groups(options), icount=False,
                     native=True, timeout=options.timeout,
                     kernel=kernel, script="native-guest.sh", env=env)


def measure(options):
    """Runs it; returns its part of the JSON."""
    names = drivers(options)
    logs = options.out / "native.logs"
    began, load = time.monotonic(), os.getloadavg()[0]
    problem = None
    try:
        results = _boot(options, logs, names)
    except guest.GuestError as error:
        # what was finished is worth showing; the status tells the rest
        problem = error
        results = guest.Results(logs)
    names = [name for name in names if f"{name}_absent" not in results.environment]
    rounds = results.rounds(names)
    if not rounds:
        raise problem or guest.GuestError(f"nothing was measured; logs in {logs}")
    comparison = table.compare_several(rounds, names)
    return {"mode": "native", "title": TITLE, "problem": str(problem or ""),
            "drivers": names, "before_sha256": environment.sum_of(options.before),
            "failures": {name: table.failures(rounds, name) for name in names},
            "vanished": table.vanished_of_several(rounds, names),
            "host_load_before": load,
            "seconds": round(time.monotonic() - began, 1),
            "guest_is_icount": False,
            "guest": results.environment, "rounds": rounds,
            "comparison": comparison,
            "incomplete": table.incomplete_of_several(comparison, options.rounds)}


def text(title, mode):
    """The table people read."""
    for line in environment.about_drivers(mode["guest"]):
        title += f"\n{line}"
    if set(table.STREAMS) & set(mode["drivers"]):
        title += "\nTCP: iperf3, a system call for each message, which is dear here"
    return table.text_of_several(title, mode["comparison"], mode["drivers"])
