"""Draws mutants in an order that the seed fixes and judges them until enough count; what was judged once is remembered.

What does not compile, or compiles to the same, is drawn but does not count. results.jsonl holds every verdict with the
fingerprint of the tree that it holds for, so a run that was interrupted goes on where it ended.
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
    """`tests` stands for all that judge: who survived fewer of them is judged anew."""

    def __init__(self, path, fingerprint, mode, tests=""):
        self.path = path
        self.key = {"tree": fingerprint, "mode": mode}
        self.tests = tests
        self.known = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # cut by an interruption
            survived = record.get("outcome") in (SURVIVED, UNREACHED)
            same_judges = not survived or record.get("judges") == self.tests
            if same_judges and {name: record.get(name) for name in self.key} == self.key:
                self.known[record["identity"]] = Verdict(**{f.name: record[f.name] for f in dataclasses.fields(Verdict)})

    def keep(self, verdict):
        self.known[verdict.identity] = verdict
        with open(self.path, "a") as out:
            out.write(json.dumps({**self.key, "judges": self.tests, **dataclasses.asdict(verdict)}) + "\n")


def drawn(mutants, seed):
    """All of them, in the order that the seed fixes whatever order they came in."""
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
        self.place = {}  # in the draw
        self.fresh_seconds = []

    def counted(self):
        return sum(verdict.outcome in COUNTED for verdict in self.verdicts)

    def run(self, queue, wanted, deadline=None):
        """Verdicts of the first `wanted` mutants that count, and of those drawn between them. Ends early at the deadline
        or when interrupted; the verdicts until then hold."""
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
            pool.shutdown(wait=False, cancel_futures=True)  # who interrupts does not wait for what is judged
            self.verdicts.sort(key=lambda verdict: self.place[verdict.identity])

    def begin(self, pool, mutant):
        """Nothing to wait for if the verdict is known."""
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
        """If it goes on as until now."""
        counted = max(1, sum(v.outcome in COUNTED for v in self.verdicts[-len(self.fresh_seconds):]))
        return sum(self.fresh_seconds) / counted * (wanted - self.counted()) / self.jobs
