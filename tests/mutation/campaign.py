"""Draws mutants in an order that the seed fixes, and judges them until enough count. It remembers each verdict.

Mutants that do not compile, or compile to the same, are drawn but do not count. results.jsonl contains every verdict
with the fingerprint of its tree, so an interrupted run continues where it ended.
"""

import concurrent.futures
import dataclasses
import json
import random
import time

from judge import COUNTED, SURVIVED, UNREACHED, Verdict
from report import EQUIVALENT

HURRY = 0.5  # seconds between looks at the clock


class Memory:
    """`tests` identifies all tests that judge: a mutant that survived fewer of them is judged again."""

    def __init__(self, path, fingerprint, mode, tests=""):
        self.path = path
        self.key = {"tree": fingerprint, "mode": mode}
        self.tests = tests
        self.known = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # incomplete because of an interruption
            survived = record.get("outcome") in (SURVIVED, UNREACHED)
            same_judges = not survived or record.get("judges") == self.tests
            if same_judges and {name: record.get(name) for name in self.key} == self.key:
                self.known[record["identity"]] = Verdict(**{f.name: record[f.name] for f in dataclasses.fields(Verdict)})

    def keep(self, verdict):
        self.known[verdict.identity] = verdict
        with open(self.path, "a") as out:
            out.write(json.dumps({**self.key, "judges": self.tests, **dataclasses.asdict(verdict)}) + "\n")


def drawn(mutants, seed):
    """All of them, in an order that only the seed decides, whatever their order was."""
    ordered = sorted(mutants, key=lambda mutant: mutant.identity)
    random.Random(seed).shuffle(ordered)
    return ordered


class Campaign:
    def __init__(self, judge, memory, equivalents, sources, jobs, told):
        self.judge = judge
        self.memory = memory
        self.equivalents = equivalents
        self.sources = sources
        self.jobs = jobs
        self.told = told
        self.verdicts = []
        self.place = {}  # position in the draw
        self.fresh_seconds = []

    def counted(self):
        return sum(verdict.outcome in COUNTED for verdict in self.verdicts)

    def run(self, queue, wanted, deadline=None):
        """Verdicts of the first `wanted` mutants that count, and of those drawn between them. Ends early at the
        deadline or when interrupted; verdicts that exist by then stay valid."""
        queue = iter(queue)
        waiting = set()
        pool = concurrent.futures.ThreadPoolExecutor(self.jobs)
        try:
            while True:
                late = deadline is not None and time.monotonic() > deadline
                while not late and len(waiting) < self.jobs and self.counted() + len(waiting) < wanted:
                    mutant = next(queue, None)
                    if mutant is None:
                        break
                    waiting |= self.begin(pool, mutant)
                if not waiting:
                    return self.verdicts
                done, waiting = concurrent.futures.wait(waiting, HURRY, concurrent.futures.FIRST_COMPLETED)
                for future in done:
                    self.end(future.result(), wanted)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # an interruption does not wait for running judgements
            self.verdicts.sort(key=lambda verdict: self.place[verdict.identity])

    def begin(self, pool, mutant):
        """Does nothing if the verdict is known."""
        self.place[mutant.identity] = len(self.place)
        if mutant.identity in self.equivalents:
            self.verdicts.append(Verdict(mutant.identity, EQUIVALENT))
        elif mutant.identity in self.memory.known:
            self.verdicts.append(self.memory.known[mutant.identity])
        else:
            return {pool.submit(self.judge.judge, mutant, self.sources[mutant.path])}
        return set()

    def end(self, verdict, wanted):
        self.memory.keep(verdict)
        self.verdicts.append(verdict)
        self.fresh_seconds.append(verdict.seconds)
        self.told(verdict, self.counted(), wanted, self.seconds_left(wanted))

    def seconds_left(self, wanted):
        """The estimate, at the speed so far."""
        counted = max(1, sum(v.outcome in COUNTED for v in self.verdicts[-len(self.fresh_seconds):]))
        return sum(self.fresh_seconds) / counted * (wanted - self.counted()) / self.jobs
