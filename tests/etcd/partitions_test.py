"""Partitions of members and of candidates, each on a host of its own (hosts.py): who cannot reach whom, one way too.

TENURE_ETCD_STORM: how many (one of each kind if not set). TENURE_ETCD_SEED: which members and candidates (1 if not set).
"""

import contextlib
import http.client
import os
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from etcd_cluster import Cluster, b64, wait_until
from fleet_case import LEASE_S, FleetCase, etcd_yaml, keep_figures, rounds
from hosts import Hosts, Unavailable

MEMBERS = ["m1", "m2", "m3"]
CANDIDATES = ["c1", "c2", "c3"]


class Partitions(FleetCase):
    def setUp(self):
        self.dice = random.Random(int(os.environ.get("TENURE_ETCD_SEED", "1")))
        try:
            self.hosts = self.enterContext(Hosts(["observer", *MEMBERS, *CANDIDATES]))
        except Unavailable as fault:
            self.skipTest(str(fault))
        self.cluster = self.enterContext(Cluster(hosts=[self.hosts.address(m) for m in MEMBERS],
                                                 before=[self.hosts.prefix(m) for m in MEMBERS]))
        self.fleet = self.fleet_on(etcd_yaml(self.cluster), prefixes=[self.hosts.prefix(c) for c in CANDIDATES])

    # -- who is who -----------------------------------------------------------------------------------------------

    def holder(self):
        return CANDIDATES[self.fleet.candidates.index(self.fleet.leader)]

    def others(self, *these):
        return [c for c in CANDIDATES if c not in these]

    def leading_member(self):
        return self.cluster.leader().name

    def settled(self):
        """One that was alone has called for elections that nobody heard, and the first that is heard ends the leader."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            return all(m.request("/v3/kv/range", {"key": b64("x")}, 1)[0] == 200 for m in self.cluster.members) and \
                sum(m.leads() for m in self.cluster.members) == 1
        return False

    # -- what is cut, and what must follow ------------------------------------------------------------------------

    def clients_cut_from_the_leading_member(self):
        """They go to another one, and the term goes on."""
        self.hosts.part(CANDIDATES, [self.leading_member()])
        self.expect_term_goes_on()

    def answers_of_two_members_vanish(self):
        """Half-open connections: their requests are carried out."""
        for member in self.dice.sample(MEMBERS, 2):
            for candidate in CANDIDATES:
                self.hosts.cut(member, candidate)
        self.fleet.run_for(LEASE_S)

    def holder_cut_from_all_members(self):
        self.hosts.part([self.holder()], MEMBERS)
        self.expect_successor()

    def answers_to_the_holder_vanish(self):
        """Its renewals may be carried out for a while, but it does not know."""
        for member in MEMBERS:
            self.hosts.cut(member, self.holder())
        self.expect_told()

    def member_cut_from_the_others(self):
        """Its clients still reach it. A majority is left: the candidates find it."""
        alone = self.leading_member()
        self.hosts.part([alone], MEMBERS)
        self.expect_claim()

    def leading_member_hears_no_other(self):
        """It goes on to send heartbeats."""
        alone = self.leading_member()
        for member in MEMBERS:
            if member != alone:
                self.hosts.cut(member, alone)
        self.fleet.run_for(2 * LEASE_S)

    def holder_is_left_with_the_member_that_is_alone(self):
        alone = self.leading_member()
        rest = [m for m in MEMBERS if m != alone]
        self.hosts.part([alone], rest)
        self.hosts.part([self.holder()], rest)
        self.expect_successor()

    def all_members_apart(self):
        """Nobody leads, and nobody is elected."""
        token = self.fleet.token
        self.hosts.part(MEMBERS, MEMBERS)
        self.expect_told()
        self.fleet.run_for(LEASE_S / 2)
        self.assertEqual(token, self.fleet.token)

    def candidate_cut_from_two_members_each(self):
        """Each candidate reaches one member, and all members reach each other."""
        for candidate, member in zip(CANDIDATES, self.dice.sample(MEMBERS, 3)):
            self.hosts.part([candidate], [m for m in MEMBERS if m != member])
        self.expect_term_goes_on()

    KINDS = (holder_is_left_with_the_member_that_is_alone, clients_cut_from_the_leading_member, holder_cut_from_all_members,
             all_members_apart, member_cut_from_the_others, answers_of_two_members_vanish, answers_to_the_holder_vanish,
             leading_member_hears_no_other, candidate_cut_from_two_members_each)

    def expect_told(self):
        """The holder's term ends."""
        process, token = self.fleet.leader.process, self.fleet.token
        self.fleet.wait(lambda: [e for e in process.told("revoked") if e["token"] == token], "the end of the term")

    def expect_successor(self):
        token = self.fleet.token
        self.expect_told()
        self.fleet.await_leader(above=token)

    def expect_claim(self):
        self.fleet.run_for(LEASE_S)  # longer than it takes to choose a leading member
        self.fleet.await_claim()

    def expect_term_goes_on(self):
        process = self.fleet.leader.process
        self.fleet.run_for(1.5 * LEASE_S)
        lost = [e["reason"] for e in process.told("revoked")[self.ended_before:] if e["reason"] != "expired"]
        self.assertEqual([], lost, "expired: this machine had no time")

    # -- the storm ------------------------------------------------------------------------------------------------

    def storm(self, kinds):
        for n, kind in enumerate(kinds, 1):
            self.fleet.await_leader()
            self.ended_before = len(self.fleet.leader.process.told("revoked"))
            self.fleet.note(kind.__name__)
            self.fleet.block(kind.__name__, True)
            kind(self)
            self.hosts.mend()
            wait_until(self.settled, "all members to follow one leader")
            self.fleet.block(kind.__name__, False)
            self.fleet.await_claim()
            print(f"{n} of {len(kinds)}: {kind.__name__}, token {self.fleet.token}", flush=True)
        figures = {"partitions": len(kinds), **self.judged(self.fleet)}
        print(figures)
        return figures

    def test_a_holder_with_a_member_that_is_alone_is_told_before_another_leads(self):
        self.storm([Partitions.holder_is_left_with_the_member_that_is_alone, Partitions.clients_cut_from_the_leading_member])

    def test_partitions_of_every_kind(self):
        count = rounds(len(self.KINDS))
        keep_figures(self.storm([self.KINDS[n % len(self.KINDS)] for n in range(count)]))


if __name__ == "__main__":
    unittest.main()
