import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import unittest

from program import PATIENCE, ExampleTest, first_to_print

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from ports import free_port

ACTIVE = r"active on port \d+, fencing token (\d+)"


def read_all(connection):
    with contextlib.closing(connection):
        try:
            return connection.makefile().read()
        except ConnectionResetError:
            return ""


class ActivePassive(ExampleTest):
    example = "active_passive"

    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.nodes = {self.start(self.port, NODE=name): name for name in ("left", "right")}
        self.active, (self.passive,) = first_to_print(list(self.nodes), ACTIVE)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def ask(self):
        return read_all(self.connect())

    def answer_of(self, program, token):
        return f"{self.nodes[program]}, fencing token {token}\n"

    def test_the_active_one_answers_and_a_polite_stop_hands_over(self):
        self.assertEqual(self.ask(), self.answer_of(self.active, 1))
        self.assertEqual(self.active.stop(), 0)
        self.passive.wait_for(ACTIVE)
        self.assertEqual(self.ask(), self.answer_of(self.passive, 2))
        self.assertEqual(self.passive.stop(), 0)

    def test_the_one_that_resign_names_takes_over(self):
        name = self.nodes[self.passive]
        resign = [os.environ["TENURE_PROGRAM"], "resign", self.directory / "group.yaml", "--to"]
        done = subprocess.run([*resign, name], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{name} (", done.stdout)
        self.passive.wait_for(ACTIVE)
        self.assertEqual(self.ask(), self.answer_of(self.passive, 2))
        again = subprocess.run([*resign, name], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(again.returncode, 2, again.stderr)
        self.assertIn("leads active-passive already", again.stderr)

    def test_a_killed_one_is_succeeded_on_the_same_port(self):
        self.active.kill()
        self.passive.wait_for(ACTIVE)
        self.assertEqual(self.ask(), self.answer_of(self.passive, 2))

    def test_a_frozen_one_answers_nobody_on_waking_and_gives_up_the_port(self):
        self.freeze(self.active)
        waiting = self.connect()  # the kernel puts it into the frozen process's queue
        self.passive.wait_for(r".*elected with fencing token 2", log=True)
        self.active.thaw()
        self.assertEqual(read_all(waiting), "")

        self.passive.wait_for(ACTIVE)
        self.assertEqual(self.ask(), self.answer_of(self.passive, 2))
        # storeUnreachable: the process was frozen while an answer of the store was due.
        self.active.wait_for(r"passive \((expired|storeUnreachable)\)")


if __name__ == "__main__":
    unittest.main()
