# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Owns: what ../sharing-guest.sh has left of flows that share a link: the rate of each, and how fair
# that is. Called by ../sharing.
import json
import re
import statistics

from . import table

SCENARIOS = ["pfifo100:1:0", "pfifo100:8:0", "fq_codel:8:0", "fq_codel:16:0", "red:8:0",
             "fq_codel:1:1:cubic", "fq_codel:1:1:dctcp", "red:1:1:dctcp", "pfifo100:1:1:cubic"]
MESSAGE = 65536
MEGA = 1e6


def jain(rates):
    """The index of Jain, Chiu and Hawe: 1 if all are the same; 0 of none."""
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 0


def read_sample(file):
    """(seconds, queue pair -> messages completed) of one look at the adapter."""
    seconds, text = file.read_text().split("\n", 1)
    return float(seconds), {
        pair["qpn"]: pair["details"]["sq_completed"]
        for device in json.loads(text) for pair in device["queue_pairs"] if pair["type"] == "RC"}


def pair_rates(folder, name):
    """Mbit/s of each queue pair between two looks."""
    (begin, first), (end, last) = (read_sample(folder / f"{name}.{look}")
                                   for look in ("begin", "end"))
    return [(last[pair] - first[pair]) % 2 ** 32 * MESSAGE * 8 / (end - begin) / MEGA
            for pair in last if pair in first]


def stream_rates(folder, name):
    """Mbit/s of each stream of TCP, as iperf3 reports them; 0 of one that had no result."""
    rates = []
    for file in sorted(folder.glob(f"{name}.tcp*")):
        try:
            report = json.loads(file.read_text())
            rates.append(report["end"]["sum_received"]["bits_per_second"] / MEGA)
        except (KeyError, ValueError):
            rates.append(0)
    return rates


def queue_counts(folder, name):
    """
    Packets that the queue has refused or dropped, and marked, between two looks; and those that it
    dropped before the first one, as the link became narrow.
    """
    begin, end = ((folder / f"{name}.{look}.queue").read_text() for look in ("begin", "end"))
    dropped, marked = r"dropped (\d+)", r"(?:ecn_mark|marked) (\d+)"

    def most(pattern, text):
        return max([int(count) for count in re.findall(pattern, text)], default=0)

    return {"dropped_at_start": most(dropped, begin),
            **{word: most(pattern, end) - most(pattern, begin)
               for word, pattern in (("dropped", dropped), ("marked", marked))}}


def measure(folder, name):
    """One round of one scenario."""
    pairs, streams = pair_rates(folder, name), stream_rates(folder, name)
    total = sum(pairs) + sum(streams)
    fair = total / max(len(pairs) + len(streams), 1)
    return {"pairs": pairs, "streams": streams, "mbit_per_s": total, "jain": jain(pairs),
            "tcp_of_fair": statistics.mean(streams) / fair if streams and fair else None,
            **queue_counts(folder, name)}


def judge(folder, scenarios, rounds):
    """Of each scenario all rounds, of those that were finished, and their spread."""
    found = []
    for scenario in scenarios:
        names = [f"{number}-{scenario}" for number in range(1, rounds + 1)]
        done = [measure(folder, name) for name in names if (folder / f"{name}.end").exists()]
        row = {"scenario": scenario, "rounds": done}
        for key in ("jain", "mbit_per_s", "tcp_of_fair", "dropped_at_start", "dropped", "marked"):
            values = [one[key] for one in done if one[key] is not None]
            row[key] = table.spread(values) if values else None
        found.append(row)
    return found


def text(found):
    """The table for people."""
    lines = [f"{'scenario':22}{'Mbit/s of all':>20}{'Jain, queue pairs':>24}"
             f"{'TCP, of its fair share':>26}{'dropped at start':>18}{'later':>8}{'marked':>10}"]
    for row in found:
        if not row["rounds"]:
            lines.append(f"{row['scenario']:22}{'no result':>20}")
            continue
        tcp = table.spread_text(row["tcp_of_fair"], 2) if row["tcp_of_fair"] else "-"
        lines.append(f"{row['scenario']:22}{table.spread_text(row['mbit_per_s'], 0):>20}"
                     f"{table.spread_text(row['jain'], 3):>24}{tcp:>26}"
                     f"{row['dropped_at_start']['median']:>18.0f}{row['dropped']['median']:>8.0f}"
                     f"{row['marked']['median']:>10.0f}")
    return "\n".join(lines) + "\n"
