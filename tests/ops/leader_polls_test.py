"""/leader, asked every millisecond while leaders are killed, frozen and cut off, and while their threads or stores hang.

The judge knows nothing of the electors but their answers: an answer 200 with one token proves that nobody may give one with
an older token to a request that began later. And no leader is acknowledged after a fault, so no request that began a lease
later may get 200. TENURE_PROGRAM names the program."""

import ctypes
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from namespaces import Unavailable
from waiting import wait_until
from wire import Wire

LEASE_NS = 2_000_000_000
ROUNDS = int(os.environ.get("TENURE_LEADER_POLL_ROUNDS", "4"))
REQUEST = b"GET /leader HTTP/1.1\r\nHost: x\r\n\r\n"


class Poller:
    """Sends a request every millisecond, whether or not the one before was answered: a frozen process has many to answer."""

    def __init__(self, name, path):
        self.name = name
        self.answers = []  # (begun, ended, token or None), times of CLOCK_MONOTONIC in ns
        self._path = path
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._ends.is_set():
            try:
                with socket.socket(socket.AF_UNIX) as line:
                    line.connect(str(self._path))
                    line.setblocking(False)
                    self._ask(line)
            except OSError:
                time.sleep(0.001)  # nobody listens

    def _ask(self, line):
        begun, got = [], b""
        while not self._ends.is_set():
            now = time.monotonic_ns()
            try:
                if line.send(REQUEST) != len(REQUEST):
                    return
                begun.append(now)
            except BlockingIOError:
                pass  # it has not read for long
            if select.select([line], [], [], 0.001)[0]:
                read = line.recv(1 << 16)
                if not read:
                    return
                got = self._take(got + read, begun)
            time.sleep(max(0, 0.001 - (time.monotonic_ns() - now) / 1e9))

    def _take(self, got, begun):
        while (head := got.find(b"\r\n\r\n")) >= 0:
            length = int(got[:head].lower().split(b"content-length:")[1].split(b"\r\n")[0])
            if len(got) < head + 4 + length:
                break
            body = got[head + 4:head + 4 + length]
            led = got.startswith(b"HTTP/1.1 200")
            token = json.loads(body)["fencing_token"] if led else None
            self.answers.append((begun.pop(0), time.monotonic_ns(), token))
            got = got[head + 4 + length:]
        return got

    def token(self):
        """Of the last answer, if that is new: a process that is gone or frozen gives none."""
        begun, _, token = self.answers[-1] if self.answers else (0, 0, None)
        return token if time.monotonic_ns() - begun < 100_000_000 else None

    def end(self):
        self._ends.set()
        self._thread.join()


def too_late(answers):
    """Each answer 200 to a request that began after an answer 200 with a newer token. `answers`: (begun, ended, token)."""
    found, newest = [], 0
    events = sorted([(begun, 1, token) for begun, _, token in answers] + [(ended, 0, token) for _, ended, token in answers])
    for when, begins, token in events:
        if not begins:
            newest = max(newest, token)
        elif token < newest:
            found.append((when, token, newest))
    return found


class HeldThreads:
    """Every thread of a process stands still but the one of this name."""

    SEIZE, INTERRUPT, DETACH, ANY_THREAD = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, process, but):
        threads = pathlib.Path(f"/proc/{process}/task").iterdir()
        self._held = [int(each.name) for each in threads if (each / "comm").read_text() != but + "\n"]
        for thread in self._held:
            self._ptrace(self.SEIZE, thread)
            self._ptrace(self.INTERRUPT, thread)
            os.waitpid(thread, self.ANY_THREAD)

    @staticmethod
    def _ptrace(request, thread):
        if ctypes.CDLL(None, use_errno=True).ptrace(request, thread, None, None):
            raise OSError(ctypes.get_errno(), "ptrace")

    def release(self):
        for thread in self._held:
            self._ptrace(self.DETACH, thread)


class Judge(unittest.TestCase):
    def test_sees_an_older_token_after_a_newer_one(self):
        self.assertEqual(too_late([(1, 2, 1), (3, 6, 1), (4, 5, 2)]), [])
        self.assertEqual(too_late([(1, 2, 1), (4, 5, 2), (6, 7, 1)]), [(6, 1, 2)])


