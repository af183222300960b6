import sqlite3
import unittest

from program import ExampleTest, first_to_print

LEADS = r"leads under token (\d+)"


class FollowLeader(ExampleTest):
    example = "follow_leader"

    def serve(self, port):
        return self.start("serve", ADDRESS=f"127.0.0.1:{port}")

    def two(self):
        """The leader, the other copy, and the port of each."""
        copies = {self.serve(port): port for port in (7001, 7002)}
        leader, (standby,) = first_to_print(list(copies), LEADS)
        return leader, copies[leader], standby, copies[standby]

    def test_a_client_is_told_the_address_of_each_leader(self):
        leader, first, standby, second = self.two()
        client = self.start()
        client.wait_for(f"ask 127.0.0.1:{first} for the leader of term 1")
        self.assertEqual(leader.stop(), 0)
        client.wait_for(f"ask 127.0.0.1:{second} for the leader of term 2")
        self.assertEqual(client.stop(), 0)
        self.assertEqual(standby.stop(), 0)

    def test_a_killed_leader_is_followed_by_its_successor(self):
        leader, _, _, second = self.two()
        client = self.start()
        client.wait_for(r"ask 127.0.0.1:\d+ for the leader of term 1")
        leader.kill()
        client.wait_for(f"ask 127.0.0.1:{second} for the leader of term 2")

    def test_a_client_never_leads_and_leaves_no_record(self):
        leader, first, standby, _ = self.two()
        client = self.start()
        client.wait_for(f"ask 127.0.0.1:{first} for the leader of term 1")
        for copy in (standby, leader):
            self.assertEqual(copy.stop(), 0)
        client.wait_for("no leader")
        database = sqlite3.connect(f"file:{self.directory / 'follow_leader.db'}?mode=ro", uri=True)
        self.addCleanup(database.close)
        self.assertEqual(database.execute("SELECT state, token FROM tenure_lease").fetchall(), [("released", 1)])
        self.assertEqual(client.stop(), 0)


if __name__ == "__main__":
    unittest.main()
