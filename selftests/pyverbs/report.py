#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Reads how rdma-core's tests ended on two devices, prints both columns, writes
# them as JSON and says whether pavo is as good as it must be: no failure, no
# error, nothing missing that rdma_rxe can do, and nothing of the tests that
# must-pass names. Called by run.sh.
#
# usage: report.py PAVO.jsonl PEER.jsonl RESULT.json MUST-PASS [TEST...]
# TEST: only such were run; without, what must-pass names and did not run is missing.
import json
import sys

OUTCOMES = ("passed", "failed", "error", "skipped")
BAD = ("failed", "error")


def read(name):
    """Test -> outcome and reason; the last line about a test counts."""
    ended = {}
    with open(name, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            ended[entry["test"]] = {"outcome": entry["outcome"],
                                    "why": entry["why"]}
    return ended


def read_names(name):
    """A name a line, and comments."""
    with open(name, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return {line for line in lines if line and not line.startswith("#")}


def last_line(text):
    """Of a traceback, what it came to."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def judge(test, mine, theirs, needed):
    """What is wrong with a test, or nothing."""
    if mine["outcome"] in BAD:
        return f"{test}: {mine['outcome']}"
    if mine["outcome"] != "passed" and theirs["outcome"] == "passed":
        return f"{test}: {mine['outcome']}, and rdma_rxe passes it"
    if mine["outcome"] != "passed" and test in needed:
        return f"{test}: {mine['outcome']}, and it must pass"
    return None


def show(tests, pavo, peer):
    """The table: a test a line, reasons below."""
    print(f"{'pavo':8} {'rxe':8} test")
    for test in tests:
        mine, theirs = pavo[test], peer[test]
        print(f"{mine['outcome']:8} {theirs['outcome']:8} {test}")
        for who, result in (("pavo", mine), ("rxe", theirs)):
            if result["outcome"] != "passed" and result["why"]:
                print(f"{'':8} {'':8}   {who}: {last_line(result['why'])}")


def count(results):
    """How many ended how."""
    return {o: sum(1 for r in results.values() if r["outcome"] == o)
            for o in OUTCOMES}


def main():
    """Prints all; status 1 if pavo is not good enough."""
    pavo, peer = read(sys.argv[1]), read(sys.argv[2])
    absent = {"outcome": "error", "why": "was not run"}
    tests = sorted(set(pavo) | set(peer))
    for test in tests:
        pavo.setdefault(test, absent)
        peer.setdefault(test, absent)
    show(tests, pavo, peer)
    needed = read_names(sys.argv[4])
    wrong = [w for w in (judge(t, pavo[t], peer[t], needed) for t in tests)
             if w]
    if not sys.argv[5:]:
        wrong += [f"{name}: did not run, and it must pass"
                  for name in sorted(needed - set(tests))]
    if not any(r["outcome"] == "passed" for r in pavo.values()):
        wrong.append("no test passed at all")
    for test in tests:
        if pavo[test]["outcome"] in BAD:
            print(f"\n--- {test}\n{pavo[test]['why']}")
    print()
    for who, results in (("pavo", pavo), ("rxe", peer)):
        print(f"{who:5}", ", ".join(f"{n} {o}"
                                    for o, n in count(results).items()))
    for line in wrong:
        print("WRONG:", line)
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        json.dump({"summary": {"pavo": count(pavo), "rxe": count(peer)},
                   "wrong": wrong,
                   "tests": {t: {"pavo": pavo[t], "rxe": peer[t]}
                             for t in tests}}, file, indent=1)
    print("all of it:", sys.argv[3])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
