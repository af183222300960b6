"""How late a machine and its server are at present. So a test of times does not blame a slow machine on the program."""

import threading
import time

STEP = 0.01


class Lateness:
    """A thread that repeatedly sleeps for a moment, and then sends a request to the server."""

    def __init__(self, ask, clock=time.monotonic):
        self._ask = ask
        self._clock = clock
        self._due = clock() + STEP
        self._worst = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def worst(self):
        """Seconds: the longest lateness of a wake-up plus its answer; one that is not over yet counts."""
        return max(self._worst, self._clock() - self._due)

    def _run(self):
        while not self._ended.wait(max(0.0, self._due - self._clock())):
            self._ask()
            now = self._clock()
            self._worst = max(self._worst, now - self._due)
            self._due = now + STEP

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
