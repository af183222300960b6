"""Judges one mutant: makes it and runs the tests that cover its lines, the quickest first, until one of them notices
it.

A test notices a mutant if it fails with it, passes without it right after, and fails with it again: under load a test
may fail for other reasons.
"""

import dataclasses
import hashlib
import shutil
import tempfile
import time

from runner import batches_of, patience
from workspace import SameObject, Uncompilable, Variant

KILLED, TIMED_OUT, SURVIVED = "killed", "timed out", "survived"
UNREACHED = "not reached"  # it counts as a survivor: no test runs its lines
SAME, INVALID = "same object", "does not compile"
NEAR_LINES = 3
COUNTED = (KILLED, TIMED_OUT, SURVIVED, UNREACHED)


@dataclasses.dataclass
class Verdict:
    identity: str
    outcome: str
    by: str = ""
    seconds: float = 0.0
    tests: int = 0


class Judge:
    """Judges by the tests that run a mutant's lines."""

    only = None  # every library that contains the file

    def __init__(self, workspace, runner, tests, reach, gate):
        self.workspace = workspace
        self.runner = runner
        self.tests = {test.name: test for test in tests}
        self.seconds = {name: record["seconds"] for name, record in reach.records.items()}
        self.gate = gate  # limits the number of simultaneous compilations
        self.by_line = {}
        self.reach = reach

    def prepare(self, files):
        self.by_line = self.reach.tests_by_line(files)

    def who(self):
        """Identifies all tests that judge."""
        return hashlib.sha256("\0".join(sorted(self.seconds)).encode()).hexdigest()[:16]

    def covering(self, mutant):
        """The tests that run a line of its statement, and whether they are known to. A statement without code of its own
        (a constant) is judged by all tests that run the file. A call that g++ has inlined leaves no code at its own
        line. So a statement that no test seems to run is judged by the tests that run the nearest line."""
        lines = self.by_line.get(mutant.path, {})
        own = [line for line in lines if mutant.first_line <= line <= mutant.line]
        names = set().union(*(lines[line] for line in own or lines))
        known = bool(names)
        if not known:
            away = {line: max(mutant.first_line - line, line - mutant.line) for line in lines if lines[line]}
            nearest = min(away, key=lambda line: (away[line], line), default=None)
            if nearest is not None and away[nearest] <= NEAR_LINES:
                names = lines[nearest]
        return [self.tests[name] for name in names if name in self.tests], known

    def judge(self, mutant, source):
        begun = time.monotonic()
        folder = self.workspace.home / "variants"
        folder.mkdir(parents=True, exist_ok=True)
        variant = Variant(self.workspace, mutant.path, type(folder)(tempfile.mkdtemp(dir=folder)))
        variant.folder.chmod(0o755)
        try:
            verdict = self.judge_variant(mutant, source, variant)
        finally:
            shutil.rmtree(variant.folder, ignore_errors=True)
        verdict.seconds = round(time.monotonic() - begun, 1)
        return verdict

    def judge_variant(self, mutant, source, variant):
        try:
            with self.gate:
                made = variant.make(mutant.apply(source), self.only)
        except Uncompilable:
            return Verdict(mutant.identity, INVALID)
        except SameObject:
            return Verdict(mutant.identity, SAME)
        if not made:
            return Verdict(mutant.identity, UNREACHED)
        return self.run_tests(mutant, variant.libraries)

    def run_tests(self, mutant, libraries):
        covering, known = self.covering(mutant)
        tests = [test for test in covering if self.runner.servers.can_run(test)]
        if not tests:
            return Verdict(mutant.identity, UNREACHED)
        for batch in batches_of(tests, self.seconds):
            seen = self.seen_by(batch, libraries)
            if seen:
                return Verdict(mutant.identity, seen[0], seen[1].name, tests=len(tests))
        return Verdict(mutant.identity, SURVIVED if known else UNREACHED, tests=len(tests))

    def seen_by(self, batch, libraries):
        """(outcome, test) if one of these tests notices it."""
        if len(batch) == 1:
            return self.sees(batch[0], libraries)
        taken = sum(self.seconds[test.name] for test in batch)
        outcome, suspect = self.runner.run_batch(batch, libraries, patience(taken, max(t.timeout for t in batch)))
        if outcome.ok:
            return None
        suspects = [suspect] if suspect else []
        for test in suspects + [test for test in batch if test is not suspect]:
            seen = self.sees(test, libraries)
            if seen:
                return seen
        return None

    def sees(self, test, libraries):
        limit = patience(self.seconds[test.name], test.timeout)
        for expected, place in ((False, libraries), (True, None), (False, libraries)):
            outcome = self.runner.run_alone(test, place, limit)
            if outcome.ok != expected:
                return None
        return TIMED_OUT if outcome.timed_out else KILLED, test


class SimulationJudge(Judge):
    """Judges by the simulations alone: a fixed number of seeds for each one with the mutant's library."""

    only = r"libtenure_(clients_)?simulated\.so"

    def __init__(self, workspace, runner, campaigns, gate):
        self.workspace = workspace
        self.runner = runner
        self.gate = gate
        self.campaigns = campaigns  # library -> test
        self.seconds = {campaign.name: 0.0 for campaign in campaigns.values()}

    def prepare(self, files):
        for campaign in self.campaigns.values():
            done = self.runner.run_alone(campaign)
            if not done.ok:
                raise RuntimeError(f"{campaign.name} fails without a mutant:\n" + done.output)
            self.seconds[campaign.name] = done.seconds

    def run_tests(self, mutant, libraries):
        judges = [campaign for library, campaign in self.campaigns.items() if (libraries / library).exists()]
        for campaign in judges:
            seen = self.sees(campaign, libraries)
            if seen:
                return Verdict(mutant.identity, seen[0], seen[1].name, tests=len(judges))
        return Verdict(mutant.identity, SURVIVED, tests=len(judges))
