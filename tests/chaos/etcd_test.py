"""T3, T6, T8 and T13 on three members of etcd: what happens between the candidates and their key."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from chaos_test_case import ChaosTest
from stores import EtcdStore

# Longer than the cluster needs to choose another leader.
LONG_LEASE_S = 4.0


class Members(ChaosTest):
    def started(self, **more):
        return super().started(EtcdStore(), **more)

    def test_T6_answers_of_etcd_lost(self):
        """A third of them, each with its connection, though the write was committed."""
        fleet = self.started(lease_s=LONG_LEASE_S)
        for switch in fleet.store.switches:
            switch.lose_replies(0.3)
        fleet.wait(lambda: any(p.told("store_error") or p.told("doubt") for p in fleet.processes()), "a call without an answer")
        fleet.run_for(LONG_LEASE_S)
        token = fleet.token
        fleet.stop(fleet.leader, restart_after=0)
        fleet.await_leader(above=token)
        for switch in fleet.store.switches:
            switch.lose_replies(0.0)
        self.expect_kept(fleet, terms=2)

    def test_T8_majority_of_etcd_frozen(self):
        fleet = self.started()
        leader, token = fleet.leader.process, fleet.token
        frozen = fleet.store.members(2)
        for member in frozen:
            member.freeze()
        fleet.block("no majority", True)
        fleet.wait(lambda: leader.told("revoked"), "the end of the term")
        self.assertEqual(fleet.token, token)
        for member in frozen:
            member.thaw()
        fleet.await_leader(above=token)
        fleet.block("no majority", False)
        self.expect_kept(fleet, terms=2)

    def test_T13_record_of_etcd_deleted(self):
        fleet = self.started(lease_s=LONG_LEASE_S)
        leader, token = fleet.leader.process, fleet.token
        self.assertTrue(fleet.store.delete_record())
        fleet.wait(lambda: leader.told("revoked"), "the end of the term")
        # Or before it could look, on a machine without time.
        self.assertIn(leader.told("revoked")[-1]["reason"], ("recordMissing", "expired"))
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)


if __name__ == "__main__":
    unittest.main()
