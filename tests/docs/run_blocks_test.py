"""Runs the shell and Python blocks of the documents that are marked as run, and the command lines in their C#: what
readers paste works.

Each works under a lock in a table that does not exist yet, releases the lock, and does not touch a lock that another
process holds.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "scripts"), str(HERE.parent / "interop")]
import doc_blocks
from tenure_program import TableTest, the_endpoint

TABLE = re.compile(r"\b(locks-tenure|lockTable)\b")
REGION = re.compile(r"\b[a-z]{2}-[a-z]+-\d\b")
KEY = re.compile(r"\b(nightly|Moe)\b")
PATIENCE = 60
# The examples' names for the work: programs of these names, and a function for Python.
PROGRAMS = ("nightly", "do-work")
IN_PYTHON = "def backup():\n    print('worked')\n\n\n"


def marked(*languages):
    blocks = [block for block in doc_blocks.all_blocks(doc_blocks.ROOT) if block.kind == "run"]
    return [block for block in blocks if block.language in languages]


def command_lines(code):
    """The command lines in a block of C#: strings that begin with `lock`, with the constants that they use."""
    constants = dict(re.findall(r'const string (\w+) = "([^"]*)";', code))
    for quoted in re.findall(r'"(lock (?:[^"\\]|\\.)*)"', code):
        line = quoted.replace('\\"', '"')
        for name, value in constants.items():
            line = line.replace("{" + name + "}", value)
        yield line


class RunBlocks(TableTest):
    def setUp(self):
        super().setUp()
        bin_directory = self.directory / "bin"
        bin_directory.mkdir()
        (bin_directory / "tenure").symlink_to(os.environ["TENURE_PROGRAM"])
        for name in PROGRAMS:
            (self.directory / name).write_text("#!/bin/sh\necho worked\n", encoding="utf-8")
            (self.directory / name).chmod(0o755)
        (self.directory / "backup.py").write_text("print('worked')\n", encoding="utf-8")
        # Unbuffered, so that what Python prints comes before what the programs print that it calls next.
        self.environment = {**os.environ, "PATH": f"{bin_directory}:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1",
                            "AWS_ENDPOINT_URL_DYNAMODB": the_endpoint()}

    def run_it(self, *command, stdin=""):
        return subprocess.run(command, input=stdin, capture_output=True, text=True, cwd=self.directory,
                              env=self.environment, timeout=PATIENCE, check=False)

    def run_block(self, block):
        code = TABLE.sub(self.table, block.text())
        if block.language == "sh":
            return self.run_it("sh", "-c", code)
        return self.run_it(sys.executable, "-c", IN_PYTHON + code)

    def store(self):
        return ("--store", "dynamodb", "--table", self.table, "--region", self.region)

    def take(self, key):
        done = self.run_it("tenure", "lock", "acquire", key, "--wait", "0s", "--lease", "1h", *self.store())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def assert_free(self, key):
        self.assertEqual(self.run_it("tenure", "lock", "show", key, *self.store()).returncode, 84)

    def each(self, *languages):
        blocks = marked(*languages)
        self.assertTrue(blocks)
        for block in blocks:
            self.region = REGION.search(block.text()).group(0)
            self.call("DeleteTable", check=False)
            yield block, KEY.search(block.text()).group(0)

    def test_each_block_works_under_its_lock_and_gives_it_up(self):
        for block, key in self.each("sh", "python"):
            done = self.run_block(block)
            self.assertEqual((done.returncode, done.stdout.splitlines()[:1]), (0, ["worked"]), f"{block.where}: {done.stderr}")
            self.assert_free(key)

    def test_no_block_works_under_a_lock_that_another_holds(self):
        for block, key in self.each("sh", "python"):
            token = self.take(key)
            done = self.run_block(block)
            self.assertEqual(done.stdout, "", f"{block.where}: {done.stderr}")
            self.assertIn(key, done.stderr, "who has it is told")
            self.assertEqual(self.run_it("tenure", "lock", "release", token, *self.store()).returncode, 0)

    def test_the_command_lines_of_each_block_of_csharp_are_understood(self):
        for block, key in self.each("csharp"):
            lines = list(command_lines(TABLE.sub(self.table, block.text())))
            self.assertTrue(lines, block.where)
            printed = ""
            for line in lines:
                done = self.run_it("tenure", *shlex.split(line.replace("{token}", printed.strip())))
                self.assertEqual(done.returncode, 0, f"{block.where}: {line}: {done.stderr}")
                printed = done.stdout
            self.assert_free(key)
            self.take(key)
            self.assertEqual(self.run_it("tenure", *shlex.split(lines[0])).returncode, 82, block.where)


if __name__ == "__main__":
    unittest.main()
