"""Output that nobody reads must not keep a lease or a lock: each message of a copy that waits for one, holds one or gives
one up is written to a full pipe as stderr, as stdout and as both, to a stopped terminal and to other places that take
nothing. TENURE_PROGRAM names the program."""

import concurrent.futures
import contextlib
import fcntl
import http.client
import json
import os
import pathlib
import pty
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import termios
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ports import free_port  # noqa: E402
from waiting import wait_until  # noqa: E402

PROGRAM = os.environ["TENURE_PROGRAM"]
PATIENCE_S = 60
BUSY = 82


def fill(end, send):
    """Writes until there is no room for a single byte."""
    os.set_blocking(end, False)
    for size in (65536, 4096, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                send(end, b"x" * size)
    os.set_blocking(end, True)


def full_pipe():
    read, write = os.pipe()
    fill(write, os.write)
    return write, [read]


def stopped_terminal():
    """As after ^S."""
    master, slave = pty.openpty()
    termios.tcflow(slave, termios.TCOOFF)
    return slave, [master]


def unread_socket():
    ours, theirs = socket.socketpair()
    end = theirs.detach()
    fill(end, os.write)
    return end, [ours.detach()]


def full_disk():
    return os.open("/dev/full", os.O_WRONLY), []


def closed_pipe():
    read, write = os.pipe()
    os.close(read)
    return write, []


def nowhere():
    return os.open("/dev/null", os.O_WRONLY), []


# What stdout and stderr are.
KINDS = {
    "stderr": (nowhere, full_pipe),
    "stdout": (full_pipe, nowhere),
    "both": (full_pipe, full_pipe),
    "terminal": (stopped_terminal, stopped_terminal),
    "socket": (unread_socket, unread_socket),
    "disk": (full_disk, full_disk),
    "closed pipe": (closed_pipe, closed_pipe),
}


class Scene:
    """A folder with a group's file, and copies whose output goes to one of these kinds."""

    def __init__(self, folder, kind, config=""):
        self.folder, self.kind = folder, kind
        self.started, self.ends = [], []
        folder.mkdir()
        self.config = folder / "group.yaml"
        self.config.write_text(
            'group: g\ncandidate: { id: "${NAME:-a}" }\nstore: { type: sqlite, path: ./leases.db }\n'
            "lease: { duration: 2s, heartbeat: 300ms, drain_timeout: 1s }\n" + config)

    def start(self, *words, name="a", read=False, stdin=subprocess.DEVNULL):
        out, err = (subprocess.PIPE, subprocess.PIPE) if read else (self._end(end) for end in KINDS[self.kind])
        process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=self.folder, env={**os.environ, "NAME": name},
                                   stdin=stdin, stdout=out, stderr=err)
        for end in (out, err):
            if not read:
                os.close(end)
        self.started.append(process)
        return process

    def _end(self, make):
        end, kept = make()
        self.ends += kept
        return end

    def run(self, *options, job=None, **more):
        job = job or "echo $TENURE_FENCING_TOKEN $$ >>began; exec sleep 600 >/dev/null 2>&1"
        return self.start("run", "--config", self.config, *options, "--", "sh", "-c", job, **more)

    def lock(self, *words, **more):
        return self.start("lock", *words[:1], "k", "--path", self.folder / "locks.db", "--lease", "2s", *words[1:],
                          **more)

    def lines(self, name):
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def wait(self, condition, what):
        return wait_until(condition, f"{what} ({self.kind})", PATIENCE_S)

    def began(self, times=1):
        """The last run of the job: its token and its process."""
        self.wait(lambda: len(self.lines("began")) >= times, f"job {times}")
        return [int(word) for word in self.lines("began")[-1].split()]

    def ends_by(self, process, number=signal.SIGTERM, code=None):
        process.send_signal(number)
        self.ended(process, code)

    def ended(self, process, code=None):
        try:
            got = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still runs ({self.kind})") from None
        if code is not None and got != code:
            raise AssertionError(f"exit code {got}, not {code} ({self.kind})")

    def is_free(self):
        """Another copy gets the lease at once."""
        other = self.run("--once", "--wait", "20s", job="true", name="other", read=True)
        out, err = other.communicate(timeout=PATIENCE_S)
        if other.returncode != 0:
            raise AssertionError(f"the lease is still held ({self.kind}): {out} {err}")

    def lock_is_free(self):
        other = self.lock("hold", "--wait", "20s", "--", "true", read=True)
        out, err = other.communicate(timeout=PATIENCE_S)
        if other.returncode != 0:
            raise AssertionError(f"the lock is still held ({self.kind}): {out} {err}")

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for end in (process.stdout, process.stderr):
                if end:
                    end.close()
        for end in self.ends:
            os.close(end)


