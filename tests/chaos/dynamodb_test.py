"""T3, T6, T7, T8, T9, T11 and T13 on DynamoDB: what happens between the candidates and their table."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from chaos_test_case import LEASE_S, ChaosTest
from processes import now
from stores import DynamoDbStore

# For faults that must not cost a term: with this lease a machine without time is noticed later.
LONG_LEASE_S = 4.0
WRITES = ["UpdateItem", "TransactWriteItems"]


class Table(ChaosTest):
    def started(self, **more):
        return super().started(DynamoDbStore(), **more)

    def expect_no_term_lost_to_the_store(self, fleet):
        """A machine without time may end a term (expired), these faults may not."""
        reasons = [e["reason"] for p in fleet.processes() for e in p.told("revoked")]
        self.assertEqual([], [r for r in reasons if r != "expired"], self.logs(fleet))

    def wait_until_applied(self, fleet, times):
        fleet.wait(lambda: sum(rule["applied"] for rule in fleet.store.proxy.rules()) >= times, f"{times} faults of the proxy")

    def test_T3_crash_without_proof(self):
        fleet = self.started()
        for _ in range(2):
            token = fleet.token
            fleet.kill(fleet.leader, restart_after=0)
            fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=3)

    def test_T6_half_of_all_replies_lost(self):
        fleet = self.started(lease_s=LONG_LEASE_S)
        fleet.proxy_rules("replies lost", [{"action": "drop_after", "operation": WRITES, "probability": 0.5}])
        self.wait_until_applied(fleet, 5)
        self.expect_no_term_lost_to_the_store(fleet)
        token = fleet.token
        fleet.kill(fleet.leader, restart_after=0)
        fleet.await_leader(above=token)
        verdict = self.expect_kept(fleet, terms=2)
        self.assertGreater(verdict.figures["in_doubt"], 0)

    def test_T6_each_acquisition_loses_its_reply(self):
        fleet = self.started()
        fleet.proxy_rules("replies lost", [{"action": "drop_after", "operation": "TransactWriteItems"}])
        for _ in range(2):
            token = fleet.token
            fleet.kill(fleet.leader, restart_after=0)
            fleet.await_leader(above=token)
        self.wait_until_applied(fleet, 2)
        self.expect_kept(fleet, terms=3)

    def test_T7_writes_that_come_twice_or_far_too_late(self):
        fleet = self.started()
        fleet.proxy_rules("latecomers", [
            {"action": "duplicate", "operation": WRITES, "seconds": 0.3, "probability": 0.4},
            {"action": "hold", "operation": WRITES, "seconds": 3 * LEASE_S, "close": True, "probability": 0.3}])
        fleet.run_for(1.5 * LEASE_S)
        token = fleet.token
        process = fleet.freeze_outside_of_transactions(fleet.leader)
        fleet.await_leader(above=token)
        fleet.thaw(process)
        fleet.run_for(1.5 * LEASE_S)  # the requests that were held in the first term arrive in the second
        self.wait_until_applied(fleet, 4)
        fleet.proxy_rules("latecomers", [])
        self.expect_kept(fleet, terms=2)

    def test_T8_outage(self):
        fleet = self.started()
        leader, token = fleet.leader.process, fleet.token
        began = now()
        fleet.store.proxy.listen(False)
        fleet.block("outage", True)
        fleet.wait(lambda: leader.told("revoked"), "the end of the term")
        if leader.told("revoked")[0]["reason"] != "expired":  # a machine without time
            self.assertEqual(leader.told("revoked")[0]["reason"], "storeUnreachable")
            self.assertLessEqual(len(leader.told("doubt", began)), 1)
        fleet.run_for(1.5 * LEASE_S)
        self.assertEqual(fleet.token, token)
        fleet.store.proxy.listen(True)
        fleet.block("outage", False)
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)

    def test_T9_slow_store(self):
        fleet = self.started(lease_s=LONG_LEASE_S)
        fleet.proxy_rules("slow", [{"action": "delay", "seconds": 0.1}])
        fleet.run_for(LONG_LEASE_S)
        self.expect_no_term_lost_to_the_store(fleet)
        fleet.proxy_rules("slow", [{"action": "delay", "seconds": 2 * LONG_LEASE_S, "probability": 0.6},
                                   {"action": "stall", "seconds": 2 * LONG_LEASE_S, "probability": 0.5}])
        fleet.block("too slow", True)
        fleet.run_for(LONG_LEASE_S)
        fleet.proxy_rules("slow", [])
        fleet.block("too slow", False)
        fleet.await_claim()
        self.expect_kept(fleet)

    def test_T11_errors_and_throttling(self):
        fleet = self.started(lease_s=LONG_LEASE_S)
        fleet.proxy_rules("errors", [
            {"action": "error", "name": "ProvisionedThroughputExceededException", "probability": 0.15},
            {"action": "error", "name": "ThrottlingException", "probability": 0.1},
            {"action": "error", "name": "InternalServerError", "apply": True, "probability": 0.15},
            {"action": "error", "name": "ServiceUnavailable", "probability": 0.1}])
        self.wait_until_applied(fleet, 8)
        self.expect_no_term_lost_to_the_store(fleet)
        token = fleet.token
        fleet.stop(fleet.leader, restart_after=0)
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)

    def test_T13_item_deleted(self):
        fleet = self.started()
        leader, token = fleet.leader.process, fleet.token
        fleet.store.delete_record()
        fleet.wait(lambda: leader.told("revoked"), "the end of the term")
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)

    def test_T13_table_deleted(self):
        """A candidate creates the table when it starts, and not later: if it is deleted later, the operator must
        act."""
        store = DynamoDbStore()
        store.create_table()
        fleet = super().started(store)
        leader, token = fleet.leader.process, fleet.token
        fleet.store.delete_table()
        fleet.block("there was no table", True)
        fleet.wait(lambda: leader.told("revoked"), "the end of the term")
        fleet.wait(lambda: all(any("ResourceNotFoundException" in e["message"] for e in p.told("store_error"))
                               for p in fleet.processes()), "that all say why nobody leads")
        self.assertEqual(fleet.token, token)
        fleet.store.create_table()
        fleet.block("there was no table", False)
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)


if __name__ == "__main__":
    unittest.main()
