"""scripts/mutate makes the mutants that it names, leaves out what no test should fix, and finds killed ones and
survivors."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "tests" / "mutation"))
sys.dont_write_bytecode = True
import campaign
import judge
import reach
import report
import rules
import runner
import sandbox
from ctests import Test


def made(source):
    """(rule, the changed lines) of every mutant."""
    return {(mutant.rule, report.changed_lines(mutant, source)[1]) for mutant in rules.mutants_of("a.cpp", source)}


class Rules(unittest.TestCase):
    def test_operators_conditions_and_constants(self):
        self.assertEqual(made("int f(int a, int b) {\n  if (a < b && b != 7) return a + b;\n  return -300;\n}\n"), {
            ("condition", "if (!(a < b && b != 7)) return a + b;"),
            ("relation", "if (a <= b && b != 7) return a + b;"),
            ("relation", "if (a >= b && b != 7) return a + b;"),
            ("relation", "if (a < b && b == 7) return a + b;"),
            ("logic", "if (a < b || b != 7) return a + b;"),
            ("constant", "if (a < b && b != 8) return a + b;"),
            ("constant", "if (a < b && b != 6) return a + b;"),
            ("arithmetic", "if (a < b && b != 7) return a - b;"),
            ("returned", "if (a < b && b != 7) return {};"),
            ("constant", "return -600;"),
            ("constant", "return -150;"),
            ("returned", "return {};"),
        })

    def test_statements_branches_and_extremes(self):
        self.assertEqual(made("""void f(T& t) {
  t.call(1s);
  on = true;
  if (!on) {
    ++n;
  } else {
    n += x;
  }
  for (;;) break;
  n = std::max(n, m);
}
"""), {
            ("statement", ";"), ("statement", "for (;;) ;"), ("constant", "t.call(2s);"), ("constant", "t.call(0s);"),
            ("truth", "on = false;"), ("condition", "if (!(!on)) {"), ("count", "--n;"), ("else", "}  "),
            ("arithmetic", "n -= x;"), ("extreme", "n = std::min(n, m);"),
        })

    def test_declarations_types_and_directives_are_no_statements_and_no_operators(self):
        self.assertEqual(made("#define SIZE 4\nnamespace a {\nstd::vector<int> v(a);\nFoo bar{a};\nusing b::c;\n"
                              "template <typename T, int N = 3>\nvoid g(T&& t, int* p, X<Y> x);\n}\n"), set())

    def test_texts_logging_and_assertions_are_left_out(self):
        self.assertEqual(made("""void f() {  // if (a < 3)
  assert(a > 1);
  static_assert(sizeof(int) == 4);
  out.reserve(a + 1);
  logger_.log(LogLevel::warn, "x" + text(a + 1));
  if (b < 3) log(level, why.empty() ? "a" : "b");
  const std::string s = a == b ? "one" : "two";
  const std::string r = R"(a < 3 && b)";
  throw std::runtime_error("a < 3 && " + s);
  return "text";
}
"""), set())

    def test_lines_keep_their_numbers(self):
        source = "void f() {\n  if (a) {\n    b();\n  } else {\n    c(1,\n      2);\n  }\n  d();\n}\n"
        for mutant in rules.mutants_of("a.cpp", source):
            self.assertEqual(mutant.apply(source).count("\n"), source.count("\n"), mutant)

    def test_a_name_stays_when_other_lines_come_and_go_and_is_nobody_elses(self):
        source = "void f() {\n  a = 1;\n  a = 1;\n}\n"
        names = [mutant.identity for mutant in rules.mutants_of("a.cpp", source)]
        self.assertEqual(len(set(names)), 6)
        moved = [mutant.identity for mutant in rules.mutants_of("a.cpp", "// new\nint x;\n" + source)]
        self.assertEqual(names, moved)


class FakeJudge:
    """Gives each mutant the outcome that is the last word of its name."""

    def __init__(self, stop_after=None):
        self.judged = []
        self.stop_after = stop_after

    def judge(self, mutant, _):
        if self.stop_after is not None and len(self.judged) == self.stop_after:
            raise KeyboardInterrupt
        self.judged.append(mutant.identity)
        return judge.Verdict(mutant.identity, mutant.outcome, seconds=1.0)


class Runs(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.results = pathlib.Path(directory.name) / "results.jsonl"
        outcomes = [judge.KILLED, judge.INVALID, judge.SURVIVED, judge.SAME, judge.TIMED_OUT, judge.UNREACHED]
        self.mutants = [types.SimpleNamespace(identity=f"a.cpp:{at:02}", path="a.cpp", outcome=outcomes[at % 6])
                        for at in range(30)]

    def run_with(self, by, wanted, seed=3, tree="t", equivalents=(), mutants=None, judges=""):
        memory = campaign.Memory(self.results, tree, "tests", judges)
        one = campaign.Campaign(by, memory, equivalents, {"a.cpp": ""}, 1, lambda *_: None)
        with contextlib.suppress(KeyboardInterrupt):
            one.run(campaign.drawn(mutants or self.mutants, seed), wanted)
        return one.verdicts

    def test_the_seed_alone_says_which_are_drawn(self):
        first = self.run_with(FakeJudge(), 7)
        self.results.unlink()
        again = self.run_with(FakeJudge(), 7, mutants=self.mutants[::-1])
        self.assertEqual([v.identity for v in first], [v.identity for v in again])
        self.results.unlink()
        other = self.run_with(FakeJudge(), 7, seed=4)
        self.assertNotEqual([v.identity for v in first], [v.identity for v in other])

    def test_what_does_not_compile_or_is_the_same_does_not_count(self):
        verdicts = self.run_with(FakeJudge(), 12)
        counting = {judge.KILLED, judge.TIMED_OUT, judge.SURVIVED, judge.UNREACHED}
        self.assertEqual(sum(v.outcome in counting for v in verdicts), 12)
        self.assertGreater(len(verdicts), 12)

    def test_an_interrupted_run_goes_on_where_it_ended(self):
        whole = [v.identity for v in self.run_with(FakeJudge(), 9)]
        self.results.unlink()
        interrupted, rest = FakeJudge(stop_after=4), FakeJudge()
        self.run_with(interrupted, 9)
        self.assertEqual(interrupted.judged, whole[:4])
        with open(self.results, "a") as file:
            file.write('{"tree": "t", "mode": "tes')  # interrupted while it was written
        verdicts = self.run_with(rest, 9)
        self.assertEqual([v.identity for v in verdicts], whole)
        self.assertEqual(rest.judged, whole[4:])

    def test_verdicts_of_another_tree_do_not_hold(self):
        self.run_with(FakeJudge(), 5)
        changed = FakeJudge()
        verdicts = self.run_with(changed, 5, tree="u")
        self.assertEqual(changed.judged, [v.identity for v in verdicts])

    def test_who_survived_other_tests_is_judged_anew(self):
        verdicts = self.run_with(FakeJudge(), 20)
        more = FakeJudge()
        self.run_with(more, 20, judges="more")
        survivors = [v.identity for v in verdicts if v.outcome in (judge.SURVIVED, judge.UNREACHED)]
        self.assertEqual(more.judged, survivors)

    def test_what_is_called_equivalent_is_not_judged_and_counts_apart(self):
        listed = {mutant.identity for mutant in self.mutants if mutant.outcome == judge.SURVIVED}
        by = FakeJudge()
        verdicts = self.run_with(by, 30, equivalents=listed)
        self.assertFalse(listed & set(by.judged))
        counts = report.tally(verdicts, lambda path: path)["all"]
        self.assertEqual(counts[report.EQUIVALENT], len(listed))
        self.assertEqual(counts, {judge.KILLED: 5, judge.TIMED_OUT: 5, judge.UNREACHED: 5, judge.INVALID: 5, judge.SAME: 5,
                                  report.EQUIVALENT: 5})
        self.assertEqual(report.score(counts), 66.7)


class Equivalents(unittest.TestCase):
    def listed(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "equivalent.txt"
            path.write_text(text)
            return report.read_equivalents(path)

    def test_each_has_a_reason_and_somebody_who_confirmed_it(self):
        self.assertEqual(self.listed("# words\n\na.cpp:12 | a < b -> a <= b | they are never equal | a reviewer\n"),
                         {"a.cpp:12": "they are never equal"})
        for line in ("a.cpp:12 | a < b -> a <= b | they are never equal", "a.cpp:12 | x |  | a reviewer"):
            with self.assertRaisesRegex(report.BadList, "equivalent.txt:1: four parts"):
                self.listed(line + "\n")

    def test_the_list_of_the_tree_can_be_read(self):
        report.read_equivalents(TREE / "tests/mutation/equivalent.txt")


class FakeSandbox:
    """Runs a program that looks like GoogleTest's. The cases in `failing` fail when they run with a mutant."""

    def __init__(self, failing=(), flaky=None):
        self.failing = failing
        self.flaky = dict(flaky or {})  # case -> how often it fails, with or without a mutant
        self.commands = []

    def run(self, command, _directory, environment, _seconds, _trace=None):
        cases = command[-2 if "--gtest_fail_fast" in command else -1].removeprefix("--gtest_filter=").split(":")
        mutated = "LD_LIBRARY_PATH" in environment
        self.commands.append(("mutant" if mutated else "original", cases))
        for case in cases:
            flaky = self.flaky.get(case, 0)
            self.flaky[case] = flaky - 1
            if (mutated and case in self.failing) or flaky > 0:
                return 1, f"[ RUN      ] {case}\n[  FAILED  ] {case} (1 ms)\n"
        return 0, ""


