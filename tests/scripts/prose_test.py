"""scripts/prose.py finds each of the eight habits where it is, and leaves code and plain sentences alone."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import prose

PLAIN = """# What it costs

A candidate polls the record about once per heartbeat. If a read fails, it tries again, and no more than five are sent.
| What it needs | Where it runs |
|---|---|
What does it cost? See [costs](a.md#costs). Files next to the database get its mode; otherwise the log says so.
"""


def found(name, text):
    return [(line, habit) for files in prose.measure({name: text}).values() for line, habit, _ in files[name]]


class Markers(unittest.TestCase):
    def finds(self, habit, *texts):
        for text in texts:
            self.assertEqual(found("docs/a.md", f"One line.\n\n{text}\n"), [(3, habit)], text)

    def test_each_habit(self):
        self.finds("verb for a plain one", "The log tells each kind.", "It costs a look.", "The renewal goes on.",
                   "That mends it.", "The thread stands.", "A lease bears a call.", "The file lies there.")
        self.finds("a body for a process", "If nobody leads, wait.", "It is somebody's.")
        self.finds("no noun before it", "What is not understood is refused.", "Whoever may write may delete.",
                   "It waits. Where that matters, make it longer.")
        self.finds("beside, of its own, else", "It works beside client-go.", "It has a thread of its own.", "Or else it ends.",
                   "It counts also if it failed.")
        self.finds("no more", "It is no more valid.", "It does not hold the lock any more.", "It waits for ever.")
        self.finds("a sentence that hides its link", "So it is refused.", "It ends. So another leads.")
        self.finds("a sentence without its verb", "Nor a pooler.")
        self.finds("a link that says nothing", "It is fenced ([how](a.md)).")

    def test_plain_sentences_have_none(self):
        self.assertEqual(found("docs/a.md", PLAIN), [])

    def test_code_is_left_out(self):
        self.assertEqual(found("docs/a.md", "```sh\necho nobody\n```\nThe word `nobody` is code.\n"), [])

    def test_texts_of_the_program(self):
        source = '// nobody\nconst char* const help = R"(\nnobody leads\n)";\nauto a = "nobody"; auto b = "nobody leads";\n'
        body = "a body for a process"
        self.assertEqual(found("cli/run/run_command.cpp", source), [(3, body), (5, body)])
        self.assertEqual(found("election/src/a.cpp", source), [(3, body), (5, body)])
        self.assertEqual(found("tests/a_test.cpp", source), [])

    def test_comments_of_public_headers(self):
        source = '#pragma once\n/// Nobody leads.\nint a;  // nobody\nauto b = "nobody leads";\n'
        body = "a body for a process"
        self.assertEqual(found("election/include/tenure/a.hpp", source), [(2, body), (3, body)])
        self.assertEqual(found("election/src/a.hpp", source), [(4, body)])

    def test_the_sums_that_are_bounded(self):
        tree = {"README.md": "Nobody leads.\nnobody\n", "cli/a_command.cpp": '"nobody leads"', "cli/a.cpp": '"nobody leads"',
                "election/include/tenure/a.hpp": "// nobody\n"}
        self.assertEqual(prose.totals(tree), {"markers": 3, "messages": 1, "headers": 1})

    def test_words_are_those_that_a_reader_meets(self):
        page = "# A title\n\n<!-- run: a -->\n```sh\nnot counted\n```\n| a | [link](to/a/page.md) | - |\n|---|---|---|\nTwo words.\n"
        tree = {"docs/a.md": page, "examples/b/README.md": "One.\n", "tests/README.md": "Not for users.\n", "cli/a.cpp": '"a b"'}
        self.assertEqual(prose.words_of_users(tree), {"docs/a.md": 6, "examples/b/README.md": 1})

    def test_the_pages_for_users_have_70000_words_at_most_and_none_has_5000(self):
        counted = prose.words_of_users(prose.tree_of(prose.ROOT))
        self.assertLessEqual(sum(counted.values()), 70000)
        self.assertEqual({}, {page: count for page, count in counted.items() if count > 5000})
        self.assertLessEqual(len((prose.ROOT / "README.md").read_text(encoding="utf-8").splitlines()), 140)


if __name__ == "__main__":
    unittest.main()
