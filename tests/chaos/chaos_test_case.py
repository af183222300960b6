"""What the T tests of this folder share. They judge by what is written in logs and ledgers. The leases are short, and
the time limits long: on a slow machine the tests take longer, and do not fail."""

import pathlib
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from fleet import Fleet, Timing
from stores import SqliteStore

# The objects that a test has created in the kernel (namespaces, mounts, control groups) are removed even if it is
# ended.
for number in (signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) != signal.SIG_IGN:  # nohup
        signal.signal(number, lambda *_: sys.exit("ended from outside"))

LEASE_S = 1.0
# On top of lease, guard and poll: for machines that are busy with other things.
SLACK_S = 10.0
TWO_LEADERS = "two leaders at once"


def timing(lease_s=LEASE_S):
    return Timing(lease_s, lease_s / 4, SLACK_S)


class ChaosTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="tenure-chaos.")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def fleet(self, store=None, lease_s=LEASE_S, candidates=3, **more):
        if store is None:
            store = SqliteStore(self.directory)
        self.addCleanup(store.close)
        return self.enterContext(Fleet(store, candidates, timing(lease_s), directory=self.directory, **more))

    def started(self, *arguments, **more):
        fleet = self.fleet(*arguments, **more)
        fleet.start()
        return fleet

    def expect_kept(self, fleet, but=(), terms=1):
        """Every promise was kept, except for faults whose text begins with one of `but`."""
        verdict = fleet.judge()
        told = [fault for fault in verdict.faults if not fault.startswith(tuple(but))]
        self.assertEqual([], told, "\n" + self.logs(fleet))
        self.assertEqual(verdict.figures["stale_rows_fenced"], 0)
        self.assertGreaterEqual(verdict.figures["terms"], terms)
        print({name: verdict.figures[name] for name in ("terms", "tokens", "revoked", "stale_writes_refused", "in_doubt",
                                                        "stale_rows_unfenced", "longest_vacancy_s")})
        return verdict

    def expect_no_reason_but_slowness(self, fleet, but=()):
        """A machine without time may end a term, or put it in doubt; the test's own actions may not, except for
        `but`."""
        told = [e.get("detail") or e.get("message") for p in fleet.processes() for e in p.events
                if e["e"] in ("doubt", "store_error") or e["e"] == "revoked" and e["reason"] != "stopped"]
        slow = ("did not run for", "did not answer", "was not answered in time", "came too late", "stayed locked", *but)
        self.assertEqual([], [why for why in told if not any(words in why for words in slow)], self.logs(fleet))

    @staticmethod
    def logs(fleet):
        return "\n".join(f"--- {p}\n{p.log_path.read_text(errors='replace')[-3000:]}" for p in fleet.processes())

    def freeze_until_succeeded(self, fleet, before_thaw=lambda: None):
        """Freezes the leader until another one has written under its own token; returns the frozen process."""
        leader, token = fleet.await_leader(), fleet.token
        process = fleet.freeze_outside_of_transactions(leader)
        fleet.tick()
        if process.term() != token:  # on a busy machine it ended just before, and nothing that it writes is refused
            fleet.thaw(process)
            return self.freeze_until_succeeded(fleet, before_thaw)
        fleet.await_leader(above=token)
        fleet.wait(lambda: fleet.fenced_token() > token, "a row of the successor behind the fence")
        before_thaw()
        fleet.thaw(process)
        return process

    def expect_rejection(self, fleet, process):
        """What it was about to write when it was frozen, or writes after it was told to stop, is refused."""
        return fleet.wait(lambda: process.told("refused"), f"a refused write of {process}")
