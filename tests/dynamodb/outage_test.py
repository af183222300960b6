"""Three `tenure run` on DynamoDB while the table cannot be reached: who leads, what it costs, and how soon it recovers.

TENURE_OUTAGE_SECONDS: how long the long outage is (15 if not set).
"""

import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "interop"), str(HERE.parent / "faults"), str(HERE.parents[1] / "scripts")]
import dynamodb_server
import judge
from client import FaultProxy
from lateness import Lateness
from tenure_program import TableTest, keep_figures, the_endpoint, wait_until

CANDIDATES = 3
LEASE_MS, HEARTBEAT_MS = 2000, 500
YAML = """group: {group}
candidate: {{ id: "{name}" }}
lease: {{ duration: {lease}ms, heartbeat: {heartbeat}ms }}
store: {{ type: dynamodb, table: {table}, region: us-east-1, endpoint: "{endpoint}" }}
"""
JOB = [sys.executable, "-E", "-S", "-B", str(HERE.parent / "interop" / "holder_job.py")]
FOR_EVER_MS = 10**10
# A sanitizer needs additional memory, which grows with what it has seen.
SANITIZED = bool(os.environ.get("TENURE_SANITIZED"))

# The longest wait of a candidate between two polls of a store that fails: a heartbeat and the jitter. If a request gets
# no answer at all, the time for that request is added. Two round trips and this machine's scheduling come on top.
POLL_S = 1.25 * HEARTBEAT_MS / 1000
UNANSWERED_S = HEARTBEAT_MS / 1000
MARGIN_S = 0.4
# Before the waits have grown to a heartbeat there are a few more requests: the leader's renewals while it is in doubt,
# and the first polls of the others.
FIRST_REQUESTS = 10 + 8 * 8  # and eight copies of eight requests, before they know of the outage
# At most 8 connections wait for a late reply, and for each of them one more connection is prepared.
LATE = 2 * 8
KINDS = {
    "refused": None,
    "reset": {"action": "drop_before", "reset": True},
    "silent": {"action": "drop_before", "close": False},
    "errors": {"action": "error", "name": "InternalServerError"},
}