class Judging(unittest.TestCase):
    def judged(self, box, seconds=1.0, line=3):
        servers = types.SimpleNamespace(environment=lambda test, base: dict(base), can_run=lambda test: True)
        tests = [Test(f"p.S.{case}", ["p", f"--gtest_filter=S.{case}"], "/", 60.0, set(), {}, [], [], False, False)
                 for case in "abcdefgh"]
        records = {test.name: {"seconds": seconds} for test in tests}
        one = judge.Judge(None, runner.Runner(box, servers, {}), tests, types.SimpleNamespace(records=records), None)
        one.by_line = {"a.cpp": {3: {test.name for test in tests[:7]}, 8: set(), 9: {tests[7].name}, 30: set()}}
        mutant = types.SimpleNamespace(path="a.cpp", identity="a.cpp:1", first_line=line - 1, line=line)
        return one.run_tests(mutant, "variant")

    def test_the_cases_of_a_program_run_together_and_only_those_that_run_the_line(self):
        box = FakeSandbox()
        verdict = self.judged(box)
        self.assertEqual(verdict, judge.Verdict("a.cpp:1", judge.SURVIVED, tests=7))
        self.assertEqual(box.commands, [("mutant", ["S.g"]), ("mutant", [f"S.{case}" for case in "abcdef"])])

    def test_a_test_that_fails_with_it_only_kills_it(self):
        box = FakeSandbox(failing=["S.c"])
        verdict = self.judged(box)
        self.assertEqual((verdict.outcome, verdict.by), (judge.KILLED, "p.S.c"))
        self.assertEqual(box.commands[-3:], [("mutant", ["S.c"]), ("original", ["S.c"]), ("mutant", ["S.c"])])

    def test_a_test_that_fails_now_and_then_does_not(self):
        for times in (1, 2, 3):
            self.assertEqual(self.judged(FakeSandbox(flaky={"S.c": times})).outcome, judge.SURVIVED, times)

    def test_no_test_runs_the_line(self):
        verdict = self.judged(FakeSandbox())
        self.assertEqual(verdict.outcome, judge.SURVIVED)
        one = judge.Judge(None, runner.Runner(FakeSandbox(), None, {}), [], types.SimpleNamespace(records={}), None)
        one.by_line = {"a.cpp": {}}
        mutant = types.SimpleNamespace(path="a.cpp", identity="a.cpp:1", first_line=2, line=3)
        self.assertEqual(one.run_tests(mutant, "variant").outcome, judge.UNREACHED)

    def test_a_line_that_no_test_seems_to_run_is_judged_by_the_nearest(self):
        """Its call may be inlined."""
        box = FakeSandbox(failing=["S.h"])
        self.assertEqual(self.judged(box, line=8), judge.Verdict("a.cpp:1", judge.KILLED, "p.S.h", tests=1))
        self.assertEqual(self.judged(FakeSandbox(), line=8), judge.Verdict("a.cpp:1", judge.UNREACHED, tests=1))
        self.assertEqual(self.judged(FakeSandbox(), line=30), judge.Verdict("a.cpp:1", judge.UNREACHED))


