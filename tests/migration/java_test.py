"""Rows that concern AWS's own Java client: options that it shares with `tenure`, and what each does to the other."""

import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from row_case import RowTest, the_endpoint, wait_until
from lateness import Lateness
import java_program


class Java(RowTest):
    def java(self, **more):
        holder = self.enterContext(java_program.Holder(the_endpoint(), self.table, self.group, **more))
        return holder

    def test_with_a_sort_key_java_and_tenure_exclude_each_other_on_one_value_only(self):
        keys = "partition_key: key\nsort_key: part\nsort_key_value: {}"
        java = self.java(sort_key=("part", "one"))
        java.wait_for("acquired")
        busy = self.tenure("run", "--config", self.yaml(store=keys.format("one")), "--once", "--wait", "0s", "--", "true")
        self.assertEqual(busy.returncode, 82, busy.stderr)
        self.assertIn("java", busy.stderr)
        other = self.started(self.yaml("b", store=keys.format("two")))
        self.assertEqual(other.count("revoked"), 0)
        self.assertTrue(java.release())
        leader = self.started(self.yaml("c", store=keys.format("one")))
        waiting = self.java(sort_key=("part", "one"))
        waiting.wait_for("waiting")
        self.assertNotIn("acquired", [event["e"] for event in waiting.events])
        self.assertEqual(leader.finish(signal.SIGTERM), 0)
        waiting.wait_for("acquired")

    def test_java_takes_both_forms_of_a_release_at_once(self):
        for delete in ("true", "false"):
            leader = self.started(self.yaml(store=f"delete_on_release: {delete}"))
            self.assertEqual(leader.finish(signal.SIGTERM), 0)
            item = self.item(self.group)
            self.assertEqual((item is None, item is not None and "isReleased" in item), (delete == "true", delete == "false"))
            java = self.java()
            java.wait_for("acquired")
            self.assertNotIn("not_granted", [event["e"] for event in java.events])
            self.assertTrue(java.release())

    def test_leases_of_different_length_are_safe_together(self):
        java = self.java(lease_ms=6000, heartbeat_ms=1500)
        java.wait_for("acquired")
        short = self.yaml(lease="{ duration: 1s }")
        done = self.tenure("run", "--config", short, "--once", "--wait", "3s", "--", "true")
        self.assertEqual(done.returncode, 82, "it did not wait for the lease that Java wrote")
        self.assertTrue(java.release())
        self.started(short)
        wait_until(lambda: self.text_of(self.group, "leaseDuration") == "1000", "the own lease in the row")

    def test_java_with_a_short_lease_waits_for_the_long_one_of_tenure(self):
        lease_ms, heartbeat_ms = 4000, 300
        leader = self.started(self.yaml(lease=f"{{ duration: {lease_ms}ms, heartbeat: {heartbeat_ms}ms }}"))
        java = self.java(lease_ms=1000, heartbeat_ms=250)
        java.wait_for("waiting")
        with Lateness(lambda: self.item(self.group)) as lateness:
            leader.signal(signal.SIGKILL)
            killed = time.monotonic_ns()
            took = (java.wait_for("acquired")["t"] - killed) / 1e6
            # Its last renewal came up to a heartbeat before its death, or later if the machine delayed it.
            self.assertGreater(took, lease_ms - heartbeat_ms - lateness.worst() * 1000)
            self.assertLess(took, java.latest_takeover_ms(lease_ms, lateness))


if __name__ == "__main__":
    unittest.main()
