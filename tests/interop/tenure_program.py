"""The program `tenure` on DynamoDB, for the tests of this folder. TENURE_PROGRAM in the environment is its path."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts"), str(HERE.parent / "support")]
import dynamodb_server
from waiting import wait_until

PATIENCE = 60
LEASE_MS = 1000
YAML = """group: {group}
candidate: {{ id: "{name}" }}
lease: {{ duration: {lease}ms, heartbeat: 250ms }}
store: {{ type: dynamodb, table: {table}, region: us-east-1, endpoint: "{endpoint}", crash_notice: false }}
"""


def the_endpoint():
    return os.environ[dynamodb_server.ENDPOINT]


def keep_figures(figures):
    """Writes the results of a long run into the file TENURE_FIGURES, for scripts/evidence; does nothing without it."""
    if path := os.environ.get("TENURE_FIGURES"):
        pathlib.Path(path).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


class TableTest(unittest.TestCase):
    """A test with its own table and a group in it."""

    def setUp(self):
        self.table = f"interop-{os.getpid()}-{time.monotonic_ns()}"
        self.group = "interop-group"
        directory = tempfile.TemporaryDirectory(prefix="tenure-interop.")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.addCleanup(self.call, "DeleteTable", check=False)

    lease_ms = LEASE_MS
    region = "us-east-1"

    def call(self, operation, check=True, **body):
        status, reply = dynamodb_server.call(the_endpoint(), operation, {"TableName": self.table, **body}, region=self.region)
        if check:
            self.assertEqual(status, 200, reply)
        return reply

    def make_table(self):
        self.call("CreateTable", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
                  AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}])

    def item(self, key):
        return self.call("GetItem", Key={"key": {"S": key}}, ConsistentRead=True).get("Item")

    def config(self, name="someone", endpoint=None):
        path = self.directory / f"{name}.yaml"
        path.write_text(YAML.format(group=self.group, name=name, lease=self.lease_ms, table=self.table,
                                    endpoint=endpoint or the_endpoint()))
        return str(path)

    def tenure(self, *arguments, **more):
        return subprocess.run([os.environ["TENURE_PROGRAM"], *arguments], capture_output=True, text=True, timeout=PATIENCE,
                              **more)

    def win_once(self, name="someone"):
        """One term of `tenure run`: its fencing token. It ends by a release."""
        done = self.tenure("run", "--config", self.config(name), "--once", "--", "sh", "-c", "echo $TENURE_FENCING_TOKEN")
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout)

    def start_holding(self, name="someone", endpoint=None):
        """`tenure run` with a job that holds until its stdin closes: (process, fencing token)."""
        # Not a pipe: nobody would read it, and a program that cannot write its log stops once the pipe is full.
        with open(self.log_of(name), "wb") as log:
            process = subprocess.Popen(
                [os.environ["TENURE_PROGRAM"], "run", "--config", self.config(name, endpoint), "--once", "--", "sh", "-c",
                 "echo $TENURE_FENCING_TOKEN; read line; exit 0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True)
        self.addCleanup(self._end, process)
        line = process.stdout.readline()
        if not line:
            self.fail(f"tenure run ended: {self.log_of(name).read_text()}")
        return process, int(line)

    def log_of(self, name="someone"):
        return self.directory / f"{name}.log"

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()
