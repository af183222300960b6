"""The plan of scripts/chaos follows from its seed, and its report shows what the judge has found."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import faults
from report import Report
from stores import STORES
from verdict import Verdict
from verdict_test import at, good_run

SETTINGS = {"store": "sqlite", "seed": 7, "command": "scripts/chaos --seed 7"}


def report_of(run):
    done = [{"t": at(4), "what": "SIGKILL", "candidate": "A", "seconds": 0.0},
            {"t": at(12), "what": "database locked", "candidate": None, "seconds": 1.5}]
    run.blocked = [(at(12), at(13.5), "the database was locked")]
    return Report(SETTINGS, run, Verdict(run), done, 3, [], ["A", "B"])


class ThePlan(unittest.TestCase):
    def test_follows_from_the_seed(self):
        for store in STORES:
            names = faults.kinds_for(store)
            plan = faults.plan(1, 600, names, 2.0)
            self.assertEqual(plan, faults.plan(1, 600, list(reversed(names)), 2.0))
            self.assertNotEqual(plan, faults.plan(2, 600, names, 2.0))
            self.assertEqual({entry["fault"] for entry in plan}, set(names))
            self.assertEqual([e["at"] for e in plan], sorted(e["at"] for e in plan))
            self.assertTrue(all(2 <= e["at"] < 600 for e in plan))

    def test_keeps_to_the_faults_that_were_asked_for(self):
        self.assertEqual({e["fault"] for e in faults.plan(1, 300, ["kill"], 2.0)}, {"kill"})

    def test_of_jepsen_is_a_pause_each_five_seconds(self):
        plan = faults.jepsen_plan(1, 61, 2.0)
        self.assertEqual([e["at"] for e in plan], [5.0 * n for n in range(1, 13)])
        self.assertEqual({(e["fault"], e["victim"]) for e in plan}, {("freeze", "leader")})


class TheReport(unittest.TestCase):
    def written(self, run):
        with tempfile.TemporaryDirectory() as directory:
            report_of(run).write(pathlib.Path(directory))
            return {path.suffix: path.read_text(encoding="utf-8") for path in pathlib.Path(directory).iterdir()}

    def test_of_a_good_run(self):
        files = self.written(good_run())
        self.assertIn("passed: one leader at a time", files[".md"])
        told = json.loads(files[".json"])
        self.assertEqual((told["passed"], told["figures"]["terms"], told["done"]), (True, 3, {"SIGKILL": 1, "database locked": 1}))
        self.assertEqual([t["token"] for t in told["terms"]], [1, 2, 3])
        for part in ("A.1, token 1", "B.1, token 2", "SIGKILL", "nobody could be elected: the database was locked", "<svg"):
            self.assertIn(part, files[".html"])

    def test_of_a_bad_run(self):
        run = good_run()
        run.fenced_rows.append((1, "A"))
        files = self.written(run)
        self.assertIn("FAILED: 1 promises were broken", files[".md"])
        self.assertIn("the fence accepted a stale write: row 5", files[".md"])
        self.assertFalse(json.loads(files[".json"])["passed"])
        self.assertIn('<p class="bad">FAILED', files[".html"])

    def test_a_long_run_has_a_strip_for_each_minute(self):
        run = good_run()
        run.ended = at(150)
        self.assertEqual(self.written(run)[".html"].count("<svg"), 3)


if __name__ == "__main__":
    unittest.main()
