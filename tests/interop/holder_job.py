"""The job of `tenure run` in a fight: as long as it lives, it claims in the ledger that it may act.

    holder_job.py LEDGER NAME MOST_HOLD_MS

It ends at SIGTERM, or after a random time up to MOST_HOLD_MS; then the lease is released. It knows nothing about
leases: its claim is that it still runs, and `tenure run` promises that it may.
"""

import os
import random
import signal
import sys
import time

path, name, most_hold_ms = sys.argv[1], sys.argv[2], int(sys.argv[3])
ledger = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
stopped = False


def stop(*_):
    global stopped
    stopped = True


def say(what, t, more=""):
    os.write(ledger, f'{{"t": {t}, "holder": "{name}", "pid": {os.getpid()}, "e": "{what}", '
                     f'"token": {os.environ["TENURE_FENCING_TOKEN"]}{more}}}\n'.encode())


signal.signal(signal.SIGTERM, stop)
now = time.monotonic_ns()
until = now + random.randint(100, most_hold_ms) * 1_000_000
say("begin", now)
while not stopped and now < until:
    time.sleep(0.005)
    now = time.monotonic_ns()
    say("valid", now)
say("end", time.monotonic_ns(), ', "why": "released"')
