"""Real processes for the tests of the examples; the tests wait for lines that they print."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import freezing

BIN = pathlib.Path(os.environ["EXAMPLES_BIN"])
SOURCE = pathlib.Path(os.environ["EXAMPLES_SOURCE"])
PATIENCE = 60  # seconds; only a failing test takes this long

_printed = threading.Condition()  # one for all programs, so that a test can wait for the first of several


class Program:
    """One running copy of an example with the lines that it has printed."""

    def __init__(self, name, arguments, directory, environment):
        self._process = subprocess.Popen([BIN / name, *map(str, arguments)], cwd=directory, text=True,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         env={**os.environ, **environment})
        self.pid = self._process.pid
        self._lines, self._log = [], []
        self._readers = [threading.Thread(target=self._collect, args=collected, daemon=True) for collected in
                         ((self._process.stdout, self._lines), (self._process.stderr, self._log))]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _collect(stream, lines):
        with stream:
            for line in stream:
                with _printed:
                    lines.append(line.rstrip("\n"))
                    _printed.notify_all()
        with _printed:
            _printed.notify_all()

    @property
    def lines(self):
        """The lines of stdout."""
        with _printed:
            return list(self._lines)

    @property
    def log(self):
        """The lines of stderr, where the library writes its log."""
        with _printed:
            return list(self._log)

    def __repr__(self):
        last = "\n  ".join(["", *self.lines[-20:], "log:", *self.log[-20:]])
        return f"\nprocess {self.pid}, its last lines:{last}"

    def matches(self, pattern, log=False):
        return [match for line in (self.log if log else self.lines) if (match := re.fullmatch(pattern, line))]

    def wait_for(self, pattern, count=1, log=False):
        """The count-th line that matches completely."""
        wait_until(lambda: len(self.matches(pattern, log)) >= count, f"{count} x {pattern!r}", [self])
        return self.matches(pattern, log)[count - 1]

    def is_over(self):
        return self._process.poll() is not None and not any(reader.is_alive() for reader in self._readers)

    def kill(self):
        """Ends the process as a crash would."""
        os.kill(self.pid, signal.SIGKILL)
        return self.exit_code()

    def thaw(self):
        os.kill(self.pid, signal.SIGCONT)

    def stop(self):
        """Asks the process to end, once it handles the signal, and returns its exit code. Before that the signal ends it at once."""
        deadline = time.monotonic() + PATIENCE
        while not self._handles(signal.SIGTERM):
            if time.monotonic() > deadline:
                raise AssertionError(f"does not wait for a signal: {self}")
            time.sleep(0.01)
        os.kill(self.pid, signal.SIGTERM)
        return self.exit_code()

    def _handles(self, number):
        """Also true of a process that is over or frozen."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        handled = int(re.search(r"^SigCgt:\s*([0-9a-f]+)", status, re.MULTILINE)[1], 16)
        return bool(handled >> (number - 1) & 1) or bool(re.search(r"^State:\s*[ZT]", status, re.MULTILINE))

    def exit_code(self):
        code = self._process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code

    def end(self):
        if self._process.poll() is None:
            self.kill()


def wait_until(condition, what, programs):
    """Checks again whenever a program prints something. It fails if it is too late, or all have ended without it."""
    with _printed:
        _printed.wait_for(lambda: condition() or all(program.is_over() for program in programs), PATIENCE)
        if not condition():
            raise AssertionError(f"waited for {what}, in vain: {programs}")


def first_to_print(programs, pattern):
    """The program that prints such a line first, and the others."""
    wait_until(lambda: any(program.matches(pattern) for program in programs), pattern, programs)
    first = next(program for program in programs if program.matches(pattern))
    return first, [program for program in programs if program is not first]


class ExampleTest(unittest.TestCase):
    """Runs copies of one example in a new directory that has the example's own YAML file, if there is one."""

    example = ""
    group = ("group.yaml",)

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.example}."))
        self.addCleanup(shutil.rmtree, self.directory)
        for name in self.group:
            shutil.copy(SOURCE / self.example / name, self.directory)

    def start(self, *arguments, **environment):
        program = Program(self.example, [*self.group, *arguments], self.directory, environment)
        self.addCleanup(program.end)
        return program

    def freeze(self, program):
        freezing.freeze(program.pid, list(self.directory.glob("*.db")))
