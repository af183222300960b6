"""Waits for a condition that a test cannot be told of."""

import time

PATIENCE_S = 60


def wait_until(condition, what, patience_s=PATIENCE_S):
    """What the condition gives when it gives something true. `what` may be a function: what it gives at the end is told."""
    deadline = time.monotonic() + patience_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {patience_s} s for {what() if callable(what) else what}")
        time.sleep(0.02)
