"""Runs tests against the originals or against a variant of the libraries, alone or several cases in one process."""

import collections
import dataclasses
import os
import re
import threading
import time

from ctests import FILTER

BATCH_SECONDS = 6.0
BATCH_CASES = 120
PATIENCE = 6  # times the duration of the test without a mutant
LEAST_PATIENCE = 8.0
FAILED_CASE = re.compile(r"^\[  FAILED  \] ([\w/.]+)", re.MULTILINE)
BEGUN_CASE = re.compile(r"^\[ RUN      \] ([\w/.]+)", re.MULTILINE)


@dataclasses.dataclass
class Outcome:
    ok: bool
    timed_out: bool
    seconds: float
    output: str


class Runner:
    def __init__(self, sandbox, servers, base=None):
        self.sandbox = sandbox
        self.servers = servers
        self.base = dict(os.environ if base is None else base)
        self.serial = threading.Lock()

    def run_alone(self, test, libraries=None, seconds=None, trace=None):
        if test.serial:
            with self.serial:
                return self.run(test, test.command, libraries, seconds or test.timeout, trace)
        return self.run(test, test.command, libraries, seconds or test.timeout, trace)

    def run(self, test, command, libraries, seconds, trace=None):
        environment = self.servers.environment(test, self.base)
        if libraries:
            environment["LD_LIBRARY_PATH"] = str(libraries)
        begun = time.monotonic()
        code, output = self.sandbox.run(command, test.directory, environment, seconds, trace)
        return Outcome(self.passes(test, code, output), code is None, time.monotonic() - begun, output)

    @staticmethod
    def passes(test, code, output):
        """As CTest judges it."""
        if code is None or any(re.search(one, output) for one in test.refused):
            return False
        good = any(re.search(one, output) for one in test.expected) if test.expected else code == 0
        return good != test.inverted

    def run_batch(self, batch, libraries, seconds):
        """The outcome, and the test that ended it if that is known."""
        first = batch[0]
        command = [word for word in first.command if not word.startswith(FILTER)]
        command += [FILTER + ":".join(test.case for test in batch), "--gtest_fail_fast"]
        outcome = self.run(first, command, libraries, seconds)
        if outcome.ok:
            return outcome, None
        named = FAILED_CASE.findall(outcome.output) or BEGUN_CASE.findall(outcome.output)[-1:]
        by_case = {test.case: test for test in batch}
        return outcome, next((by_case[name] for name in named if name in by_case), None)


def batches_of(tests, seconds):
    """Groups cases of one program, a few seconds each; the quickest first. `seconds`: name -> duration."""
    by_program = collections.defaultdict(list)
    for test in sorted(tests, key=lambda test: (seconds[test.name], test.name)):
        together = test.program if test.program and not test.serial else test.name
        by_program[together].append(test)
    batches = []
    for group in by_program.values():
        batch, taken = [], 0.0
        for test in group:
            if batch and (taken + seconds[test.name] > BATCH_SECONDS or len(batch) == BATCH_CASES):
                batches.append((taken, batch))
                batch, taken = [], 0.0
            batch.append(test)
            taken += seconds[test.name]
        batches.append((taken, batch))
    return [batch for _, batch in sorted(batches, key=lambda one: (one[0], one[1][0].name))]


def patience(taken, timeout):
    return min(max(LEAST_PATIENCE, PATIENCE * taken), max(timeout, LEAST_PATIENCE))
