"""Two candidates behind something that answers in DynamoDB's place, one operation at a time: nobody leads by such an answer.

TENURE_LIES_SECONDS: how long each operation is lied about (4 if not set).
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
from tenure_program import TableTest, keep_figures, the_endpoint, wait_until

# One job at a time leads: the kernel gives it the lock, and takes the lock back when the job's last process has ended.
JOB = ('echo $TENURE_FENCING_TOKEN >> "$LIES/tokens"; '
       'flock --nonblock --conflict-exit-code 9 "$LIES/lock" sleep 0.3 || echo overlap >> "$LIES/overlaps"')
ERROR = {"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "made up"}


class Lies(TableTest):
    def start(self, name, endpoint):
        with open(self.log_of(name), "wb") as log:
            process = subprocess.Popen(
                ["sh", "-c", f"while :; do {os.environ['TENURE_PROGRAM']} run --config {self.config(name, endpoint)} --once"
                 f" -- sh -c '{JOB}'; done"],
                stdout=subprocess.DEVNULL, stderr=log, env={**os.environ, "LIES": str(self.directory)},
                start_new_session=True)
        self.addCleanup(self._end_group, process)
        return process

    @staticmethod
    def _end_group(process):
        os.killpg(process.pid, 9)
        process.wait()

    def lines(self, name):
        path = self.directory / name
        return path.read_text().split() if path.exists() else []

    def test_nobody_leads_by_an_answer_that_is_made_up(self):
        self.win_once("first")  # creates the table
        proxy = self.enterContext(FaultProxy(the_endpoint(), seed=8))
        for name in ("a", "b"):
            self.start(name, proxy.endpoint)
        seconds = float(os.environ.get("TENURE_LIES_SECONDS", "4"))
        lies = 0
        for operation in ("TransactWriteItems", "GetItem", "BatchGetItem", "UpdateItem"):
            for body in ({}, ERROR, {"Responses": {}}):
                with self.subTest(operation=operation, body=body):
                    proxy.set_rules([{"action": "lie", "operation": operation, "body": body, "probability": 0.7}])
                    proxy.forget()
                    end = time.monotonic() + seconds / 3
                    while time.monotonic() < end or not proxy.rules()[0]["applied"]:
                        self.assertLess(time.monotonic(), end + 20, "the operation was not asked for")
                        time.sleep(0.05)
                    lies += proxy.rules()[0]["applied"]
                    self.assertEqual(self.lines("overlaps"), [])
                    proxy.clear()
                    terms = len(self.lines("tokens"))
                    wait_until(lambda: len(self.lines("tokens")) > terms, "a leader after the lies")
        tokens = self.lines("tokens")
        self.assertEqual(self.lines("overlaps"), [])
        self.assertEqual(len(tokens), len(set(tokens)), tokens)
        self.assertEqual([int(t) for t in tokens], sorted(int(t) for t in tokens))
        print(f"{lies} answers were made up; {len(tokens)} terms, 0 overlaps, no token twice")
        keep_figures({"lies": lies, "terms": len(tokens), "overlaps": len(self.lines("overlaps"))})


if __name__ == "__main__":
    unittest.main()
