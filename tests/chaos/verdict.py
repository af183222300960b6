"""Judges a run of the chaos tests by its results: the event logs of the processes and the rows in the ledgers.

It knows nothing about the library. All times are CLOCK_BOOTTIME in nanoseconds, which the processes read directly from
the kernel. verdict_test.py shows it invented runs that must not pass.
"""

import dataclasses
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "interop"))
import judge

SECOND = 1_000_000_000


@dataclasses.dataclass
class Process:
    """One process of a candidate, from its start to its end."""
    name: str
    number: int
    started: int
    ended: int
    how: str  # how it ended: "stopped" (properly), "killed", or "died" (by itself, which is a fault)
    events: list
    why: str = ""  # why it died

    def __str__(self):
        return f"{self.name}.{self.number}"


@dataclasses.dataclass
class Run:
    began: int
    ended: int  # when the others were told to stop
    processes: list
    fenced_rows: list = dataclasses.field(default_factory=list)  # (token, holder) in the order of acceptance
    unfenced_rows: list = dataclasses.field(default_factory=list)
    sets: dict = dataclasses.field(default_factory=dict)  # "fenced", "unfenced": the elements that are there
    blocked: list = dataclasses.field(default_factory=list)  # (from, to, why): nobody could have been elected then
    longest_vacancy_s: float = 10.0
    first_election_s: float = 20.0


class Term:
    """What one process claimed under one token. begin: the latest time at which its belief began; last: the last
    claim."""

    def __init__(self, process, token):
        self.process, self.token, self.holder = process, token, str(process)
        self.elected = self.revoked = self.claimed = self.begin = self.last = None
        self.reason = ""

    def __repr__(self):
        if self.begin is None:
            return f"{self.holder} token {self.token} (no claim)"
        return f"{self.holder} token {self.token} [{self.begin / 1e9:.4f} s, {self.last / 1e9:.4f} s]"

    def first_sign(self):
        return min(at for at in (self.elected, self.claimed) if at is not None)

    def last_sign(self):
        return max(at for at in (self.elected, self.last) if at is not None)

    def take(self, event):
        if event["e"] == "elected":
            self.elected = event["t"]
        elif event["e"] == "revoked":
            self.revoked, self.reason = event["t"], event.get("reason", "")
        elif event["e"] == "led":
            if self.claimed is None:
                self.claimed, self.begin = event["t"], event["u"]
            self.last = event["t"]


def terms_of(process):
    terms = {}
    for event in process.events:
        if event["e"] in ("elected", "revoked", "led"):
            terms.setdefault(event["token"], Term(process, event["token"])).take(event)
    return [term for term in terms.values() if term.elected is not None or term.claimed is not None]


def pairing_faults(process):
    """onElected and onRevoked alternate, with one token each, and end with onRevoked if the process lived long
    enough."""
    told = [(e["e"], e["token"]) for e in process.events if e["e"] in ("elected", "revoked")]
    faults = []
    for n, (what, token) in enumerate(told):
        if what == "elected" and n % 2 == 0 or (what == "revoked" and n % 2 == 1 and told[n - 1] == ("elected", token)):
            continue
        faults.append(f"{process}: {what} with token {token} is number {n + 1} of {told[max(0, n - 2):n + 2]}")
        break
    if not faults and len(told) % 2 and process.how == "stopped":
        faults.append(f"{process}: elected with token {told[-1][1]} and never revoked")
    return faults


def token_faults(terms):
    faults = []
    owners = {}
    for term in terms:
        other = owners.setdefault(term.token, term)
        if other is not term:
            faults.append(f"token {term.token} was given twice: {other} and {term}")
    claimed = sorted((t for t in terms if t.claimed is not None), key=lambda t: t.claimed)
    faults += [f"tokens do not rise: {a}, then {b}" for a, b in judge.tokens_that_do_not_rise(claimed)]
    return faults


def overlap_faults(terms):
    claimed = sorted((t for t in terms if t.begin is not None), key=lambda t: t.begin)
    return [f"two leaders at once: {a} and {b}" for a, b in judge.overlaps(claimed)]


def stale_rows(rows):
    """Rows that came after one of a later term, or that have the token of another holder."""
    highest, stale, owners = 0, [], {}
    for number, (token, holder) in enumerate(rows, 1):
        if token < highest or owners.setdefault(token, holder) != holder:
            stale.append((number, token, holder))
        highest = max(highest, token)
    return stale


def time_in(intervals, begin, end):
    """How much of [begin, end] they cover together."""
    covered, reached = 0, begin
    for a, b, *_ in sorted(intervals):
        a, b = max(a, reached), min(b, end)
        if b > a:
            covered += b - a
            reached = b
    return covered


