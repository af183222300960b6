"""What the tests of the rows share: their own table, `tenure` with any configuration, its log, rows written by hand."""

import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "interop"), str(HERE.parent / "faults")]
from client import FaultProxy  # noqa: F401 (for the tests)
from tenure_program import TableTest, the_endpoint, wait_until

WAIT = "read line; exit 0"  # a job that runs until its stdin closes


class Candidate:
    """A `tenure run` that keeps running, and its log."""

    def __init__(self, process, log):
        self.process = process
        self._log = log

    @property
    def log(self):
        return self._log.read_text(errors="replace")

    def count(self, what):
        return self.log.count(what)

    def says(self, what, times=1):
        try:
            return wait_until(lambda: self.process.poll() is not None or self.count(what) >= times, what)
        finally:
            if self.count(what) < times:
                raise AssertionError(f"it did not say {what!r} {times} times: {self.log[-2000:]}")

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self, number=None):
        """Its exit code, after a signal or (without one) after the end of its job's stdin."""
        if number is not None:
            self.process.send_signal(number)
        elif self.process.stdin:
            self.process.stdin.close()
            self.process.stdin = None
        return self.process.wait(60)


class RowTest(TableTest):
    lease_ms = 2000
    heartbeat_ms = 500

    def setUp(self):
        super().setUp()
        self.group = "rows"

    def yaml(self, name="a", *, group=None, lease=None, store="", endpoint=None, more=""):
        """A file of the group: `store` and `more` are further lines of YAML. A killed process is one of a machine that died."""
        lease = lease or f"{{ duration: {self.lease_ms}ms, heartbeat: {self.heartbeat_ms}ms }}"
        text = (f"group: {group or self.group}\ncandidate: {{ id: \"{name}\" }}\nlease: {lease}\nstore:\n  type: dynamodb\n"
                f"  crash_notice: false\n  table: {self.table}\n  region: us-east-1\n  endpoint: \"{endpoint or the_endpoint()}\"\n")
        return self.file(text + "".join(f"  {line}\n" for line in store.splitlines()) + more, name)

    def file(self, text, name="group"):
        path = self.directory / f"{name}-{time.monotonic_ns()}.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def start(self, config, *options, job=WAIT, environment=None):
        log = self.directory / f"log-{time.monotonic_ns()}"
        with open(log, "wb") as file:
            process = subprocess.Popen([os.environ["TENURE_PROGRAM"], "run", "--config", config, *options, "--", "sh", "-c",
                                        job], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=file,
                                       env=environment)
        self.addCleanup(self._end, process)
        return Candidate(process, log)

    def started(self, config, *options, **more):
        """A `tenure run` that leads."""
        candidate = self.start(config, *options, **more)
        candidate.says("elected with")
        return candidate

    def check(self, text, *options):
        """`tenure check` for this text."""
        return self.tenure("check", *options, "--config", self.file(text))

    def update(self, key, **attributes):
        """Changes attributes of a row by hand, whoever holds it."""
        names = {f"#{n}": name for n, name in enumerate(attributes)}
        values = {f":{n}": value for n, value in enumerate(attributes.values())}
        self.call("UpdateItem", Key={"key": {"S": key}}, ExpressionAttributeNames=names, ExpressionAttributeValues=values,
                  UpdateExpression="SET " + ", ".join(f"#{n} = :{n}" for n in range(len(attributes))))

    def put(self, key, **attributes):
        self.call("PutItem", Item={"key": {"S": key}, **attributes})

    def text_of(self, key, name):
        return next(iter(self.item(key)[name].values()))

    def token(self, key=None):
        return int(self.text_of(key or self.group, "tenureToken"))

    def assert_one(self, what, text):
        self.assertEqual(len(re.findall(what, text)), 1, text)
