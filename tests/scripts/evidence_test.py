#!/usr/bin/env python3
"""scripts/evidence: what it keeps, what it writes, and that it notices a page with other figures."""

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
        for script in ("evidence", "evidence_age.py"):
            shutil.copy(ROOT / "scripts" / script, self.tree / "scripts" / script)
        self.guarantees([GUARANTEE])
        self.seen = "{hours} hours"
        self.commands("echo '{\"hours\": 1}' >{directory}/it.json")
        (self.tree / "src").mkdir()
        self.source = self.tree / "src" / "machine.cpp"
        self.source.write_text("line\n" * 100, encoding="utf-8")
        self.git("init", "-q")
        self.commit()

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.tree, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True,
                              capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def commands(self, command, names=("simulation",)):
        how = {"command": command, "result": "{directory}/it.json", "minutes": 30, "under": ["src"], "seen": self.seen}
        known = {name: how for name in names}
        (self.tree / "docs" / "evidence" / "commands.json").write_text(json.dumps(known), encoding="utf-8")

    def change(self, lines):
        with self.source.open("a", encoding="utf-8") as file:
            file.write("another\n" * lines)
        self.commit()

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

    def test_a_row_says_how_many_negatives_of_its_properties_were_run(self):
        self.guarantees([GUARANTEE | {"properties": ["TOKENS_RISE", "PROGRESS"]}])
        self.seen = "nothing"
        self.commands("true", names=("simulation", "model"))
        file = self.tree / "model.json"
        file.write_text(json.dumps({"negatives of TOKENS_RISE": "5 run, 4 found"}), encoding="utf-8")
        self.assertEqual(self.evidence("record", "model", str(file), "--command", "run").returncode, 0)
        self.assertEqual(self.evidence("render").returncode, 0)
        page = (self.tree / "docs" / "evidence.md").read_text(encoding="utf-8")
        self.assertIn("model (without a rule or an assumption, `TOKENS_RISE`: 5 run, 4 found)", page)
        self.assertNotIn("PROGRESS", page)

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
        self.assertIn("| simulation |", self.page())
        self.assertIn("| 8,760 hours | the same |", self.page())
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

    def test_counts_the_lines_that_changed_under_a_run_since_its_commit(self):
        self.record('{"hours": 8760}')
        self.evidence("render")
        self.assertIn("| the same |", self.page())
        self.assertIn("since then 0 lines changed for 100 under src (0.0 %): the same", self.evidence("age").stdout)
        self.change(2)
        self.assertEqual(self.evidence("check").returncode, 0, "two lines of 102 change no verdict")
        self.change(1)
        self.assertNotEqual(self.evidence("check").returncode, 0, "the page says the same yet")
        self.evidence("render")
        self.assertIn("since then 3 lines changed for 103 under src (2.9 %): changed", self.evidence("age").stdout)
        self.assertIn("| changed |", self.page())
        self.assertEqual(self.evidence("check").returncode, 0)

    def test_a_figure_that_the_run_lacks_is_an_error(self):
        self.seen = "{minutes} minutes"
        self.commands("true")
        self.record('{"hours": 8760}')
        done = self.evidence("render")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("simulation has no figure minutes", done.stderr)

    def test_a_run_of_a_commit_that_is_not_there_is_stale(self):
        self.record('{"hours": 8760}')
        kept = self.tree / "docs" / "evidence" / "runs" / "simulation.json"
        kept.write_text(kept.read_text(encoding="utf-8").replace(self.git("rev-parse", "--short=10", "HEAD").strip(), "0123456789"),
                        encoding="utf-8")
        self.evidence("render")
        self.assertIn("its commit is not in this history", self.evidence("age").stdout)
        self.assertIn("| changed |", self.page())

    def test_a_clone_without_history_compares_without_ages(self):
        self.record('{"hours": 8760}')
        self.evidence("render")
        self.change(1)
        whole, self.tree = self.tree, self.tree / "shallow"
        subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{whole}", self.tree], check=True)
        self.assertEqual(self.evidence("check").returncode, 0)
        path = self.tree / "docs" / "evidence.md"
        path.write_text(self.page().replace("8,760", "9,999"), encoding="utf-8")
        self.assertNotEqual(self.evidence("check").returncode, 0)

    def test_refresh_runs_what_is_stale_and_fits(self):
        self.record('{"hours": 8760}')
        self.evidence("render")
        self.commit()
        self.assertIn("Nothing is stale", self.evidence("refresh", "--hours", "1").stdout)
        self.change(50)
        done = self.evidence("refresh", "--hours", "0.4")
        self.assertIn("Stale, and beyond 0.4 h: simulation", done.stdout)
        self.assertIn("| 8,760 hours |", self.page())
        done = self.evidence("refresh", "--hours", "0.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| 1 hours |", self.page())
        self.assertIn("| the same |", self.page())

    def test_refresh_keeps_the_old_result_where_a_run_fails(self):
        self.record('{"hours": 8760}')
        self.commands("echo '{}' >{directory}/it.json; false")
        self.change(50)
        done = self.evidence("refresh", "--hours", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("simulation failed", done.stderr)
        self.assertIn("| 8,760 hours |", self.page())

    def test_refresh_refuses_changes_without_a_commit(self):
        self.source.write_text("other\n", encoding="utf-8")
        done = self.evidence("refresh", "--hours", "1")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("without a commit", done.stderr)


if __name__ == "__main__":
    unittest.main()