def vacancies(run, terms):
    """(seconds without a leader though one was possible, number of acquisitions in that time, begin, end)"""
    signs = sorted((t.first_sign(), t.last_sign(), t.token) for t in terms)
    found = []
    until, last_token = run.began, None
    for first, last, token in [*signs, (run.ended, run.ended, None)]:
        if first > until:
            # A token that nobody ever claimed was won by a process that was stopped at that moment: it cost a lease
            # too.
            skipped = max(0, token - last_token - 1) if token is not None and last_token is not None else 0
            seconds = (first - until - time_in(run.blocked, until, first)) / SECOND
            found.append((seconds, 1 + skipped, until, first))
        until = max(until, last)
        last_token = max(token or 0, last_token or 0) or None
    return found


def vacancy_faults(run, gaps):
    faults = []
    for seconds, acquisitions, begin, end in gaps:
        most = run.first_election_s if begin == run.began else run.longest_vacancy_s * acquisitions
        if seconds > most:
            faults.append(f"nobody led for {seconds:.2f} s, from {(begin - run.began) / 1e9:.2f} s to "
                          f"{(end - run.began) / 1e9:.2f} s of the run; at most {most:.2f} s are allowed")
    return faults


def ledger_faults(run):
    faults = [f"the fence accepted a stale write: row {n} with token {token} of {holder}"
              for n, token, holder in stale_rows(run.fenced_rows)]
    there = {}
    for token, _ in run.fenced_rows:
        there[token] = there.get(token, 0) + 1
    for process in run.processes:
        for event in process.events:
            if event["e"] == "rows" and there.get(event["token"], 0) < event["accepted"]:
                faults.append(f"{process} was told that {event['accepted']} rows of token {event['token']} were written; "
                              f"{there.get(event['token'], 0)} are there")
            if event["e"] == "foreign":
                faults.append(f"{process}: {event['message']}")
    return faults


def lost_elements(run, where):
    """Acknowledged elements that are not there."""
    added = {e["element"] for p in run.processes for e in p.events if e["e"] == "added" and e["to"] == where}
    return sorted(added - set(run.sets[where])), len(added)


def set_faults(run):
    if "fenced" not in run.sets:
        return []
    lost, _ = lost_elements(run, "fenced")
    return [f"{len(lost)} acknowledged elements of the fenced set are lost: {', '.join(lost[:5])}"] if lost else []


class Verdict:
    """`faults`: one sentence each; an empty list means that every promise was kept. `figures`: what was measured."""

    def __init__(self, run):
        self.terms = sorted((t for p in run.processes for t in terms_of(p)), key=Term.first_sign)
        self.gaps = vacancies(run, self.terms)
        self.faults = [f"{p} ended by itself: {p.why}" for p in run.processes if p.how == "died"]
        self.faults += [fault for p in run.processes for fault in pairing_faults(p)]
        self.faults += overlap_faults(self.terms) + token_faults(self.terms)
        self.faults += ledger_faults(run) + set_faults(run) + vacancy_faults(run, self.gaps)
        self.figures = self._figures(run)

    def _figures(self, run):
        events = [e for p in run.processes for e in p.events]
        reasons = {}
        for term in self.terms:
            if term.revoked is not None:
                reasons[term.reason] = reasons.get(term.reason, 0) + 1
        later = [gap for gap in self.gaps if gap[2] != run.began]
        figures = {
            "seconds": (run.ended - run.began) / 1e9,
            "terms": len(self.terms),
            "tokens": [t.token for t in self.terms],
            "claims": sum(e.get("n", 1) for e in events if e["e"] == "led"),
            "revoked": reasons,
            "in_doubt": sum(e["e"] == "doubt" for e in events),
            "rows_fenced": len(run.fenced_rows),
            "stale_writes_refused": sum(e["e"] == "refused" for e in events),
            "stale_rows_fenced": len(stale_rows(run.fenced_rows)),
            "rows_unfenced": len(run.unfenced_rows),
            "stale_rows_unfenced": len(stale_rows(run.unfenced_rows)),
            "longest_vacancy_s": max((gap[0] for gap in later), default=0.0),
            "vacant_s": sum(gap[0] for gap in later),
            "blocked_s": time_in(run.blocked, run.began, run.ended) / 1e9,
        }
        for where in run.sets:
            lost, added = lost_elements(run, where)
            figures[f"added_{where}"], figures[f"lost_{where}"] = added, len(lost)
        return figures
