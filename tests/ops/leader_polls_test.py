"""/leader, asked every millisecond while leaders are killed, frozen and cut off, and while their threads or stores hang.

The judges know nothing of the electors. store_log.py stands between each copy and its store, and writes down when the writes
were sent that the store has carried out: no request that begins a lease after the last of them may get 200. And an answer 200
with one token proves that nobody may give one with an older token to a request that began later. TENURE_PROGRAM names the
program."""

import contextlib
import ctypes
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import proc
from ports import free_port
from waiting import wait_until

LEASE_NS = 2_000_000_000
ROUNDS = int(os.environ.get("TENURE_LEADER_POLL_ROUNDS", "4"))
REQUEST = b"GET /leader HTTP/1.1\r\nHost: localhost\r\n\r\n"


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
        return token if time.monotonic_ns() - begun < 1_000_000_000 else None

    def end(self):
        self._ends.set()
        self._thread.join()


class StoreLog:
    """store_log.py for one copy."""

    PROGRAM = pathlib.Path(__file__).with_name("store_log.py")

    def __init__(self, store_port):
        self.writes = []  # (when it was asked for, when the answer was passed on)
        self._process = subprocess.Popen([sys.executable, "-B", self.PROGRAM, str(store_port)], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._process.stdout:
            self.writes.append(tuple(json.loads(line)))

    def say(self, word):
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def end(self):
        self._process.stdin.close()
        self._process.wait()
        self._thread.join()
        self._process.stdout.close()


def outlived(answers, writes, lease_ns):
    """Each answer 200 to a request that began a lease after the last write of which the candidate knew by the answer."""
    found, writes = [], sorted(writes, key=lambda write: write[1])
    known, newest = 0, 0
    for begun, ended, token in sorted(answers, key=lambda answer: answer[1]):
        while known < len(writes) and writes[known][1] <= ended:
            newest = max(newest, writes[known][0])
            known += 1
        if begun > newest + lease_ns:
            found.append(((begun - newest - lease_ns) / 1e6, token))
    return found


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
        self._held = []
        for thread in (number for number, name in proc.threads(process).items() if name != but):
            with contextlib.suppress(ProcessLookupError):
                self._ptrace(self.SEIZE, thread)
                self._ptrace(self.INTERRUPT, thread)
                os.waitpid(thread, self.ANY_THREAD)
                self._held.append(thread)

    @staticmethod
    def _ptrace(request, thread):
        if ctypes.CDLL(None, use_errno=True).ptrace(request, thread, None, None):
            raise OSError(ctypes.get_errno(), "ptrace")  # ProcessLookupError if the thread has ended

    def release(self):
        for thread in self._held:
            self._ptrace(self.DETACH, thread)


class Judge(unittest.TestCase):
    def test_sees_an_older_token_after_a_newer_one(self):
        self.assertEqual(too_late([(1, 2, 1), (3, 6, 1), (4, 5, 2)]), [])
        self.assertEqual(too_late([(1, 2, 1), (4, 5, 2), (6, 7, 1)]), [(6, 1, 2)])

    def test_sees_an_answer_that_no_write_allows(self):
        writes = [(10_000_000, 11_000_000), (20_000_000, 40_000_000)]
        self.assertEqual(outlived([(15_000_000, 30_000_000, 1), (25_000_000, 41_000_000, 1)], writes, 5_000_000), [])
        self.assertEqual(outlived([(16_000_000, 17_000_000, 1)], writes, 5_000_000), [(1.0, 1)])
        self.assertEqual(outlived([(24_000_000, 39_000_000, 1)], writes, 5_000_000), [(9.0, 1)], "the answer came later")
        self.assertEqual(outlived([(26_000_000, 50_000_000, 1)], writes, 5_000_000), [(1.0, 1)])


class LeaderPolls(unittest.TestCase):
    def setUp(self):
        if not shutil.which("etcd"):
            self.skipTest("there is no etcd (apt-get install etcd-server)")
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.copies, self.pollers, self.logs, self.windows = {}, {}, {}, []
        self.port = free_port()
        self.etcd = self.popen(["etcd", "--data-dir", self.directory / "etcd", "--listen-client-urls",
                                f"http://127.0.0.1:{self.port}", "--advertise-client-urls", f"http://127.0.0.1:{self.port}",
                                "--listen-peer-urls", f"http://127.0.0.1:{free_port()}"], "etcd")
        for name in "abc":
            self.logs[name] = StoreLog(self.port)
            self.addCleanup(self.logs[name].end)
            self.start(name)
            self.pollers[name] = Poller(name, self.directory / f"{name}.sock")
            self.addCleanup(self.pollers[name].end)

    def popen(self, command, name, **environment):
        log = open(self.directory / f"{name}.log", "ab")
        self.addCleanup(log.close)
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def start(self, name):
        config = self.directory / f"{name}.yaml"
        config.write_text(f"group: g\ncandidate: {{ id: {name} }}\nlease: {{ duration: {LEASE_NS // 10**9}s }}\n"
                          f"store: {{ type: etcd, endpoints: http://127.0.0.1:{self.logs[name].port} }}\n")
        self.copies[name] = self.popen([os.environ["TENURE_PROGRAM"], "run", "--config", config, "--http",
                                        f"unix:{self.directory}/{name}.sock", "--", "sleep", "3600"], name)

    def leader(self, than=0):
        """The token and name of whoever leads with a newer token."""
        tokens = lambda: ((poller.token() or 0, name) for name, poller in self.pollers.items())
        return wait_until(lambda: next((each for each in tokens() if each[0] > than), None), "a leader")

    def revoke(self, fault, repair):
        """The fault is there for longer than what is left of the lease."""
        token, name = self.leader()
        begun = time.monotonic_ns()
        fault(name)
        time.sleep(LEASE_NS / 1e9 + 0.5)
        repair(name)
        self.leader(token)
        # A busy machine answers fewer in that time.
        wait_until(lambda: sum(answer[0] >= begun for poller in self.pollers.values() for answer in list(poller.answers)) >= 1000,
                   "a thousand answers")
        self.windows.append((begun, time.monotonic_ns()))

    def judge(self):
        polls = [answer for poller in self.pollers.values() for answer in list(poller.answers)]
        over = [sum(begun >= start and ended <= end for begun, ended, _ in polls) for start, end in self.windows]
        led = [answer for answer in polls if answer[2] is not None]
        for name, poller in self.pollers.items():
            mine = [answer for answer in list(poller.answers) if answer[2] is not None]
            self.assertEqual(outlived(mine, list(self.logs[name].writes), LEASE_NS), [], f"of {name}: ms too late, token")
        self.assertEqual(too_late(led), [])
        self.assertGreater(len({token for _, _, token in led}), len(self.windows))
        self.assertGreaterEqual(min(over), 1000, over)
        print(f"{len(over)} revocations, {len(polls)} polls answered, {len(led)} of them with 200, "
              f"{min(over)} to {max(over)} over a revocation")

    def kill(self):
        self.revoke(lambda name: self.copies[name].kill(), self.start)

    def freeze(self):
        self.revoke(lambda name: self.copies[name].send_signal(signal.SIGSTOP),
                    lambda name: self.copies[name].send_signal(signal.SIGCONT))

    def hang(self):
        """No thread is left that ends the term. Only the clock does."""
        held = []
        self.revoke(lambda name: held.append(HeldThreads(self.copies[name].pid, "tenure-http")),
                    lambda _: held.pop().release())

    def partition(self):
        self.revoke(lambda name: self.logs[name].say("cut"), lambda name: self.logs[name].say("heal"))

    def outage(self):
        self.revoke(lambda _: self.etcd.send_signal(signal.SIGSTOP), lambda _: self.etcd.send_signal(signal.SIGCONT))

    def test_no_poll_that_begins_after_the_validity_is_answered_with_200(self):
        self.hang()
        self.partition()
        self.judge()

    def test_long_run_over_20_revocations(self):
        for _ in range(ROUNDS):
            for kind in (self.kill, self.freeze, self.hang, self.partition, self.outage):
                kind()
        self.judge()


if __name__ == "__main__":
    unittest.main()
