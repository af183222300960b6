"""T1, T3, T12, T15, T20, T21, T22, T29 and T30 on SQLite: what happens to processes."""

import contextlib
import pathlib
import resource
import signal
import sys
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import cgroups
import faults
import proc
from chaos_test_case import LEASE_S, ChaosTest


class Processes(ChaosTest):
    def test_T1_process_pause(self):
        fleet = self.started()
        fleet.freeze_outside_of_transactions(fleet.leader, 0.3 * LEASE_S)
        fleet.run_for(0.5 * LEASE_S)
        fleet.await_leader()
        for _ in range(2):
            frozen = self.freeze_until_succeeded(fleet)
            self.expect_rejection(fleet, frozen)
            token = frozen.told("refused")[-1]["token"]
            fleet.wait(lambda: frozen.term() != token, "the end of the frozen leader's term")
            late = [e for e in frozen.told("led", frozen.frozen_since) if e["token"] == token]
            self.assertEqual([], late, "it claimed to lead after it woke")
        self.expect_kept(fleet, terms=3)

    def test_T2_pause_of_the_library_s_threads(self):
        try:
            group = self.enterContext(cgroups.Freezer(threads=True))
        except cgroups.Unavailable as fault:
            self.skipTest(str(fault))
        fleet = self.started()
        leader, token = fleet.leader, fleet.token
        for thread, name in proc.threads(leader.process.pid).items():
            if name.startswith("tenure-"):
                with contextlib.suppress(cgroups.Gone):
                    group.add(thread)
        group.freeze()
        fleet.await_leader(above=token)  # the judge compares its first claim with the hit leader's last one
        fleet.run_for(0.3 * LEASE_S)
        self.assertEqual(leader.process.term(), token, "it could not be told of the end")
        group.freeze(False)
        fleet.wait(lambda: leader.process.term() is None, "onRevoked")
        self.expect_kept(fleet, terms=2)

    def test_T3_crash(self):
        fleet = self.started(lease_s=30.0)  # the kernel's proof of the death makes the lease free, not its end
        for number in (signal.SIGKILL, signal.SIGABRT, signal.SIGKILL):
            token = fleet.token
            fleet.kill(fleet.leader, restart_after=0, number=number)
            fleet.await_leader(above=token)
            self.assertEqual(fleet.token, token + 1)
        self.expect_kept(fleet, terms=4)

    def test_T12_one_name_for_all(self):
        fleet = self.started(names=["twin"] * 3)
        self.freeze_until_succeeded(fleet)
        token = fleet.token
        fleet.kill(fleet.leader, restart_after=0)
        fleet.await_leader(above=token)
        fleet.wait(lambda: fleet.fenced_token() > token, "a row of the third term")
        self.expect_kept(fleet, terms=3)
        holders = fleet.holders()
        self.assertGreaterEqual(len(holders), 2)
        self.assertTrue(all(holder.startswith("twin#") for holder in holders), holders)

    def test_T15_leases_that_differ(self):
        fleet = self.fleet(lease_s=2.0, leases=[0.5, 1.0, 2.0])
        fleet.start()
        for _ in range(3):
            self.freeze_until_succeeded(fleet)
        self.expect_kept(fleet, terms=4)

    def test_T20_signal_storm(self):
        fleet = self.started(environments=[{"TENURE_CHAOS_TIMER_US": "1000"}] * 3)
        sent, storming = [0], True

        def storm():
            while storming:
                for process in fleet.processes():
                    process.send(signal.SIGUSR1)
                sent[0] += 1
                time.sleep(0.001)
        thread = threading.Thread(target=storm)
        thread.start()
        try:
            fleet.run_for(2 * LEASE_S)
            self.expect_no_reason_but_slowness(fleet)
            self.freeze_until_succeeded(fleet)
        finally:
            storming = False
            thread.join()
        self.assertGreater(sent[0], 100)
        self.expect_no_reason_but_slowness(fleet)
        self.expect_kept(fleet, terms=2)

    def test_T21_no_more_file_descriptors(self):
        fleet = self.started()
        leader = fleet.leader
        limited = [leader, fleet.others(leader)[0]]
        for candidate in limited:
            _, most = resource.prlimit(candidate.process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(candidate.process.pid, resource.RLIMIT_NOFILE, (3, most))
        fleet.run_for(1.5 * LEASE_S)
        fleet.await_claim()
        # A process that could not open everything it needs reports that, and continues to compete.
        self.expect_no_reason_but_slowness(fleet, but=("Too many open files",))
        self.freeze_until_succeeded(fleet)
        for candidate in limited:
            _, most = resource.prlimit(candidate.process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(candidate.process.pid, resource.RLIMIT_NOFILE, (most, most))
        for candidate in fleet.others(*limited):
            fleet.stop(candidate)
        fleet.wait(lambda: fleet.leader in limited and fleet.leader.process.term(), "a leader that had been without")
        self.expect_kept(fleet, terms=2)

    def test_T22_starved_of_cpu(self):
        try:
            group = self.enterContext(cgroups.CpuQuota(0.5, period_us=1_000_000))
        except cgroups.Unavailable as fault:
            self.skipTest(str(fault))
        fleet = self.started()
        for process in fleet.processes():
            group.add(process.pid)
        fleet.block("starved", True)
        fleet.run_for(3 * LEASE_S)
        group.close()
        fleet.block("starved", False)
        fleet.await_claim()
        self.expect_kept(fleet)

    def test_T29_release(self):
        fleet = self.started(lease_s=30.0)  # only a release can make the lease free before the time limit
        for _ in range(3):
            leader, token = fleet.leader.process, fleet.token
            fleet.stop(fleet.leader, restart_after=0)
            successor = fleet.await_leader(above=token)
            self.assertEqual(fleet.token, token + 1)
            work_ended = fleet.wait(lambda: leader.told("rows"), "the end of its work")[-1]["t"]
            self.assertLess(work_ended, successor.process.told("elected")[-1]["t"])
            self.assertEqual(["stopped"], [e["reason"] for e in leader.told("revoked")])
        self.expect_kept(fleet, terms=4)

    def test_T30_everything_at_random(self):
        """A short run; for long ones: scripts/chaos --minutes N."""
        names = [n for n in faults.kinds_for("sqlite") if faults.KINDS[n]().why_not() is None]
        fleet = self.fleet(candidates=5)
        fleet.start()
        pending = faults.plan(30, 60, names, LEASE_S)
        began = time.monotonic()
        # On a busy machine there is no leader for some of them.
        while (passed := time.monotonic() - began) < 10 or len(fleet.faults) <= 3 and passed < 60:
            while pending and pending[0]["at"] <= passed:
                faults.carry_out(fleet, pending.pop(0))
            fleet.run_for(0.02)
        self.assertGreater(len(fleet.faults), 3)
        self.expect_kept(fleet, terms=2)


if __name__ == "__main__":
    unittest.main()
