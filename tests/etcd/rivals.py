"""Candidates that elect with etcd's own client, `concurrency.Election` in Go (tests/etcd/peers) and `etcdctl elect`, and what they
claimed. Times are CLOCK_BOOTTIME in nanoseconds, as in tests/chaos/verdict.py."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "chaos")]
from dynamodb_server import die_with_parent
from processes import now
from verdict import SECOND, time_in

# A claim that is not repeated for this long was not made in between: the process stood still.
GAP_NS = SECOND // 2
PATIENCE_S = 20


@dataclasses.dataclass
class Term:
    """What one process claimed from one election to its end."""
    who: str
    begin: int
    spans: list      # of time in which it claimed to lead, each (from, to)
    token: int = None
    told: int = None  # when it said that it no longer leads; None: never


def take_event(who, terms, event):
    if event["e"] not in ("elected", "led", "revoked"):
        return
    if not terms or terms[-1].token != event["token"]:
        terms.append(Term(who, event["t"], [], event["token"]))
    spans = terms[-1].spans
    if event["e"] == "revoked":
        terms[-1].told = event["t"]
    elif event["e"] == "led" and spans and event["t"] - spans[-1][1] < GAP_NS:
        spans[-1] = (spans[-1][0], event["t"])
    elif event["e"] == "led":
        spans.append((event["u"], event["u"]))


class Process:
    """One process. What it prints goes to `take` line by line."""

    def __init__(self, who, command):
        self.who, self.terms, self.frozen = who, [], []
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, preexec_fn=die_with_parent, env={**os.environ, "ETCDCTL_API": "3"})
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                self.take(line)
        self.process.wait()
        self.ended(now())

    def ended(self, at):
        """The process has ended."""

    def leads(self):
        return bool(self.terms) and self.terms[-1].told is None and self.process.poll() is None

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)
        self.frozen.append([now(), None])

    def thaw(self):
        if self.frozen and self.frozen[-1][1] is None:
            self.frozen[-1][1] = now()
            self.process.send_signal(signal.SIGCONT)

    def end(self, number=signal.SIGKILL):
        self.thaw()
        self.process.send_signal(number)
        self._reader.join(PATIENCE_S)
        self.process.kill()
        self._reader.join()


class GoElection(Process):
    """Says itself, each 5 ms, whether it leads: its session's Done channel is open."""

    def take(self, line):
        take_event(self.who, self.terms, json.loads(line))


class Etcdctl(Process):
    """Prints its key when it is elected, and ends when its session does. It claims to lead in between, while it runs."""

    def take(self, _):
        if not self.terms:
            self.terms.append(Term(self.who, now(), []))

    def ended(self, at):
        if not self.terms:
            return
        term, begin = self.terms[0], self.terms[0].begin
        for stopped, woken in [*self.frozen, [at, at]]:
            if stopped > begin:
                term.spans.append((begin, stopped))
            begin = max(begin, woken or at)
        if self.process.returncode != -signal.SIGKILL:
            term.told = at


class Rivals:
    """Candidates of one kind for one election. `commands`: one for each, by name. Whoever ends is started again."""

    def __init__(self, kind, commands):
        self.kind, self._commands = kind, commands
        self._all, self._running, self._over = [], {}, False
        for name in commands:
            self._start(name)

    def _start(self, name):
        self._running[name] = self.kind(name, self._commands[name])
        self._all.append(self._running[name])

    def tick(self):
        for name, process in list(self._running.items()):
            if process.process.poll() is not None:
                self._start(name)

    def leaders(self):
        """Names of those that say that they lead."""
        return [name for name, process in self._running.items() if process.leads()]

    def __getitem__(self, name):
        return self._running[name]

    def close(self):
        for process in self._running.values():
            process.end(signal.SIGTERM)

    def terms(self):
        return in_order([term for process in self._all for term in process.terms])


def terms_of(fleet):
    """The same of tenure's candidates, from all lines of their logs: the fleet keeps only the first and the last claims."""
    found = []
    for process in fleet.processes():
        terms = []
        for line in process.events_path.read_text(encoding="utf-8").splitlines():
            take_event(str(process), terms, json.loads(line))
        found += terms
    return in_order(found)


def in_order(terms):
    return sorted((term for term in terms if term.spans), key=lambda term: term.begin)


def figures(terms, began, ended, grace_s):
    """What candidates of one kind did, by their own claims."""
    together = [sum(time_in(a.spans, *span) for span in b.spans) for n, a in enumerate(terms) for b in terms[n + 1:]]
    spans = sorted(span for term in terms for span in term.spans)
    vacant, reached = [0], began
    for begin, end in [*spans, (ended, ended)]:
        vacant.append(max(0, begin - reached))
        reached = max(reached, end)
    never = sum(term.told is None and term.spans[-1][1] > successor.begin + grace_s * SECOND
                for term, successor in zip(terms, terms[1:]))
    return {"elections": len(terms), "two_leaders": sum(each > 0 for each in together),
            "two_leaders_s": round(sum(together) / SECOND, 3), "never_told": never,
            "without_leader_s": round((ended - began - time_in(spans, began, ended)) / SECOND, 1),
            "longest_without_leader_s": round(max(vacant) / SECOND, 1)}
