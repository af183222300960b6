"""scripts/demo --zombie: a run by its exit code, and that its verdict can be a bad one. Nothing here judges time."""

import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPTS))
import demo_zombie


class Run(unittest.TestCase):
    def test_each_fence_refuses_what_the_file_without_one_takes(self):
        with tempfile.TemporaryDirectory(prefix="tenure-demo-") as directory:
            done = subprocess.run(
                [sys.executable, "-B", SCRIPTS / "demo_zombie.py", "--candidate", os.environ["TENURE_DEMO_ZOMBIE"],
                 "--candidates", "4", "--keep", directory],
                capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for resource in demo_zombie.RESOURCES:
                self.assertRegex(done.stdout, rf"{resource} .* [1-9]\d* stale refused, 0 stale accepted")
            self.assertRegex(done.stdout, r"without a fence .* [1-9]\d* stale accepted")
            self.assertIn("<svg", pathlib.Path(directory, "timeline.html").read_text(encoding="utf-8"))


class Verdict(unittest.TestCase):
    """A run as it should be, and what must not pass."""

    def setUp(self):
        good = ["1 a", "1 a", "2 b"]
        self.contents = {"SQLite": list(good), "file": list(good), "Redis": list(good), "no fence": good + ["1 a"]}
        self.refused = list(demo_zombie.RESOURCES)
        self.terms = [("a", 1, 10, 20, 15), ("b", 2, 30, 40, 40)]

    def verdict(self):
        events = [{"e": "refused", "resource": resource} for resource in self.refused]
        demo = types.SimpleNamespace(contents=self.contents, candidates=[types.SimpleNamespace(events=events)])
        return demo_zombie.verdict(demo, self.terms)

    def test_good(self):
        self.assertTrue(self.verdict())

    def test_a_resource_that_took_a_stale_write(self):
        for resource in demo_zombie.RESOURCES:
            with self.subTest(resource):
                self.setUp()
                self.contents[resource].append("1 a")
                self.assertFalse(self.verdict())

    def test_nothing_stale_was_tried(self):
        self.refused.remove("file")
        self.assertFalse(self.verdict())
        self.setUp()
        self.contents["no fence"].pop()
        self.assertFalse(self.verdict())

    def test_nothing_was_written(self):
        self.contents["Redis"] = []
        self.assertFalse(self.verdict())

    def test_two_leaders_at_once(self):
        self.terms[0] = ("a", 1, 10, 35, 31)
        self.assertFalse(self.verdict())


if __name__ == "__main__":
    unittest.main()