class Sample:
    """What a process uses at this moment."""

    def __init__(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            self.rss_kib = int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])
        with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
            tcp = {f"socket:[{line.split()[9]}]" for line in list(file)[1:]}
        links = [self._link(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
        self.fds = len(links)
        self.connections = sum(link in tcp for link in links)

    @staticmethod
    def _link(path):
        try:
            return os.readlink(path)
        except FileNotFoundError:  # closed in the meantime
            return ""

    def __str__(self):
        return f"{self.rss_kib} KiB, {self.fds} fds, {self.connections} connections"


class Candidate:
    """One `tenure run`, and its log with the times of arrival."""

    def __init__(self, name, config, ledger):
        self.name = name
        self.process = subprocess.Popen(
            [os.environ["TENURE_PROGRAM"], "run", "--config", config, "--", *JOB, str(ledger), name, str(FOR_EVER_MS)],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=dynamodb_server.die_with_parent)
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append((time.monotonic(), line.rstrip()))

    def said(self, what, since=0.0):
        """The time of the first such line, or None."""
        return next((at for at, line in list(self.lines) if at >= since and what in line), None)

    def sample(self):
        return Sample(self.process.pid)

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        self.process.stderr.close()


class Outage(TableTest):
    def setUp(self):
        self.lateness = self.enterContext(Lateness(lambda: None))
        super().setUp()
        self.make_table()
        self.proxy = self.enterContext(FaultProxy(the_endpoint(), seed=5))
        self.ledger = self.directory / "ledger"
        self.ledger.touch()
        self.candidates = []
        for n in range(CANDIDATES):
            candidate = Candidate(f"candidate-{n}", self.config(f"candidate-{n}", self.proxy.endpoint), self.ledger)
            self.addCleanup(candidate.end)
            self.candidates.append(candidate)
        self.leader = self.elected_since(0)

    def config(self, name="someone", endpoint=None):
        path = self.directory / f"{name}.yaml"
        path.write_text(YAML.format(group=self.group, name=name, lease=LEASE_MS, heartbeat=HEARTBEAT_MS,
                                    table=self.table, endpoint=endpoint))
        return str(path)

    def elected_since(self, since):
        return wait_until(lambda: next((c for c in self.candidates if c.said("elected with", since)), None), "a leader")

    def begin(self, kind):
        """From now on the server is unavailable, in this way."""
        self.proxy.set_rules([KINDS[kind]] if KINDS[kind] else [])
        self.proxy.listen(kind != "refused")

    def end_outage(self):
        """The process that leads afterwards, and after how many seconds."""
        over = time.monotonic()  # before: a process may win while the proxy still answers this test
        self.proxy.clear()
        self.proxy.listen(True)
        leader = self.elected_since(over)
        return leader, leader.said("elected with", over) - over

    def expect_end_of_term(self, began):
        """The leader is in doubt, and stops on time and for the right reason."""
        leads_for = (LEASE_MS * 0.9 + MARGIN_S * 1000) / 1000
        revoked = wait_until(lambda: self.leader.said("revoked (", began), "the end of the term")
        self.assertLess(revoked - began, leads_for + self.lateness.worst())
        self.assertIsNotNone(self.leader.said("revoked (storeUnreachable", began), self.leader.lines)
        doubted = self.leader.said("in doubt: ", began)
        self.assertIsNotNone(doubted, self.leader.lines)
        self.assertLess(doubted, revoked)

    def expect_nobody(self, since, until):
        for candidate in self.candidates:
            self.assertIsNone(candidate.process.poll(), f"{candidate.name} ended: {candidate.lines[-3:]}")
        claims = [line for line in judge.read(self.ledger) if since < line["t"] / 1e9 < until]
        self.assertEqual([], claims[:3])

    def expect_two_terms(self):
        """One leader before the outage and one after it; at no time two."""
        terms = wait_until(lambda: self.terms() if len(self.terms()) > 1 else None, "the job of the second term")
        self.assertEqual(len(terms), 2, terms)
        self.assertEqual([], judge.overlaps(terms))
        self.assertEqual([], judge.tokens_that_do_not_rise(terms))

    def terms(self):
        return judge.terms_of(judge.read(self.ledger))

    def go_through(self, kinds, seconds_each, watch=lambda: None):
        """An outage that changes its kind now and then: its start, and the requests that arrived in it."""
        before = self.proxy.counters()
        began = time.monotonic()
        for n, kind in enumerate(kinds):
            self.begin(kind)
            if n == 0:
                self.expect_end_of_term(began)
            end = began + seconds_each * (n + 1)
            while time.monotonic() < end:
                time.sleep(min(1.0, max(0.0, end - time.monotonic())))
                watch()
        after = self.proxy.counters()
        self.expect_nobody(began + LEASE_MS / 1000, time.monotonic())
        return began, {name: after[name] - before[name] for name in ("requests", "connections")}

    def expect_few(self, requests, seconds):
        a_heartbeat_each = CANDIDATES * seconds * 1000 / HEARTBEAT_MS
        self.assertLess(requests, a_heartbeat_each * 1.1 + CANDIDATES * FIRST_REQUESTS)

    def of_this_kind(self, kind):
        seconds = 3 * LEASE_MS / 1000
        _, arrived = self.go_through([kind], seconds)
        self.leader, took = self.end_outage()
        print(f"{kind} for {seconds:.0f} s: {arrived['requests']} requests and {arrived['connections']} connections of "
              f"{CANDIDATES} candidates; a leader {took * 1000:.0f} ms after it")
        self.expect_few(arrived["requests"], seconds)
        self.assertLess(took, POLL_S + MARGIN_S + (UNANSWERED_S if kind == "silent" else 0))
        self.expect_two_terms()

    def test_refused_connections(self):
        self.of_this_kind("refused")

    def test_reset_connections(self):
        self.of_this_kind("reset")

    def test_a_silent_server(self):
        self.of_this_kind("silent")

    def test_a_server_with_errors_only(self):
        self.of_this_kind("errors")

    def test_a_long_outage_costs_nothing_that_grows(self):
        seconds = float(os.environ.get("TENURE_OUTAGE_SECONDS", "15"))
        each = min(30, seconds / len(KINDS))
        rounds = int(seconds / each / len(KINDS))
        for candidate in self.candidates:  # one that was just started has not reached its usual size yet
            wait_until(lambda c=candidate: c is self.leader or c.said("the leader is"), f"{candidate.name} to know the leader")
        before = [c.sample() for c in self.candidates]
        samples = []
        began, arrived = self.go_through([*KINDS] * rounds, each, lambda: samples.append([c.sample() for c in self.candidates]))
        lasted = time.monotonic() - began
        self.leader, took = self.end_outage()
        # Each kind of fault needs code and buffers that were not needed before.
        first_round = samples[len(samples) // rounds - 1] if rounds > 1 else before
        for n, candidate in enumerate(self.candidates):
            most = {name: max(getattr(s[n], name) for s in samples) for name in ("rss_kib", "fds", "connections")}
            print(f"{candidate.name}: before {before[n]}; after the first round {samples[len(samples) // rounds - 1][n]}; "
                  f"at the end {samples[-1][n]}; at most {most['rss_kib']} KiB, {most['fds']} fds, "
                  f"{most['connections']} connections; afterwards {candidate.sample()}")
        print(f"{lasted:.0f} s: {arrived['requests']} requests and {arrived['connections']} connections of {CANDIDATES} "
              f"candidates, {arrived['requests'] / CANDIDATES / lasted * HEARTBEAT_MS / 1000:.2f} requests each per "
              f"heartbeat; a leader {took * 1000:.0f} ms after it")
        keep_figures({
            "seconds": round(lasted), "candidates": CANDIDATES, "requests_per_candidate_and_heartbeat":
            round(arrived["requests"] / CANDIDATES / lasted * HEARTBEAT_MS / 1000, 3), "leader_after_ms": round(took * 1000),
            "memory_grown_kib": max(samples[-1][n].rss_kib - first_round[n].rss_kib for n in range(CANDIDATES)),
            "descriptors_grown": max(samples[-1][n].fds - before[n].fds for n in range(CANDIDATES))})
        self.expect_few(arrived["requests"], lasted)
        self.assertLess(took, POLL_S + MARGIN_S)
        self.expect_two_terms()
        for n in range(CANDIDATES):
            if not SANITIZED:
                self.assertLess(samples[-1][n].rss_kib, first_round[n].rss_kib + (512 if rounds > 1 else 4096))
            self.assertLessEqual(max(s[n].fds for s in samples), before[n].fds + 2 + LATE)
            self.assertLessEqual(max(s[n].connections for s in samples), before[n].connections + 2 + LATE)


if __name__ == "__main__":
    unittest.main()
