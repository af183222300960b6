"""T4 and T5: clocks that run at other rates, jump, and stand still. Only the processes see them; the judge does not."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from chaos_test_case import LEASE_S, TWO_LEADERS, ChaosTest
from clocks import ELAPSED, FakeClocks
from processes import now

CHRONY = 1 / 12  # 83,333 ppm: the most by which chronyd slews CLOCK_MONOTONIC by default
CRYSTAL = 500e-6  # what the guard covers
# The default stop margin of a tenth of the lease would hide a slew of a twelfth.
TO_THE_END = ", stop_margin: 0s"
TIME_NAMESPACE = ["unshare", "--time", "--monotonic", "86400", "--boottime", "604800", "--fork", "--kill-child", "--"]
# How much each clock advances in 0.2 s of CLOCK_REALTIME, and what CLOCK_BOOTTIME showed first.
SHOW_CLOCKS = """
import time
ids = time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW, time.CLOCK_BOOTTIME, time.CLOCK_REALTIME
before = [time.clock_gettime(i) for i in ids]
while time.clock_gettime(ids[3]) < before[3] + 0.2: pass
after = [time.clock_gettime(i) for i in ids]
print(*[b - a for a, b in zip(before, after)], before[2])
"""


class Clocks(ChaosTest):
    def setUp(self):
        super().setUp()
        self.clocks = [FakeClocks(self.directory / f"clocks-{n}") for n in range(3)]

    def lied_to(self, **more):
        fleet = self.fleet(environments=[clocks.environment() for clocks in self.clocks], **more)
        fleet.start()
        return fleet

    def clocks_of(self, fleet, candidate):
        return self.clocks[fleet.candidates.index(candidate)]

    def skew(self, fleet, by, *names):
        """The leader's clocks are slow by this much, and all others are fast."""
        for candidate, clocks in zip(fleet.candidates, self.clocks):
            clocks.run_at(1 - by if candidate is fleet.leader else 1 + by, *names)

    def succeed_under_skew(self, fleet, by, *names, rounds=2):
        """The worst moment is just after the election of the successor: the former leader wakes then."""
        for _ in range(rounds):
            self.skew(fleet, by, *names)
            fleet.run_for(0.4 * LEASE_S)  # the last renewal, and the last time that others saw it, are under the skew
            token = fleet.token
            process = fleet.freeze_outside_of_transactions(fleet.leader)
            fleet.await_leader(above=token)
            # So that the store cannot tell it what its clock does not tell it.
            fleet.wait(fleet.store.lock, "the lock of the database")
            fleet.thaw(process)
            fleet.run_for(0.3 * LEASE_S)
            fleet.store.unlock()
            fleet.wait(lambda: process.term() != token, "the end of the frozen leader's term")
            fleet.await_leader(above=token)

    def test_T4_slewed_by_chrony(self):
        fleet = self.lied_to(lease_more=TO_THE_END)
        self.succeed_under_skew(fleet, CHRONY, "monotonic", "boottime")
        self.expect_kept(fleet, terms=3)

    def test_T4_crystals_within_the_bound(self):
        fleet = self.lied_to(lease_more=TO_THE_END)
        self.succeed_under_skew(fleet, CRYSTAL, *ELAPSED)
        self.expect_kept(fleet, terms=3)

    def test_T4_beyond_the_bound_only_the_fence_holds(self):
        fleet = self.lied_to()
        for _ in range(3):
            self.skew(fleet, 0.7, *ELAPSED)
            fleet.run_for(0.4 * LEASE_S)
            token = fleet.token
            process = fleet.freeze_outside_of_transactions(fleet.leader)
            fleet.await_leader(above=token)
            fleet.wait(lambda: fleet.fenced_token() > token, "a row of the successor behind the fence")
            fleet.thaw(process)
            self.expect_rejection(fleet, process)
        self.expect_kept(fleet, but=(TWO_LEADERS, "tokens do not rise"), terms=4)

    def test_T4_the_wall_clock_jumps(self):
        fleet = self.lied_to()
        leader, token = fleet.leader, fleet.token
        until = now() + int(2 * LEASE_S * 1e9)
        hours = 1
        while now() < until:
            for clocks in self.clocks:
                clocks.jump(3600 * hours, "realtime")
            hours = -hours
            fleet.run_for(0.05)
        if fleet.token != token:  # the jumps are not the reason; a machine without time might be
            self.assertEqual({"expired"}, {e["reason"] for e in leader.process.told("revoked")})
        self.freeze_until_succeeded(fleet)
        self.expect_kept(fleet, terms=2)

    def test_T5_suspend(self):
        """CLOCK_BOOTTIME counts a suspend, the other clocks stand still during it: the term is over at once."""
        fleet = self.lied_to()
        leader, token = fleet.leader, fleet.token
        process = fleet.freeze_outside_of_transactions(leader)
        self.clocks_of(fleet, leader).jump(2 * LEASE_S, "boottime")
        woken = now()
        fleet.thaw(process)
        fleet.wait(lambda: process.term() != token, "the end of the term")
        # storeUnreachable: it was frozen while an answer of the store was due.
        self.assertIn([e["reason"] for e in process.told("revoked") if e["token"] == token], (["expired"], ["storeUnreachable"]))
        # The process may win the next term itself.
        self.assertEqual([], [e for e in process.told("led", woken) if e["token"] == token])
        fleet.await_leader(above=token)
        self.expect_kept(fleet, terms=2)

    def test_T5_a_virtual_machine_that_stops_with_its_clocks(self):
        """Nothing in the process can notice it. Only the fence helps."""
        fleet = self.lied_to()
        leader = fleet.leader
        clocks = self.clocks_of(fleet, leader)
        fleet.run_for(0.3 * LEASE_S)
        token = fleet.token
        process = fleet.freeze_outside_of_transactions(leader)
        clocks.stand_still()
        fleet.await_leader(above=token)
        fleet.wait(lambda: fleet.fenced_token() > token, "a row of the successor behind the fence")
        clocks.go_on()
        fleet.thaw(process)
        self.expect_rejection(fleet, process)
        fleet.wait(lambda: process.term() is None, "the end of the frozen leader's term")
        self.expect_kept(fleet, but=(TWO_LEADERS, "tokens do not rise"), terms=2)

    def test_T5_time_namespaces(self):
        """A machine that has been up for one more day and suspended for six days: the machines share no absolute
        time."""
        try:
            subprocess.run([*TIME_NAMESPACE, "true"], check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as fault:
            self.skipTest(f"no time namespace can be made here: {getattr(fault, 'stderr', fault)}")
        fleet = self.fleet(prefixes=[TIME_NAMESPACE, [], TIME_NAMESPACE], clock_offsets=[604800, 0, 604800])
        fleet.start()
        seen = set()
        for _ in range(8):
            seen.add(fleet.leader.name)
            if len(seen) == 3:
                break
            token = fleet.token
            fleet.stop(fleet.leader, restart_after=0)
            fleet.await_leader(above=token)
        self.freeze_until_succeeded(fleet)
        self.expect_kept(fleet, terms=3)


class TheShim(unittest.TestCase):
    """If the shim changed nothing, it would prove nothing."""

    def test_T4_the_clocks_are_really_turned(self):
        with tempfile.TemporaryDirectory(prefix="tenure-chaos.") as directory:
            clocks = FakeClocks(pathlib.Path(directory) / "clocks")
            clocks.run_at(10.0, "monotonic")
            clocks.run_at(0.1, "raw")
            clocks.jump(1000, "boottime")
            seen = [self.seen_under(clocks) for _ in range(3)]
        # It is enough if one reading in three has no long pause between the two clocks.
        self.assertTrue(any(monotonic > 5 * realtime and raw < 0.5 * realtime for monotonic, raw, realtime, _ in seen), seen)
        self.assertGreater(seen[0][3], now() / 1e9 + 900)

    @staticmethod
    def seen_under(clocks):
        done = subprocess.run([sys.executable, "-c", SHOW_CLOCKS], env={**os.environ, **clocks.environment()}, check=True,
                              capture_output=True, text=True)
        monotonic, raw, _, realtime, first = map(float, done.stdout.split())
        return monotonic, raw, realtime, first


if __name__ == "__main__":
    unittest.main()
