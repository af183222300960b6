"""Starts the candidates of one group, watches them, applies faults to them, and gives the results to the judge."""

import contextlib
import json
import pathlib
import signal
import sqlite3
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[2] / "scripts")]
from freezing import has_write_lock
from processes import Candidate, now
from verdict import SECOND, Run, Verdict

PATIENCE_S = 60
TICK_S = 0.01
# The machine itself stood still: then it is nobody's fault that nobody was elected.
STALL_NS = SECOND // 10
YAML = """group: chaos
candidate: {{ id: "{name}" }}
lease: {{ duration: {lease}ms, heartbeat: {heartbeat}ms{more} }}
store: {store}
log: {{ level: info }}
"""


class Timing:
    def __init__(self, lease_s=2.0, heartbeat_s=0.5, slack_s=1.0):
        self.lease_s, self.heartbeat_s, self.slack_s = lease_s, heartbeat_s, slack_s

    def longest_vacancy_s(self):
        """lease + guard + poll + slack. The poll: a heartbeat and its jitter."""
        return self.lease_s + (0.001 * self.lease_s + 0.001) + 1.25 * self.heartbeat_s + self.slack_s


class Fleet:
    """A context manager: no process is left behind, whatever happens."""

    def __init__(self, store, candidates=5, timing=None, job="rows", step_ms=20, environments=None, prefixes=None,
                 names=None, leases=None, directory=None, store_yaml=None, clock_offsets=None,
                 lease_more=""):
        self.store, self.timing = store, timing or Timing()
        self._own = None if directory else tempfile.TemporaryDirectory(prefix="tenure-chaos.")
        self.directory = pathlib.Path(directory or self._own.name)
        self.candidates, self.blocked, self.faults = [], [], []
        self._open_blocks = {}
        self.ongoing = set()  # faults of the store
        self._job, self._lease_more = job, lease_more
        self._due = []  # (when, what, whether it is also done at the end of the run)
        self._starts_from, self._rules = 0, {}
        self.leader, self.token = None, 0
        self.began = self._last_tick = now()
        self.on_event = lambda process, event: None
        for n in range(candidates):
            name = names[n] if names else f"candidate-{n + 1}"
            config = self._write_config(n, name, leases[n] if leases else None, store_yaml[n] if store_yaml else None)
            self.candidates.append(Candidate(
                f"candidate-{n + 1}", config, self.directory, job, step_ms,
                environments[n] if environments else None, prefixes[n] if prefixes else (),
                clock_offsets[n] if clock_offsets else 0))

    def _write_config(self, n, name, lease_s, store_yaml):
        lease_s = lease_s or self.timing.lease_s
        path = self.directory / f"group-{n + 1}.yaml"
        path.write_text(YAML.format(name=name, lease=round(lease_s * 1000), store=store_yaml or self.store.yaml(), more=self._lease_more,
                                    heartbeat=round(min(self.timing.heartbeat_s, lease_s / 4) * 1000)), encoding="utf-8")
        return path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _, what, always in self._due:
            if always:  # control groups must not stay behind, whatever has failed
                with contextlib.suppress(Exception):
                    what()
        for process in self.processes():
            if process.process.poll() is None:
                process.process.kill()
        for process in self.processes():
            process.process.wait()
            process.close()
        if self._own:
            self._own.cleanup()

    def processes(self):
        return [process for candidate in self.candidates for process in candidate.processes]

    # -- watching ---------------------------------------------------------------------------------------------------

    def tick(self):
        at = now()
        if at - self._last_tick > STALL_NS + TICK_S * SECOND:
            self.blocked.append((self._last_tick, at, "the machine stood still"))
        self._last_tick = at
        for candidate in self.candidates:
            for process in candidate.processes[-1:]:
                if process.is_alive():
                    for event in process.poll():
                        self._take(candidate, event)
                        self.on_event(process, event)
                if not process.is_alive() and candidate.restart_at is not None and \
                        at >= max(candidate.restart_at, self._starts_from):
                    candidate.start()
        for entry in [entry for entry in self._due if entry[0] <= at]:
            self._due.remove(entry)
            entry[1]()
        able = any(c.processes and c.process.is_alive() and not c.process.frozen_by and c.process.is_ready()
                   for c in self.candidates)
        self.block("nobody could run", not able)

    def _take(self, candidate, event):
        if event["e"] == "elected" and event["token"] > self.token:
            self.leader, self.token = candidate, event["token"]

    def block(self, why, on):
        """From now on nobody can be elected, or candidates can be elected again."""
        if on:
            self._open_blocks.setdefault(why, now())
        elif why in self._open_blocks:
            self.blocked.append((self._open_blocks.pop(why), now(), why))

    def after(self, seconds, what, always=False):
        """Does it at that time; `always`: at the end of the run at the latest."""
        self._due.append((now() + int(seconds * SECOND), what, always))

    def hold_starts(self, leases):
        """No process is started for this long."""
        self._starts_from = now() + int(leases * self.timing.lease_s * SECOND)

    def proxy_rules(self, name, rules):
        """These rules apply under that name, in addition to those of other names."""
        self._rules[name] = [dict(rule) for rule in rules]
        self.store.proxy.set_rules([rule for each in self._rules.values() for rule in each])

    def run_for(self, seconds):
        end = now() + int(seconds * SECOND)
        while now() < end:
            self.tick()
            time.sleep(TICK_S)

    def wait(self, condition, what, patience=PATIENCE_S):
        """Returns the condition's value once it is true. The time limit is for a machine that has no time; it is no
        bound."""
        deadline = now() + patience * SECOND
        while True:
            self.tick()
            value = condition()
            if value:
                return value
            if died := [p for p in self.processes() if p.how == "died"]:
                raise RuntimeError(f"{died[0].judged().why}; waited for {what}")
            if now() > deadline:
                raise TimeoutError(f"waited {patience} s for {what}; {self.tail()}")
            time.sleep(TICK_S)

    def tail(self):
        return "; ".join(f"{p} ({p.how or 'alive'}): {' '.join(map(json.dumps, p.events[-2:]))}" for p in self.processes())

    # -- doing ------------------------------------------------------------------------------------------------------

    def start(self):
        for candidate in self.candidates:
            candidate.start()
        self.wait(lambda: all(p.is_ready() for p in self.processes()), "the start of all")
        leader = self.await_leader()
        self.wait(self.all_know_the_leader, "that all have seen the leader")
        return leader

    def all_know_the_leader(self):
        """A process that has never seen the record may be elected beside the holder if it is deleted: a documented
        limit."""
        return all(p.knows(self.token) for p in self.processes() if p.is_alive() and not p.frozen_by)

    def await_leader(self, above=0):
        """The candidate that leads under a token above this one, and by its own events leads now."""
        def leads():
            leader = self.leader
            return leader if leader and self.token > above and leader.process.term() == self.token else None
        return self.wait(leads, f"a leader with a token above {above}")

    def await_claim(self):
        """A candidate reports from now on that it leads."""
        since = now()
        return self.wait(lambda: any(p.told("led", since) for p in self.processes()), "a claim to lead")

    def fenced_token(self):
        """The highest token of which the fence has seen a row; 0 if there is none."""
        return self._rows("fenced.db", "SELECT coalesce(max(token), 0) FROM ledger")[0][0]

    def holders(self):
        """The names, as the library gives them, of the candidates that have written behind the fence."""
        return {holder for holder, in self._rows("fenced.db", "SELECT DISTINCT holder FROM ledger")}

    def others(self, *excepted):
        return [c for c in self.candidates if c not in excepted]

    def note(self, what, candidate=None, seconds=0.0):
        self.faults.append({"t": now(), "what": what, "candidate": candidate.name if candidate else None, "seconds": seconds})

    def freeze(self, candidate, seconds=None):
        """SIGSTOP; wakes it after this many seconds, if given."""
        process = candidate.process
        process.stop_now()
        self.note("SIGSTOP", candidate, seconds or 0.0)
        self.mark_frozen(process, "SIGSTOP")
        if seconds is not None:
            self.after(seconds, lambda: self.thaw(process))
        return process

    def freeze_outside_of_transactions(self, candidate, seconds=None):
        """Otherwise it may keep the lock of a ledger or of the leases, and the test would wait for the others in
        vain."""
        process = candidate.process
        ledgers = [self.directory / "fenced.db", self.directory / "unfenced.db"]
        for _ in range(1000):
            process.stop_now()
            if not self.store.is_locked_by(process.pid) and not any(has_write_lock(f, process.pid) for f in ledgers):
                return self.freeze(candidate, seconds)
            process.send(signal.SIGCONT)
            time.sleep(0.002)
        raise TimeoutError(f"{process} is always in a transaction")

    def mark_frozen(self, process, how):
        process.frozen_by, process.frozen_since = how, now()
        if self.store.is_locked_by(process.pid):
            self.block(f"{process} was stopped in a transaction", True)

    def thaw(self, process):
        process.send(signal.SIGCONT)
        self.mark_thawed(process)

    def mark_thawed(self, process):
        process.frozen_by = None
        self.block(f"{process} was stopped in a transaction", False)

    def kill(self, candidate, restart_after=None, number=signal.SIGKILL):
        process = candidate.process
        process.expected_end = number
        process.send(number)
        self.note(number.name, candidate)
        self._end(candidate, restart_after)
        self.wait(lambda: not process.is_alive(), f"the end of {process}")
        self.mark_thawed(process)
        return process

    def stop(self, candidate, restart_after=None):
        candidate.process.send(signal.SIGTERM)
        self.note("SIGTERM", candidate)
        self._end(candidate, restart_after)
        return candidate.process

    @staticmethod
    def _end(candidate, restart_after):
        candidate.restart_at = None if restart_after is None else now() + int(restart_after * SECOND)

    # -- the end ----------------------------------------------------------------------------------------------------

    def end(self):
        """Stops all processes properly and gives the run to the judge."""
        for _, what, always in self._due:
            if always:
                what()
        self._due.clear()
        for candidate in self.candidates:
            candidate.restart_at = None
        ended = now()
        for why in list(self._open_blocks):
            self.block(why, False)
        for process in self.processes():
            process.send(signal.SIGTERM)
            self.thaw(process)
        deadline = now() + PATIENCE_S * SECOND
        while any(p.is_alive() for p in self.processes()) and now() < deadline:
            self.tick()
            time.sleep(TICK_S)
        return self._result(ended)

    def _result(self, ended):
        run = Run(self.began, ended, [p.judged() for p in self.processes()], blocked=self.blocked,
                  longest_vacancy_s=self.timing.longest_vacancy_s())
        for process, judged in zip(self.processes(), run.processes):
            if process.how is None:
                judged.how, judged.why = "died", "it did not end when it was told to"
        if self._job == "rows":
            run.fenced_rows = self._rows("fenced.db", "SELECT token, holder FROM ledger ORDER BY id")
            run.unfenced_rows = self._rows("unfenced.db", "SELECT token, holder FROM ledger ORDER BY id")
        else:
            run.sets = {where: self._rows(f"{where}.db", "SELECT elements FROM jepsen")[0][0].split()
                        for where in ("fenced", "unfenced")}
        return run

    def _rows(self, file, sql):
        with contextlib.closing(sqlite3.connect(self.directory / file, timeout=20)) as database:
            return database.execute(sql).fetchall()

    def judge(self):
        return Verdict(self.end())
