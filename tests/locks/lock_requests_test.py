"""What a lock on DynamoDB costs in requests, counted at the server's side: docs/locks.md, "What it costs"."""

import os
import pathlib
import subprocess
import sys
import unittest
import uuid

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "faults"))
from client import FaultProxy

LOOK = {"GetItem": 1}
LOOK_AT_NOTHING = {"GetItem": 1, "BatchGetItem": 1}
TAKE = {"BatchGetItem": 1, "TransactWriteItems": 1, "GetItem": 1}
CHANGE = {"UpdateItem": 1}
ROUNDS = 20


class Actor:
    """A lock client in its own process, which sends through the proxy."""

    def __init__(self, proxy, table):
        self._proxy = proxy
        self._process = subprocess.Popen([os.environ["TENURE_LOCK_ACTOR"], proxy.endpoint, table], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def do(self, command):
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()

    def requests_of(self, command, answer="ok"):
        """The requests that arrived between the command and its answer, by operation."""
        before = self._proxy.counters()["operations"]
        assert (said := self.do(command)) == answer, f"{command}: {said}"
        after = self._proxy.counters()["operations"]
        return {name: count - before.get(name, 0) for name, count in after.items() if count != before.get(name, 0)}

    def close(self):
        self._process.stdin.close()
        code = self._process.wait(timeout=30)
        self._process.stdout.close()
        return code


class LockRequests(unittest.TestCase):
    def setUp(self):
        self.proxy = self.enterContext(FaultProxy(os.environ["TENURE_TEST_DYNAMODB"]))
        self.table = f"requests-{uuid.uuid4()}"
        self.client = self.another()
        self.client.do("acquire first")  # creates the table
        self.client.do("release")

    def another(self):
        actor = Actor(self.proxy, self.table)
        self.addCleanup(lambda: self.assertEqual(actor.close(), 0))
        return actor

    def test_an_uncontended_round_trip_is_what_the_documentation_says(self):
        self.assertEqual(self.client.requests_of("acquire orders"),
                         {name: TAKE.get(name, 0) + LOOK_AT_NOTHING.get(name, 0) for name in TAKE})
        self.assertEqual(self.client.requests_of("release"), CHANGE)

    def test_what_was_released_last_is_taken_without_a_look(self):
        self.client.requests_of("acquire orders")
        self.client.requests_of("release")
        for _ in range(ROUNDS):
            self.assertEqual(self.client.requests_of("acquire orders"), TAKE)
            self.assertEqual(self.client.requests_of("release"), CHANGE)

    def test_a_renewal_is_one_request(self):
        self.client.requests_of("acquire orders")
        for _ in range(ROUNDS):
            self.assertEqual(self.client.requests_of("renew"), CHANGE)

    def test_a_look_at_a_held_lock_is_one_request(self):
        self.client.requests_of("acquire orders")
        other = self.another()
        other.do("acquire second")
        other.do("release")
        self.assertEqual(other.requests_of("try orders", "held"), LOOK)


if __name__ == "__main__":
    unittest.main()
