"""Rows about many locks in one process, on DynamoDB: no lock waits for another one's write, fault or thread."""

import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from row_case import FaultProxy, RowTest, the_endpoint, wait_until


class ManyLeases(RowTest):
    lease_ms, heartbeat_ms = 10000, 1000  # a machine without time must not end a term

    def setUp(self):
        super().setUp()
        self.make_table()
        self.proxy = self.enterContext(FaultProxy(the_endpoint()))

    def hold(self, count):
        process = subprocess.Popen([os.environ["MANY_LEASES"], self.yaml(endpoint=self.proxy.endpoint), str(count)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self._end, process)
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")), daemon=True)
        reader.start()
        wait_until(lambda: sum(line.startswith("elected") for line in list(lines)) == count, f"{count} elections")
        return process, lines

    @staticmethod
    def revoked(lines):
        return [line for line in lines if line.startswith("revoked")]

    def renewals(self):
        """{lease: times of its renewals}"""
        times = {}
        for entry in self.proxy.log():
            if entry["operation"] == "UpdateItem":
                body = entry["body"] if isinstance(entry["body"], str) else str(entry["body"])
                name = next(word for word in body.replace("'", '"').split('"') if word.startswith("rows-"))
                times.setdefault(name, []).append(entry["at"])
        return times

    def test_thirty_slow_writes_go_on_beside_each_other(self):
        _, lines = self.hold(30)
        self.proxy.keep_bodies()
        self.proxy.forget()
        self.proxy.add("delay", operation="UpdateItem", seconds=0.1)
        self.proxy.wait_for(lambda log: sum(entry["operation"] == "UpdateItem" for entry in log) > 30 * 5, 60)
        self.assertEqual([], self.revoked(lines))
        gaps = sorted(b - a for times in self.renewals().values() for a, b in zip(times, times[1:]))
        median = gaps[len(gaps) // 2]
        print(f"30 leases, 100 ms a write: {len(gaps)} gaps, median {median:.2f} s, longest {gaps[-1]:.2f} s")
        self.assertLess(median, 2.0, "one after the other they come three seconds apart")

    def test_one_that_fails_costs_the_others_nothing(self):
        self.lease_ms = 5000
        _, lines = self.hold(3)
        self.proxy.add("error", contains="rows-0", name="InternalServerError")
        wait_until(lambda: self.revoked(lines), "the end of the one term")
        time.sleep(self.heartbeat_ms / 1000)
        self.assertEqual(["revoked rows-0 storeUnreachable\n"], self.revoked(lines))
        self.assertEqual((self.token("rows-1"), self.token("rows-2")), (1, 1))

    def test_all_are_renewed_and_threads_do_not_grow_with_them(self):
        threads = {}
        for count in (3, 40):
            process, lines = self.hold(count)
            before = {n: self.text_of(f"rows-{n}", "recordVersionNumber") for n in range(3)}
            wait_until(lambda: all(self.text_of(f"rows-{n}", "recordVersionNumber") != before[n] for n in range(3)),
                       "a renewal of each")
            threads[count] = len(os.listdir(f"/proc/{process.pid}/task"))
            self.assertEqual([], self.revoked(lines))
            process.stdin.close()
            process.wait(20)
            process.stdin = None
        self.assertLessEqual(threads[40], threads[3] + 8, threads)  # threads for many callbacks stay for a while


if __name__ == "__main__":
    unittest.main()
