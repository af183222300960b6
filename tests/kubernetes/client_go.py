"""Candidates that elect with client-go (tests/kubernetes/peers), and who had the right to lead, and when.

A right is judged by the writes: it begins when the first one of a term was answered, and ends one lease after the last one that was
answered had been sent, or when its release was sent. What client-go itself says is no measure after a freeze. tenure's rights
are its claims. Times are CLOCK_BOOTTIME in nanoseconds, as in tests/chaos/verdict.py.
"""

import dataclasses
import itertools
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "etcd"), str(HERE.parent / "interop"), str(HERE.parents[1] / "scripts")]
import judge
from rivals import Process


CLIENT_GO, TENURE = "client-go", "tenure"


@dataclasses.dataclass
class Right:
    """What one process was entitled to in one term. Tokens of client-go's terms are resourceVersions, as those of tenure are at
    least."""
    kind: str
    who: str
    token: int
    begin: int
    last: int
    released: bool = False

    def __repr__(self):
        return f"{self.who} token {self.token} [{self.begin / 1e9:.4f} s, {self.last / 1e9:.4f} s]"


def rights_of(kind, who, events):
    """In the order of their begin. `events` of a client-go candidate, or of tenure-chaos-candidate."""
    rights = {}
    for event in events:
        token, right = event.get("token"), rights.get(event.get("token"))
        if kind == TENURE and event["e"] == "led":
            right = rights.setdefault(token, Right(kind, who, token, event["u"], event["t"]))
            right.last = max(right.last, event["t"])
        elif kind == CLIENT_GO and event["e"] == "held":
            right = rights.setdefault(token, Right(kind, who, token, event["u"], event["until"]))
            right.last = max(right.last, event["until"])
        elif kind == CLIENT_GO and event["e"] == "released" and right:
            right.last, right.released = min(right.last, event["t"]), True
    return in_order(right for right in rights.values() if right.begin < right.last)


def in_order(rights):
    return sorted(rights, key=lambda right: right.begin)


def overlaps(rights):
    """Pairs with an instant in common, in order."""
    return [(a, b) for a, b in itertools.combinations(in_order(rights), 2) if b.begin <= a.last]


def given_away(rights, releases):
    """The rights that a candidate of client-go gave away which did not have them, with the instant: when it stops it reads the
    Lease, and then asks what it remembers, and not what it has read, whether it is the leader (tryRelease in 0.37). `releases`:
    (who, its event)."""
    return [(right, event["t"]) for who, event in releases for right in rights
            if right.who != who and right.begin < event["t"] <= right.last]


def among_client_go(pair):
    """Whether tenure has no part in it. client-go compares times in whole seconds, and takes them some time before it sends them.
    So one candidate does not see each renewal of another, and may take over before the other one's lease is over: no fault of
    tenure's."""
    return all(right.kind == CLIENT_GO for right in pair)


def faults_of(rights, releases=()):
    """No instant belongs to two of which one is tenure, and each term's token is above those of all terms before it. Whoever comes
    after a right that was given away finds the Lease free."""
    away = given_away(rights, releases)
    faults = [f"two had the right to lead: {a} and {b}" for a, b in overlaps(rights) if not among_client_go((a, b))
              and not any(right is a and at <= b.begin for right, at in away)]
    return faults + [f"tokens do not rise: {a}, then {b}" for a, b in judge.tokens_that_do_not_rise(in_order(rights))]


class ClientGo(Process):
    """One process; for rivals.Rivals. Its terms there are what client-go itself claims."""

    def __init__(self, who, command):
        self.events = []
        super().__init__(who, command)

    def take(self, line):
        self.events.append(json.loads(line))

    def leads(self):
        """As client-go itself says."""
        told = [event["e"] for event in self.events if event["e"] in ("elected", "revoked")]
        return bool(told) and told[-1] == "elected" and self.process.poll() is None

    def rights(self):
        return rights_of(CLIENT_GO, f"{self.who}.{self.process.pid}", self.events)

    def releases(self):
        return [(f"{self.who}.{self.process.pid}", event) for event in self.events if event["e"] == "released"]

    def errors(self):
        return [event["message"] for event in self.events if event["e"] == "error"]


def command(program, kubeconfig, name, identity, lease_s, renew_s=None, retry_s=None, more=()):
    """Of tests/kubernetes/peers: a third of the lease between two tries, and two thirds until it gives up, as is usual. An
    identity belongs to one process: client-go takes a Lease with its own for its own."""
    return [program, "-kubeconfig", kubeconfig, "-name", name, "-identity", identity, "-lease", f"{lease_s}s",
            "-renew", f"{renew_s or lease_s * 2 / 3}s", "-retry", f"{retry_s or lease_s / 4}s", *more]
