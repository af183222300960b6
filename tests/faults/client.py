"""The fault proxy for tests in Python: starts it, sets its rules, reads its log."""

import contextlib
import http.client
import json
import pathlib
import subprocess
import sys
import time
import urllib.parse

PROGRAM = pathlib.Path(__file__).resolve().parent / "fault_proxy.py"


class FaultProxy:
    """A fault proxy in its own process, which ends with `with`, or at the latest with this process."""

    def __init__(self, upstream, seed=1):
        self._process = subprocess.Popen([sys.executable, "-B", str(PROGRAM), "--upstream", upstream, "--seed", str(seed),
                                          "--stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise RuntimeError("the fault proxy did not start; see above")
        addresses = json.loads(line)
        self.endpoint = addresses["endpoint"]
        self.control = addresses["control"]

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _ask(self, method, path, body=None):
        where = urllib.parse.urlsplit(self.control)
        with contextlib.closing(http.client.HTTPConnection(where.hostname, where.port, timeout=60)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            content = json.loads(answer.read())
        if answer.status != 200:
            raise ValueError(content["error"])
        return content

    def add(self, action, **settings):
        """Adds a rule at the end, in the form of rules.py: add("drop_after", operation="UpdateItem", count=1)."""
        return self._ask("POST", "/rules", {"action": action, **settings})

    def set_rules(self, rules):
        return self._ask("PUT", "/rules", rules)

    def clear(self):
        self._ask("DELETE", "/rules")

    def rules(self):
        return self._ask("GET", "/rules")

    def log(self, since=0):
        return self._ask("GET", f"/log?since={since}")

    def forget(self):
        self._ask("DELETE", "/log")

    def counters(self):
        return self._ask("GET", "/counters")

    def close_idle(self):
        return self._ask("POST", "/close_idle")["closed"]

    def listen(self, on):
        self._ask("POST", "/listen", bool(on))

    def keep_bodies(self, on=True):
        self._ask("PUT", "/bodies", bool(on))

    def wait_for(self, condition, seconds=60):
        """Waits until condition(log) holds, and returns that log."""
        deadline = time.monotonic() + seconds
        while True:
            log = self.log()
            if condition(log):
                return log
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {seconds} s; the log is {log}")
            time.sleep(0.005)
