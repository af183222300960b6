"""`tenure run` on DynamoDB keeps its term although replies are lost, and wins at once if the winning reply is lost.

TENURE_LOST_REPLIES_SECONDS: how long renewals lose their replies (10 if not set).
"""

import os
import pathlib
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "interop"), str(HERE.parent / "faults")]
from client import FaultProxy
from tenure_program import TableTest, keep_figures, the_endpoint


class LostReplies(TableTest):
    lease_ms = 2000

    def setUp(self):
        super().setUp()
        self.proxy = self.enterContext(FaultProxy(the_endpoint(), seed=4))

    def token_in_record(self):
        return int(self.item(self.group)["tenureToken"]["N"])

    def end_holding(self, process):
        """The term ends by a regular end of the work, and had not ended before."""
        process.communicate("\n")
        self.assertEqual(process.returncode, 0, self.log_of().read_text()[-2000:])
        ends = [line for line in self.log_of().read_text().splitlines() if "revoked (" in line]
        self.assertEqual([True], ["revoked (stopped: " in line for line in ends], ends)

    def test_half_of_all_renewals_lose_their_reply(self):
        process, token = self.start_holding(endpoint=self.proxy.endpoint)
        self.proxy.add("drop_after", operation="UpdateItem", probability=0.5)
        seconds = float(os.environ.get("TENURE_LOST_REPLIES_SECONDS", "10"))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.assertIsNone(process.poll(), "the term was lost")
            time.sleep(0.1)
        self.assertEqual(self.token_in_record(), token)
        rule = self.proxy.rules()[0]
        print(f"{seconds:.0f} s: {rule['applied']} of {rule['matched']} renewals lost their reply")
        keep_figures({"seconds": round(seconds), "renewals": rule["matched"], "replies_lost": rule["applied"],
                      "term_lost": process.poll() is not None})
        self.assertGreater(rule["applied"], seconds)  # one renewal in 250 ms, and a half of them
        self.end_holding(process)

    def test_a_log_that_nobody_reads_does_not_cost_the_term(self):
        """Each lost reply is a line in the log, and the pipe for the log is soon full."""
        process = subprocess.Popen(
            [os.environ["TENURE_PROGRAM"], "run", "--config", self.config(endpoint=self.proxy.endpoint), "--once", "--",
             "sh", "-c", "echo; read line; exit 0"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pipesize=4096)
        self.addCleanup(self._end, process)
        process.stdout.readline()
        self.proxy.add("drop_after", operation="UpdateItem", probability=0.5)
        # About ten lines fill it; then more than three leases.
        self.proxy.wait_for(lambda log: len(log) > 80, 40)
        _, told = process.communicate("\n")
        self.assertEqual(process.returncode, 0, told)

    def wins_though(self, **rule):
        """An absent lease is won under this fault without waiting a lease out."""
        self.win_once()  # creates the table
        # Both items: the counter's alone would say that the term of the deleted lock item may still run.
        for key in (self.group, self.group + "#fence"):
            self.call("DeleteItem", Key={"key": {"S": key}})
        self.proxy.set_rules([{"operation": "TransactWriteItems", "count": 1, **rule}])
        began = time.monotonic()
        process, token = self.start_holding(endpoint=self.proxy.endpoint)
        took = time.monotonic() - began
        self.assertEqual(self.proxy.rules()[0]["applied"], 1)
        self.assertLess(took, self.lease_ms / 1000)
        self.assertEqual(self.token_in_record(), token)
        self.end_holding(process)

    def test_wins_at_once_though_the_acquisitions_reply_is_lost(self):
        self.wins_though(action="drop_after")

    def test_wins_at_once_though_the_acquisition_is_lost(self):
        self.wins_though(action="drop_before")

    def test_wins_though_an_acquisition_arrives_twice(self):
        self.wins_though(action="duplicate", answer="second")

    def test_keeps_its_term_under_every_fault_in_turn(self):
        process, token = self.start_holding(endpoint=self.proxy.endpoint)
        for rule in ({"action": "delay", "seconds": 0.3}, {"action": "duplicate"}, {"action": "duplicate", "answer": "second"},
                     {"action": "cut"}, {"action": "drop_before", "reset": True}, {"action": "throttle"}, {"action": "close_after"},
                     {"action": "error", "apply": True}, {"action": "error", "name": "ThrottlingException"},
                     {"action": "hold", "seconds": 0.3}):
            with self.subTest(rule=rule):
                self.proxy.set_rules([{"operation": "UpdateItem", "count": 2, **rule}])
                end = time.monotonic() + 10
                while self.proxy.rules()[0]["applied"] < 2:
                    self.assertIsNone(process.poll(), "the term was lost")
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.02)
        self.proxy.clear()
        self.proxy.forget()
        self.proxy.wait_for(lambda log: any(e["operation"] == "UpdateItem" and e["status"] == 200 for e in log))
        self.assertIsNone(process.poll())
        self.assertEqual(self.token_in_record(), token)
        self.end_holding(process)


if __name__ == "__main__":
    unittest.main()
