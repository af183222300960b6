"""examples/nightly_backup: a script that passes its lock from command to command."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(os.environ["EXAMPLES_SOURCE"]) / "nightly_backup" / "nightly.sh"
PROGRAMS = pathlib.Path(os.environ["EXAMPLES_BIN"]).parent


class NightlyBackup(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.database = os.path.join(self.directory.name, "locks.db")
        self.environment = {**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "TENURE_LOCK_STORE": "sqlite",
                            "TENURE_LOCK_PATH": self.database}

    def start(self):
        return subprocess.Popen([SCRIPT, self.database, self.directory.name], env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def tenure(self, *words):
        return subprocess.run(["tenure", "lock", *words], env=self.environment, text=True, capture_output=True,
                              timeout=60)

    def log(self):
        path = pathlib.Path(self.directory.name, "backup.log")
        return path.read_text().splitlines() if path.exists() else []

    def test_one_of_many_does_it_and_the_others_say_so(self):
        scripts = [self.start() for _ in range(5)]
        told = [script.communicate(timeout=60)[0] for script in scripts]
        self.assertEqual([script.returncode for script in scripts], [0] * 5)
        worked = told.count("")
        self.assertGreaterEqual(worked, 1)
        self.assertEqual(told.count("nightly: somebody else is at it\n"), 5 - worked)
        # Several may have worked, one after the other: never two at once, and each with a higher token.
        expected = [f"step {step}, fencing token {token}" for token in range(1, worked + 1) for step in ("one", "two")]
        self.assertEqual(self.log(), expected)

    def test_a_lock_that_is_held_is_no_failure(self):
        held = self.tenure("acquire", "nightly-backup", "--lease", "1m")
        script = self.start()
        self.assertEqual(script.communicate(timeout=60)[0], "nightly: somebody else is at it\n")
        self.assertEqual(script.returncode, 0)
        self.assertEqual(self.log(), [])
        self.assertEqual(self.tenure("release", held.stdout).returncode, 0)
        again = self.start()
        again.communicate(timeout=60)
        self.assertEqual(self.log(), ["step one, fencing token 2", "step two, fencing token 2"])
        self.assertEqual(self.tenure("show", "nightly-backup").returncode, 84, "given up at the end")


if __name__ == "__main__":
    unittest.main()
