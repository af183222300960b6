"""The mutants' copy is made as its lists say. An edit that does not fit stops it, with the file, the mutant and the
text."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TREE = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = TREE / "tests" / "simulation" / "apply_mutants.py"
sys.path.insert(0, str(SCRIPT.parent))
sys.dont_write_bytecode = True
import apply_mutants

SOURCE = "void f() {\n  if (a &&\n      b) return;\n  g();\n  h();\n  h();\n}\n"


def applied(text, files=None):
    return apply_mutants.apply(apply_mutants.mutants_of(text, "list.txt"), files or {"p/a.cpp": SOURCE})


def one(*lines, name="first", file="p/a.cpp"):
    return "\n".join((f"{name} (I1): what it does", file, *lines, ""))


class Edits(unittest.TestCase):
    def refuses(self, text, *words):
        with self.assertRaises(apply_mutants.Refused) as refused:
            applied(text)
        for word in words:
            self.assertIn(word, str(refused.exception))

    def test_what_stays_goes_and_comes(self):
        made = applied(one("  if (a && b) return;", "- g();", "+ if (!MUTANT) g();"))
        self.assertEqual(made["p/a.cpp"], apply_mutants.INCLUDE + SOURCE.replace(
            "if (a &&\n      b) return;\n  g();", "if (a && b) return;\nif (!mutant::on(Mutant::first)) g();"))

    def test_a_second_edit_finds_what_the_first_one_made(self):
        first = one("- g();", "+ if (!MUTANT) g();")
        second = one("- if (!mutant::on(Mutant::first)) g();", "+ if (MUTANT) g();", name="second")
        self.assertIn("  if (mutant::on(Mutant::second)) g();\n", applied(first + second)["p/a.cpp"])
        self.refuses(second + first, "second", "is not there")

    def test_text_that_is_missing(self):
        self.refuses(one("- gone(1);", "+ if (MUTANT) gone(1);"), "first", "p/a.cpp", "is not there", "gone(1);")
        self.refuses(one("- (a && b) ret", "+ (MUTANT) ret"), "is not there")  # half a word

    def test_text_that_is_there_twice(self):
        self.refuses(one("- h();", "+ if (MUTANT) h();"), "first", "p/a.cpp", "is there 2 times", "h();")

    def test_a_file_that_is_not_copied(self):
        self.refuses(one("- g();", "+ if (MUTANT) g();", file="p/b.cpp"), "first", "p/b.cpp is not among the files")

    def test_a_name_that_is_taken(self):
        edit = ("- g();", "+ if (MUTANT) g();")
        self.refuses(one(*edit) + one("- (a &&", "+ (MUTANT || a &&"), "first", "taken")
        self.refuses(one(*edit, name="none"), "none", "taken")

    def test_a_change_that_does_not_depend_on_the_mutant(self):
        self.refuses(one("- g();", "+ h();"), "first", "without MUTANT")
        self.refuses(one("- g();"), "first", "without MUTANT")
        self.refuses(one("+ if (MUTANT) return;"), "first", "where")
        self.refuses("first (I1): what it does\n", "first", "no edit")

    def test_a_line_that_is_nothing(self):
        self.refuses("first: no rule\n", "list.txt:1", "first: no rule")
        self.refuses("# a comment\n\n- g();\n", "list.txt:3")


class Program(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        (self.root / "p").mkdir()
        (self.root / "p/a.cpp").write_text(SOURCE)
        (self.root / "p/b.hpp").write_text("int b();\n")
        self.list = self.root / "list.txt"
        self.list.write_text(one("- g();", "+ if (!MUTANT) g();") +
                             'other (answer, memory, safety, faults all-crash,pause): says "no"\np/a.cpp\n- a &&\n+ (a || MUTANT) &&\n')

    def run_it(self):
        return subprocess.run([sys.executable, "-B", SCRIPT, "--tree", self.root, "--to", self.root / "to", "--lists", self.list,
                               "--folders", "p"], capture_output=True, text=True)

    def test_makes_the_copy_the_names_and_the_table(self):
        self.assertEqual(self.run_it().returncode, 0)
        self.assertIn("mutant::on(Mutant::other)", (self.root / "to/tree/p/a.cpp").read_text())
        self.assertEqual((self.root / "to/tree/p/b.hpp").read_text(), "int b();\n")
        self.assertIn("enum class Mutant { none, first, other };", (self.root / "to/list/simulation/mutants.hpp").read_text())
        rows = (self.root / "to/list/simulation/mutant_rows.inc").read_text().splitlines()
        self.assertEqual(rows[0].strip(), '{Mutant::first, "first", StoreKind::drawn, SimMode::drawn, "I1", "what it does", "all"},')
        self.assertEqual(rows[1].strip(), '{Mutant::other, "other", StoreKind::memory, SimMode::safety, "answer",'
                                          ' "says \\"no\\"", "all-crash,pause"},')

    def test_leaves_what_is_as_it_was(self):
        self.run_it()
        dates = {path: path.stat().st_mtime_ns for path in (self.root / "to").rglob("*.?pp")}
        (self.root / "p/b.hpp").write_text("int c();\n")
        self.run_it()
        changed = [path.name for path, date in dates.items() if path.stat().st_mtime_ns != date]
        self.assertEqual(changed, ["b.hpp"])

    def test_fails_and_says_why(self):
        (self.root / "p/a.cpp").write_text(SOURCE.replace("g();", "k();"))
        done = self.run_it()
        self.assertEqual(done.returncode, 1)
        self.assertIn("apply_mutants: first: in p/a.cpp this is not there:\n    g();\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
