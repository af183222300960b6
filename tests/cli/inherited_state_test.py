"""What a program inherits: closed descriptors, blocked and ignored signals, limits, a system without /proc or some of its calls.

TENURE_PROGRAM names the program.
"""

import contextlib
import ctypes
import errno
import http.client
import itertools
import json
import os
import pathlib
import platform
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ports import free_port  # noqa: E402
from waiting import wait_until  # noqa: E402

PROGRAM = os.environ["TENURE_PROGRAM"]
PATIENCE_S = 60
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def is_sanitized():
    """A sanitizer does not start in one GiB."""
    return "san" in os.environ.get("LD_PRELOAD", "") or subprocess.run(
        [PROGRAM, "--version"], capture_output=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))).returncode != 0


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tenure-inherited-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.config = self.folder / "group.yaml"
        self.config.write_text("group: g\nstore: { type: sqlite, path: ./leases.db }\nlease: { duration: 2s }\n")

    def start(self, *words, prepare=lambda: None, under=(), **more):
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more}
        process = subprocess.Popen([*under, PROGRAM, *map(str, words)], cwd=self.folder, preexec_fn=prepare, **more)
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
    def hold(self):
        """A lock token, which no process renews, holds the lock and the group's lease for the whole test."""
        for name, file in (("taken", "locks.db"), ("g", "leases.db")):
            self.assertEqual(self.start("lock", "acquire", name, "--path", file, "--lease", "1h").wait(PATIENCE_S), 0)

    def commands(self):
        """Each waits."""
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

    def await_ready(self, process):
        """It has taken over its signals: that comes before its first thread."""
        wait_until(lambda: process.poll() is not None or len(os.listdir(f"/proc/{process.pid}/task")) > 1, "the command's threads",
                   PATIENCE_S)


class BlockedSignals(Signals):
    """A parent that blocked a signal must not make a command that never ends."""

    def test_every_command_ends_by_a_signal_that_its_parent_has_blocked(self):
        self.hold()
        for name, begin in self.commands().items():
            for number in ENDING:
                with self.subTest(command=name, signal=number.name):
                    process = begin(prepare=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, {number}))
                    self.await_ready(process)
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
        self.hold()
        for numbers in ((signal.SIGHUP,), (signal.SIGINT, signal.SIGQUIT)):
            begun = {name: begin(prepare=lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers])
                     for name, begin in self.commands().items()}
            for process in begun.values():
                self.await_ready(process)
                for number in 3 * numbers:
                    process.send_signal(number)
            until = time.monotonic() + 1
            for name, process in begun.items():
                with self.subTest(command=name, signals=numbers):
                    with self.assertRaises(subprocess.TimeoutExpired):
                        process.wait(max(0.0, until - time.monotonic()))
                    self.ends(process)


    def test_sigterm_ends_a_command_whose_parent_ignores_it_and_the_job_ignores_it_too(self):
        self.hold()
        ignoring = {"prepare": lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN)}
        for name in ("acquire", "list", "status", "resign", "pause"):
            with self.subTest(command=name):
                process = self.commands()[name](**ignoring)
                self.await_ready(process)
                self.ends(process)
        job = "exec grep SigIgn /proc/self/status >state"
        lock = ("lock", "hold", "k", "--path", "locks.db")
        self.assertEqual(self.start(*lock, "--", "sh", "-c", job, **ignoring).wait(PATIENCE_S), 0)
        self.assertTrue(int(self.lines("state")[0].split()[1], 16) & 1 << (signal.SIGTERM - 1))


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "it needs root and unshare")
class FirstProcess(Signals):
    """As process 1 of a container, which no signal ends that it does not handle."""

    NAMESPACE = ("unshare", "--pid", "--kill-child")

    def test_sigterm_ends_every_command(self):
        self.hold()
        for name, begin in self.commands().items():
            with self.subTest(command=name):
                process = begin(under=self.NAMESPACE)

                def has_ended(process=process):
                    with contextlib.suppress(OSError):
                        for first in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                            os.kill(int(first), signal.SIGTERM)
                    return process.poll() is not None

                wait_until(has_ended, "the command's end", PATIENCE_S)

    def test_the_hang_up_of_its_terminal_ends_it(self):
        ours, theirs = os.openpty()
        process = self.start("run", "-c", self.config, "--", "sh", "-c", "touch ran; exec sleep 600",
                             under=(*self.NAMESPACE, "setsid", "--ctty"), stdin=theirs)
        os.close(theirs)
        wait_until((self.folder / "ran").exists, "the job", PATIENCE_S)
        os.close(ours)
        self.assertEqual(process.wait(PATIENCE_S), 0)


