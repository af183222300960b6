"""scripts/platforms: what it builds is what the documents say that was built."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "platforms"
SYSTEMS = {"Debian 12": "bookworm", "Debian 13": "trixie", "Debian sid": "sid"}
ROW = re.compile(r"^\| (?P<system>Debian (?:\d+|sid))(?:, (?P<more>[^|]+))? \| (?P<compiler>[^|]+) \|(?P<cells>.*)\|$", re.MULTILINE)


def run(*arguments):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)


def rows():
    for row in ROW.finditer((ROOT / "tests" / "package" / "README.md").read_text()):
        more = f"/{row['more']}" if row["more"] else ""
        yield f"{SYSTEMS[row['system']]}/{row['compiler']}{more}", row["cells"]


class Platforms(unittest.TestCase):
    def test_each_row_of_the_documents_is_one_of_them(self):
        listed = run("--list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertLessEqual({name for name, _ in rows()}, set(listed.stdout.split()))

    def test_no_row_of_the_documents_says_that_something_failed(self):
        for name, cells in rows():
            self.assertEqual(cells.count("|"), 3, name)
            self.assertNotIn("failed", cells, name)

    def test_another_one_is_refused(self):
        refused = run("potato/g++-2.95")
        self.assertEqual(refused.returncode, 2)
        self.assertIn('unknown platform "potato/g++-2.95"', refused.stderr)


if __name__ == "__main__":
    unittest.main()