class LeaderPolls(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.copies, self.pollers, self.missed = {}, {}, []

    def compete(self, names, store, before=lambda name: []):
        """`before`: the words that come before the command of this copy."""
        (self.directory / "group.yaml").write_text(
            f"group: g\ncandidate: {{ id: \"${{NAME}}\" }}\nlease: {{ duration: 2s }}\nstore: {store}\n")
        self.before = before
        for name in names:
            self.start(name)
            self.pollers[name] = Poller(name, self.directory / f"{name}.sock")
            self.addCleanup(self.pollers[name].end)

    def start(self, name):
        log = open(self.directory / f"{name}.log", "ab")
        self.addCleanup(log.close)
        command = [*self.before(name), os.environ["TENURE_PROGRAM"], "run", "--config", self.directory / "group.yaml",
                   "--http", f"unix:{self.directory}/{name}.sock", "--", "sleep", "3600"]
        process = subprocess.Popen(command, env={**os.environ, "NAME": name}, stdout=log, stderr=log)
        self.copies[name] = process
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

    def leader(self, than=0):
        """The token and name of whoever leads with a newer token."""
        tokens = lambda: ((poller.token() or 0, name) for name, poller in self.pollers.items())
        return wait_until(lambda: next((each for each in tokens() if each[0] > than), None), "a leader")

    def revoke(self, fault, repair):
        """One round. The fault is there until a successor leads, or until the leader has answered that it leads no more."""
        token, name = self.leader()
        fault(name)
        self.missed.append((time.monotonic_ns() + LEASE_NS, token))
        time.sleep(LEASE_NS / 1e9 + 0.5)
        repair(name)
        self.leader(token)

    def judge(self, revocations):
        polls = [answer for poller in self.pollers.values() for answer in list(poller.answers)]
        led = [answer for answer in polls if answer[2] is not None]
        self.assertEqual(too_late(led), [])
        late = [answer for end, token in self.missed for answer in led if answer[2] == token and answer[0] > end]
        self.assertEqual(late, [], "answered 200 a lease after the fault")
        self.assertEqual(len(self.missed), revocations)
        self.assertGreater(len({token for _, _, token in led}), revocations)
        self.assertGreater(len(polls), 1000 * revocations)
        print(f"{revocations} revocations, {len(polls)} polls, {len(led)} of them answered with 200")

    def freeze(self):
        self.revoke(lambda name: self.copies[name].send_signal(signal.SIGSTOP),
                    lambda name: self.copies[name].send_signal(signal.SIGCONT))

    def hang(self):
        """No thread is left that ends the term. Only the clock does."""
        held = []
        self.revoke(lambda name: held.append(HeldThreads(self.copies[name].pid, "tenure-http")),
                    lambda _: held.pop().release())

    def kill(self):
        self.revoke(lambda name: self.copies[name].kill(), self.start)

    def test_no_poll_that_begins_after_the_validity_is_answered_with_200(self):
        self.compete("ab", f"{{ type: sqlite, path: {self.directory}/leases.db, death_notice: false }}")
        self.freeze()
        self.hang()
        self.judge(2)

    def test_long_run_over_20_revocations(self):
        try:
            wire = Wire(["a", "b", "c"])
        except Unavailable as fault:
            self.skipTest(str(fault))
        self.addCleanup(wire.close)
        etcd = wire.start_etcd(self.directory / "etcd")
        self.addCleanup(etcd.wait)
        self.addCleanup(etcd.kill)
        self.compete("abc", f"{{ type: etcd, endpoints: {Wire.ETCD} }}", wire.at)
        for _ in range(ROUNDS):
            self.kill()
            self.freeze()
            self.hang()
            self.revoke(wire.cut, wire.heal)
            self.revoke(lambda _: etcd.send_signal(signal.SIGSTOP), lambda _: etcd.send_signal(signal.SIGCONT))
        self.judge(5 * ROUNDS)


if __name__ == "__main__":
    unittest.main()
