"""What tests rely on in postgresql_cluster.py and switch.py, and what PostgreSQL does in a failover that the store's rules answer."""

import pathlib
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from postgresql_cluster import Cluster, wait_until
from switch import Switch


class ClusterTest(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster())
        self.a = self.cluster.primary()
        self.a.sql("CREATE TABLE t(n int)")

    def count(self, node):
        return int(node.sql("SELECT count(*) FROM t"))

    def test_a_standby_that_was_cut_off_is_promoted_without_the_last_commits(self):
        link = self.enterContext(Switch(self.a.port))
        b = self.cluster.standby("b", link.port)
        self.a.wait_for_standby("b")
        self.a.sql("INSERT INTO t VALUES(1)")
        wait_until(lambda: self.count(b) == 1, "the first row at b")
        link.refuse()
        link.cut()
        self.a.sql("INSERT INTO t VALUES(2)")
        b.promote()
        self.assertEqual((self.a.timeline(), b.timeline()), (1, 2))
        self.assertEqual(self.count(b), 1, "the second commit was acknowledged, and is lost")
        self.a.sql("INSERT INTO t VALUES(3)")
        self.assertEqual(self.count(self.a), 3, "the old primary goes on")
        # And becomes a standby of the new one.
        self.a.stop()
        self.a.copy(b.port).start()
        b.wait_for_standby("a")
        wait_until(lambda: self.count(self.a) == 1, "a as a copy of b")

    def test_a_synchronous_standby_is_awaited_and_misses_nothing(self):
        link = self.enterContext(Switch(self.a.port))
        b = self.cluster.standby("b", link.port)
        self.a.wait_for_standby("b")
        self.a.set("synchronous_standby_names", "b")
        self.a.wait_for_standby("b", "sync")
        self.a.sql("INSERT INTO t VALUES(1)")
        link.silence()
        done = []
        ends = threading.Event()

        # The process that turns the waiting on may take the setting later than the others.
        def write():
            while not ends.is_set():
                done.append(self.a.sql("INSERT INTO t VALUES(2)"))
        writer = threading.Thread(target=write)
        writer.start()
        wait_until(lambda: self.a.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1",
                   "a commit that waits for the standby")
        ends.set()
        before = len(done)
        self.assertTrue(writer.is_alive())
        link.speak()
        writer.join()
        self.assertEqual(len(done), before + 1)
        # The standby has it on its disk, and shows it a little later.
        wait_until(lambda: self.count(b) == 1 + len(done), "the rows at b")

    def test_a_frozen_server_answers_after_it_was_thawed(self):
        self.a.freeze()
        answers = []
        asking = threading.Thread(target=lambda: answers.append(self.a.sql("SELECT 1")))
        asking.start()
        asking.join(0.3)
        self.assertEqual(answers, [])
        self.a.thaw()
        asking.join()
        self.assertEqual(answers, ["1"])

    def test_a_crash_keeps_what_was_committed(self):
        self.a.sql("INSERT INTO t VALUES(1)")
        self.a.crash()
        self.assertNotEqual(self.a.try_sql("SELECT 1")[0], 0)
        self.a.start()
        self.assertEqual(self.count(self.a), 1)

    def test_the_pooler_passes_transactions_on(self):
        pooler = self.cluster.pooler(self.a.port)
        self.assertEqual(self.a.sql("SELECT 1", port=pooler.port), "1")
        self.assertIn("unsupported startup parameter", self.a.try_sql("SELECT 1", port=pooler.port, options="-cgeqo=off")[1])


if __name__ == "__main__":
    unittest.main()
