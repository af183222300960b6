"""scripts/run_ctest.py shows failures and how far ctest is, knows slow tests, and finds what changed."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = TREE / "scripts/run_ctest.py"
sys.path.insert(0, str(TREE / "scripts"))

import run_ctest  # noqa: E402

STARTED = "      Start   12: a.B.c"
PASSED = " 1/12 Test   #12: a.B.c ...................   Passed    1.25 sec"
FAILED = "12/12 Test    #3: a.B.x/0 .................***Failed    0.02 sec"


class Lines(unittest.TestCase):
    def test_a_line_tells_the_name_the_result_and_the_seconds(self):
        self.assertEqual(run_ctest.STARTED.match(STARTED)["name"], "a.B.c")
        passed, failed = run_ctest.ENDED.match(PASSED), run_ctest.ENDED.match(FAILED)
        self.assertEqual((passed["name"], passed["how"].strip(), passed["seconds"]), ("a.B.c", "Passed", "1.25"))
        self.assertEqual((failed["name"], failed["how"].strip()), ("a.B.x/0", "***Failed"))


class Estimates(unittest.TestCase):
    def test_tests_count_by_the_time_that_they_are_expected_to_take(self):
        progress = run_ctest.Progress({"long": 90.0, "short": 10.0})
        progress.begins("long", 0.0)
        progress.begins("short", 0.0)
        progress.ends("short")
        self.assertAlmostEqual(progress.left(20.0, 20.0), 20.0 * 70 / 30)
        progress.ends("long")
        self.assertEqual(progress.text(95.0, 95.0), "2 of 2 tests, about 0 s more")

    def test_nothing_is_estimated_from_a_few_seconds(self):
        progress = run_ctest.Progress({"a": 1.0, "b": 1.0})
        progress.begins("a", 0.0)
        self.assertEqual(progress.text(2.0, 2.0), "0 of 2 tests")


class SlowTests(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_fresh_clone_begins_with_those_that_are_listed(self):
        costs = self.folder / "Testing/CTestCostData.txt"
        entries = [("a.*", 30.0)]
        expected = run_ctest.expected_seconds(["a.x", "b.y"], costs, entries)
        self.assertEqual(expected, {"a.x": 30.0, "b.y": run_ctest.USUAL_S})
        self.assertEqual(costs.read_text(), "a.x 1 30.0\n---\n")
        costs.write_text("a.x 3 2.5\nb.y 3 0.5\n---\nb.y\n")
        self.assertEqual(run_ctest.expected_seconds(["a.x", "b.y"], costs, entries), {"a.x": 2.5, "b.y": 0.5})

    def test_a_line_without_a_reason_is_refused(self):
        path = self.folder / "slow_tests.txt"
        path.write_text("# head\n30 a.b:\n")
        with self.assertRaisesRegex(ValueError, "slow_tests.txt:2"):
            run_ctest.slow_tests(path)

    def test_each_line_of_the_tree_has_a_reason_and_names_a_test(self):
        entries = run_ctest.slow_tests()
        self.assertTrue(entries)
        build = os.environ.get("TENURE_BUILD")
        names = [test["name"] for test in run_ctest.listing(build, [])] if build else []
        if "package.install" not in names or any(name.endswith("_NOT_BUILT") for name in names):
            self.skipTest("this build leaves some tests out")
        unknown = [pattern for pattern, _ in entries if not any(run_ctest.entry_of(name, [(pattern, 0)]) for name in names)]
        self.assertEqual(unknown, [])


class Changes(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def file(self, name, age):
        path = self.folder / name
        path.write_text("")
        os.utime(path, (1000.0 - age, 1000.0 - age))
        return str(path)

    def test_groups_of_programs_and_scripts_that_are_newer_are_chosen(self):
        old, new = self.file("old", 10), self.file("new", -10)
        tests = [{"name": "old_test.A.b", "command": [old, "--gtest_filter=A.b"]},
                 {"name": "new_test.A.b", "command": ["/bin/python", "-S", new]},
                 {"name": "of_program.c", "command": [old], "properties": [{"name": "ENVIRONMENT", "value": [f"P={new}"]}]}]
        self.assertEqual(run_ctest.of_what_changed(tests, 1000.0), "^(new_test|of_program)[.]")
        self.assertIsNone(run_ctest.of_what_changed(tests, 2000.0))


class Runs(unittest.TestCase):
    def setUp(self):
        self.build = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_tests(self, text, *more):
        (self.build / "CTestTestfile.cmake").write_text(text)
        done = subprocess.run([sys.executable, "-B", SCRIPT, self.build, *more], capture_output=True, text=True)
        return done.returncode, done.stdout

    def test_a_failure_is_shown_and_what_passed_is_only_counted(self):
        code, told = self.run_tests("add_test(good true)\nadd_test(bad false)\n")
        self.assertNotEqual(code, 0)
        self.assertRegex(told, r"bad \.+\*\*\*Failed")
        self.assertNotIn("good", told)
        self.assertIn("50% tests passed", told)
        self.assertFalse((self.build / "tests_passed").exists())

    def test_what_passed_is_not_run_again_until_it_changes(self):
        program = self.build / "program"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        text = f"add_test(one.a {program})\nadd_test(other.b true)\n"
        self.assertEqual(self.run_tests(text)[0], 0)
        self.assertEqual(self.run_tests(text, "--changed"), (0, "Nothing has changed since the last run that passed.\n"))
        os.utime(program, (2e9, 2e9))
        self.assertRegex(self.run_tests(text, "--changed")[1], "100% tests passed.*out of 1")


if __name__ == "__main__":
    unittest.main()
