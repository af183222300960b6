"""The probe notices slowness, even while it lasts."""

import pathlib
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from lateness import Lateness


class LatenessTest(unittest.TestCase):
    def test_an_answer_that_takes_long_is_seen_while_it_is_awaited_and_afterwards(self):
        asked, answer, again = threading.Event(), threading.Event(), threading.Event()

        def ask():
            if asked.is_set():
                again.set()
            asked.set()
            answer.wait()

        with Lateness(ask) as probe:
            self.assertTrue(asked.wait(30))
            begun = time.monotonic()
            while time.monotonic() < begun + 0.3:
                pass
            self.assertGreaterEqual(probe.worst(), 0.3)
            answer.set()
            self.assertTrue(again.wait(30), "it asks again")
            self.assertGreaterEqual(probe.worst(), 0.3)

    def test_it_never_sees_more_than_the_time_that_passed(self):
        begun = time.monotonic()
        rounds = threading.Semaphore(0)
        with Lateness(rounds.release) as probe:
            for _ in range(3):
                self.assertTrue(rounds.acquire(timeout=30))
            self.assertLessEqual(probe.worst(), time.monotonic() - begun)


if __name__ == "__main__":
    unittest.main()
