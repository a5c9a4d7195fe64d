# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what a run says of itself - the account of its time, for programs as JSON and for
# people as a few lines, and what a log says of failures. Called by session.py; writes the
# file that it is told.
import json
import re

LONGEST = 10
BUSIEST = 5
# A result in a log: program.py may have put the time in front, pavo-vm the node.
RESULT = re.compile(r"^(\[[^]]*\] )?(node\d+\| ?)?(not )?ok\b")
BEFORE, BEHIND, END = 30, 40, 40
MOST = 160


def pick_failures(lines):
    """The lines of a log that explain its failures: tests say why before or behind their
    result, up to the next one's. The end of the log, if it has no failed result."""
    results = {at: found for at, found in enumerate(map(RESULT.match, lines)) if found}
    chosen = set()
    for at in (at for at, found in results.items() if found.group(3)):
        first, last = at, at + 1
        while first > max(0, at - BEFORE) and first - 1 not in results:
            first -= 1
        while last < min(len(lines), at + BEHIND) and last not in results:
            last += 1
        chosen.update(range(first, last))
    if not chosen:
        return lines[-END:]
    picked, last = [], -1
    for at in sorted(chosen)[:MOST]:
        if at != last + 1:
            picked.append("[...]")
        picked.append(lines[at])
        last = at
    return picked


def _kinds(items, boots, compiled):
    """Seconds by kind. Items run side by side, so the sum is more than the run took."""
    booting = sum(boot["seconds"] for boot in boots)
    guests = sum(item["seconds"] for item in items if item["kernel"])
    lint = sum(item["seconds"] for item in items if item["group"] == "lint")
    host = sum(item["seconds"] for item in items
               if not item["kernel"] and item["group"] != "lint")
    return {"compile": sum(c.seconds for c in compiled), "boots": booting,
            "guest tests": max(guests - booting, 0.0), "host tests": host, "lint": lint}


def make_account(items, boots, everything, since):
    """The account. `items` and `boots` are dictionaries, `everything` the commands of
    the build, of which those after `since` (nanoseconds) belong to this run."""
    compiled = [c for c in everything if c.when > since]

    def longest(commands):
        return [{"name": c.name, "seconds": c.seconds} for c in
                sorted(commands, key=lambda c: -c.seconds)[:LONGEST]]

    tests = [{"item": item["name"], **test} for item in items for test in item["tests"]]
    kinds = _kinds(items, boots, compiled)
    return {
        "version": 1,
        "items": items,
        "boots": boots,
        "compile": {"seconds": kinds["compile"], "longest": longest(compiled),
                    "all_seconds": sum(c.seconds for c in everything),
                    "all_longest": longest(everything)},
        "cpu": round(sum(item["cpu"] for item in items), 3),
        "kinds": {name: round(seconds, 3) for name, seconds in kinds.items()},
        "longest": sorted(tests, key=lambda test: -test["seconds"])[:LONGEST],
    }


def tell_account(account):
    """Lines for people."""
    lines = []
    if account["longest"]:
        lines.append("longest tests:")
        lines += [f"{test['seconds']:8.1f} s  {test['item']}: {test['name'][:90]}"
                  for test in account["longest"]]
    lines.append("time by kind: " + ", ".join(
        f"{name} {seconds:.0f} s" for name, seconds in account["kinds"].items()))
    busiest = sorted(account["items"], key=lambda item: -item["cpu"])[:BUSIEST]
    if busiest:
        lines.append(f"CPU seconds: {account['cpu']:.0f}, most of them for " + ", ".join(
            f"{item['name']} {item['cpu']:.0f}" for item in busiest))
    return lines


def save_account(account, path):
    """Writes it for programs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(account, indent=1) + "\n")
