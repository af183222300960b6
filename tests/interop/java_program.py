"""The Java program of this folder, for use in tests."""

import json
import subprocess
import threading

import peers

PATIENCE = 60
REFRESH_MS = 100  # how often a waiting client reads (Hold.java)
FIRST_CALLS_MS = 500  # the virtual machine's time to load code that has not run before


def list_locks(endpoint, table):
    """{key: what the library reports about the row}; fails if the library fails at any row."""
    done = subprocess.run([*peers.java(), "list", endpoint, table], capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise AssertionError(f"the Java client cannot list {table}: {done.stderr}")
    return {lock["key"]: lock for lock in map(json.loads, done.stdout.splitlines())}


class Holder:
    """A Java process that wants one lock, and holds it until release() or kill()."""

    def __init__(self, endpoint, table, key, owner="java", lease_ms=1000, heartbeat_ms=250, delete=True, sort_key=None):
        command = peers.java()
        command.insert(1, f"-Ddelete={str(delete).lower()}")
        if sort_key:  # (its name, this lock's value)
            command[1:1] = [f"-DsortKey={sort_key[0]}", f"-DsortValue={sort_key[1]}"]
        self._process = subprocess.Popen([*command, "hold", endpoint, table, key, owner, str(lease_ms), str(heartbeat_ms)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.events = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            with self._changed:
                self.events.append(json.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._process.wait()
            self._changed.notify_all()

    def wait_for(self, what):
        def found():
            return next((e for e in self.events if e["e"] == what), None)

        with self._changed:
            self._changed.wait_for(lambda: found() or self._process.poll() is not None, PATIENCE)
            if not found():
                raise AssertionError(f"the Java client did not come to {what}: {self.events}")
            return found()

    def count(self, what):
        return sum(event["e"] == what for event in self.events)

    def latest_takeover_ms(self, lease_ms, lateness):
        """Counts from the last renewal that it can have seen: it waits for the lease in the row, from when it first saw
        that version. It does so again after each attempt that it gave up."""
        attempts = 1 + self.count("not_granted")
        return attempts * (lease_ms + 2 * REFRESH_MS) + FIRST_CALLS_MS + 4 * lateness.worst() * 1000

    def release(self):
        self._process.stdin.close()
        return self.wait_for("released")["done"]

    def kill(self):
        self._process.kill()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdin.close()
        self._process.stdout.close()
