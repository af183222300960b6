"""What `tenure run` knows after the promotion of an asynchronous standby that lacks the last commits.

A period that was begun under a term that is lost is not begun again (at_most_once), neither by the copy that began it nor
by a newcomer that sees the standby's ledger alone. A pause that is lost is kept by the copies that saw it.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts")]
import dynamodb_server
import postgresql_server
from postgresql_cluster import Cluster, wait_until
from switch import Switch

LEASE_S = 2.0
COPIES = 3
YAML = """group: nightly
candidate: {{ id: "{name}" }}
lease: {{ duration: {lease}ms }}
store: {{ type: postgresql, host: "127.0.0.1,127.0.0.1", port: "{ports}", user: tenure, database: postgres, sslmode: disable }}
"""
HOLD = ["sh", "-c", "echo $TENURE_FENCING_TOKEN >> $0; exec sleep 1000"]
NOTE = ["sh", "-c", "echo $TENURE_PERIOD $TENURE_ATTEMPT $TENURE_CANDIDATE >> $0"]


class Copy:
    """One `tenure run`, and its log."""

    def __init__(self, config, options, job):
        self.lines = []
        self.process = subprocess.Popen(
            [os.environ["TENURE_PROGRAM"], "run", "--config", str(config), *options, "--", *job], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=postgresql_server.environment(""),
            preexec_fn=dynamodb_server.die_with_parent)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append((time.monotonic(), line.rstrip()))

    def said(self, what, since=0.0):
        return any(at >= since and what in line for at, line in list(self.lines))

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(30)
        self._reader.join()
        self.process.stderr.close()


class LostCommits(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster())
        self.primary = self.cluster.primary("a")
        self.line = self.enterContext(Switch(self.primary.port))
        self.standby = self.cluster.standby("b", self.line.port)
        self.primary.wait_for_standby("b")
        self.directory = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tenure-lost-commits.")))
        self.runs = self.directory / "runs"
        self.runs.touch()
        self.copies = []
        self.addCleanup(self.end_copies)
        self.configs = []
        for number in range(COPIES):
            config = self.directory / f"c{number}.yaml"
            config.write_text(YAML.format(name=f"c{number}", lease=int(LEASE_S * 1000),
                                          ports=f"{self.primary.port},{self.standby.port}"))
            self.configs.append(config)

    def start_copies(self, job, *options):
        self.copies += [Copy(config, options, [*job, str(self.runs)]) for config in self.configs]
        return self.copies[-COPIES:]

    def end_copies(self, how=signal.SIGTERM):
        for copy in self.copies:
            copy.end(how)
        self.copies = []

    def period_job(self, name, guarantee="at_most_once"):
        return self.start_copies(NOTE, "--per", "24h", "--guarantee", guarantee, "--job", name)

    def tenure(self, *words):
        done = subprocess.run([os.environ["TENURE_PROGRAM"], *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=60, env=postgresql_server.environment(""))
        return done.returncode, done.stdout + done.stderr

    def begun(self):
        return self.runs.read_text().splitlines()

    def logs(self):
        return "\n".join(line for copy in self.copies for _, line in copy.lines)

    def wait_for_runs(self, count):
        wait_until(lambda: len(self.begun()) >= count, lambda: f"{count} runs; {self.begun()}\n{self.logs()}")

    def a_lease_that_the_standby_knows(self):
        """A term that has ended, and is replicated."""
        self.period_job("before")
        self.wait_for_runs(1)
        self.end_copies()
        last = self.primary.sql("SELECT pg_current_wal_lsn()")
        wait_until(lambda: self.standby.sql(f"SELECT pg_last_wal_replay_lsn() >= '{last}'") == "t", "the standby to follow")
        self.runs.write_text("")

    def hold_back(self):
        self.line.refuse()
        self.line.cut()

    def fail_over(self):
        self.primary.crash()
        self.standby.promote()
        return time.monotonic()

    def wait_for_leader(self, since):
        wait_until(lambda: any(copy.said("elected with", since) for copy in self.copies), lambda: f"a leader\n{self.logs()}")
        time.sleep(1.5)  # what it would begin, it begins at once

    def wait_for_the_note_of_its_end(self):
        wait_until(lambda: any('"job":"nightly"' in line and '"state":"succeeded"' in line for line in
                               self.tenure("jobs", "--config", self.configs[0], "--json")[1].splitlines()), "the run's end")

    def lose_a_run(self, guarantee="at_most_once"):
        self.a_lease_that_the_standby_knows()
        self.hold_back()
        self.period_job("nightly", guarantee)
        self.wait_for_runs(1)
        self.wait_for_the_note_of_its_end()

    def test_at_most_once_the_copies_that_were_there_repeat_nothing(self):
        self.lose_a_run()
        since = self.fail_over()
        self.wait_for_leader(since)
        self.assertEqual(len(self.begun()), 1, f"{self.begun()}\n{self.logs()}")

    def test_at_most_once_newcomers_leave_out_what_may_have_been_begun(self):
        self.lose_a_run()
        self.end_copies(signal.SIGKILL)
        since = self.fail_over()
        self.period_job("nightly")
        self.wait_for_leader(since)
        self.assertEqual(len(self.begun()), 1, f"{self.begun()}\n{self.logs()}")
        self.assertIn("is left out (at_most_once)", self.logs())
        code, text = self.tenure("jobs", self.configs[0])
        self.assertEqual(code, 0, text)
        self.assertIn("unknown: lost by the store", text)
        period = self.begun()[0].split()[0]
        code, text = self.tenure("jobs", "forget", period, "--config", self.configs[0], "--job", "nightly", "--yes")
        self.assertEqual(code, 0, text)
        self.wait_for_runs(2)  # an operator who knows better

    def test_at_least_once_newcomers_run_what_they_do_not_know(self):
        self.lose_a_run("at_least_once")
        self.end_copies(signal.SIGKILL)
        self.fail_over()
        self.period_job("nightly", "at_least_once")
        self.wait_for_runs(2)

    def test_a_planned_switchover_leaves_nothing_out(self):
        """All commits arrived, and the period was begun before."""
        self.a_lease_that_the_standby_knows()
        self.period_job("nightly")
        self.wait_for_runs(1)
        self.wait_for_the_note_of_its_end()
        last = self.primary.sql("SELECT pg_current_wal_lsn()")
        wait_until(lambda: self.standby.sql(f"SELECT pg_last_wal_replay_lsn() >= '{last}'") == "t", "the standby to follow")
        since = self.fail_over()
        time.sleep(2 * LEASE_S)
        self.assertEqual(len(self.begun()), 1, f"{self.begun()}\n{self.logs()}")
        self.assertFalse(any(copy.said("is left out", since) for copy in self.copies), self.logs())

    def pause_and_lose_it(self, length):
        self.start_copies(HOLD)
        self.wait_for_runs(1)
        last = self.primary.sql("SELECT pg_current_wal_lsn()")
        wait_until(lambda: self.standby.sql(f"SELECT pg_last_wal_replay_lsn() >= '{last}'") == "t", "the standby to follow")
        self.hold_back()
        began = time.monotonic()
        code, text = self.tenure("pause", self.configs[0], "--for", length, "--why", "maintenance")
        self.assertEqual(code, 0, text)
        wait_until(lambda: all(copy.said("the lease is paused by") for copy in self.copies), lambda: f"the pause\n{self.logs()}")
        self.runs.write_text("")
        self.fail_over()
        return began

    def test_a_pause_that_is_lost_is_kept_by_those_who_saw_it(self):
        self.pause_and_lose_it("1h")
        wait_until(lambda: all(copy.said("the store has lost a term") for copy in self.copies), lambda: f"it\n{self.logs()}")
        time.sleep(3 * LEASE_S)
        self.assertEqual(self.begun(), [], self.logs())
        # A second pause is one that the store knows; its end is the end of both.
        code, text = self.tenure("pause", self.configs[0], "--for", "1h", "--why", "again")
        self.assertEqual(code, 0, text)
        wait_until(lambda: all(copy.said(": again") for copy in self.copies), lambda: f"the second pause\n{self.logs()}")
        code, text = self.tenure("resume", self.configs[0])
        self.assertEqual(code, 0, text)
        self.wait_for_runs(1)

    def test_a_pause_that_is_lost_ends_when_it_was_to_end(self):
        began = self.pause_and_lose_it("14s")
        self.wait_for_runs(1)
        self.assertGreater(time.monotonic() - began, 13.0, self.logs())


if __name__ == "__main__":
    unittest.main()
