"""What a program inherits: closed descriptors, blocked signals, ignored signals. TENURE_PROGRAM names the program."""

import contextlib
import http.client
import itertools
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from waiting import wait_until  # noqa: E402

PROGRAM = os.environ["TENURE_PROGRAM"]
PATIENCE_S = 40
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tenure-inherited-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.config = self.folder / "group.yaml"
        self.config.write_text("group: g\nstore: { type: sqlite, path: ./leases.db }\nlease: { duration: 2s }\n")

    def start(self, *words, prepare=lambda: None, **more):
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more}
        process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=self.folder, preexec_fn=prepare, **more)
        self.addCleanup(process.wait)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def lines(self, name):
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def proxy(self, memory="memory", **more):
        port = free_port()
        return port, self.start("fence", "proxy", "--listen", f"127.0.0.1:{port}", "--upstream", "http://127.0.0.1:1",
                                "--lease", "x", "--memory", memory, **more)

    def answer(self, port):
        def ask():
            with contextlib.suppress(OSError):
                with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
                    connection.request("POST", "/", b"a")
                    return connection.getresponse().status
            return None

        return wait_until(ask, "an answer of the proxy", PATIENCE_S)

    def integrity(self, file):
        with contextlib.closing(sqlite3.connect(self.folder / file)) as database:
            return database.execute("PRAGMA integrity_check").fetchone()[0]

    def ends(self, process, number=signal.SIGTERM):
        process.send_signal(number)
        return process.wait(PATIENCE_S)


class ClosedDescriptors(Case):
    """Each way to close some of stdin, stdout and stderr."""

    @staticmethod
    def ways():
        for count in (1, 2, 3):
            yield from itertools.combinations((0, 1, 2), count)

    @staticmethod
    def closing(fds):
        return lambda: [os.close(fd) for fd in fds]

    def test_no_command_writes_into_a_file_of_its_own(self):
        for fds in self.ways():
            with self.subTest(closed=fds):
                prepare = self.closing(fds)
                memory = f"memory-{fds}"
                port, proxy = self.proxy(memory, prepare=prepare)
                for _ in range(3):
                    self.answer(port)  # refused and logged
                for fd in (0, 1, 2):
                    self.assertEqual(os.readlink(f"/proc/{proxy.pid}/fd/{fd}"), "/dev/null")
                self.assertEqual(self.ends(proxy), 0)
                self.assertEqual(self.integrity(memory), "ok")
                run = self.start("run", "--config", self.config, "--once", "--", "sh", "-c", "echo x; echo y >&2; exit 5",
                                 prepare=prepare)
                self.assertEqual(run.wait(PATIENCE_S), 5)
                self.assertEqual(self.integrity("leases.db"), "ok")
                hold = self.start("lock", "hold", "k", "--path", "locks.db", "--", "true", prepare=prepare)
                self.assertEqual(hold.wait(PATIENCE_S), 0)
                self.assertEqual(self.integrity("locks.db"), "ok")
                made = self.start("init", f"made-{fds}.yaml", prepare=prepare)
                made.wait(PATIENCE_S)
                self.assertEqual(self.lines(f"made-{fds}.yaml"), self.sample())

    def sample(self):
        return subprocess.run([PROGRAM, "init", "-"], capture_output=True, text=True, timeout=PATIENCE_S).stdout.splitlines()

    def test_the_output_of_a_job_fails_as_it_would_without_a_supervisor(self):
        run = self.start("run", "--config", self.config, "--once", "--", "sh", "-c", "echo x || exit 9", prepare=self.closing((1,)))
        self.assertEqual(run.wait(PATIENCE_S), 9)


class Signals(Case):
    def commands(self):
        """Each waits: a lock token, which no process renews, holds the lock and the group's lease for the whole test."""
        for name, file in (("taken", "locks.db"), ("g", "leases.db")):
            self.assertEqual(self.start("lock", "acquire", name, "--path", file, "--lease", "1h").wait(PATIENCE_S), 0)
        other = self.folder / "other.yaml"
        other.write_text(self.config.read_text().replace("group: g", "group: other"))
        lock = ("--path", "locks.db")
        return {
            "proxy": lambda **more: self.proxy(f"memory-{free_port()}", **more)[1],
            "run": lambda **more: self.start("run", "--config", other, "--", "sleep", "600", **more),
            "hold": lambda **more: self.start("lock", "hold", "k", *lock, "--", "sleep", "600", **more),
            "hold that waits": lambda **more: self.start("lock", "hold", "taken", *lock, "--", "sleep", "600", **more),
            "acquire": lambda **more: self.start("lock", "acquire", "taken", *lock, "--wait", "1h", **more),
            "list": lambda **more: self.start("lock", "list", *lock, "--watch", "1h", **more),
            "status": lambda **more: self.start("status", self.config, "--watch", **more),
            "resign": lambda **more: self.start("resign", "--config", self.config, "--wait", "1h", **more),
            "pause": lambda **more: self.start("pause", "--config", self.config, "--for", "1h", "--why", "w", "--wait", "1h", **more),
        }

    def is_ready(self, process):
        """It has taken over its signals: that comes before its first thread."""
        return lambda: process.poll() is not None or len(os.listdir(f"/proc/{process.pid}/task")) > 1


class BlockedSignals(Signals):
    """A parent that blocked a signal must not make a command that never ends."""

    def test_every_command_ends_by_a_signal_that_its_parent_has_blocked(self):
        for name, begin in self.commands().items():
            for number in ENDING:
                with self.subTest(command=name, signal=number.name):
                    process = begin(prepare=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, {number}))
                    wait_until(self.is_ready(process), "the command's threads", PATIENCE_S)
                    self.assertIsNone(process.poll())
                    self.ends(process, number)

    def test_a_job_gets_the_mask_of_the_parent(self):
        job = "exec grep -E 'Sig(Blk|Ign)' /proc/self/status >>state"
        process = self.start("run", "--config", self.config, "--once", "--", "sh", "-c", job,
                             prepare=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, {signal.SIGHUP}))
        wait_until(lambda: len(self.lines("state")) == 2, "the job", PATIENCE_S)
        self.assertEqual(int(self.lines("state")[0].split()[1], 16), 1 << (signal.SIGHUP - 1))
        self.assertEqual(process.wait(PATIENCE_S), 0)


class IgnoredSignals(Signals):
    """nohup's SIGHUP, and the SIGINT that a shell ignores for its background jobs, stay ignored."""

    def test_an_ignored_signal_ends_no_command_and_sigterm_does(self):
        for name, begin in self.commands().items():
            for numbers in ((signal.SIGHUP,), (signal.SIGINT, signal.SIGQUIT)):
                with self.subTest(command=name, signals=numbers):
                    process = begin(prepare=lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers])
                    wait_until(self.is_ready(process), "the command's threads", PATIENCE_S)
                    for _ in range(3):
                        for number in numbers:
                            process.send_signal(number)
                    with self.assertRaises(subprocess.TimeoutExpired):
                        process.wait(1)
                    self.ends(process)


if __name__ == "__main__":
    unittest.main()
