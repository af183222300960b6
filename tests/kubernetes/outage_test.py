"""Candidates of tenure as pods of a service account, while their API server, its etcd, their token and their role go away and
come back, and while others write to the Lease. Beside each of these: no two leaders, tokens that rise, losses told in time.

TENURE_KUBERNETES_STORM: how many rounds of all (one if not set).
"""

import os
import pathlib
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "etcd")]
from access import NAMESPACE
from fleet_case import LEASE_S, FleetCase, keep_figures
import kubernetes_cluster
import kubernetes_server

GROUP, POD = "chaos", "worker"  # the lease, and the service account


class Outages(FleetCase):
    def setUp(self):
        try:
            program = kubernetes_server.prepare()
        except kubernetes_server.Missing as missing:
            self.skipTest(str(missing))
        self.cluster = self.enterContext(kubernetes_cluster.Cluster(program))
        self.access = self.cluster.access
        files = self.access.make_account(POD)
        self.fleet = self.fleet_on(f'{{ type: kubernetes, server: "{self.access.url}", namespace: {NAMESPACE}, '
                                   f'ca_file: {files}/ca.crt, token_file: {files}/token }}')

    def expect_told(self):
        process, token = self.fleet.leader.process, self.fleet.token
        self.fleet.wait(lambda: [e for e in process.told("revoked") if e["token"] == token], "the end of the term")

    def expect_successor(self):
        token = self.fleet.token
        self.expect_told()
        self.fleet.await_leader(above=token)

    def lease(self):
        return self.access.must("GET", self.access.leases(GROUP))

    def put(self, change):
        """As `kubectl edit` does, which tries again when somebody has written meanwhile."""
        for _ in range(50):
            lease = self.lease()
            change(lease)
            if self.access.request("PUT", self.access.leases(GROUP), lease)[0] == 200:
                return
        self.fail("the Lease changes all the time")

    # -- what happens ---------------------------------------------------------------------------------------------

    def server_is_killed_and_started(self):
        self.cluster.server.kill()
        self.expect_told()
        self.cluster.server.start()

    def server_ends_politely_and_is_started(self):
        self.cluster.server.restart()

    def server_freezes(self):
        self.cluster.server.freeze()
        self.expect_told()
        self.cluster.server.thaw()

    def server_freezes_for_less_than_a_lease(self):
        token = self.fleet.token
        self.cluster.server.freeze()
        self.fleet.run_for(LEASE_S / 3)
        self.cluster.server.thaw()
        self.fleet.run_for(LEASE_S)
        self.assertEqual(token, self.fleet.token, "the term goes on")

    def etcd_freezes(self):
        self.cluster.etcd.freeze()
        self.expect_told()
        self.cluster.etcd.thaw()

    def etcd_is_killed_and_started(self):
        self.cluster.etcd.kill()
        self.expect_told()
        self.cluster.etcd.start()

    def token_is_replaced(self):
        token = self.fleet.token
        self.access.put_token(POD, self.access.token(POD))
        self.fleet.run_for(LEASE_S)
        self.assertEqual(token, self.fleet.token, "the term goes on")

    def token_is_revoked_and_the_next_one_comes(self):
        before = self.access.text(f"accounts/{POD}/token")
        self.access.recreate_account(POD)
        self.access.until_refused(before)
        self.fleet.run_for(LEASE_S / 4)
        self.access.put_token(POD, self.access.token(POD))

    def role_is_taken_away_and_given_back(self):
        self.access.take_away(POD)
        self.expect_told()
        self.access.give_back(POD)

    def lease_is_deleted(self):
        self.access.must("DELETE", self.access.leases(GROUP))
        self.expect_successor()

    def holder_is_cleared_by_hand(self):
        self.put(lambda lease: lease.update(spec={}))
        self.expect_successor()

    def lease_is_labelled_again_and_again(self):
        token = self.fleet.token
        for n in range(20):
            self.put(lambda lease, n=n: lease["metadata"].setdefault("labels", {}).update(touched=str(n)))
            self.fleet.run_for(LEASE_S / 40)
        self.assertEqual(token, self.fleet.token, "the term goes on")

    KINDS = (token_is_replaced, server_is_killed_and_started, lease_is_labelled_again_and_again, etcd_freezes,
             role_is_taken_away_and_given_back, lease_is_deleted, server_freezes_for_less_than_a_lease,
             etcd_is_killed_and_started, holder_is_cleared_by_hand, server_freezes, token_is_revoked_and_the_next_one_comes,
             server_ends_politely_and_is_started)

    # -- the storm ------------------------------------------------------------------------------------------------

    def test_no_two_lead_and_each_loss_is_told(self):
        for n in range(int(os.environ.get("TENURE_KUBERNETES_STORM", 1))):
            for kind in self.KINDS:
                self.fleet.await_leader()
                self.fleet.await_claim()
                print(f"{n + 1}: {kind.__name__}", flush=True)
                kind(self)
        self.fleet.await_leader()
        keep_figures(self.judged(self.fleet))


if __name__ == "__main__":
    unittest.main()
