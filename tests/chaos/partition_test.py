"""T10 on DynamoDB: candidates in their own network namespaces; each direction is cut alone, and both together."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from chaos_test_case import ChaosTest
from network import Network, Unavailable
from processes import dynamodb_server
from stores import DynamoDbStore


class Partition(ChaosTest):
    def setUp(self):
        super().setUp()
        try:
            self.network = self.enterContext(Network(os.environ[dynamodb_server.ENDPOINT], 3))
        except Unavailable as fault:
            self.skipTest(str(fault))
        store = DynamoDbStore()
        self.fleet_ = self.fleet(store, prefixes=[self.network.prefix(n) for n in (1, 2, 3)],
                                 store_yaml=[store.yaml(self.network.endpoint)] * 3)
        self.fleet_.start()

    def cut_off_the_leader(self, **directions):
        """It steps down, another is elected; once the network works again it is a candidate like all others."""
        fleet = self.fleet_
        leader, token = fleet.leader, fleet.token
        number = fleet.candidates.index(leader) + 1
        self.network.cut(number, **directions)
        fleet.await_leader(above=token)

        def ends():
            """Of that term. On a busy machine it may have ended before it was cut off."""
            return [event for event in leader.process.told("revoked") if event["token"] == token]

        fleet.wait(ends, "the end of its term")
        self.assertEqual(len(ends()), 1)
        self.network.cut(number)
        fleet.run_for(0.3)

    def test_T10_replies_vanish(self):
        self.cut_off_the_leader(replies=True)
        self.expect_kept(self.fleet_, terms=2)

    def test_T10_requests_vanish(self):
        self.cut_off_the_leader(requests=True)
        self.expect_kept(self.fleet_, terms=2)

    def test_T10_both_and_one_after_the_other(self):
        self.cut_off_the_leader(requests=True, replies=True)
        self.cut_off_the_leader(requests=True, replies=True)
        self.expect_kept(self.fleet_, terms=3)


if __name__ == "__main__":
    unittest.main()
