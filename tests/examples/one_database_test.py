import pathlib
import sys
import time
import unittest

from program import ExampleTest, first_to_print

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "postgresql"))
from postgresql_cluster import Cluster, wait_until

SHIPPED = r"shipped (\d+) (\S+) (\d+)"


class OneDatabase(ExampleTest):
    example = "one_database"

    def setUp(self):
        super().setUp()
        self.database = self.enterContext(Cluster()).primary()
        self.programs = []

    def start(self):
        program = super().start(DATABASE_URL=self.database.conninfo())
        self.programs.append(program)
        return program

    def check_shipments(self):
        """What is in the table, read without the library."""
        rows = [tuple(row.split("|")) for row in
                self.database.sql("SELECT order_number, token, holder FROM shipments ORDER BY order_number").split()]
        self.assertEqual([int(number) for number, _, _ in rows], list(range(1, len(rows) + 1)))
        tokens = [int(token) for _, token, _ in rows]
        self.assertEqual(tokens, sorted(tokens), "a former leader has shipped after its successor")
        self.assertEqual(len({row[1:] for row in rows}), len(set(tokens)), "two holders have one token")
        told = sum(len(program.matches(SHIPPED)) for program in self.programs)
        self.assertLessEqual(told, len(rows), "a shipment that was told is not there")
        return tokens

    def test_a_killed_leader_is_succeeded_and_no_order_is_shipped_twice(self):
        first, (second,) = first_to_print([self.start(), self.start()], SHIPPED)
        first.wait_for(SHIPPED, count=3)
        first.kill()
        second.wait_for(SHIPPED, count=2)
        self.assertEqual(second.stop(), 0)
        self.assertEqual(len(set(self.check_shipments())), 2)

    def test_a_leader_frozen_in_a_shipment_lets_its_successor_in_and_ships_nothing_more(self):
        """It holds the lease's row when it stops, so the server has to end its session."""
        self.database.sql("CREATE TABLE shipments(order_number bigint PRIMARY KEY, token text NOT NULL, holder text NOT NULL);"
                          "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
                          "$$BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END$$;"
                          "CREATE TRIGGER slow BEFORE INSERT ON shipments FOR EACH ROW EXECUTE FUNCTION slow()")
        frozen, (successor,) = first_to_print([self.start(), self.start()], SHIPPED)
        frozen.wait_for(SHIPPED, count=2)
        while True:  # until it stands still between two statements of a shipment, or before its COMMIT
            self.freeze(frozen)
            held = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
            if wait_until(lambda: self.database.sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' "
                                                    "AND query LIKE '%shipments%' AND pid <> pg_backend_pid()") == "0",
                          "the end of its statement") and self.database.sql(held) != "0":
                break
            frozen.thaw()
            time.sleep(0.1)  # so that it ships and renews; without a processor for seconds it would lose its term
        successor.wait_for(SHIPPED, count=2)
        frozen.thaw()
        frozen.wait_for(r".*revoked \(.*", log=True)
        successor.wait_for(SHIPPED, count=4)
        self.assertEqual([program.stop() for program in (frozen, successor)], [0, 0])
        self.assertEqual(len(set(self.check_shipments())), 2)


if __name__ == "__main__":
    unittest.main()
