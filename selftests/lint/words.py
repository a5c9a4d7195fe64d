# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Words that comments and pages of this tree do not use, and what to write in their place
# (docs/glossary.md). Pure. Called by run.
import re

# A line with this word is left alone; say in the line why.
MARK = "lint-words"
WORDS = (
    (re.compile(r"\b(?:nobody|somebody)\b", re.IGNORECASE),  # lint-words: the rule
     "name the actor: process, peer, adapter, owner, walker, CPU"),
    (re.compile(r"\bcongestion window\b", re.IGNORECASE), "cwnd"),
    (re.compile(r"\b(?:requester|responder|asking|answering) hal(?:f|ves)\b", re.IGNORECASE),
     "the parts of a queue pair are sides"),
)


def find(name, text):
    """The findings in a file: FILE:LINE: word: what to write."""
    return [f"{name}:{number}: {match.group()}: {advice}"
            for number, line in enumerate(text.split("\n"), 1) if MARK not in line
            for pattern, advice in WORDS for match in pattern.finditer(line)]
