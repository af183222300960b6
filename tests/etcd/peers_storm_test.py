"""`concurrency.Election` of etcd's Go client and `etcdctl elect` beside tenure, on the same members, in the same storm.

tenure must keep its promises. Of the others it is only counted what they did. TENURE_ETCD_STORM: how many rounds (one of each
kind if not set). TENURE_ETCD_SEED: which hosts (1 if not set).
"""

import os
import pathlib
import random
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from etcd_cluster import Cluster
import etcd_server
from fleet_case import LEASE_S, FleetCase, etcd_yaml, keep_figures, rounds
from hosts import Hosts, Unavailable
from processes import now
import rivals
from rivals import Etcdctl, GoElection, Rivals
from verdict import Verdict

MEMBERS = ["m1", "m2", "m3"]
TENURE, GO, ETCDCTL = ([f"{kind}{n}" for n in (1, 2, 3)] for kind in "tge")


class PeersStorm(FleetCase):
    def setUp(self):
        self.dice = random.Random(int(os.environ.get("TENURE_ETCD_SEED", "1")))
        try:
            self.hosts = self.enterContext(Hosts(["observer", *MEMBERS, *TENURE, *GO, *ETCDCTL]))
            election = etcd_server.built("election")
        except (Unavailable, etcd_server.NoGo) as fault:
            self.skipTest(str(fault))
        self.cluster = self.enterContext(Cluster(hosts=[self.hosts.address(m) for m in MEMBERS],
                                                 before=[self.hosts.prefix(m) for m in MEMBERS]))
        self.fleet = self.fleet_on(etcd_yaml(self.cluster), prefixes=[self.hosts.prefix(c) for c in TENURE])
        endpoints = ",".join(self.cluster.endpoints)
        self.go = Rivals(GoElection, {host: [*self.hosts.prefix(host), election, "-endpoints", endpoints, "-ttl",
                                             str(round(LEASE_S))] for host in GO})
        self.etcdctl = Rivals(Etcdctl, {host: [*self.hosts.prefix(host), "etcdctl", "--endpoints", endpoints, "elect", "storm", host]
                                        for host in ETCDCTL})
        self.rivals = (self.go, self.etcdctl)
        self.fleet.wait(lambda: all(rival.leaders() for rival in self.rivals), "the first leaders of the others")

    def run_for(self, seconds):
        """Whoever of the others has ended is started again."""
        end = now() + seconds * 1e9
        while now() < end:
            self.fleet.run_for(0.1)
            for rival in self.rivals:
                rival.tick()

    # -- what happens to all of them ------------------------------------------------------------------------------

    def leading_member_freezes(self):
        member = self.cluster.leader()
        member.freeze()
        self.run_for(2 * LEASE_S)
        member.thaw()

    def leading_member_is_killed(self):
        member = self.cluster.leader()
        member.kill()
        self.run_for(2 * LEASE_S)
        member.start()

    def a_majority_freezes(self):
        members = self.dice.sample(self.cluster.members, 2)
        for member in members:
            member.freeze()
        self.run_for(2 * LEASE_S)
        for member in members:
            member.thaw()

    def a_majority_is_killed(self):
        members = self.dice.sample(self.cluster.members, 2)
        for member in members:
            member.kill()
        self.run_for(2 * LEASE_S)
        for member in members:
            member.start(wait=False)
        for member in members:
            member.wait_until_ready()

    def leaders_freeze(self):
        self.fleet.freeze(self.fleet.leader, 2 * LEASE_S)
        frozen = [rival[name] for rival in self.rivals for name in rival.leaders()]
        for process in frozen:
            process.freeze()
        self.run_for(2 * LEASE_S)
        for process in frozen:
            process.thaw()

    def leaders_are_killed(self):
        self.fleet.kill(self.fleet.leader, restart_after=0.1)
        for rival in self.rivals:
            for name in rival.leaders():
                rival[name].end()
        self.run_for(2 * LEASE_S)

    def leaders_are_stopped(self):
        self.fleet.stop(self.fleet.leader, restart_after=0.1)
        for rival in self.rivals:
            for name in rival.leaders():
                rival[name].end(signal.SIGTERM)
        self.run_for(LEASE_S)

    def leaders_are_cut_off(self):
        """From all members, without a word."""
        leading = [TENURE[self.fleet.candidates.index(self.fleet.leader)], *self.go.leaders(), *self.etcdctl.leaders()]
        self.hosts.part(leading, MEMBERS)
        self.run_for(2 * LEASE_S)
        self.hosts.mend()

    KINDS = (leaders_are_cut_off, leading_member_freezes, leaders_freeze, a_majority_freezes, leaders_are_killed,
             leading_member_is_killed, leaders_are_stopped, a_majority_is_killed)

    def test_beside_the_clients_of_etcd(self):
        count = rounds(len(self.KINDS))
        began = now()
        for n in range(count):
            kind = self.KINDS[n % len(self.KINDS)]
            self.fleet.await_leader()
            self.fleet.note(kind.__name__)
            self.fleet.block(kind.__name__, True)
            kind(self)
            self.cluster.leader()
            self.fleet.block(kind.__name__, False)
            self.fleet.await_claim()
            self.run_for(LEASE_S)  # so that the others lead again, too
            print(f"{n + 1} of {count}: {kind.__name__}; lead: {self.fleet.leader.name}, {self.go.leaders()}, "
                  f"{self.etcdctl.leaders()}", flush=True)
        ended = now()
        for rival in self.rivals:
            rival.close()
        verdict = Verdict(self.fleet.end())
        found = {"rounds": count, "tenure": {**rivals.figures(rivals.terms_of(self.fleet), began, ended, LEASE_S),
                                                "stale_writes_refused": verdict.figures["stale_writes_refused"]},
                 "concurrency.Election": rivals.figures(self.go.terms(), began, ended, LEASE_S),
                 "etcdctl elect": rivals.figures(self.etcdctl.terms(), began, ended, LEASE_S)}
        for who, what in found.items():
            print(f"{who}: {what}")
        keep_figures(found)
        self.assertEqual([], verdict.faults)
        self.assertEqual(0, found["tenure"]["two_leaders"])
        self.assertEqual(0, found["tenure"]["never_told"])


if __name__ == "__main__":
    unittest.main()
