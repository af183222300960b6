#!/usr/bin/env python3
"""scripts/migration: its check fails when a test is renamed, a row or a heading is missing, or the page is outdated."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]


def tool(root):
    """The program as a module, in its own tree."""
    loader = importlib.machinery.SourceFileLoader("migration", str(root / "scripts" / "migration"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("migration", loader))
    loader.exec_module(module)
    return module


class MigrationTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.tree = pathlib.Path(directory.name)
        for name in ("scripts", "docs", "tests/migration"):
            (self.tree / name).mkdir(parents=True)
        for name in ("migration", "doc_blocks.py"):
            shutil.copy(ROOT / "scripts" / name, self.tree / "scripts" / name)
        (self.tree / "docs" / "page.md").write_text("# A page\n## The heading\n", encoding="utf-8")
        self.tool = tool(self.tree)
        self.tool.SYSTEMS = {"S1": (2, "one"), "J": (1, "Java")}
        self.rows = {
            "S1-01": {"id": "S1-01", "kind": "F", "was": "x", "here": "y", "tests": ["a.Suite.case", "a.Many.*"]},
            "S1-02": {"id": "S1-02", "kind": "D", "was": "x", "here": "y", "as": ["S1-01"]},
            "J-01": {"id": "J-01", "kind": "N", "was": "x", "here": "y", "docs": "page.md#the-heading"},
        }
        self.names = ["a.Suite.case", "a.Many.one", "a.Many.two"]

    def faults(self):
        return self.tool.faults_of(self.rows, self.names)

    def expect(self, *texts):
        self.assertEqual(len(self.faults()), len(texts), self.faults())
        for text, fault in zip(texts, self.faults()):
            self.assertIn(text, fault)

    def test_nothing_is_wrong_with_this(self):
        self.expect()

    def test_a_test_that_was_renamed(self):
        self.names[0] = "a.Suite.renamed"
        self.expect("S1-01: there is no test a.Suite.case")
        self.names[1:] = []
        self.expect("S1-01: there is no test a.Suite.case", "S1-01: there is no test a.Many.*")

    def test_a_row_that_is_missing_or_not_known(self):
        self.rows["S1-03"] = self.rows.pop("S1-02") | {"id": "S1-03"}
        self.expect("S1-02 is missing", "S1-03 is no row", "not in their order")

    def test_a_feature_without_a_test_and_a_note_without_a_page(self):
        del self.rows["S1-02"]["as"], self.rows["J-01"]["docs"]
        self.expect("S1-02: has no test", "J-01: a note is answered in the docs")

    def test_a_page_or_a_heading_that_is_gone(self):
        for docs, text in (("page.md#gone", "no such heading"), ("gone.md", "there is no gone.md")):
            self.rows["J-01"]["docs"] = docs
            self.expect(text)

    def test_fields_and_words(self):
        self.rows["S1-01"] |= {"test": [], "here": "word " * 61}
        self.rows["S1-02"]["as"] = ["S9-01"]
        self.expect("does not know test", "here is one short sentence", "S9-01: there is no such row", "has no test")

    def test_the_page_has_each_row_once_and_escapes_what_ends_a_cell(self):
        self.rows["J-01"]["was"] = "a|b"
        page = self.tool.page(self.rows)
        self.assertIn("| J-01 | N | a\\|b | y ([more](../../docs/page.md#the-heading)) |", page)
        self.assertEqual(page.count("| S1-01 |"), 1)

    def test_the_program_checks_the_page_and_this_tree_in_full(self):
        build = pathlib.Path(os.environ["TENURE_BUILD"])
        shutil.copytree(ROOT / "docs", self.tree / "docs", dirs_exist_ok=True)
        shutil.copy(ROOT / "README.md", self.tree)
        shutil.copy(ROOT / "tests" / "migration" / "rows.json", self.tree / "tests" / "migration")
        program = [sys.executable, "-B", self.tree / "scripts" / "migration", "--build", build]
        page = self.tree / "tests" / "migration" / "features.md"
        subprocess.run([*program, "render"], check=True, capture_output=True)
        written = page.read_text(encoding="utf-8")
        page.write_text(written.replace("| S1-02 |", "| S1-2 |"), encoding="utf-8")
        done = subprocess.run([*program, "check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("features.md is not what the map says", done.stdout)
        names = subprocess.run([*program, "tests", "S1-26"], capture_output=True, text=True)
        self.assertIn("config_test.WrongFiles.EachGivesItsExactMessages", names.stdout)
        rows = json.loads((self.tree / "tests" / "migration" / "rows.json").read_text(encoding="utf-8"))
        self.assertEqual(len(rows), 297)


if __name__ == "__main__":
    unittest.main()
