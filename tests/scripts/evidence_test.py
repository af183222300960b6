#!/usr/bin/env python3
"""scripts/evidence: what it keeps, what it writes, and that it notices a page that says otherwise."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUARANTEE = {"id": "I5", "words": "Terms alternate.", "tests": [r"\.I5_"], "runs": ["simulation", "model"]}


class EvidenceTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.tree = pathlib.Path(directory.name)
        (self.tree / "scripts").mkdir()
        (self.tree / "docs" / "evidence" / "runs").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "evidence", self.tree / "scripts" / "evidence")
        self.guarantees([GUARANTEE])
        for command in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"]):
            subprocess.run(["git", "-C", self.tree, *command], check=True)

    def guarantees(self, those):
        (self.tree / "docs" / "evidence" / "guarantees.json").write_text(json.dumps(those), encoding="utf-8")

    def evidence(self, *arguments):
        build = pathlib.Path(os.environ["TENURE_BUILD"])
        return subprocess.run([sys.executable, "-B", self.tree / "scripts" / "evidence", "--build", build, *arguments],
                              capture_output=True, text=True)

    def record(self, result):
        file = self.tree / "result.json"
        file.write_text(result, encoding="utf-8")
        return self.evidence("record", "simulation", str(file), "--command", "scripts/simulate --years 1")

    def page(self):
        return (self.tree / "docs" / "evidence.md").read_text(encoding="utf-8")

    def test_keeps_figures_by_dotted_names_with_command_and_commit(self):
        done = self.record('{"hours": 8760, "sound": true, "points": {"takeover": 3}, "seeds": [1, 2], "trace": "%s"}' % ("x" * 500))
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = json.loads((self.tree / "docs" / "evidence" / "runs" / "simulation.json").read_text(encoding="utf-8"))
        self.assertEqual(kept["figures"], {"hours": 8760, "sound": True, "points.takeover": 3, "seeds": 2})
        self.assertEqual(kept["command"], "scripts/simulate --years 1")
        self.assertEqual(len(kept["commit"]), 10)

    def test_refuses_what_is_no_result(self):
        for result in ("[1]", "{", ""):
            self.assertNotEqual(self.record(result).returncode, 0, result)

    def test_names_the_tests_and_the_runs_behind_a_guarantee(self):
        self.record('{"hours": 8760}')
        self.assertEqual(self.evidence("render").returncode, 0)
        self.assertIn("`Invariant.I5_EveryElectedIsFollowedByExactlyOneRevoked`", self.page())
        self.assertIn("[simulation](#simulation)", self.page())
        self.assertIn("| hours | 8,760 |", self.page())
        self.assertIn("Not recorded yet: model.", self.page())
        self.assertEqual(self.evidence("check").returncode, 0)

    def test_notices_a_figure_typed_by_hand(self):
        self.record('{"hours": 8760}')
        self.evidence("render")
        path = self.tree / "docs" / "evidence.md"
        path.write_text(self.page().replace("8,760", "9,999"), encoding="utf-8")
        self.assertNotEqual(self.evidence("check").returncode, 0)

    def test_notices_a_guarantee_without_a_test(self):
        self.guarantees([{**GUARANTEE, "tests": [r"\.NoSuchTest_"]}])
        done = self.evidence("render")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no test is named after I5", done.stderr)


if __name__ == "__main__":
    unittest.main()
