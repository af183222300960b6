"""scripts/freezing.py: a process that it froze keeps nobody from writing to a database."""

import contextlib
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import freezing

# It says when it is in a transaction: a freeze at that moment would be a bad one.
WRITER = """
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode=" + sys.argv[2])
database.execute("CREATE TABLE t (x)")
while True:
    database.execute("BEGIN IMMEDIATE")
    database.execute("INSERT INTO t VALUES (1)")
    print("in a transaction", flush=True)
    time.sleep(0.03)
    database.execute("COMMIT")
    time.sleep(0.01)
"""


def is_locked(path):
    with contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as database:
        try:
            database.execute("BEGIN IMMEDIATE")
            return False
        except sqlite3.OperationalError:
            return True


class Freezing(unittest.TestCase):
    def others_can_write(self, journal):
        with tempfile.TemporaryDirectory(prefix="tenure-freezing-") as directory:
            path = f"{directory}/a.db"
            with subprocess.Popen([sys.executable, "-c", WRITER, path, journal], stdout=subprocess.PIPE) as writer:
                try:
                    for _ in range(5):
                        writer.stdout.readline()
                        freezing.freeze(writer.pid, [f"{directory}/another.db", path])
                        self.assertFalse(is_locked(path))
                        writer.send_signal(signal.SIGCONT)
                finally:
                    writer.kill()

    def test_others_can_write_to_a_database_with_a_write_ahead_log(self):
        self.others_can_write("wal")

    def test_others_can_write_to_a_database_with_a_rollback_journal(self):
        self.others_can_write("delete")


if __name__ == "__main__":
    unittest.main()
