"""T1, T13, T16 and T21 on SQLite: what happens to the file that contains the lease."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import proc
from chaos_test_case import LEASE_S, ChaosTest
from clocks import preloaded
from processes import now
from stores import SqliteStore

STOP_SHIM = "TENURE_STOP_SHIM_LIBRARY"


class SqliteFile(ChaosTest):
    def start_with_stop_shim(self):
        store = SqliteStore(self.directory)
        self.trigger = self.directory / "trigger"
        environment = preloaded(os.environ[STOP_SHIM], TENURE_STOP_SHIM_LOG=f"{store.path}-wal",
                                TENURE_STOP_SHIM_TRIGGER=str(self.trigger))
        return self.started(store, environments=[environment] * 3)

    def freeze_in_a_transaction(self, fleet):
        """The leader stops itself in the middle of its next renewal."""
        self.trigger.touch()
        process = fleet.wait(lambda: next((p for p in fleet.processes() if p.is_alive() and proc.state(p.pid) == "T"), None),
                             "a process that stops itself")
        self.assertTrue(fleet.store.is_locked_by(process.pid))
        fleet.mark_frozen(process, "SIGSTOP in a transaction")
        return process

    def expect_nobody_while_it_stands_still(self, fleet, process):
        """The documented limit: nobody can be elected. The others know which process has the lock."""
        token = fleet.token
        others = [p for p in fleet.processes() if p is not process]

        def told():
            return [e["message"] for p in others for e in p.told("store_error") if f"process {process.pid}" in e["message"]]
        fleet.wait(told, f"an error that names process {process.pid}")
        fleet.run_for(LEASE_S)
        self.assertEqual(fleet.token, token)
        print(told()[0])
        self.assertTrue(any("stopped" in message for message in told()), told())
        lines = [line for p in others for line in p.log_path.read_text(errors="replace").splitlines()
                 if f"process {process.pid}" in line]
        self.assertTrue(any("cannot compete just now" in line and "stopped" in line for line in lines), self.logs(fleet))

    def test_T1_frozen_in_a_transaction_and_woken(self):
        fleet = self.start_with_stop_shim()
        process, token = self.freeze_in_a_transaction(fleet), fleet.token
        self.expect_nobody_while_it_stands_still(fleet, process)
        fleet.thaw(process)
        fleet.wait(lambda: process.term() != token, "the end of the frozen leader's term")
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)

    def test_T1_frozen_in_a_transaction_and_killed(self):
        fleet = self.start_with_stop_shim()
        process, token = self.freeze_in_a_transaction(fleet), fleet.token
        self.expect_nobody_while_it_stands_still(fleet, process)
        candidate = next(c for c in fleet.candidates if c.process is process)
        fleet.kill(candidate, restart_after=0)
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)

    @staticmethod
    def delete_record(fleet):
        fleet.wait(fleet.store.delete_record, "the deletion of the record")

    def test_T13_record_deleted(self):
        fleet = self.started()
        for _ in range(2):
            leader, token = fleet.leader.process, fleet.token
            ended = len(leader.told("revoked"))
            self.delete_record(fleet)
            fleet.wait(lambda: len(leader.told("revoked")) > ended, "the end of the term")
            # Or before it could look, on a machine without time.
            self.assertIn(leader.told("revoked")[-1]["reason"], ("recordMissing", "expired"))
            fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=3)

    def test_T13_record_deleted_after_others_have_led(self):
        """Nobody waits for terms that were over before: each of them would cost one lease duration."""
        fleet = self.started()
        for _ in range(2):
            self.freeze_until_succeeded(fleet)
        fleet.wait(fleet.all_know_the_leader, "that all have seen the leader")
        token, deleted = fleet.token, now()
        self.delete_record(fleet)
        fleet.await_leader(above=token)
        old = [(str(p), e["token"]) for p in fleet.processes() for e in p.told("follows", deleted) if e["token"] < token]
        self.assertEqual([], old, "whom they waited for once more")
        self.expect_kept(fleet, terms=4)

    def test_T13_record_and_counter_deleted(self):
        fleet = self.started()
        token = fleet.token
        fleet.store.execute("DELETE FROM tenure_fence")
        self.delete_record(fleet)
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)

    def test_T13_database_deleted(self):
        fleet = self.started()
        token = fleet.token
        for process in fleet.processes():  # or one makes a new database, and a part of that is deleted
            process.stop_now()
        for suffix in ("", "-wal", "-shm"):
            os.unlink(f"{fleet.store.path}{suffix}")
        for process in fleet.processes():
            process.send(signal.SIGCONT)
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)

    def test_T16_record_that_nobody_understands(self):
        fleet = self.started()
        leader, token = fleet.leader.process, fleet.token
        fleet.store.execute("UPDATE tenure_lease SET state = 'rented'")
        fleet.wait(lambda: leader.told("revoked"), "the end of the term")
        fleet.block("the record was not understood", True)
        fleet.run_for(2 * LEASE_S)
        self.assertEqual(fleet.token, token, "somebody took over what he did not understand")
        self.assertEqual([("rented",)], fleet.store.execute("SELECT state FROM tenure_lease"))
        self.delete_record(fleet)
        fleet.block("the record was not understood", False)
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)

    def test_T21_disk_full(self):
        small = self.directory / "small"
        small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tenure-chaos", small], capture_output=True,
                                 text=True, check=False)
        if mounted.returncode:
            self.skipTest(f"no small file system can be mounted here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", str(small)], check=False)
        fleet = self.started(SqliteStore(small))
        leader, token = fleet.leader.process, fleet.token
        filler = os.open(small / "filler", os.O_WRONLY | os.O_CREAT, 0o644)
        with contextlib.suppress(OSError):
            while True:
                os.write(filler, bytes(4096))
        os.close(filler)
        fleet.block("the disk was full", True)
        # SQLite overwrites the write-ahead log from its beginning as long as it can, so a full disk may not be noticed.
        fleet.run_for(2 * LEASE_S)
        lost = bool(leader.told("revoked"))
        os.unlink(small / "filler")
        fleet.block("the disk was full", False)
        if lost:
            fleet.await_leader(above=token)
        fleet.await_claim()
        self.freeze_until_succeeded(fleet)
        print("the term was", "lost" if lost else "kept")
        self.expect_kept(fleet, terms=2)


if __name__ == "__main__":
    unittest.main()
