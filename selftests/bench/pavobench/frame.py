# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what the tools of ../ have in common: options, modes of a guest, what a guest that failed
# has left, files of results, and the exit status. Called by them.
import argparse
import json
import os
import pathlib
import sys
import time

from . import environment, guest, sampling, table

MODES = {
    # one virtual CPU: a poller would keep the other end from running, so
    # completions are waited for by events
    "icount": {"title": "instruction count: 1 CPU, 1 instruction = 1 ns, completion events",
               "icount": True, "wait": "events"},
    "smp": {"title": "emulated SMP: 2 CPUs, polling (numbers vary widely; no floor)",
            "icount": False, "wait": "polling"},
}


def parser(prog, description, status="", *, timeout=0, as_json=False):
    """The command line, with the options of all tools."""
    found = argparse.ArgumentParser(prog=prog, description=description,
                                    epilog=status and f"exit status: {status}")
    found.add_argument("--kernel", metavar="V", default=os.environ.get("PAVO_KERNEL") or None,
                       help="as pavo-vm knows it")
    found.add_argument("--out", type=pathlib.Path, default=guest.BUILD / "bench",
                       help="folder of the results (build/bench)")
    found.add_argument("--timeout", type=int, default=timeout, metavar="S",
                       help="of each guest (%(default)s)")
    if as_json:
        found.add_argument("--json", action="store_true", help="print the JSON, not the table")
    return found


def measured(boot, logs):
    """What a guest has left, and what the JSON has of every run."""
    began, load, problem = time.monotonic(), os.getloadavg()[0], ""
    try:
        results = boot()
    except guest.GuestError as error:
        # what was finished is worth showing; the status tells the rest
        problem, results = str(error), guest.Results(logs)
    return results, {"problem": problem, "seconds": round(time.monotonic() - began, 1),
                     "host_load_before": load, "guest": results.environment}


def rounds_of(results, facts, names):
    """All rounds that all drivers have finished, of which there have to be some."""
    rounds = results.rounds(names)
    if not rounds:
        raise guest.GuestError(facts["problem"] or f"nothing was measured: {results.out}")
    return rounds


def mode_of(name, names, results, facts, *, title=None, subject=None, same=True, **more):
    """The JSON's part of a mode: its rounds, which all of the names have finished, and the
    comparison of the subject, or the last name, with the others."""
    rounds, guest_is = rounds_of(results, facts, names), MODES.get(name, {})
    return {"mode": name, "title": title or guest_is["title"], "drivers": names,
            "guest_is_icount": guest_is.get("icount", False), **facts, "rounds": rounds,
            "failures": table.failures(rounds, names),
            "comparison": table.compare(rounds, names, subject or names[-1], same), **more}


def with_gaps(mode, subject, rounds):
    """The mode, with what has no ratio, or not one in all of so many rounds."""
    return {**mode, "vanished": table.vanished(mode["rounds"], mode["drivers"], subject),
            "incomplete": table.incomplete(mode["comparison"], rounds)}


def title_of(mode):
    """The first lines of a table."""
    title = (f"{mode['title']}; kernel {mode['guest']['guest_kernel']}, "
             f"{len(mode['rounds'])} rounds, {mode['seconds']:.0f} s")
    if mode["problem"]:
        title += f"\nINCOMPLETE: {mode['problem']}"
    return title + environment.busy_note(mode)


def said(word, lines):
    """Lines for people that begin so."""
    return "".join(f"{word}: {line}\n" for line in lines)


def facts_text(facts):
    """The environment for people."""
    return "".join(f"{key}: {value}\n" for key, value in facts.items())


def leave(options, name, text, everything, table_name=None):
    """Writes the files of a tool, and shows one of them."""
    (options.out / f"{table_name or name}.txt").write_text(text)
    everything = json.dumps(everything, indent=1) + "\n"
    (options.out / f"{name}.json").write_text(everything)
    print(everything if getattr(options, "json", False) else
          f"{text}\nall values: {options.out}/{name}.json")


def main(prog, options, tool, *programs):
    """Runs a tool, which needs these programs. Return: the exit status."""
    lacking = guest.missing(programs)
    if lacking:
        print(f"{prog}: build first (make); missing: {' '.join(lacking)}", file=sys.stderr)
        return 2
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        return tool(options)
    except (guest.GuestError, sampling.Missing, table.UnequalRounds, OSError) as problem:
        print(f"{prog}: {problem}", file=sys.stderr)
        return 1
