import contextlib
import fcntl
import os
import pathlib
import sqlite3
import sys
import unittest
import urllib.request
import xml.etree.ElementTree

from program import PATIENCE, ExampleTest, first_to_print

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import redis_server

WROTE = r"(row|line|entry|object) (\d+) (\S+) (\d+)"


class Bucket:
    """A bucket for this test that keeps all versions. The tests' server verifies no signature, but the signature tells
    it which service is meant."""

    HEADERS = {"Authorization": "AWS4-HMAC-SHA256 Credential=tenuretest/20260101/us-east-1/s3/aws4_request, "
                                "SignedHeaders=host, Signature=0", "Content-Type": "application/xml"}
    NAMESPACE = "{http://s3.amazonaws.com/doc/2006-03-01/}"

    def __init__(self, name):
        self.name = name
        self._ask("PUT")
        self._ask("PUT", "?versioning",
                  b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")

    def _ask(self, method, what="", body=None):
        url = f"{os.environ['TENURE_TEST_S3']}/{self.name}{what}"
        request = urllib.request.Request(url, body, self.HEADERS, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def history(self, key):
        """The object's versions, in the order in which they came, each without the fence's head."""
        listing = xml.etree.ElementTree.fromstring(self._ask("GET", f"?versions&prefix={key}"))
        versions = [version.findtext(f"{self.NAMESPACE}VersionId") for version in listing.iter(f"{self.NAMESPACE}Version")]
        return [self._ask("GET", f"/{key}?versionId={version}").split("\n", 1)[1] for version in reversed(versions)]


class FencedPipeline(ExampleTest):
    example = "fenced_pipeline"

    def setUp(self):
        super().setUp()
        self.redis = redis_server.RedisServer(self.directory)
        self.addCleanup(self.redis.end)
        self.bucket = None
        self.programs = []

    def start(self):
        if self.bucket:
            program = super().start(self.redis.socket, self.bucket.name,
                                    AWS_ENDPOINT_URL_S3=os.environ["TENURE_TEST_S3"])
        else:
            program = super().start(self.redis.socket)
        self.programs.append(program)
        return program

    def freeze(self, program):
        """Outside a write to the file: a process that is frozen inside one lets nobody write (docs/fencing/file.md)."""
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
        """What is in the resources, in the order in which it came, read without the library."""
        with contextlib.closing(sqlite3.connect(self.directory / "orders.db")) as database:
            rows = [line for line, in database.execute("SELECT line FROM orders ORDER BY rowid")]
        lines = (self.directory / "orders.log").read_text(encoding="utf-8").splitlines()
        found = {"row": rows, "line": lines, "entry": self.redis.ask("LRANGE", "orders", "0", "-1")}
        if self.bucket:
            found["object"] = self.bucket.history("last-order")
        return found

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

    def test_former_leaders_replace_nothing_in_a_bucket_of_s3(self):
        self.bucket = Bucket(f"orders-{os.getpid()}")
        frozen, (successor,) = first_to_print([self.start(), self.start()], WROTE)
        frozen.wait_for(r"object 1 .*", count=2)
        self.freeze(frozen)
        successor.wait_for(r"object 2 .*", count=2)
        frozen.thaw()
        frozen.wait_for(r".*revoked \(.*\), fencing token 1", log=True)
        successor.wait_for(r"object 2 .*", count=4)
        successor.kill()
        frozen.wait_for(r"object 3 .*", count=2)
        self.assertEqual(frozen.stop(), 0)
        self.check_resources({1, 2, 3})

    def test_one_resource_that_has_seen_more_ends_the_term_everywhere(self):
        leader = self.start()
        leader.wait_for(r"entry 1 .*")
        # As after a term of which only Redis was told.
        self.redis.ask("HSET", "tenure:fence:fenced-pipeline", "token", "7", "holder", "somebody#1")
        leader.wait_for(r"entry: .*refused a write .* with fencing token 1,.*", log=True)
        leader.wait_for(r"entry 8 .*")
        self.assertEqual(leader.stop(), 0)
        for kind, lines in self.contents().items():
            self.assertEqual({int(line.split(" ")[0]) for line in lines}, {1, 8}, kind)


if __name__ == "__main__":
    unittest.main()
