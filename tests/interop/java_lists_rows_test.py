"""How AWS's Java client handles a table that contains fencing counters beside the locks."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import java_program
from tenure_program import TableTest, the_endpoint

# As stores/dynamodb writes them: a lock, and its counter in the form of a released lock.
LOCK = {"key": {"S": "k"}, "ownerName": {"S": "someone#00"}, "leaseDuration": {"S": "10000"},
        "recordVersionNumber": {"S": "2b5bd0b8-3f6d-4f10-9d3b-0e2c7f6f0d11"}, "tenureToken": {"N": "7"},
        "tenureStepDown": {"N": "0"}, "tenureAcquiredMillis": {"N": "1795250606000"},
        "tenureRenewedMillis": {"N": "1795250606000"}}
COUNTER = {"key": {"S": "k#fence"}, "ownerName": {"S": "tenure fencing counter"}, "leaseDuration": {"S": "1000"},
           "recordVersionNumber": {"S": "tenure-fence"}, "isReleased": {"S": "1"}, "tenureToken": {"N": "7"}}


class JavaListsRows(TableTest):
    def setUp(self):
        super().setUp()
        self.make_table()

    def put(self, item):
        self.call("PutItem", Item=item)

    def test_lists_a_counter_as_a_lock_that_is_free(self):
        self.put(LOCK)
        self.put(COUNTER)
        seen = java_program.list_locks(the_endpoint(), self.table)
        self.assertEqual(set(seen), {"k", "k#fence"})
        self.assertEqual((seen["k"]["owner"], seen["k"]["lease_ms"], seen["k"]["expired"]), ("someone#00", 10000, False))
        self.assertTrue(seen["k#fence"]["expired"])
        self.assertEqual(seen["k#fence"]["additional"], "tenureToken")

    def test_fails_at_a_row_without_that_shape(self):
        """So that form is needed: what a counter of another form would do to every Java client of the table."""
        self.put({"key": {"S": "k#fence"}, "tenureToken": {"N": "7"}})
        with self.assertRaisesRegex(AssertionError, "NullPointerException"):
            java_program.list_locks(the_endpoint(), self.table)

    def test_acquires_a_counter_and_erases_the_number(self):
        """What the store must survive; java_and_tenure_test.py shows that it does."""
        self.put(COUNTER)
        with java_program.Holder(the_endpoint(), self.table, "k#fence") as java:
            java.wait_for("acquired")
            self.assertNotIn("tenureToken", self.item("k#fence"))
            self.assertTrue(java.release())
        self.assertIsNone(self.item("k#fence"))


if __name__ == "__main__":
    unittest.main()
