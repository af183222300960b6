"""The judge finds what is wrong, and nothing else."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import judge

SIDES = {"Java": "java-", "tenure": "tenure-"}


def line(t, holder, what, **more):
    return {"t": t, "holder": holder, "e": what, **more}


def verdict(*lines):
    return judge.Verdict(judge.terms_of(lines), SIDES)


class Judge(unittest.TestCase):
    def test_accepts_terms_one_after_the_other(self):
        seen = verdict(line(1, "java-1", "begin"), line(5, "java-1", "valid"), line(6, "java-1", "end", why="expired"),
                       line(7, "tenure-1", "begin", token=1), line(9, "tenure-1", "end", why="released"),
                       line(10, "tenure-2", "begin", token=2), line(12, "java-1", "begin"))
        self.assertEqual(seen.faults(1), [])
        self.assertEqual((seen.wins, seen.changes), ({"Java": 2, "tenure": 2}, 2))
        self.assertEqual((seen.closest_ms, seen.longest_ms), (1e-6, 2e-6))

    def test_sees_two_holders(self):
        seen = verdict(line(1, "java-1", "begin"), line(4, "tenure-1", "begin", token=1), line(5, "java-1", "valid"))
        self.assertEqual(len(seen.overlaps), 1)
        self.assertIn("two holders at once: java-1", seen.faults(0)[0])

    def test_sees_two_terms_that_touch(self):
        self.assertEqual(len(verdict(line(1, "java-1", "begin"), line(1, "java-2", "begin")).overlaps), 1)

    def test_sees_an_overlap_across_a_short_term_between(self):
        seen = verdict(line(1, "java-1", "begin"), line(2, "java-2", "begin"), line(5, "java-3", "begin"),
                       line(9, "java-1", "valid"))
        self.assertEqual([b.holder for _, b in seen.overlaps], ["java-2", "java-3"])

    def test_sees_two_processes_of_one_name(self):
        seen = verdict(line(1, "tenure-1", "begin", pid=7, token=1), line(4, "tenure-1", "begin", pid=8, token=2),
                       line(5, "tenure-1", "valid", pid=7))
        self.assertEqual(len(seen.overlaps), 1)

    def test_an_end_after_expiry_claims_nothing(self):
        self.assertEqual(verdict(line(1, "java-1", "begin"), line(4, "tenure-1", "begin", token=1),
                                 line(9, "java-1", "end", why="expired")).overlaps, [])

    def test_a_release_claims_its_instant(self):
        self.assertEqual(len(verdict(line(1, "java-1", "begin"), line(4, "tenure-1", "begin", token=1),
                                     line(9, "java-1", "end", why="released")).overlaps), 1)

    def test_sees_tokens_that_stand_still_or_fall(self):
        for tokens in ((3, 3), (3, 2)):
            seen = verdict(line(1, "tenure-1", "begin", token=tokens[0]), line(2, "java-1", "begin"),
                           line(3, "tenure-2", "begin", token=tokens[1]))
            self.assertEqual(len(seen.token_faults), 1)
            self.assertIn("tokens do not rise", seen.faults(0)[0])

    def test_refuses_a_ledger_that_makes_no_sense(self):
        for what in ("valid", "end"):
            with self.assertRaises(ValueError):
                verdict(line(1, "java-1", what))

    def test_wants_both_sides_to_win(self):
        self.assertEqual(verdict(line(1, "java-1", "begin")).faults(1), ["tenure won 0 times, fewer than 1"])

    def test_leaves_out_a_line_that_was_cut_off(self):
        with tempfile.NamedTemporaryFile("w", suffix=".ledger") as file:
            file.write('{"t": 1, "holder": "java-1", "e": "begin"}\n{"t": 2, "hol')
            file.flush()
            self.assertEqual(len(judge.read(file.name)), 1)


if __name__ == "__main__":
    unittest.main()