class Limits(Case):
    """A limit ends no command without a word."""

    def end_of(self, *words, limit, value):
        process = self.start(*words, prepare=lambda: resource.setrlimit(limit, (value, value)), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        _, told = process.communicate(timeout=PATIENCE_S)
        return process.returncode, told

    def test_no_file_may_grow(self):
        ended, _ = self.end_of("--version", limit=resource.RLIMIT_FSIZE, value=0)
        if is_sanitized() and ended == -signal.SIGXFSZ:
            self.skipTest("the runtime of ThreadSanitizer is killed by this limit, before main()")
        commands = {"init": ("init", "new.yaml"), "run": ("run", "-c", self.config, "--once", "--wait", "2s", "--", "touch", "ran"),
                    "lock": ("lock", "hold", "x", "--store", "sqlite", "--path", "locks.db", "--wait", "2s", "--", "touch", "ran")}
        for name, words in commands.items():
            with self.subTest(name):
                code, told = self.end_of(*words, limit=resource.RLIMIT_FSIZE, value=0)
                self.assertIn(code, (1, 83, 86), told)
                self.assertRegex(told, "(?i)file too large|limit is full")
        self.assertFalse((self.folder / "ran").exists())

    def test_a_job_finds_the_signal_of_that_limit_as_it_was(self):
        with (self.folder / "state").open("w") as out:
            job = ("sh", "-c", "grep SigIgn /proc/self/status")
            self.assertEqual(self.start("run", "-c", self.config, "--once", "--", *job, stdout=out).wait(PATIENCE_S), 0)
        ignored = int(self.lines("state")[0].split()[1], 16)
        self.assertEqual(ignored & 1 << (signal.SIGXFSZ - 1), 0)

    @unittest.skipUnless(shutil.which("prlimit"), "it needs prlimit")
    def test_a_copy_that_cannot_compete_again_for_want_of_threads_tries_later(self):
        def drop():
            return os.geteuid() != 0 or os.setuid(54321)  # root has no such limit

        def allow(threads):
            subprocess.run(["prlimit", "--pid", str(process.pid), f"--nproc={threads}:"], preexec_fn=drop, check=True, timeout=PATIENCE_S)

        self.folder.chmod(0o777)
        told = self.folder / "told"
        with told.open("w") as out:
            process = self.start("run", "-c", self.config, "--", "sh", "-c", "echo >>ran; exit 1", stderr=out, prepare=drop)
        wait_until(lambda: "competes again" in told.read_text(), "the first end of the job", PATIENCE_S)
        before = resource.prlimit(0, resource.RLIMIT_NPROC)[0]
        allow(1)
        wait_until(lambda: process.poll() is not None or "cannot compete" in told.read_text(), "the shortage", PATIENCE_S)
        self.assertIsNone(process.poll(), told.read_text())
        ran = len(self.lines("ran"))
        allow("unlimited" if before == resource.RLIM_INFINITY else before)
        wait_until(lambda: len(self.lines("ran")) > ran, "the next term", PATIENCE_S)
        self.ends(process)

    def test_little_address_space(self):
        if is_sanitized():
            self.skipTest("a sanitizer needs terabytes of address space")
        for mebibytes in range(24, 72, 4):
            with self.subTest(mebibytes=mebibytes):
                code, told = self.end_of("run", "-c", self.config, "--once", "--wait", "1s", "--", "true", limit=resource.RLIMIT_AS,
                                         value=mebibytes << 20)
                self.assertTrue(code == 0 or told, code)
                if told.startswith("tenure: Resource temporarily unavailable"):
                    self.assertIn("(ulimit -v) is ", told)
                self.assertGreaterEqual(code, 0, told)


def without(call, error, unless_flag=0):
    """seccomp: this process and its children get `error` from the call, unless its second argument has the flag."""
    number = {("memfd_create", "x86_64"): 319, ("memfd_create", "aarch64"): 279, ("waitid", "x86_64"): 247,
              ("waitid", "aarch64"): 95}[call, platform.machine()]
    load, equal, test, end = 0x20, 0x15, 0x45, 0x06
    allow, refuse = 0x7fff0000, 0x00050000 | error
    program = [(load, 0, 0, 0), (equal, 0, 3, number), (load, 0, 0, 24), (test, 1, 0, unless_flag), (end, 0, 0, refuse), (end, 0, 0, allow)]
    code = b"".join(struct.pack("HBBI", *each) for each in program)
    room = ctypes.create_string_buffer(code)
    head = struct.pack("HxxxxxxP", len(program), ctypes.addressof(room))

    def prepare():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, head, 0, 0) != 0:
            os._exit(99)
        _ = room  # it must live as long

    return prepare


