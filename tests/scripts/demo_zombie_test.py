"""scripts/demo --zombie: the exit code of a run, and that its verdict can be a bad one. This test measures no times."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest
import urllib.request
import xml.dom.minidom

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPTS))
import demo_zombie
import timeline


class Run(unittest.TestCase):
    def test_each_fence_refuses_what_the_file_without_one_takes(self):
        with tempfile.TemporaryDirectory(prefix="tenure-demo-") as directory:
            demo = subprocess.Popen(
                [sys.executable, "-B", SCRIPTS / "demo_zombie.py", "--candidate", os.environ["TENURE_DEMO_ZOMBIE"],
                 "--candidates", "4", "--keep", directory],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            with demo:
                told = "".join(self.looking_at_the_pages(demo.stdout))
            self.assertEqual(demo.returncode, 0, told)
            for resource in demo_zombie.RESOURCES:
                self.assertRegex(told, rf"{resource} .* [1-9]\d* stale refused, 0 stale accepted")
            self.assertRegex(told, r"without a fence .* [1-9]\d* stale accepted")
            page = pathlib.Path(directory, "timeline.html")
            self.assertIn(f"The picture: {page}", told)
            self.check_picture(Picture.of(page.read_text(encoding="utf-8")))

    def looking_at_the_pages(self, lines):
        """Passes the lines on. Each page that they name is live then."""
        pages = 0
        for line in lines:
            yield line
            if address := re.search(r"candidate-\d  (http://127\.0\.0\.1:\d+/)$", line.rstrip()):
                with urllib.request.urlopen(address[1], timeout=30) as page:
                    self.assertIn(b"<html", page.read())
                pages += 1
        self.assertEqual(pages, 4)

    def check_picture(self, picture):
        # In the picture if a slow run leaves room for it; in the text under the pointer in any case.
        self.assertRegex(picture.titles, r"frozen for \d+\.\d\d s, between its check and its write")
        self.assertIn("SIGCONT", picture.texts)
        for resource in demo_zombie.RESOURCES:
            marks = picture.marks_of(resource)
            self.assertTrue(marks)
            for mark in marks:
                self.assertRegex(mark, r"^\u2717 token \d+ refused, \d+ seen$")
            self.assertRegex(picture.titles_of(resource), r"^(\d+ writes with token \d+ accepted\n?){2,}$")
        self.assertRegex("\n".join(picture.marks_of(demo_zombie.UNFENCED)), r"^\u2713 stale token \d+ accepted after \d+")


class Picture:
    """The shapes in a page, by lane."""

    @classmethod
    def of(cls, page):
        return cls(xml.dom.minidom.parseString(re.search(r"<svg.*</svg>", page, re.DOTALL)[0]))

    def __init__(self, svg):
        texts = [(t.getAttribute("class"), float(t.getAttribute("y")), t.firstChild.data)
                 for t in svg.getElementsByTagName("text")]
        self.texts = "\n".join(text for _, _, text in texts)
        self.tops = {text: y - 24 for kind, y, text in texts if kind == "name"}
        self._marks = [(y, text) for kind, y, text in texts if kind in ("refused", "stale")]
        self._bars = [(float(r.getAttribute("y")), r.getElementsByTagName("title")[0].firstChild.data)
                      for r in svg.getElementsByTagName("rect")]

        self.titles = "\n".join(text for _, text in self._bars)

    def marks_of(self, lane):
        return [text for y, text in self._marks if 0 <= y - self.tops[lane] < timeline.Page.LANE]

    def titles_of(self, lane):
        return "\n".join(text for y, text in self._bars if 0 <= y - self.tops[lane] < timeline.Page.LANE)


class Drawing(unittest.TestCase):
    """A stale write that a resource accepted is drawn as stale, whatever the name of the resource."""

    def setUp(self):
        self.zombie = types.SimpleNamespace(name="a", faults=[(15, "SIGSTOP"), (40, "SIGCONT")], events=[
            {"e": "wrote", "resource": "SQLite", "token": 1, "t": 11}, {"e": "wrote", "resource": "SQLite", "token": 1, "t": 12}])
        self.successor = types.SimpleNamespace(name="b", faults=[], events=[
            {"e": "wrote", "resource": "SQLite", "token": 2, "t": 35}])

    def draw(self):
        demo = types.SimpleNamespace(candidates=[self.zombie, self.successor], started=0, ended=100, LANES=("SQLite", "<file>"),
                                     FREEZE_NOTE="x < y")
        terms = [(self.zombie, 1, 10, 41, 15), (self.successor, 2, 30, 90, 90)]
        return Picture.of(timeline.Chart(demo, terms).html())

    def test_what_was_taken(self):
        picture = self.draw()
        self.assertEqual(picture.titles_of("SQLite"), "2 writes with token 1 accepted\n1 writes with token 2 accepted")
        self.assertEqual(picture.marks_of("SQLite"), [])
        self.assertEqual(picture.titles_of("<file>"), "")

    def test_a_stale_write_refused(self):
        self.zombie.events.append({"e": "refused", "resource": "SQLite", "token": 1, "seen": 2, "t": 41})
        self.assertEqual(self.draw().marks_of("SQLite"), ["\u2717 token 1 refused, 2 seen"])

    def test_a_stale_write_accepted(self):
        self.zombie.events.append({"e": "wrote", "resource": "SQLite", "token": 1, "t": 41})
        picture = self.draw()
        self.assertEqual(picture.marks_of("SQLite"), ["\u2713 stale token 1 accepted after 2"])
        self.assertEqual(picture.titles_of("SQLite"), "2 writes with token 1 accepted\n1 writes with token 2 accepted")


class Verdict(unittest.TestCase):
    """A correct run, and runs that must not pass."""

    def setUp(self):
        good = ["1 a", "1 a", "2 b"]
        self.contents = {"SQLite": list(good), "file": list(good), "Redis": list(good), demo_zombie.UNFENCED: good + ["1 a"]}
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
        self.contents[demo_zombie.UNFENCED].pop()
        self.assertFalse(self.verdict())

    def test_nothing_was_written(self):
        self.contents["Redis"] = []
        self.assertFalse(self.verdict())

    def test_two_leaders_at_once(self):
        self.terms[0] = ("a", 1, 10, 35, 31)
        self.assertFalse(self.verdict())


if __name__ == "__main__":
    unittest.main()
