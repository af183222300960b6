"""Promotions of standbys under load, with commits that are lost on purpose and the old primary left running.

Five candidates compete for a lease on a primary with a synchronous and an asynchronous standby. Round after round the
asynchronous one is held back, the leader is killed or stopped so that terms are won that this standby does not see, and
it is promoted; or the synchronous one is promoted. The old primary goes on. Judged by what the candidates claimed and
what a fence outside of the database took: tests/chaos/verdict.py.

TENURE_PROMOTIONS: how many (4 if not set). TENURE_PROMOTIONS_SEED: which (1 if not set).
"""

import contextlib
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import unittest
from concurrent import futures

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "chaos"), str(HERE.parent / "interop")]
from postgresql_cluster import Cluster
from fleet import Fleet, Timing
from processes import now
from switch import Switch
from tenure_program import keep_figures
from verdict import SECOND, Verdict

CANDIDATES = 5
LEASE_S = 1.0
# The bound on times without a leader is for a machine that has time; here many servers share one.
SLACK_S = 15.0
BLOCK = 1 << 40
YAML = "{{ type: postgresql, host: 127.0.0.1, port: {port}, user: tenure, database: postgres, sslmode: disable }}"
ROW = "SELECT coalesce(max(counter), 0) FROM public.tenure_lease"


class Load:
    """Commits one row after the other, and remembers which were answered."""

    def __init__(self, trio):
        self.acknowledged, self._trio, self._ends = [], trio, False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        number = 0
        while not self._ends:
            number += 1
            # A commit that waits for a standby that is gone is ended by nothing else.
            with contextlib.suppress(subprocess.TimeoutExpired):
                if self._trio.primary.try_sql(f"INSERT INTO load VALUES({number})", timeout_s=3)[0] == 0:
                    self.acknowledged.append(number)

    def end(self):
        self._ends = True
        self._thread.join()


class Trio:
    """A primary, a synchronous and an asynchronous standby, and a switch for each candidate and each standby."""

    def __init__(self, cluster, candidates):
        self.primary = cluster.primary("a")
        self.links = {name: cluster.keep(Switch(self.primary.port)) for name in "abc"}
        self.doors = [cluster.keep(Switch(self.primary.port)) for _ in range(candidates)]
        self.primary.sql("CREATE TABLE load(n int)")
        self.sync, self.behind = (cluster.node(name) for name in "bc")
        self.attach(self.sync, self.behind)

    def attach(self, sync, behind):
        self.sync, self.behind = sync, behind
        with futures.ThreadPoolExecutor() as pool:
            for done in [pool.submit(self._copy, standby) for standby in (sync, behind)]:
                done.result()
        for standby in (sync, behind):  # by this thread: with the thread that starts it a server ends
            standby.start()
        self.primary.set("synchronous_standby_names", sync.name)
        self.primary.wait_for_standby(sync.name, "sync")
        self.primary.wait_for_standby(behind.name)

    def _copy(self, standby):
        link = self.links[standby.name]
        link.point_at(self.primary.port)
        link.refuse(False)
        standby.crash()  # nothing of it is kept
        standby.copy(link.port)

    def hold_back(self):
        """The asynchronous standby gets nothing more."""
        self.links[self.behind.name].refuse()
        self.links[self.behind.name].cut()

    def promote(self, chosen):
        """The old primary goes on, with the standby that it has left."""
        old, self.primary = self.primary, chosen
        chosen.promote()
        chosen.set("synchronous_standby_names", "")
        return old

    def lead_to_the_primary(self, doors):
        for door in doors:
            door.point_at(self.primary.port)
        for door in doors:
            door.cut()

    def rebuild(self, old):
        """The three again, with the old primary as a standby."""
        left = self.sync if self.behind is self.primary else self.behind
        self.attach(old, left)


