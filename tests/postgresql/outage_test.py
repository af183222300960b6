"""Three `tenure run` on a PostgreSQL that freezes, ends, says nothing, is full or takes no writes.

In each outage the leader is told once that it is in doubt, and once that its term has ended, on time. Nobody acts until
the outage is over. Then there is one leader again, with a higher token, and no answered term is forgotten.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "interop"), str(HERE.parent / "chaos"), str(HERE.parents[1] / "scripts")]
import postgresql_server
from postgresql_cluster import Cluster, wait_until
from lateness import Lateness
from network import Network, Unavailable
from program import HEARTBEAT_MS, LEASE_MS, MARGIN_S, Candidates
from switch import Switch

CANDIDATES = 3
LEASE_S = LEASE_MS / 1000
# A candidate that fails polls again within a heartbeat and its jitter; one whose request gets no answer gives up after
# a heartbeat. A new connection comes on top.
RECOVERY_S = 2.25 * HEARTBEAT_MS / 1000 + 1.0
ROLE = "plain"
TOKEN = "SELECT counter FROM public.tenure_lease"


class Outage(unittest.TestCase):
    settings = {}

    def setUp(self):
        self.lateness = self.enterContext(Lateness(lambda: None))
        self.cluster = self.enterContext(Cluster())
        self.server = self.make_server()
        self.server.sql(f"CREATE ROLE {ROLE} LOGIN; GRANT CREATE ON SCHEMA public TO {ROLE}")
        self.switch = self.enterContext(Switch(self.server.port))
        self.directory = self.enterContext(tempfile.TemporaryDirectory(prefix="tenure-outage."))
        self.candidates = self.enterContext(Candidates(self.directory, [], user=ROLE))

    def make_server(self):
        return self.cluster.primary(settings=self.settings)

    def start_candidates(self, port=None):
        for _ in range(CANDIDATES):
            self.candidates.add(port or self.switch.port)
        self.leader = self.candidates.elected_since()
        wait_until(self.candidates.terms, "the job of the first term")
        for candidate in self.candidates.each:
            if candidate is not self.leader:
                wait_until(lambda c=candidate: c.said("the leader is"), f"{candidate.name} to know the leader")

    def go_through(self, begin, end, seconds=3 * LEASE_S, late_writes=False):
        """An outage from begin() to end(), and what follows. begin() may return the time at which it really began.
        `late_writes`: a renewal that was under way may be committed at its end, and is waited for as any other."""
        began = time.monotonic()
        began = begin() or began
        self.expect_end_of_term(began)
        while time.monotonic() < began + seconds:
            time.sleep(0.05)
        self.expect_nobody(began + LEASE_S, time.monotonic())
        over = time.monotonic()
        end()
        ended = time.monotonic()
        self.leader = self.candidates.elected_since(over)
        took = self.leader.said("elected with", over) - ended
        print(f"{self.id().rpartition('.')[2]}: told after {self.told:.2f} s, a leader {took:.2f} s after it")
        self.assertLess(took, RECOVERY_S + self.lateness.worst() + (LEASE_S if late_writes else 0))
        self.expect_two_terms()

    def expect_end_of_term(self, began):
        revoked = wait_until(lambda: self.leader.said(r"revoked \(", began),
                             lambda: f"the end of the term\n{self.candidates.logs()}\n--- server\n{self.server.log()[-3000:]}")
        self.told = revoked - began
        self.assertLess(self.told, LEASE_S * 0.9 + MARGIN_S + self.lateness.worst(), self.leader.log())
        doubts = self.leader.all_said("in doubt: ", began)
        self.assertEqual(len(doubts), 1, self.leader.log())
        self.assertLess(doubts[0][0], revoked)
        self.assertEqual(len(self.leader.all_said(r"revoked \(", began)), 1, self.leader.log())

    def expect_nothing_lost(self, since):
        """No term was lost, and no other one begun."""
        self.assertEqual(len(self.leader.all_said(r"revoked \(", since)), 0, self.leader.log())
        self.assertEqual(len(self.candidates.terms()), 1)
        self.assertGreater(len(self.candidates.claims(time.monotonic() - 0.5, time.monotonic())), 0, self.leader.log())

    def expect_nobody(self, since, until):
        for candidate in self.candidates.each:
            self.assertIsNone(candidate.process.poll(), candidate.log())
        self.assertEqual([], self.candidates.claims(since, until)[:3], self.candidates.logs())

    def expect_two_terms(self):
        wait_until(lambda: len(self.candidates.terms()) > 1, "the job of the second term")
        self.assertEqual([], self.candidates.faults())
        last = max(term.token for term in self.candidates.terms())
        self.assertGreaterEqual(int(self.server.sql(TOKEN)), last, "a term that was answered is forgotten")


class Links(Outage):
    def setUp(self):
        super().setUp()
        self.start_candidates()

    def test_refused_connections(self):
        def begin():
            self.switch.refuse()
            self.switch.cut()
        self.go_through(begin, lambda: self.switch.refuse(False))

    def test_connections_that_stay_open_and_say_nothing(self):
        self.go_through(self.switch.silence, self.switch.speak, late_writes=True)

    def test_frozen_server(self):
        self.go_through(self.server.freeze, self.server.thaw, late_writes=True)

    def test_frozen_backends(self):
        frozen = self.server.backends(f"usename = '{ROLE}'")

        def send(number):
            for pid in frozen:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        began = time.monotonic()
        send(signal.SIGSTOP)
        self.addCleanup(send, signal.SIGCONT)
        # New connections are served: either the term goes on after a doubt, or another one begins.
        wait_until(lambda: self.candidates.elected_since() and time.monotonic() > began + 3 * LEASE_S, "three leases")
        send(signal.SIGCONT)
        time.sleep(LEASE_S)
        self.assertEqual([], self.candidates.faults(), self.candidates.logs())
        self.assertGreater(len(self.candidates.claims(time.monotonic() - LEASE_S / 2, time.monotonic())), 0,
                           self.candidates.logs())

    def test_restart_costs_no_term(self):
        began = time.monotonic()
        self.server.restart()
        self.server.restart(signal.SIGQUIT)
        wait_until(lambda: time.monotonic() > began + 2 * LEASE_S, "two leases")
        print(f"two restarts: {len(self.leader.all_said('in doubt', began))} doubts, "
              f"{len(self.leader.all_said('revoked', began))} terms ended")
        self.expect_nothing_lost(began)

    def test_sessions_that_are_ended_cost_no_term(self):
        began = time.monotonic()
        for _ in range(4):
            self.server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{ROLE}'")
            time.sleep(HEARTBEAT_MS / 1000)
        self.expect_nothing_lost(began)

    def test_read_only(self):
        """What providers set when a disk is nearly full."""
        self.go_through(lambda: self.server.set("default_transaction_read_only", "on"),
                        lambda: self.server.set("default_transaction_read_only", "off"))

    def test_the_server_has_become_a_standby(self):
        """What an address leads to after a switchover that went wrong: it answers, and takes no writes."""
        standby = self.cluster.standby("b", self.server.port)
        self.server.wait_for_standby("b")

        def lead_to(port):
            self.switch.point_at(port)
            self.switch.cut()
        self.go_through(lambda: lead_to(standby.port), lambda: lead_to(self.server.port))

    def test_frozen_candidate(self):
        frozen, token = self.leader, self.candidates.terms()[-1].token
        began = time.monotonic()
        frozen.freeze()
        self.leader = self.candidates.elected_since(began, [c for c in self.candidates.each if c is not frozen])
        frozen.thaw()
        wait_until(lambda: frozen.said(r"revoked \(", began), "the frozen one to be told")
        self.assertEqual(len(frozen.all_said(r"revoked \(", began)), 1, frozen.log())
        wait_until(lambda: self.candidates.terms()[-1].token > token, "the job of the next term")
        self.assertEqual([], self.candidates.faults())


class TooManyConnections(Outage):
    settings = {"max_connections": "30", "superuser_reserved_connections": "3", "max_wal_senders": "2"}

    def take(self, connections):
        words = ["psql", "-XAtq", "-d", self.server.conninfo(user=ROLE)]
        for _ in range(connections):
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=postgresql_server.environment("", {"PATH": os.environ["PATH"]}))
            self.addCleanup(process.communicate)
            self.taken.append(process)

    def is_full(self):
        answer = self.server.try_sql("SELECT 1", user=ROLE)[1]
        return "too many clients" in answer or "remaining connection slots" in answer

    def test_too_many_connections(self):
        self.start_candidates()
        self.taken = []

        def begin():
            self.take(40)
            wait_until(self.is_full, "no more connections")
            began = time.monotonic()
            # The candidates lose theirs, and somebody else is quicker.
            self.switch.refuse()
            self.switch.cut()
            self.take(20)
            wait_until(self.is_full, "no more connections")
            self.switch.refuse(False)
            return began

        def end():
            for process in self.taken:
                process.communicate()
        self.go_through(begin, end)


class FullDisk(Outage):
    MEBIBYTES = 96

    def make_server(self):
        try:
            self.disk = self.cluster.tmpfs("disk", self.MEBIBYTES)
        except (PermissionError, subprocess.CalledProcessError) as fault:
            self.skipTest(f"no disk of a test's own: {fault}")
        # A checkpoint needs room elsewhere than in the WAL: it would crash first, and the server could serve again.
        return self.cluster.primary(data=self.disk / "data", settings={"max_wal_size": "1GB"})

    def fill(self):
        for size in (65536, 4096):
            with contextlib.suppress(OSError), open(self.disk / "filler", "ab", buffering=0) as file:
                while True:
                    file.write(bytes(size))

    def test_tables_that_cannot_grow_cost_no_term(self):
        """Renewals need no more room: each takes the place of the one before it."""
        self.start_candidates()
        began = time.monotonic()
        self.fill()
        code, told = self.server.try_sql("CREATE TABLE f AS SELECT repeat('x', 500) FROM generate_series(1, 9000)")
        self.assertNotEqual(code, 0)
        self.assertIn("No space left", told)
        wait_until(lambda: time.monotonic() > began + 3 * LEASE_S, "three leases")
        self.expect_nothing_lost(began)

    def test_wal_that_cannot_grow(self):
        """The server crashes, and cannot serve before there is room."""
        self.start_candidates()

        def begin():
            self.fill()
            while self.server.try_sql("SELECT pg_logical_emit_message(true, 'x', repeat('x', 500)), pg_switch_wal()")[0] == 0:
                began = time.monotonic()
            self.fill()
            return began

        def end():
            (self.disk / "filler").unlink()
            if not self.server.runs():
                self.server.start()
        self.go_through(begin, end)


class Defaults(Outage):
    # What is committed without waiting is written after ten seconds.
    settings = {"wal_writer_delay": "10s"}

    def test_defaults_of_the_role_take_nothing_from_what_was_answered(self):
        self.server.sql(f"ALTER ROLE {ROLE} SET synchronous_commit = off; "
                        f"ALTER ROLE {ROLE} SET default_transaction_isolation = serializable; "
                        f"ALTER ROLE {ROLE} SET lock_timeout = 1; ALTER ROLE {ROLE} SET statement_timeout = '1h'; "
                        f"ALTER ROLE {ROLE} SET lc_messages = 'C'; ALTER ROLE {ROLE} SET search_path = nowhere")
        self.start_candidates()
        for _ in range(3):
            token = self.candidates.terms()[-1].token
            before = time.monotonic()
            self.leader.process.kill()
            self.candidates.each.remove(self.leader)
            self.addCleanup(self.leader.end)
            self.candidates.add(self.switch.port)
            self.leader = self.candidates.elected_since(before)
            self.server.crash()
            self.server.start()
            self.assertGreater(int(self.server.sql(TOKEN)), token, "the answered acquisition is lost")
            wait_until(lambda t=token: self.candidates.terms()[-1].token > t, "the job of the next term")
        self.assertEqual([], self.candidates.faults())


class HalfOpen(Outage):
    def test_half_open_tcp(self):
        """Packets vanish in both directions, without a reset and without an ICMP message."""
        try:
            network = self.enterContext(Network(f"http://127.0.0.1:{self.server.port}", CANDIDATES))
        except Unavailable as reason:
            self.skipTest(str(reason))
        for n in range(1, CANDIDATES + 1):
            self.candidates.add(network.door_port, host=network.door_address, prefix=network.prefix(n))
        self.leader = self.candidates.elected_since()
        n = self.candidates.each.index(self.leader) + 1
        began = time.monotonic()
        network.cut(n, requests=True, replies=True)
        self.expect_end_of_term(began)
        old, self.leader = self.leader, self.candidates.elected_since(
            began, [c for c in self.candidates.each if c is not self.leader])
        print(f"half-open: told after {self.told:.2f} s; the next leader after "
              f"{self.leader.said('elected with', began) - began:.2f} s")
        network.cut(n)
        wait_until(lambda: old.said("the leader is", began), "the one that was cut off to see the new leader")
        self.assertEqual([], self.candidates.faults())


if __name__ == "__main__":
    unittest.main()
