#!/usr/bin/env python3
"""run_model.py must not take an interrupted search for a proof, nor one violation for another."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import run_model

HELD = """
(Spin Version 6.5.2 -- 6 December 2019)

Full statespace search for:
\tnever claim         \t- (none specified)
\tassertion violations\t+
\tcycle checks       \t- (disabled by -DSAFETY)
\tinvalid end states\t+

State-vector 84 byte, depth reached 7159, errors: 0
    38413 states, stored
   152271 states, matched
   190684 transitions (= stored+matched)
        0 atomic steps
hash conflicts:       511 (resolved)

   26.199\ttotal actual memory usage

pan: elapsed time 0.09 seconds
pan: rate 426811.11 states/second
"""
VIOLATED = """pan:1: assertion violated ((!((age[0]<2))||!((age[1]<2)))||MUTUAL_EXCLUSION) (at depth 11)
pan: wrote lease.pml.trail
""" + HELD.replace("errors: 0", "errors: 1").replace("\nFull", "Warning: Search not completed\nFull")


class Judge(unittest.TestCase):
    def verdict(self, text, code=0):
        return run_model.judge(text, code).verdict

    def test_a_complete_search_without_errors_holds(self):
        outcome = run_model.judge(HELD, 0)
        self.assertEqual((outcome.verdict, outcome.states, outcome.depth, outcome.memory_mib),
                         (run_model.HOLDS, 38413, 7159, 26.199))

    def test_a_violation_has_the_name_of_its_property(self):
        self.assertEqual(self.verdict(VIOLATED), "MUTUAL_EXCLUSION")

    def test_millions_of_states_are_read(self):
        text = HELD.replace("38413 states, stored", "1.2345679e+08 states, stored")
        self.assertEqual(run_model.judge(text, 0).states, 123456790)

    def assert_incomplete(self, text, code=0):
        outcome = run_model.judge(text, code)
        self.assertEqual(outcome.verdict, run_model.INCOMPLETE)
        self.assertTrue(outcome.detail)

    def test_a_depth_that_was_too_small_is_no_proof(self):
        self.assert_incomplete("error: max search depth too small\n" + HELD)

    def test_a_search_that_was_not_completed_is_no_proof(self):
        self.assert_incomplete("Warning: Search not completed\n" + HELD)

    def test_memory_that_ran_out_is_no_proof(self):
        self.assert_incomplete("pan: reached -DMEMLIM bound\n" + HELD)
        self.assert_incomplete("pan: out of memory\n" + HELD)

    def test_an_exit_code_counts(self):
        self.assert_incomplete(HELD, code=1)
        self.assert_incomplete(HELD, code=-9)

    def test_output_that_breaks_off_is_no_proof(self):
        self.assert_incomplete("")
        self.assert_incomplete(HELD[:HELD.index("State-vector")])
        self.assert_incomplete(HELD.replace("    38413 states, stored\n", ""))
        self.assert_incomplete(HELD.replace("38413 states, stored", "0 states, stored"))

    def test_two_summaries_are_no_proof(self):
        self.assert_incomplete(HELD + HELD)

    def test_a_search_without_assertions_is_no_proof(self):
        self.assert_incomplete(HELD.replace("assertion violations\t+", "assertion violations\t- (disabled by -A flag)"))

    def test_a_supertrace_is_no_proof(self):
        self.assert_incomplete(HELD.replace("Full statespace search", "Bit statespace search"))

    def test_an_error_that_is_not_counted_is_no_proof(self):
        self.assert_incomplete(VIOLATED.replace("errors: 1", "errors: 0"))

    def test_a_dead_end_is_no_violation_of_a_property(self):
        self.assert_incomplete(VIOLATED.replace("assertion violated", "invalid end state"))

    def test_an_assertion_without_a_name_is_no_verdict(self):
        self.assert_incomplete(VIOLATED.replace("MUTUAL_EXCLUSION", "x"))


LIVE = run_model.Configuration("live", (), live=True)
BITS = run_model.Configuration("bits", (), bits=True)
LED = HELD.replace("never claim         \t- (none specified)", "never claim         \t+ (SOMEBODY_LEADS)").replace(
    "cycle checks       \t- (disabled by -DSAFETY)", "acceptance   cycles \t+ (fairness enabled)")
UNLED = "pan:1: acceptance cycle (at depth 80)\n" + LED.replace("errors: 0", "errors: 1")
SEEN = HELD.replace("Full statespace", "Bit statespace") + "\nhash factor: 55.5 (best if > 100.)\n"


class JudgeOthers(unittest.TestCase):
    """Searches for cycles, and searches that store some bits of each state."""

    def verdict(self, text, configuration):
        return run_model.judge(text, 0, configuration).verdict

    def test_a_formula_holds_if_cycles_were_looked_for_with_fairness(self):
        self.assertEqual(self.verdict(LED, LIVE), run_model.HOLDS)

    def test_a_search_that_did_not_look_for_cycles_says_nothing_of_a_formula(self):
        self.assertEqual(self.verdict(HELD, LIVE), run_model.INCOMPLETE)
        self.assertEqual(self.verdict(LED.replace("SOMEBODY_LEADS", "another"), LIVE), run_model.INCOMPLETE)

    def test_fairness_is_as_it_was_asked_for(self):
        unfair = run_model.Configuration("unfair", (), live=True, fair=False)
        self.assertEqual(self.verdict(LED, unfair), run_model.INCOMPLETE)
        self.assertEqual(self.verdict(LED.replace("enabled)", "disabled)"), LIVE), run_model.INCOMPLETE)

    def test_a_cycle_violates_the_formula_and_nothing_else_does(self):
        self.assertEqual(self.verdict(UNLED, LIVE), run_model.LIVENESS)
        self.assertEqual(self.verdict(UNLED.replace("acceptance cycle (at", "claim violated (at"), LIVE), run_model.INCOMPLETE)
        self.assertEqual(self.verdict(UNLED, BITS), run_model.INCOMPLETE)

    def test_a_search_by_bits_never_holds(self):
        self.assertEqual(self.verdict(SEEN, BITS), run_model.NONE_SEEN)
        self.assertEqual(run_model.judge(SEEN, 0, BITS).hash_factor, 55.5)

    def test_a_search_by_bits_with_too_few_bits_says_nothing(self):
        self.assertEqual(self.verdict(SEEN.replace("55.5", "2.5"), BITS), run_model.INCOMPLETE)
        self.assertEqual(self.verdict(SEEN.replace("hash factor", "factor"), BITS), run_model.INCOMPLETE)

    def test_negatives_are_counted_and_one_that_finds_nothing_is_not(self):
        found = run_model.mutant("A", "TOKENS_RISE"), run_model.Outcome("TOKENS_RISE", states=1)
        missed = run_model.mutant("B", "TOKENS_RISE"), run_model.Outcome(run_model.HOLDS, states=1)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "figures.json"
            run_model.keep_figures(path, [found, missed], ["B"])
            figures = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual((figures["mutants_and_negatives_run"], figures["mutants_and_negatives_violated"]), (2, 1))
        self.assertEqual(figures["negatives of TOKENS_RISE"], "2 run, 1 found")


class Runs(unittest.TestCase):
    def run_one(self, configuration):
        with unittest.mock.patch("builtins.print"):
            return run_model.run([configuration], 1)

    def tiny(self, *defines, **more):
        reduced = ("LEASE=2", run_model.NO_LATE_REQUESTS, *run_model.LEASE_ONLY)
        return run_model.Configuration("tiny", (*defines, *reduced), optimise="-O0", **more)

    def test_what_holds_holds(self):
        self.assertEqual(self.run_one(self.tiny()), 0)

    def test_a_violation_that_nobody_expects_is_a_failure(self):
        self.assertEqual(self.run_one(self.tiny("TERM_BESIDE_OLD_WORK")), 1)

    def test_an_expected_violation_that_does_not_come_is_a_failure(self):
        self.assertEqual(self.run_one(self.tiny(expect="MUTUAL_EXCLUSION")), 1)

    def test_another_violation_than_the_expected_is_a_failure(self):
        self.assertEqual(self.run_one(self.tiny("TERM_BESIDE_OLD_WORK", expect="TOKENS_RISE")), 1)

    def test_a_negative_of_the_formula_that_finds_no_cycle_is_a_failure(self):
        self.assertEqual(self.run_one(run_model.never_leads("tiny", *run_model.QUICK)), 1)

    def test_too_few_states_are_a_failure(self):
        self.assertEqual(self.run_one(self.tiny(least_states=10**9)), 1)

    def test_a_depth_that_is_too_small_is_a_failure(self):
        self.assertEqual(self.run_one(self.tiny(depth=20)), 1)
        self.assertEqual(self.run_one(self.tiny("TERM_BESIDE_OLD_WORK", expect="ONE_WORK_AT_A_TIME", depth=20)), 1)

    def test_memory_that_is_too_small_is_a_failure(self):
        self.assertEqual(self.run_one(self.tiny(memory_mib=18)), 1)

    def test_a_model_that_is_not_understood_cannot_be_run(self):
        with tempfile.TemporaryDirectory() as directory:
            broken = pathlib.Path(directory) / run_model.LEASE
            for part in run_model.LEASE_PARTS:
                shutil.copy(run_model.MODELS / part, directory)
            broken.write_text("active proctype P() { nonsense }\n")
            with unittest.mock.patch.object(run_model, "MODELS", broken.parent), self.assertRaises(run_model.CannotRun):
                run_model.check(self.tiny())

    def test_a_trace_shows_the_steps_to_the_violation(self):
        mutant = run_model.all_configurations()["TERM_BESIDE_OLD_WORK"]
        with unittest.mock.patch("builtins.print") as printed:
            self.assertEqual(run_model.trace(mutant), 0)
        lines = [call.args[0] for call in printed.call_args_list]
        self.assertIn("mayRead(i)", lines[0])
        self.assertEqual(lines[-1], "violated: ONE_WORK_AT_A_TIME")
        self.assertGreater(sum("acquireAnswered" in text for text in lines), 1)

    def test_where_nothing_is_violated_there_is_no_trace(self):
        with unittest.mock.patch("builtins.print"):
            self.assertEqual(run_model.trace(self.tiny()), 1)

    def test_a_missing_tool_is_told(self):
        result = subprocess.run([sys.executable, "-B", str(pathlib.Path(run_model.__file__)), "--only", "NO_FENCE"],
                                env={"PATH": "/nonexistent"}, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("scripts/setup", result.stderr)


class Configurations(unittest.TestCase):
    def text_of(self, model):
        parts = run_model.LEASE_PARTS if model == run_model.LEASE else (model,)
        return "".join((run_model.MODELS / part).read_text(encoding="utf-8") for part in parts)

    def test_each_switch_is_in_the_model_and_each_mutant_is_run(self):
        for model in (run_model.LEASE, run_model.DATABASE):
            text = self.text_of(model)
            declared = {line.split()[1] for line in text.splitlines() if line.startswith("#ifdef") and "mutant:" in line}
            self.assertEqual(declared, {c.name for c in run_model.MUTANTS if c.model == model})
            for c in run_model.all_configurations().values():
                for define in c.defines if c.model == model else ():
                    name = define.split("=")[0]
                    self.assertRegex(text, rf"#if(?:n?def)? {name}\b", c.name)

    def test_the_numbers_of_the_properties_are_those_of_the_model(self):
        text = self.text_of(run_model.LEASE)
        for number, name in enumerate(run_model.PROPERTIES, 1):
            self.assertIn(f"SCRATCH byte {name} = OFF({number});", text)

    def test_names_are_unique(self):
        every = [*run_model.SMALL, *run_model.NEGATIVE, *run_model.MUTANTS, *run_model.FULL]
        self.assertEqual(len(every), len(run_model.all_configurations()))


if __name__ == "__main__":
    unittest.main()