class Promotions(unittest.TestCase):
    def setUp(self):
        self.dice = random.Random(int(os.environ.get("TENURE_PROMOTIONS_SEED", "1")))
        self.cluster = self.enterContext(Cluster())
        self.trio = Trio(self.cluster, CANDIDATES)
        directory = tempfile.TemporaryDirectory(prefix="tenure-promotions.")
        self.addCleanup(directory.cleanup)
        self.fleet = self.enterContext(Fleet(
            _NoLocks(), CANDIDATES, Timing(LEASE_S, LEASE_S / 4, SLACK_S), directory=directory.name,
            store_yaml=[YAML.format(port=door.port) for door in self.trio.doors]))
        self.load = Load(self.trio)
        self.addCleanup(self.load.end)
        self.lost = set()
        self.figures = {"promotions": 0, "without_the_last_commits": 0, "promotions_that_lost_a_term": 0, "commits_lost": 0}
        self.fleet.start()

    def change_of_leader(self):
        """Terms that only the primary and its synchronous standby know of."""
        token, what = self.fleet.token, self.dice.choice(["kill", "stop", "freeze", "none"])
        if what == "kill":
            self.fleet.kill(self.fleet.leader, restart_after=0.2)
        elif what == "stop":
            self.fleet.stop(self.fleet.leader, restart_after=0.2)
        elif what == "freeze":  # it wakes up after the promotion, in the middle of a write
            self.fleet.freeze_outside_of_transactions(self.fleet.leader, 4 * LEASE_S)
        if what != "none":
            self.fleet.await_leader(above=token)
        self.fleet.run_for(LEASE_S * self.dice.uniform(0.6, 1.2))  # renewals that it does not see

    def promote(self, without_the_last_commits):
        """Returns the old primary."""
        trio = self.trio
        if without_the_last_commits:
            trio.hold_back()
            self.change_of_leader()
            seen, last = int(trio.behind.sql(ROW)), int(trio.primary.sql(ROW))
            self.figures["promotions_that_lost_a_term"] += last > seen
            acknowledged = set(self.load.acknowledged)
        self.fleet.note("promotion")
        self.fleet.block("promotion", True)
        old = trio.promote(trio.behind if without_the_last_commits else trio.sync)
        self.figures["promotions"] += 1
        if without_the_last_commits:
            there = set(map(int, trio.primary.sql("SELECT n FROM load").split()))
            self.figures["without_the_last_commits"] += 1
            self.lost |= acknowledged - there
            self.figures["commits_lost"] = len(self.lost)
        return old

    def expect_next_term(self, token):
        """Until now the old primary may have elected somebody. At the new one nobody is elected before a lease is over."""
        since = now()

        def leads():
            leader = self.fleet.leader
            return leader if self.fleet.token > token and leader.process.told("elected", since) else None
        leader = self.fleet.wait(leads, f"a leader with a token above {token}")
        self.assertGreaterEqual(self.fleet.token // BLOCK, self.figures["promotions"],
                                "the first term after a promotion begins a block of tokens")
        return leader

    def judge(self, but=()):
        self.load.end()
        verdict = Verdict(self.fleet.end())
        logs = "\n".join(f"--- {p}\n{p.log_path.read_text(errors='replace')[-2000:]}" for p in self.fleet.processes())
        self.assertEqual([], [fault for fault in verdict.faults if not fault.startswith(tuple(but))], logs)
        self.assertEqual(verdict.figures["stale_rows_fenced"], 0)
        self.figures |= {name: verdict.figures[name] for name in (
            "terms", "in_doubt", "stale_writes_refused", "stale_rows_fenced", "stale_rows_unfenced", "longest_vacancy_s")}
        return verdict

    def test_an_old_primary_that_is_cut_off_leaves_at_most_one_leader(self):
        promotions = int(os.environ.get("TENURE_PROMOTIONS", "4"))
        for n in range(promotions):
            token = self.fleet.token
            loses = n % 4 != 3
            old = self.promote(loses)
            token = max(token, self.fleet.token)
            self.trio.lead_to_the_primary(self.trio.doors)
            self.fleet.block("promotion", False)
            if loses:
                self.expect_next_term(token)
            else:  # the holder finds its last renewal there, and its term may go on
                self.fleet.await_claim()
            self.trio.rebuild(old)
            if promotions > 4:
                print(f"{n + 1} of {promotions}: token {self.fleet.token}, {self.figures['promotions_that_lost_a_term']} terms and "
                      f"{self.figures['commits_lost']} commits lost", flush=True)
        self.judge()
        print(self.figures)
        keep_figures(self.figures)
        self.assertGreater(self.figures["commits_lost"], 0, "no commit was lost, so this has shown nothing")

    def test_what_remains_where_the_holder_still_reaches_the_old_primary(self):
        """The documented limit: then there may be two leaders, until the old primary ends. The fence lets no write of the
        former one through, and tokens rise."""
        for _ in range(max(1, int(os.environ.get("TENURE_PROMOTIONS", "4")) // 4)):
            leader = self.fleet.await_leader()
            token = self.fleet.token
            holders = self.trio.doors[self.fleet.candidates.index(leader)]
            self.trio.hold_back()
            self.fleet.run_for(LEASE_S / 2)
            old = self.trio.promote(self.trio.behind)
            self.figures["promotions"] += 1
            self.trio.lead_to_the_primary([door for door in self.trio.doors if door is not holders])
            self.fleet.block("promotion", False)
            self.expect_next_term(token)
            self.fleet.run_for(2 * LEASE_S)
            old.crash()
            self.trio.lead_to_the_primary([holders])
            self.trio.rebuild(old)
        verdict = self.judge(but=["two leaders at once"])
        both = [fault for fault in verdict.faults if fault.startswith("two leaders at once")]
        print(f"two leaders at once: {len(both)} times in {self.figures['promotions']} promotions", self.figures)
        for a, b in zip(verdict.terms, verdict.terms[1:]):
            if a.last and b.begin and a.last > b.begin:
                print(f"  {a}, beside {b}: {(a.last - b.begin) / SECOND:.2f} s")


class _NoLocks:
    """The store as the fleet sees it: a stopped process holds no row."""

    @staticmethod
    def is_locked_by(_):
        return False


if __name__ == "__main__":
    unittest.main()
