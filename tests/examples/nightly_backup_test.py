"""examples/nightly_backup: a periodic job that cron starts on several machines."""

import os
import pathlib
import subprocess
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(os.environ["EXAMPLES_SOURCE"]) / "nightly_backup" / "nightly.sh"
PROGRAMS = pathlib.Path(os.environ["EXAMPLES_BIN"]).parent


class NightlyBackup(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.environment = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}

    def start(self, **environment):
        return subprocess.Popen([SCRIPT, os.path.join(self.directory.name, "nightly.db"), self.directory.name],
                                env={**self.environment, **environment}, text=True, stderr=subprocess.PIPE)

    def finish(self, script):
        errors = script.communicate(timeout=60)[1]
        self.assertEqual(script.returncode, 0, errors)
        return errors

    def log(self):
        path = pathlib.Path(self.directory.name, "backup.log")
        return path.read_text().splitlines() if path.exists() else []

    def test_one_of_many_does_it_and_later_ones_find_it_done(self):
        told = [self.finish(script) for script in [self.start() for _ in range(5)]]
        told.append(self.finish(self.start()))
        self.assertEqual(told, [""] * 6, "cron would mail it")
        lines = self.log()
        self.assertEqual([line[:10] for line in lines], ["step one, ", "step two, "])
        self.assertEqual(lines[0][10:], lines[1][10:])
        self.assertRegex(lines[0], r"night \d{4}-\d\d-\d\dT03:00:00Z, attempt 1, fencing token 1$")

    def test_a_crash_is_made_up_for_by_the_next_start(self):
        script = self.start(NIGHTLY_WORK="1000")
        deadline = time.monotonic() + 60
        while not self.log() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(len(self.log()), 1)
        script.kill()
        script.communicate(timeout=60)
        self.finish(self.start())
        lines = self.log()
        self.assertEqual(len(lines), 3, lines)
        for line, step in zip(lines[1:], ("one", "two")):
            self.assertRegex(line, f"step {step}, night .*, attempt 2, fencing token [2-9]$")
        self.assertEqual(self.finish(self.start()), "")
        self.assertEqual(self.log(), lines)


if __name__ == "__main__":
    unittest.main()
