import contextlib
import fcntl
import shutil
import sqlite3
import subprocess
import time
import unittest

from program import PATIENCE, ExampleTest, first_to_print

WROTE = r"(row|line|entry) (\d+) (\S+) (\d+)"


class Redis:
    """A server of the test's own. Debian's redis-tools has it under another name, and it asks by what name it was called."""

    def __init__(self, directory):
        self.socket = directory / "redis.sock"
        arguments = ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--dir", str(directory), "--save", "",
                     "--appendonly", "yes", "--appendfsync", "always", "--loglevel", "warning"]
        self._process = subprocess.Popen(arguments, executable=shutil.which("redis-check-rdb"), stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while self.ask("PING", check=False) != "PONG":
            if time.monotonic() > deadline:
                raise AssertionError("Redis did not come up")
            time.sleep(0.01)

    def ask(self, *words, check=True):
        done = subprocess.run(["redis-cli", "-s", str(self.socket), *words], capture_output=True, text=True, check=check)
        return done.stdout.rstrip("\n")

    def end(self):
        self._process.kill()
        self._process.wait()


class FencedPipeline(ExampleTest):
    example = "fenced_pipeline"

    def setUp(self):
        super().setUp()
        self.redis = Redis(self.directory)
        self.addCleanup(self.redis.end)
        self.programs = []

    def start(self):
        program = super().start(self.redis.socket)
        self.programs.append(program)
        return program

    def freeze(self, program):
        """Outside of a write to the file: one that is frozen inside of it lets nobody write (docs/fencing/file.md)."""
        super().freeze(program)
        while self.file_is_locked():
            program.thaw()
            super().freeze(program)

    def file_is_locked(self):
        with open(self.directory / "orders.log.fence.lock", "rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return False
            except BlockingIOError:
                return True

    def contents(self):
        """What is in the three resources, in the order in which it came, read without the library."""
        with contextlib.closing(sqlite3.connect(self.directory / "orders.db")) as database:
            rows = [line for line, in database.execute("SELECT line FROM orders ORDER BY rowid")]
        lines = (self.directory / "orders.log").read_text(encoding="utf-8").splitlines()
        return {"row": rows, "line": lines, "entry": self.redis.ask("LRANGE", "orders", "0", "-1").splitlines()}

    def check_resources(self, terms):
        for kind, lines in self.contents().items():
            tokens = [int(line.split(" ")[0]) for line in lines]
            self.assertEqual(tokens, sorted(tokens), f"{kind}: a former leader has written after its successor")
            self.assertEqual(set(tokens), terms, kind)
            self.assertEqual(len({tuple(line.split(" ")[:2]) for line in lines}), len(terms), "two holders of one token")
            self.assertEqual(len(set(lines)), len(lines), f"{kind}: an order is there twice")
            told = {f"{token} {holder} {order}" for program in self.programs
                    for where, token, holder, order in (match.groups() for match in program.matches(WROTE))
                    if where == kind}
            self.assertLessEqual(told, set(lines), f"{kind}: what was told is not there")

    def test_a_killed_leader_is_succeeded_in_all_three(self):
        first, (second,) = first_to_print([self.start(), self.start()], WROTE)
        first.wait_for(r"entry 1 .*", count=3)
        first.kill()
        second.wait_for(r"entry 2 .*", count=2)
        self.assertEqual(second.stop(), 0)
        self.check_resources({1, 2})

    def test_a_frozen_leader_writes_nowhere_after_its_successor(self):
        frozen, (successor,) = first_to_print([self.start(), self.start()], WROTE)
        frozen.wait_for(r"entry 1 .*", count=2)
        self.freeze(frozen)
        successor.wait_for(r"entry 2 .*", count=2)
        frozen.thaw()
        frozen.wait_for(r".*revoked \(.*\), fencing token 1", log=True)
        successor.wait_for(r"entry 2 .*", count=4)
        self.assertEqual([program.stop() for program in (frozen, successor)], [0, 0])
        self.check_resources({1, 2})

    def test_one_resource_that_has_seen_more_ends_the_term_everywhere(self):
        leader = self.start()
        leader.wait_for(r"entry 1 .*")
        # As after a term of which only Redis has heard.
        self.redis.ask("HSET", "tenure:fence:fenced-pipeline", "token", "7", "holder", "somebody#1")
        leader.wait_for(r"entry: .*refused a write .* with fencing token 1,.*", log=True)
        leader.wait_for(r"entry 8 .*")
        self.assertEqual(leader.stop(), 0)
        for kind, lines in self.contents().items():
            self.assertEqual({int(line.split(" ")[0]) for line in lines}, {1, 8}, kind)


if __name__ == "__main__":
    unittest.main()
