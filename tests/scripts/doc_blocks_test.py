"""scripts/doc_blocks.py extracts marked blocks and finds blocks without a mark, duplicate names and dead links."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import doc_blocks


class Documents(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name).resolve()

    def check(self, text):
        (self.root / "README.md").write_text(text)
        return doc_blocks.check(self.root)

    def test_extract_writes_the_marked_blocks_with_their_place(self):
        (self.root / "docs").mkdir()
        (self.root / "README.md").write_text("# A\n\n<!-- compiled: one -->\n```cpp\nint a;\n```\n")
        (self.root / "docs/b.md").write_text("<!-- loaded: two -->\n\n```yaml\ngroup: a\n```\n"
                                             "<!-- fragment -->\n```cpp\nx\n```\n")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            doc_blocks.extract(self.root, "compiled", self.root / "out")
            doc_blocks.extract(self.root, "loaded", self.root / "out")
        self.assertEqual(printed.getvalue().split(), [str(self.root / "out/one.cpp"), str(self.root / "out/two.yaml")])
        self.assertEqual((self.root / "out/one.cpp").read_text(), '#line 5 "README.md"\nint a;\n')
        self.assertEqual((self.root / "out/two.yaml").read_text(), "group: a\n")
        self.assertEqual(doc_blocks.check(self.root), [])

    def test_a_block_without_a_mark_is_a_fault(self):
        self.assertEqual(self.check("```cpp\nint a;\n```\n"),
                         ["README.md:1: mark the cpp block: <!-- compiled: name --> or <!-- fragment -->"])
        self.assertEqual(self.check("<!-- compiled: a -->\ntext between\n```cpp\n```\n"),
                         ["README.md:3: mark the cpp block: <!-- compiled: name --> or <!-- fragment -->"])
        self.assertEqual(self.check("```\nany text\n```\n```sh\nls\n```\n"), [])

    def test_a_mark_of_the_wrong_kind_and_a_doubled_name_are_faults(self):
        self.assertEqual(self.check("<!-- loaded: a -->\n```cpp\n```\n"),
                         ['README.md:2: marked as loaded but written in "cpp"'])
        block = "<!-- loaded: a -->\n```yaml\n```\n"
        self.assertEqual(self.check(block + block), ["README.md:5: the name a is taken by README.md:2"])

    def test_what_is_run_is_of_a_language_that_a_test_runs(self):
        self.assertEqual(self.check("<!-- run: a -->\n```sh\nls\n```\n<!-- run: b -->\n```python\n```\n"), [])
        self.assertEqual(self.check("<!-- run: a -->\n```java\n```\n"), ['README.md:2: marked as run but written in "java"'])

    def test_links_must_lead_somewhere(self):
        (self.root / "LICENSE").write_text("")
        self.assertEqual(self.check("# The `end` of it\n[a](LICENSE) [b](#the-end-of-it) [c](https://example.org)\n"
                                    "```\n[code](nowhere)\n```\n"), [])
        self.assertEqual(self.check("[a](nowhere.md)\n[b](#nothing)\n"),
                         ["README.md:1: the link to nowhere.md leads nowhere",
                          "README.md:2: #nothing: there is no such heading"])

    def test_a_block_without_an_end_is_refused(self):
        with self.assertRaises(SystemExit):
            self.check("```cpp\nint a;\n")


if __name__ == "__main__":
    unittest.main()
