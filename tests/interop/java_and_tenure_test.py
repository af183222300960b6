"""AWS's Java lock client and `tenure` alternate on one lock: each waits for the other, and tokens rise all the same."""

import json
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import java_program
from lateness import Lateness
from tenure_program import LEASE_MS, TableTest, the_endpoint, wait_until


class JavaAndTenure(TableTest):
    def java(self, key=None, **more):
        return self.enterContext(java_program.Holder(the_endpoint(), self.table, key or self.group, **more))

    def test_java_lists_the_rows_that_tenure_wrote(self):
        process, _ = self.start_holding()
        held = java_program.list_locks(the_endpoint(), self.table)
        self.assertEqual((held[self.group]["lease_ms"], held[self.group]["expired"]), (LEASE_MS, False))
        self.assertTrue(held[self.group]["owner"].startswith("someone#"))
        self.assertTrue(held[self.group + "#fence"]["expired"])
        process.communicate("\n")
        if not self.item(self.group).get("isReleased"):
            self.win_once()  # a machine that is too busy has no time for the release, and the lease expires
        self.assertTrue(java_program.list_locks(the_endpoint(), self.table)[self.group]["expired"])

    def test_java_takes_a_released_lease_and_tokens_rise_after_it(self):
        first = self.win_once()
        for delete in (True, False):  # its Put erases what it does not know; by default its release deletes the row
            java = self.java(delete=delete)
            java.wait_for("acquired")
            self.assertNotIn("tenureToken", self.item(self.group))
            self.assertTrue(java.release())
            self.assertEqual(self.item(self.group) is None, delete)
            second = self.win_once()
            self.assertGreater(second, first)
            first = second

    def run_what_is_due(self):
        """The token of the run; none: the record says that the period was begun. The period is of this year."""
        done = self.tenure("run", "--config", self.config(), "--once", "--per", "8784h", "--", "sh", "-c",
                           "echo $TENURE_FENCING_TOKEN")
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout) if done.stdout else None

    def test_a_period_is_run_once_until_java_has_erased_what_the_record_says_of_it(self):
        first = self.run_what_is_due()
        self.assertIsNone(self.run_what_is_due())
        listed = self.tenure("jobs", "--config", self.config(), "--json")
        run = json.loads(listed.stdout)["runs"][0]
        self.assertEqual((run["state"], run["exit_code"], run["fencing_token"]), ("succeeded", 0, first))
        java = self.java(delete=False)
        java.wait_for("acquired")
        java.release()
        self.assertGreater(self.run_what_is_due(), first)

    def test_tenure_waits_for_java_and_takes_over_after_its_death(self):
        self.win_once()
        java = self.java()
        java.wait_for("acquired")
        java.wait_for("heartbeat")
        done = self.tenure("run", "--config", self.config(), "--wait", "2s", "--once", "--", "true")
        self.assertEqual(done.returncode, 82, done.stderr)
        java.kill()
        killed = time.monotonic()
        self.win_once()
        # Not before the lease that Java wrote is over: its last heartbeat came up to 250 ms before its death.
        self.assertGreater(time.monotonic() - killed, LEASE_MS / 1000 - 0.3)

    def test_java_waits_for_tenure_and_takes_over_after_its_death(self):
        process, _ = self.start_holding()
        java = self.java()
        java.wait_for("waiting")
        self.assertNotIn("acquired", [e["e"] for e in java.events])
        with Lateness(lambda: self.item(self.group)) as lateness:
            process.kill()
            killed = time.monotonic_ns()
            took = (java.wait_for("acquired")["t"] - killed) / 1e6
            self.assertGreater(took, LEASE_MS - 300)
            self.assertLess(took, java.latest_takeover_ms(LEASE_MS, lateness))

    def test_tokens_rise_though_java_took_and_deleted_the_counter(self):
        """I7: the copy in the lock's row restores the counter."""
        first = max(self.win_once() for _ in range(3))
        java = self.java(self.group + "#fence")
        java.wait_for("acquired")
        second = self.win_once()  # while Java holds the counter's row as its own lock
        self.assertGreater(second, first)
        java.release()
        wait_until(lambda: self.item(self.group + "#fence") is None, "Java's release, which deletes the row")
        self.assertGreater(self.win_once(), second)


if __name__ == "__main__":
    unittest.main()