class Measuring(unittest.TestCase):
    def measured(self, home, failing, tree="t"):
        """Names of the tests that ran."""
        ran = []

        def run_alone(test, trace):
            ran.append(test.name)
            return runner.Outcome(test.name not in failing, False, 1.0, "")

        space = types.SimpleNamespace(home=home)
        one = reach.Reach(space, types.SimpleNamespace(sandbox=space, run_alone=run_alone))
        one.load(tree)
        tests = [Test(name, [name], "/", 60.0, set(), {}, [], [], name == "c", False) for name in "abc"]
        one.measure(tests, 1, lambda *_: None)
        return ran

    def test_each_test_is_measured_once_for_a_tree_but_one_that_failed_again(self):
        with tempfile.TemporaryDirectory() as directory:
            home = pathlib.Path(directory)
            self.assertEqual(self.measured(home, failing="b"), ["a", "b", "c"])
            self.assertEqual(self.measured(home, failing=""), ["b"])
            self.assertEqual(self.measured(home, failing=""), [])
            self.assertEqual(self.measured(home, failing="", tree="u"), ["a", "b", "c"])

    def test_blocks_are_packed(self):
        for blocks in ([], [0], [7, 8, 63, 64, 999]):
            self.assertEqual(reach.unpacked(reach.packed(blocks, 1000)), blocks)


