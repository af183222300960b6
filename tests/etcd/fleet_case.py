"""What the storms of real processes over etcd and Kubernetes share: candidates of the chaos tests, and their judge."""

import os
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "chaos"), str(HERE.parent / "interop")]
from fleet import Fleet, Timing
from tenure_program import keep_figures
from verdict import SECOND, Verdict

LEASE_S = 2.0
# The bound on times without a leader is for a machine that has time; here many servers share one.
SLACK_S = 15.0
# A look at the events, and a thread that has to wait for a processor.
TOLD_S = 0.1


def rounds(usual):
    return int(os.environ.get("TENURE_ETCD_STORM", usual))


class FleetCase(unittest.TestCase):
    def fleet_on(self, yaml, candidates=3, prefixes=None):
        """Started, with this store; without a lock that a stopped process could hold."""
        directory = tempfile.TemporaryDirectory(prefix="tenure-etcd-storm.")
        self.addCleanup(directory.cleanup)
        fleet = self.enterContext(Fleet(_NoLocks(), candidates, Timing(LEASE_S, LEASE_S / 4, SLACK_S), prefixes=prefixes,
                                        directory=directory.name, store_yaml=[yaml] * candidates))
        fleet.start()
        return fleet

    def judged(self, fleet):
        """No two leaders, tokens that rise, one onRevoked for each onElected, and each loss told before the next one leads."""
        verdict = Verdict(fleet.end())
        logs = "\n".join(f"--- {p}\n{p.log_path.read_text(errors='replace')[-2000:]}" for p in fleet.processes())
        self.assertEqual([], verdict.faults, logs)
        self.assertEqual(0, verdict.figures["stale_rows_fenced"])
        late = [(a.revoked - b.first_sign()) / SECOND for a, b in zip(verdict.terms, verdict.terms[1:])
                if a.process.how == "stopped"]
        self.assertLess(max(late, default=-1), TOLD_S, f"a loss was told after the next term had begun\n{logs}")
        figures = {name: verdict.figures[name] for name in (
            "seconds", "terms", "in_doubt", "revoked", "stale_writes_refused", "stale_rows_fenced", "longest_vacancy_s")}
        return {**figures, "told_before_the_next_s": round(-max(late, default=0), 3)}


def etcd_yaml(cluster):
    return f'{{ type: etcd, endpoints: "{",".join(cluster.endpoints)}", prefix: {cluster.prefix} }}'


class _NoLocks:
    """The store as the fleet sees it."""

    @staticmethod
    def is_locked_by(_):
        return False


__all__ = ["LEASE_S", "FleetCase", "etcd_yaml", "keep_figures", "rounds"]
