#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Reads how rdma-core's tests ended (../pyverbs/suite.py) and prints those that failed, with
# their reason; with --skipped how many were skipped, by reason. Called by guest-roots.sh.
# usage: judge.py [--skipped] RESULTS.jsonl
import argparse
import collections
import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "pyverbs"))

import report  # noqa: E402

# Tests that need a later kernel than an error of theirs says: where it is older, they are skipped.
NEEDED = {"tests.test_rdmacm.CMTestCase.test_rdmacm_async_resolve_addrinfo":
          ((6, 17), "rdma_cm of an older kernel passes on no names that are resolved")}


def kernel():
    """The version that runs, as (6, 12)."""
    return tuple(int(part) for part in os.uname().release.split(".")[:2])


def excuse(results):
    """Turns errors that an old kernel explains into skips."""
    for test, (since, why) in NEEDED.items():
        if kernel() < since and results.get(test, {}).get("outcome") == "error":
            results[test] = {"outcome": "skipped", "why": why}
    return results


def main():
    """Status 1 if a test failed, or none passed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--skipped", action="store_true")
    parser.add_argument("results")
    options = parser.parse_args()
    results = excuse(report.read(options.results))
    counts = report.count(results)
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    if options.skipped:
        reasons = collections.Counter(report.last_line(r["why"]) for r in results.values()
                                      if r["outcome"] == "skipped")
        for reason, number in reasons.most_common():
            print(f"{number:4} skipped: {reason}")
        return 0
    for test, result in sorted(results.items()):
        if result["outcome"] in report.BAD:
            print(f"{test}: {result['outcome']}: {report.last_line(result['why'])}")
    return 1 if counts["failed"] + counts["error"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
