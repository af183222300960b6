"""T3, T6, T8, T9 and T13 on PostgreSQL: what happens between the candidates and their row."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from chaos_test_case import LEASE_S, ChaosTest
from processes import now
from stores import PostgresqlStore

# For faults that must not cost a term: with this lease a machine without time is noticed later.
LONG_LEASE_S = 4.0


class Row(ChaosTest):
    def started(self, **more):
        return super().started(PostgresqlStore(), **more)

    def expect_no_term_lost_to_the_store(self, fleet):
        """A machine without time may end a term (expired), these faults may not."""
        reasons = [e["reason"] for p in fleet.processes() for e in p.told("revoked")]
        self.assertEqual([], [r for r in reasons if r != "expired"], self.logs(fleet))

    def test_T3_crash_of_a_leader_on_postgresql(self):
        fleet = self.started()
        for _ in range(2):
            token = fleet.token
            fleet.kill(fleet.leader, restart_after=0)
            fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=3)

    def test_T6_answers_of_postgresql_lost(self):
        """A third of them, each with its connection, though the write was committed."""
        fleet = self.started(lease_s=LONG_LEASE_S)
        fleet.store.switch.lose_replies(0.3)
        fleet.wait(lambda: sum(len(p.told("doubt")) for p in fleet.processes()) > 0, "a doubt")
        fleet.run_for(LONG_LEASE_S)
        token = fleet.token
        fleet.stop(fleet.leader, restart_after=0)
        fleet.await_leader(above=token)
        fleet.store.switch.lose_replies(0.0)
        self.expect_kept(fleet, terms=2)

    def test_T8_postgresql_says_nothing(self):
        fleet = self.started()
        leader, token = fleet.leader.process, fleet.token
        began = now()
        fleet.store.switch.silence()
        fleet.block("outage", True)
        fleet.wait(lambda: leader.told("revoked"), "the end of the term")
        if leader.told("revoked")[0]["reason"] != "expired":  # a machine without time
            self.assertEqual(leader.told("revoked")[0]["reason"], "storeUnreachable")
            self.assertLessEqual(len(leader.told("doubt", began)), 1)
        fleet.run_for(1.5 * LEASE_S)
        self.assertEqual(fleet.token, token)
        fleet.store.switch.speak()
        fleet.block("outage", False)
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)

    def test_T9_slow_postgresql(self):
        fleet = self.started(lease_s=LONG_LEASE_S)
        fleet.store.switch.delay_replies(0.1)
        fleet.run_for(2 * LONG_LEASE_S)
        self.expect_no_term_lost_to_the_store(fleet)
        fleet.store.switch.delay_replies(0.0)
        self.expect_kept(fleet)

    def test_T9_row_locked_by_somebody_else(self):
        fleet = self.started(lease_s=2 * LONG_LEASE_S)
        fleet.wait(fleet.store.lock, "the row's lock")
        fleet.run_for(0.75 * LONG_LEASE_S)  # the last renewal was up to a heartbeat before, and the next one needs time too
        self.expect_no_term_lost_to_the_store(fleet)
        fleet.store.unlock()
        fleet.run_for(0.75 * LONG_LEASE_S)
        self.expect_no_term_lost_to_the_store(fleet)
        self.expect_kept(fleet)

    def test_T13_row_without_a_record(self):
        fleet = self.started()
        leader, token = fleet.leader.process, fleet.token
        fleet.wait(fleet.store.delete_record, "the row's lock")
        fleet.wait(lambda: leader.told("revoked"), "the end of the term")
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)


if __name__ == "__main__":
    unittest.main()
