"""Reads what the holders of one lock claimed, and decides whether two ever held it at once.

Each holder appends lines of JSON to one ledger: {"t": CLOCK_MONOTONIC in ns, "holder": name, "pid": of the process, "e":
"begin", "valid" or "end", "token": its fencing token if it has one, "why": of the end}. A "begin" or "valid" line claims that the holder was
entitled to act at t; an "end" with why "released" too. From its first to its last claim a term is one interval. Nothing
is excused: two intervals that touch are a fault, whoever the holders are.
"""

import json


class Term:
    def __init__(self, line):
        self.holder = line["holder"]
        self.token = line.get("token")
        self.begin = self.last = line["t"]
        self.end = None  # why it ended, if it lived long enough to say so

    def __repr__(self):
        token = "" if self.token is None else f" token {self.token}"
        return f"{self.holder}{token} [{self.begin / 1e9:.4f} s, {self.last / 1e9:.4f} s]"


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]


def terms_of(lines):
    """In the order of their begin. Lines of one process come in the order of their times. The name alone does not
    distinguish processes, because a killed one may have a successor with the same name."""
    terms, open_terms = [], {}
    for line in lines:
        who = (line["holder"], line.get("pid"))
        if line["e"] == "begin":
            open_terms[who] = Term(line)
            terms.append(open_terms[who])
        elif who in open_terms:
            term = open_terms[who]
            if line["e"] == "valid" or line.get("why") == "released":
                term.last = max(term.last, line["t"])
            if line["e"] == "end":
                term.end = line.get("why", "")
                del open_terms[who]
        else:
            raise ValueError(f"a claim without a begin: {line}")
    return sorted(terms, key=lambda term: term.begin)


def overlaps(terms):
    """Pairs of terms that claim the same instant. Each term is compared with the one before it that reaches
    farthest."""
    found = []
    farthest = None
    for term in terms:
        if farthest and term.begin <= farthest.last:
            found.append((farthest, term))
        if not farthest or term.last > farthest.last:
            farthest = term
    return found


def tokens_that_do_not_rise(terms):
    numbered = [term for term in terms if term.token is not None]
    return [(a, b) for a, b in zip(numbered, numbered[1:]) if b.token <= a.token]


class Verdict:
    def __init__(self, terms, sides):
        """sides: {name of the side: prefix of its holders' names}"""
        self.terms = terms
        self.overlaps = overlaps(terms)
        self.token_faults = tokens_that_do_not_rise(terms)
        self.wins = {side: sum(t.holder.startswith(prefix) for t in terms) for side, prefix in sides.items()}
        self.changes = sum(self._side(a, sides) != self._side(b, sides) for a, b in zip(terms, terms[1:]))
        gaps = [b.begin - a.last for a, b in zip(terms, terms[1:])]
        self.closest_ms = min(gaps) / 1e6 if gaps else None
        self.longest_ms = max(gaps) / 1e6 if gaps else None

    @staticmethod
    def _side(term, sides):
        return next((side for side, prefix in sides.items() if term.holder.startswith(prefix)), term.holder)

    def faults(self, fewest_wins):
        """The faults, one sentence each. A fight that one side never won has shown nothing."""
        told = [f"two holders at once: {a} and {b}" for a, b in self.overlaps]
        told += [f"tokens do not rise: {a}, then {b}" for a, b in self.token_faults]
        told += [f"{side} won {wins} times, fewer than {fewest_wins}" for side, wins in self.wins.items()
                 if wins < fewest_wins]
        return told
