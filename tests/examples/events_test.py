"""examples/events: clients of /events in three languages, whose server ends and comes back."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ports import free_port
from waiting import wait_until

CLIENTS = pathlib.Path(os.environ["EXAMPLES_SOURCE"]) / "events"
TENURE = pathlib.Path(os.environ["EXAMPLES_BIN"]).parent / "tenure"


class Events(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.files = pathlib.Path(directory.name)
        self.port = free_port()

    def start(self, command, **more):
        process = subprocess.Popen(command, cwd=self.files, stdin=subprocess.DEVNULL, start_new_session=True, **more)
        self.addCleanup(process.wait)
        self.addCleanup(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
        return process

    def lead(self, name):
        (self.files / f"{name}.yaml").write_text(f"group: g\ncandidate: {{ id: {name} }}\n"
                                                 "store: { type: sqlite, path: ./leases.db }\n")
        return self.start([TENURE, "run", "--config", f"{name}.yaml", "--http", f"127.0.0.1:{self.port}", "--", "sleep", "600"],
                          stderr=subprocess.DEVNULL)

    def follow(self, command):
        printed = self.files / "printed"
        alice = self.lead("alice")
        with open(printed, "w", encoding="utf-8") as out:
            self.start([*command, f"http://127.0.0.1:{self.port}/events"], stdout=out, stderr=subprocess.DEVNULL)
        wait_until(lambda: "alice" in printed.read_text(), "the present leader", 120)
        alice.send_signal(signal.SIGTERM)
        self.assertEqual(alice.wait(60), 0)
        self.lead("bob")
        wait_until(lambda: "bob" in printed.read_text(), "a client that comes back by itself")

    def test_python(self):
        self.follow([sys.executable, CLIENTS / "follow.py"])

    def test_go(self):
        if not shutil.which("go"):
            self.skipTest("go is not installed")
        self.follow(["go", "run", CLIENTS / "follow.go"])

    def test_javascript(self):
        if not shutil.which("node"):
            self.skipTest("node is not installed")
        version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
        if int(version.lstrip("v").split(".")[0]) < 18:
            self.skipTest(f"node {version.strip()} has no fetch")
        self.follow(["node", CLIENTS / "follow.mjs"])


if __name__ == "__main__":
    unittest.main()