class Sandboxed(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.home = pathlib.Path(directory.name)
        self.box = sandbox.Sandbox(self.home / "box")
        if not self.box.works():
            self.skipTest("there are no namespaces for it here")

    def test_it_harms_nobody(self):
        victim = subprocess.Popen(["sleep", "60"])
        self.addCleanup(victim.wait)
        self.addCleanup(victim.kill)
        on_disk = tempfile.TemporaryDirectory(dir="/var/tmp")
        self.addCleanup(on_disk.cleanup)
        kept = [self.home / "kept", pathlib.Path(on_disk.name) / "kept"]
        for path in kept:
            path.write_text("")
        attempt = f"kill {victim.pid}; rm {kept[0]} {kept[1]}; echo > $TMPDIR/a && echo wrote"
        code, output = self.box.run(["sh", "-c", attempt], "/", dict(os.environ), 20)
        self.assertEqual(code, 0, output)
        self.assertIn("wrote", output)
        self.assertIsNone(victim.poll())
        self.assertTrue(all(path.exists() for path in kept))

    def test_an_interruption_ends_what_runs_and_lets_nothing_begin(self):
        box = sandbox.Sandbox(self.home / "other", enabled=False)
        ended = []
        waiter = threading.Thread(target=lambda: ended.append(box.run(["sleep", "60"], "/", dict(os.environ), 60)))
        waiter.start()
        while not box.running:
            pass
        box.end_all()
        waiter.join(30)
        self.assertEqual(ended, [(-9, "")])
        with self.assertRaises(sandbox.Ended):
            box.run(["true"], "/", dict(os.environ), 60)

    def test_what_takes_too_long_is_ended_with_its_children(self):
        own = f"sleep {100000 + os.getpid()}"
        code, _ = self.box.run(["sh", "-c", f"setsid {own} & {own}"], "/", dict(os.environ), 1)
        self.assertIsNone(code)
        # The kernel ends a namespace's processes after its first one; a busy machine takes its time for that.
        deadline = time.monotonic() + 30
        while subprocess.run(["pgrep", "-f", own], capture_output=True).stdout and time.monotonic() < deadline:
            time.sleep(0.05)
        left = subprocess.run(["pgrep", "-f", own], capture_output=True, text=True).stdout
        self.assertEqual(left, "")


# Like the tree: a library made by tenure_library, and tests that know nothing about mutants.
PROJECT = {
    "CMakeLists.txt": """cmake_minimum_required(VERSION 3.25)
project(tenure VERSION 0.1.0 LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_SOURCE_DIR}/config/cmake")
include(TenureTargets)
tenure_library(sum SOURCES lockcore/src/sum.cpp)
add_executable(sum_test tests/sum_test.cpp)
target_link_libraries(sum_test tenure_sum)
enable_testing()
add_test(NAME sum COMMAND sum_test sum)
add_test(NAME loop COMMAND sum_test loop)
set_tests_properties(loop PROPERTIES TIMEOUT 3)
""",
    "CMakePresets.json": json.dumps({"version": 6, "configurePresets": [
        {"name": "dev", "generator": "Ninja", "binaryDir": "${sourceDir}/build/dev",
         "cacheVariables": {"CMAKE_BUILD_TYPE": "Debug", "CMAKE_CXX_FLAGS_DEBUG": "-O1 -g1", "TENURE_UNITY": "ON"}}]}),
    ".gitignore": "/build/\n",
    "scripts/protocol_sources.txt": "# none\n",
    "lockcore/src/sum.cpp": """int sum(int a, int b) {
  return a + b;
}
int atMostEight(int a) {
  if (a > 8) return 8;
  return a;
}
int never(int a) {
  return a - 1;
}
int loop(int n) {
  int steps = 0;
  while (n != 0) {
    --n;
    ++steps;
  }
  return steps;
}
unsigned same(unsigned a) {
  return a * 1U;
}
""",
    "tests/sum_test.cpp": """#include <string>
int sum(int, int);
int atMostEight(int);
int loop(int);
unsigned same(unsigned);
int main(int, char** arguments) {
  if (std::string(arguments[1]) == "loop") return loop(3) == 3 && same(3) == 3 ? 0 : 1;
  return sum(2, 3) == 5 && atMostEight(3) == 3 && atMostEight(20) == 8 ? 0 : 1;
}
""",
}


class Planted(unittest.TestCase):
    """A complete campaign on a small project."""

    def test_killed_survived_timed_out_not_reached_and_the_same(self):
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory).resolve()
            for name, text in PROJECT.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            for name in ("config/cmake/TenureTargets.cmake", "tests/mutation/trace.cpp"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(TREE / name, root / name)
            subprocess.run(["git", "init", "-q", root], check=True)
            first = self.mutate(root)
            self.check(root, first)
            again = self.mutate(root)
            self.assertEqual(first["verdicts"], again["verdicts"], "judged once, and remembered")

    def mutate(self, root):
        done = subprocess.run([sys.executable, "-B", TREE / "scripts/mutate", "--root", root, "--no-sandbox", "--jobs", "1"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("-  if (a > 8) return 8;\n+  if (a > 9) return 8;\n", done.stdout)
        return json.loads((root / "build/mutate/result.json").read_text())

    def check(self, root, result):
        source = (root / "lockcore/src/sum.cpp").read_text()
        self.assertEqual(source, PROJECT["lockcore/src/sum.cpp"], "the user's file is as it was")
        changes = {mutant.identity: report.changed_lines(mutant, source)[1]
                   for mutant in rules.mutants_of("lockcore/src/sum.cpp", source)}
        found = {}
        for verdict in result["verdicts"]:
            found.setdefault(verdict["outcome"], set()).add(changes[verdict["id"]])
        self.assertIn("return a - b;", found[judge.KILLED])
        self.assertIn("if (a <= 8) return 8;", found[judge.KILLED])
        self.assertEqual(found[judge.SURVIVED], {"if (a > 9) return 8;"})
        self.assertIn(";", found[judge.TIMED_OUT], "the loop without its step")
        self.assertEqual(found[judge.UNREACHED], {"return a + 1;", "return a - 2;", "return a - 0;", "return {};"})
        self.assertEqual(found[judge.SAME], {"return a / 1U;", "if (a >= 8) return 8;", "if (a > 7) return 8;"})


if __name__ == "__main__":
    unittest.main()
