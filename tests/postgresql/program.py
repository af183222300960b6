"""`tenure run` on PostgreSQL, for the tests of this folder. TENURE_PROGRAM in the environment is the program's path."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "interop"), str(HERE.parents[1] / "scripts")]
import dynamodb_server
import judge
import postgresql_server
from postgresql_cluster import wait_until

GROUP = "real-servers"
LEASE_MS, HEARTBEAT_MS = 2000, 500
YAML = """group: {group}
candidate: {{ id: "{name}" }}
lease: {{ duration: {lease}ms, heartbeat: {heartbeat}ms }}
store: {{ type: postgresql, host: 127.0.0.1, port: {port}, user: {user}, database: postgres, sslmode: disable{more} }}
"""
JOB = [sys.executable, "-E", "-S", "-B", str(HERE.parent / "interop" / "holder_job.py")]
FOR_EVER_MS = 10**10
# Two round trips, and this machine's scheduling.
MARGIN_S = 0.6


class Candidate:
    """One `tenure run` whose job claims in a ledger that it may act, and its log with the times of arrival."""

    def __init__(self, name, directory, port, user="tenure", lease_ms=LEASE_MS, heartbeat_ms=HEARTBEAT_MS, more="",
                 prefix=(), host=None):
        self.name = name
        self.ledger = directory / "ledger"
        config = directory / f"{name}.yaml"
        text = YAML.format(group=GROUP, name=name, lease=lease_ms, heartbeat=heartbeat_ms, port=port, user=user, more=more)
        config.write_text(text.replace("127.0.0.1", host) if host else text)
        self.process = subprocess.Popen(
            [*prefix, os.environ["TENURE_PROGRAM"], "run", "--config", str(config), "--", *JOB, str(self.ledger), name,
             str(FOR_EVER_MS)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=postgresql_server.environment(""), preexec_fn=dynamodb_server.die_with_parent)
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append((time.monotonic(), line.rstrip()))

    def all_said(self, what, since=0.0):
        return [(at, line) for at, line in list(self.lines) if at >= since and re.search(what, line)]

    def said(self, what, since=0.0):
        """The time of the first such line, or None."""
        return next((at for at, _ in self.all_said(what, since)), None)

    def log(self):
        return "\n".join(f"{at:.3f} {line}" for at, line in self.lines[-40:])

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self):
        if self.process.poll() is None:
            self.thaw()
            self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        self.process.stderr.close()


class Candidates:
    """Several of them, as a context manager, with what their jobs claimed."""

    def __init__(self, directory, ports, **more):
        self.directory = pathlib.Path(directory)
        (self.directory / "ledger").touch()
        self._more, self._number = more, 0
        self.each = []
        for port in ports:
            self.add(port)

    def add(self, port, **more):
        self._number += 1
        candidate = Candidate(f"candidate-{self._number}", self.directory, port, **{**self._more, **more})
        self.each.append(candidate)
        return candidate

    def elected_since(self, since=0.0, among=None):
        def leader():
            won = [(c.said("elected with", since), c) for c in among or self.each]
            return min(((at, c) for at, c in won if at), key=lambda pair: pair[0], default=None)
        return wait_until(leader, lambda: f"a leader; {self.logs()}")[1]

    def terms(self):
        return judge.terms_of(judge.read(self.directory / "ledger"))

    def claims(self, since, until):
        """What jobs claimed in this time, by time.monotonic()."""
        return [line for line in judge.read(self.directory / "ledger") if since < line["t"] / 1e9 < until]

    def faults(self):
        """Two holders at once, and tokens that do not rise."""
        terms = self.terms()
        return ([f"two at once: {a} and {b}" for a, b in judge.overlaps(terms)] +
                [f"tokens do not rise: {a}, then {b}" for a, b in judge.tokens_that_do_not_rise(terms)])

    def logs(self):
        return "\n".join(f"--- {c.name}\n{c.log()}" for c in self.each)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for candidate in self.each:
            candidate.end()