class RefusedCalls(Case):
    """A kernel or seccomp that refuses a call which has another way."""

    def test_a_memory_for_the_guard_is_found_all_the_same(self):
        ways = {"none of that name": without("memfd_create", errno.ENOSYS), "seccomp": without("memfd_create", errno.EPERM),
                "only with MFD_NOEXEC_SEAL": without("memfd_create", errno.EACCES, unless_flag=8), "each flag is unknown": without("memfd_create", errno.EINVAL)}
        for name, prepare in ways.items():
            with self.subTest(name):
                process = self.start("run", "-c", self.config, "--once", "--", "echo", "JOB", prepare=prepare, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
                out, told = process.communicate(timeout=PATIENCE_S)
                self.assertEqual((process.returncode, out), (0, "JOB\n"), told)

    def test_a_refused_waitid_is_named_before_anything_happened(self):
        for error in (errno.EPERM, errno.ENOSYS):
            with self.subTest(errno.errorcode[error]):
                process = self.start("run", "-c", self.config, "--once", "--", "touch", "ran", prepare=without("waitid", error),
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                _, told = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 1, told)
                self.assertIn("waitid, which shows the end of a job, is refused here", told)
                self.assertNotIn("elected", told)

    def test_without_proc_run_and_doctor_say_so(self):
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("it needs root and unshare")
        if is_sanitized():
            self.skipTest("a sanitizer needs /proc")
        bare = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh", PROGRAM]
        ran = subprocess.run([*bare, "run", "-c", self.config, "--once", "--", "touch", "ran"], cwd=self.folder, capture_output=True,
                             text=True, check=False, timeout=PATIENCE_S)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("is /proc mounted?", ran.stderr)
        looked = subprocess.run([*bare, "doctor", self.config, "--json"], cwd=self.folder, capture_output=True, text=True, check=False,
                                timeout=PATIENCE_S)
        self.assertEqual(looked.returncode, 87, looked.stderr)
        grades = {one["name"]: one["grade"] for one in json.loads(looked.stdout)["findings"]}
        self.assertEqual(grades["limits.proc"], "fault")


class FullDisk(Case):
    FILL = """
mount -t tmpfs -o size=400k none "$1" && cd "$1" && cp "$2" group.yaml && "$3" run -c group.yaml --once -- true || exit 99
for left in $(seq 24 2 60); do
  rm -f fill; dd if=/dev/zero of=fill bs=1k; truncate -s -${left}k fill
  "$3" run -c group.yaml --once --wait 500ms -- echo JOB >"$4/log" 2>&1
  code=$?
  grep -q "may still arrive" "$4/log" && exit $code
done
exit 98
"""

    def test_an_acquisition_that_may_still_arrive_ends_with_86(self):
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("it needs root and unshare")
        disk = self.folder / "disk"
        disk.mkdir()
        done = subprocess.run(["unshare", "--mount", "sh", "-c", self.FILL, "sh", disk, self.config, PROGRAM, self.folder],
                              capture_output=True, text=True, check=False, timeout=4 * PATIENCE_S)
        self.assertEqual(done.returncode, 86, done.stderr[-500:] + "\n".join(self.lines("log")))


class Failures(Case):
    """A program that reads stdout alone gets JSON also where a command with --json fails."""

    def failure(self, *words):
        process = self.start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, told = process.communicate(timeout=PATIENCE_S)
        return process.returncode, json.loads(out), told

    def test_each_command_says_what_failed_and_with_which_code(self):
        broken = self.folder / "broken.yaml"
        broken.write_text("group: g\nstore: { type: sqlite, path: ./leases.db }\nlaese: {}\n")
        (self.folder / "text").write_text("no database\n" * 99)
        unusable = self.folder / "unusable.yaml"
        unusable.write_text(self.config.read_text().replace("leases.db", "text"))
        cases = [(("status", file, "--json"), code) for file, code in ((broken, 2), (unusable, 83), (self.folder / "none", 2))]
        cases += [(("doctor", broken, "--json"), 2), (("jobs", unusable, "--json"), 83), (("history", self.config, "--json"), 2),
                  (("history", "--http", "127.0.0.1:9", "--json"), 1), (("lock", "list", "--config", broken, "--json"), 2),
                  (("lock", "show", "x", "--config", unusable, "--json"), 83)]
        for words, expected in cases:
            with self.subTest(words=words):
                code, answer, told = self.failure(*words)
                self.assertEqual((code, answer.get("exit_code", code)), (expected, expected), told)
                self.assertIn("error", answer)
                if "exit_code" in answer:
                    self.assertEqual(answer["error"].splitlines(), [line.removeprefix("tenure: ") for line in told.splitlines()])

    def test_what_has_an_answer_gets_no_second_one(self):
        code, answer, _ = self.failure("status", self.config, "--json")
        self.assertEqual(code, 84)
        self.assertNotIn("error", answer)


class Watching(Case):
    def test_every_watch_ends_alike_by_a_signal(self):
        if not hasattr(os, "openpty"):
            self.skipTest("it needs a terminal")
        for words in (("status", self.config, "--watch"), ("watch", "--http", "127.0.0.1:9")):
            for number in ENDING:
                with self.subTest(words=words, signal=number.name):
                    ours, theirs = os.openpty()
                    process = self.start(*words, stdout=theirs, stderr=theirs)
                    os.close(theirs)
                    self.assertTrue(os.read(ours, 1))
                    self.assertEqual(self.ends(process, number), 0)
                    os.close(ours)


if __name__ == "__main__":
    unittest.main()