class UnreadOutput(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tenure-unread-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def each(self, body, config="", kinds=tuple(KINDS)):
        """All kinds at a time, because each waits for leases to run out."""
        def one(kind):
            scene = Scene(self.folder / kind.replace(" ", "-"), kind, config)
            try:
                body(scene)
            finally:
                scene.close()

        with concurrent.futures.ThreadPoolExecutor(len(kinds)) as pool:
            for outcome in [pool.submit(one, kind) for kind in kinds]:
                outcome.result()

    # `tenure run` and its hooks

    def test_a_copy_that_only_logs_leads_and_ends(self):
        def body(scene):
            copy = scene.run()
            scene.began()
            scene.ends_by(copy, code=0)
            scene.is_free()

        self.each(body, "log: { level: trace }\n")

    def test_more_lines_than_are_kept(self):
        """The supervisor, which writes a line for each stop of its job, goes on when 256 KiB wait to be written."""
        def body(scene):
            job = ("echo $TENURE_FENCING_TOKEN $$ >>began; exec >/dev/null 2>&1; "
                   "for i in $(seq 1000); do kill -STOP $$; done; echo done >>stops; exec sleep 600")
            scene.config.write_text(scene.config.read_text().replace("group: g", "group: " + 200 * "g"))  # long lines
            copy = scene.run("--http", f"unix:{scene.folder}/http", job=job)
            pid = scene.began()[1]

            def done():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                return scene.lines("stops")

            wait_until(done, f"the last stop ({scene.kind})", 180)  # a thousand, each seen and ended by two others
            with socket.socket(socket.AF_UNIX) as asks:
                asks.connect(f"{scene.folder}/http")
                asks.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                metrics = asks.makefile().read()
            self.assertRegex(metrics, r"\ntenure_log_lines_dropped_total [1-9]")
            scene.ends_by(copy, code=0)
            scene.is_free()

        self.each(body, "log: { level: trace, format: json }\n", ("both", "stderr"))

    def test_on_elected_fails(self):
        def body(scene):
            copy = scene.run()
            scene.wait(lambda: len(scene.lines("hooks")) >= 2, "a second term")
            scene.ends_by(copy, code=0)
            self.assertEqual(scene.lines("began"), [])
            scene.config.write_text(scene.config.read_text().replace("exit 1", "true"))
            scene.is_free()

        self.each(body, "hooks: { on_elected: 'echo $$$$ >>hooks; exit 1' }\n")

    def test_on_elected_is_too_slow(self):
        def body(scene):
            copy = scene.run("--once")
            scene.ended(copy, 1)

        self.each(body, "hooks: { on_elected: 'exec sleep 600 >/dev/null 2>&1', timeout: 1s }\n")

    def test_on_renewed_fails(self):
        def body(scene):
            copy = scene.run()
            scene.began()
            scene.wait(lambda: len(scene.lines("hooks")) >= 3, "a third renewal")
            scene.ends_by(copy, code=0)
            scene.is_free()

        self.each(body, "hooks: { on_renewed: 'echo $$$$ >>hooks; exit 1' }\n")

    def test_on_revoked_fails(self):
        def body(scene):
            copy = scene.run()
            scene.began()
            scene.ends_by(copy, code=0)
            self.assertEqual(len(scene.lines("hooks")), 1)

        self.each(body, "hooks: { on_revoked: 'echo $$$$ >>hooks; exit 1' }\n")

    def test_a_job_that_ignores_sigterm(self):
        def body(scene):
            job = "trap '' TERM; echo $TENURE_FENCING_TOKEN $$ >>began; exec >/dev/null 2>&1; while :; do sleep 1; done"
            copy = scene.run(job=job)
            scene.began()
            scene.ends_by(copy, code=0)
            scene.is_free()

        self.each(body, "")

    def test_a_job_that_fails_again_and_again(self):
        def body(scene):
            copy = scene.run(job="echo $TENURE_FENCING_TOKEN $$ >>began; exit 3")
            scene.began(2)
            scene.ends_by(copy, code=0)
            scene.is_free()

        self.each(body)

    def test_a_job_that_shares_the_full_pipe(self):
        """It blocks itself. That is its affair; the copy ends it and gives the lease back."""
        def body(scene):
            copy = scene.run(job="echo $TENURE_FENCING_TOKEN $$ >>began; while :; do echo much >&2; sleep 0.1; done")
            scene.began()
            scene.ends_by(copy, code=0)
            scene.is_free()

        self.each(body)

    def test_a_job_that_cannot_be_run(self):
        def body(scene):
            scene.ended(scene.start("run", "--config", scene.config, "--", "./nothing"), 127)
            program = scene.folder / "program"
            program.write_text("#!/no/such/interpreter\n")
            program.chmod(0o755)
            scene.ended(scene.start("run", "--config", scene.config, "--", "./program"), 127)
            scene.is_free()

        self.each(body)

    def test_a_job_that_is_stopped(self):
        def body(scene):
            copy = scene.run()
            os.kill(scene.began()[1], signal.SIGSTOP)
            scene.ends_by(copy, code=0)
            scene.is_free()

        self.each(body)

    def test_a_guard_that_is_killed(self):
        def body(scene):
            copy = scene.run()
            scene.began()

            def guards():
                return [int(folder.name) for folder in pathlib.Path("/proc").iterdir() if folder.name.isdigit()
                        and title(folder).startswith(b"tenure: guard of process %d\0" % copy.pid)]

            def title(folder):
                try:
                    return (folder / "cmdline").read_bytes()
                except OSError:
                    return b""

            killed = set()

            def replaced():
                for guard in guards():
                    if guard not in killed:
                        killed.add(guard)
                        with contextlib.suppress(ProcessLookupError):  # the last one ends with the copy
                            os.kill(guard, signal.SIGKILL)
                return copy.poll() is not None

            scene.wait(replaced, "the end after too many guards")
            scene.ended(copy, 1)
            scene.is_free()

        self.each(body)

    def test_a_supervisor_that_is_killed(self):
        """Its guard says so, and must not stay behind because of it."""
        def body(scene):
            copy = scene.run()
            pid = scene.began()[1]
            copy.kill()
            mark = b"tenure: guard of process %d\0" % copy.pid

            def all_gone():
                for folder in pathlib.Path("/proc").iterdir():
                    with contextlib.suppress(OSError):
                        if folder.name.isdigit() and (folder / "cmdline").read_bytes().startswith(mark):
                            return False
                return not pathlib.Path(f"/proc/{pid}").exists()

            scene.wait(all_gone, "the end of the guard")
            scene.is_free()

        self.each(body)

    def test_a_store_that_is_away(self):
        """In doubt, then lost, then elected again: another process holds the database's lock."""
        def body(scene):
            copy = scene.run()
            scene.began()
            with contextlib.closing(sqlite3.connect(scene.folder / "leases.db", isolation_level=None)) as other:
                other.execute("PRAGMA busy_timeout = 20000")
                other.execute("BEGIN IMMEDIATE")
                pid = scene.began()[1]
                scene.wait(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "the end of the job")
                other.execute("ROLLBACK")
            scene.began(2)
            scene.ends_by(copy, code=0)
            scene.is_free()

        self.each(body)

    def test_a_store_that_was_never_there(self):
        def body(scene):
            scene.config.write_text(scene.config.read_text().replace("./leases.db", "./none/leases.db"))
            copy = scene.run("--wait", "1s")
            scene.wait(lambda: copy.poll() is not None, "the end")
            self.assertNotIn(copy.returncode, (0, -signal.SIGTERM))
            scene.ends_by(scene.run())

        self.each(body)

    def test_a_copy_that_stands_by_and_one_that_is_busy(self):
        def body(scene):
            leader = scene.run(read=True, name="leader")
            scene.began()
            scene.ended(scene.run("--wait", "3s"), BUSY)
            standby = scene.run()
            scene.ends_by(leader)
            scene.began(2)
            scene.ends_by(standby, code=0)
            scene.is_free()

        self.each(body)

    def test_a_periodic_job(self):
        def body(scene):
            copy = scene.run("--job", "often", job="echo $TENURE_FENCING_TOKEN $$ >>began; exit 2")
            scene.began(2)
            scene.ends_by(copy, code=0)
            scene.is_free()

        self.each(body, "jobs: { often: { per: 1h, guarantee: at_least_once, backoff: 0s } }\n")

    def test_a_second_sigterm(self):
        def body(scene):
            job = "trap '' TERM; echo $TENURE_FENCING_TOKEN $$ >>began; exec >/dev/null 2>&1; while :; do sleep 1; done"
            copy = scene.run(job=job)
            scene.began()
            copy.terminate()

            def gone():
                copy.terminate()
                return copy.poll() is not None

            scene.wait(gone, "the end")
            scene.is_free()

        self.each(body, "")

    # Locks

    def test_lock_hold_that_waits(self):
        def body(scene):
            first = scene.lock("hold", "--", "sh", "-c", "echo $$ >>first; exec sleep 600", read=True)
            scene.wait(lambda: scene.lines("first"), "the first holder")
            ends = scene.lock("hold", "--", "touch", "never")
            second = scene.lock("hold", "--", "sh", "-c", "echo $$ >>second; exec sleep 600 >/dev/null 2>&1")
            scene.ended(scene.lock("hold", "--wait", "2s", "--", "true"), BUSY)  # by then both have said whom they wait for
            # Or not yet, on a busy machine. It has taken over its signals before its first thread.
            scene.wait(lambda: ends.poll() is not None or len(os.listdir(f"/proc/{ends.pid}/task")) > 1, "its threads")
            scene.ends_by(ends, code=128 + signal.SIGTERM)
            scene.ends_by(first)
            scene.wait(lambda: scene.lines("second"), "the second holder")
            scene.ends_by(second, code=128 + signal.SIGTERM)
            self.assertFalse((scene.folder / "never").exists())
            scene.lock_is_free()

        self.each(body)

    def test_lock_acquire_that_waits(self):
        """A token that cannot be handed over is given back, with a lease that is much longer than the test."""
        def body(scene):
            first = scene.lock("hold", "--", "sh", "-c", "echo $$ >>first; exec sleep 600", read=True)
            scene.wait(lambda: scene.lines("first"), "the first holder")
            words = ("acquire", "k", "--path", scene.folder / "locks.db", "--lease", "1h", "--wait", "1h")
            waits = scene.start("lock", *words)
            killed = scene.start("lock", *words)
            scene.ended(scene.lock("hold", "--wait", "2s", "--", "true"), BUSY)
            scene.ends_by(killed, code=-signal.SIGTERM)
            scene.ends_by(first)
            code = 0 if scene.kind == "stderr" else 1
            scene.ended(waits, code)
            if code != 0:
                scene.lock_is_free()

        self.each(body)

    def test_lock_list_and_show_end_by_sigterm(self):
        def body(scene):
            scene.lock("hold", "--", "true", read=True).communicate()
            for words in (("list",), ("show", "k"), ("show", "none")):
                copy = scene.start("lock", *words, "--path", scene.folder / "locks.db")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    copy.wait(1)
                scene.ends_by(copy)

        self.each(body)

    # Operators

    def test_pause_and_what_it_says_of_a_leader_that_does_not_go(self):
        def body(scene):
            job = "trap '' TERM; echo $TENURE_FENCING_TOKEN $$ >>began; exec >/dev/null 2>&1; while :; do sleep 1; done"
            leader = scene.run(job=job, read=True, name="leader")
            scene.began()
            words = ("pause", "--config", scene.config, "--for", "1h", "--why", "disks")
            scene.ended(scene.start(*words, "--wait", "20s"))
            state = json.loads(scene.start("status", scene.config, "--json", read=True).communicate()[0])
            self.assertEqual(state["state"], "paused", scene.kind)
            scene.ends_by(leader)

        self.each(body)

    def test_jobs_forget_holds_the_lease_for_a_moment_only(self):
        def body(scene):
            leader = scene.run("--job", "often", job="echo $TENURE_FENCING_TOKEN $$ >>began", read=True, name="leader")
            scene.began()
            scene.ends_by(leader)
            scene.ended(scene.start("jobs", "forget", "all", "--config", scene.config, "--job", "often", "--yes"))
            scene.is_free()

        self.each(body, "jobs: { often: { per: 8760h } }\n")

    def test_status_watch_and_watch_end_by_sigterm(self):
        def body(scene):
            leader = scene.run("--http", "127.0.0.1:0", read=True, name="leader")
            scene.began()
            for words in (("status", "--watch", scene.config), ("status", "--watch", "--json", scene.config),
                          ("watch", "--http", "127.0.0.1:1")):
                copy = scene.start(*words)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    copy.wait(1)
                scene.ends_by(copy)
            scene.ends_by(leader)

        self.each(body)

    def test_commands_that_only_print_end_by_sigterm(self):
        def body(scene):
            for words in (("status", scene.config), ("status", "none.yaml"), ("check", scene.config), ("doctor", scene.config),
                          ("resign", "--config", scene.config), ("resume", "--config", scene.config),
                          ("history", "--http", "127.0.0.1:1"), ("jobs", "--config", scene.config), ("--help",), ("nothing",),
                          ("run", "--help"), ("lock", "--help")):
                copy = scene.start(*words)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    copy.wait(0.3)
                scene.ends_by(copy)

        self.each(body, kinds=("both", "terminal", "socket", "closed pipe"))

    # The fence proxy

    def test_fence_proxy_answers_and_ends(self):
        def body(scene):
            port = free_port()
            proxy = scene.start("fence", "proxy", "--listen", f"127.0.0.1:{port}", "--upstream", "http://127.0.0.1:1",
                                "--lease", "x", "--memory", "memory")

            def answers():
                with contextlib.suppress(OSError):
                    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
                        connection.request("POST", "/", b"a")  # refused, which is logged: it has no token
                        return connection.getresponse().status
                return None

            for _ in range(3):
                scene.wait(answers, "an answer")
            scene.ends_by(proxy, code=0)

        self.each(body)


class Readers(unittest.TestCase):
    """What an ordinary reader sees is as before."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tenure-unread-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def test_a_slow_reader_gets_every_line_and_a_shared_pipe_stays_blocking(self):
        config = self.folder / "group.yaml"
        config.write_text("group: g\nstore: { type: sqlite, path: ./leases.db }\nlog: { level: info }\n")
        read, write = os.pipe()
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
        process = subprocess.Popen([PROGRAM, "run", "--config", config, "--once", "--", "sh", "-c", "exit 5"],
                                   stdout=write, stderr=write)
        self.assertTrue(os.get_blocking(write))
        with os.fdopen(write, "w"):
            pass
        text = b""
        while piece := os.read(read, 16):
            text += piece
        os.close(read)
        self.assertEqual(process.wait(PATIENCE_S), 5)
        self.assertIn(b"the job starts", text)
        self.assertIn(b"stopped", text)

    def test_a_stdout_that_does_not_block_gets_everything(self):
        """As a program that shares it may have set it."""
        wanted = subprocess.run([PROGRAM, "run", "--help"], capture_output=True, timeout=PATIENCE_S).stdout
        read, write = os.pipe()
        self.assertLess(fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096), len(wanted))
        os.set_blocking(write, False)
        process = subprocess.Popen([PROGRAM, "run", "--help"], stdout=write)
        os.close(write)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.5)
        with os.fdopen(read, "rb") as end:
            self.assertEqual(end.read(), wanted)
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_an_error_comes_before_the_answer_where_both_go_to_one_place(self):
        words = [PROGRAM, "lock", "acquire", "k", "--path", self.folder / "locks.db", "--lease", "1h", "--wait", "0s", "--json"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S)

        def ask(_):
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
            return [line.split(" ")[0].split(":")[0] for line in done.stdout.splitlines()]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for lines in pool.map(ask, range(100)):
                self.assertEqual(lines, ["tenure", '{"error"'])

    def test_a_closed_stdout_is_an_error_of_every_command_that_prints(self):
        config = self.folder / "group.yaml"
        config.write_text("group: g\nstore: { type: sqlite, path: ./leases.db }\n")
        for end in (">&-", ">/dev/full"):
            for words in ("check --config group.yaml", "doctor --config group.yaml", "lock list --path locks.db",
                          "lock acquire k --path locks.db --lease 1h", "jobs --config group.yaml --json"):
                done = subprocess.run(["sh", "-c", f'exec "$0" {words} {end}', PROGRAM], cwd=self.folder,
                                      capture_output=True, text=True, timeout=PATIENCE_S)
                if "--json" in words and not done.stderr:
                    continue  # nothing to print
                self.assertEqual(done.returncode, 1, f"{words} {end}: {done.stderr}")
                self.assertIn("cannot write the output", done.stderr)
        listed = subprocess.run([PROGRAM, "lock", "list", "--path", "locks.db"], cwd=self.folder, capture_output=True,
                                text=True, timeout=PATIENCE_S)
        self.assertNotIn("held", listed.stdout)


if __name__ == "__main__":
    unittest.main()
