"""Changes the clocks of one process while it runs: the counterpart of clock_shim.cpp."""

import mmap
import os
import struct
import time

SHIM = "TENURE_CLOCK_SHIM_LIBRARY"
SECOND = 1_000_000_000
CLOCKS = {"realtime": time.CLOCK_REALTIME, "monotonic": time.CLOCK_MONOTONIC, "raw": time.CLOCK_MONOTONIC_RAW,
          "boottime": time.CLOCK_BOOTTIME}
ELAPSED = ("monotonic", "raw", "boottime")


def preloaded(library, **variables):
    """The environment of a process that loads this library."""
    # AddressSanitizer must be the first library; it does no harm that these functions come before its own.
    asan = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
    return {"LD_PRELOAD": library, "ASAN_OPTIONS": asan, **variables}


class FakeClocks:
    def __init__(self, path):
        self._path = path
        path.write_bytes(bytes(8 + 24 * len(CLOCKS)))
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._turns = 0
        self._lines = {}
        for name, clock in CLOCKS.items():
            at = time.clock_gettime_ns(clock)
            self._lines[name] = (at, at, 1.0)
        self._write()

    def environment(self):
        return preloaded(os.environ[SHIM], TENURE_CLOCK_SHIM=str(self._path))

    def _write(self):
        self._turns += 2
        struct.pack_into("=Q", self._map, 0, self._turns - 1)
        for n, line in enumerate(self._lines.values()):
            struct.pack_into("=qqd", self._map, 8 + 24 * n, *line)
        struct.pack_into("=Q", self._map, 0, self._turns)

    def _fake_now(self, name):
        at = time.clock_gettime_ns(CLOCKS[name])
        true_base, fake_base, rate = self._lines[name]
        return at, fake_base + int((at - true_base) * rate)

    def run_at(self, rate, *names):
        """From now on these clocks run at that rate."""
        for name in names:
            self._lines[name] = (*self._fake_now(name), rate)
        self._write()

    def jump(self, seconds, *names):
        for name in names:
            at, fake = self._fake_now(name)
            self._lines[name] = (at, fake + int(seconds * SECOND), self._lines[name][2])
        self._write()

    def stand_still(self):
        """For a process that stands still: its clocks continue from here when go_on() is called, as in a virtual
        machine that is stopped together with its clocks."""
        self._stopped = {name: self._fake_now(name)[1] for name in CLOCKS}

    def go_on(self):
        for name, fake in self._stopped.items():
            self._lines[name] = (time.clock_gettime_ns(CLOCKS[name]), fake, self._lines[name][2])
        self._write()
