#!/usr/bin/env python3
"""AWS's Java lock client and `tenure`, or two releases of `tenure`, fight for one lock, under kills, pauses and releases.

    scripts/dynamodb_local --dynoxide -- python3 tests/interop/fight.py --tenure build/release/bin/tenure --minutes 10
    python3 tests/interop/fight.py --store sqlite --java 0 --tenure NEW --rival OLD --minutes 5
    scripts/etcd_local -- python3 tests/interop/fight.py --store etcd --java 0 --tenure NEW --rival OLD

Three holders of each side compete. Now and then one of them, most often the holder, is killed, frozen for up to two
leases, or stopped properly. Each process that believes that it holds the lock writes so to a ledger, every 5 ms;
judge.py reads it. Exit code 0: never two at once, tenure's fencing tokens rose strictly, and both sides won often.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "scripts"), str(HERE.parent / "faults")]
import dynamodb_server
import judge
import peers
import store_kinds
from client import FaultProxy

LEASE_MS = 2000
HEARTBEAT_MS = 500
MOST_HOLD_MS = 4000
GROUP = "fight"
SIDES = {"Java": "java-", "the rival": "rival-", "tenure": "tenure-"}
YAML = """group: {group}
candidate: {{ id: "{name}" }}
lease: {{ duration: {lease}ms, heartbeat: {heartbeat}ms }}
store: {store}
"""
DYNAMODB = '{{ type: dynamodb, table: {table}, region: us-east-1, endpoint: "{endpoint}" }}'


class Contender:
    """A process that is started again whenever it has ended."""

    def __init__(self, name, command, directory):
        self.name = name
        self._command = command
        self._log = open(directory / f"{name}.log", "ab")
        self.process = None
        self.frozen_until = None
        self.starts = 0
        self.expected_end = False
        self.surprises = []
        self.start()

    def start(self):
        self.process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
                                        preexec_fn=dynamodb_server.die_with_parent)
        self.starts += 1
        self.expected_end = False
        self.frozen_until = None

    def is_alive(self):
        return self.process.poll() is None

    def send(self, number):
        if self.is_alive():
            self.process.send_signal(number)

    def end_with(self, number):
        self.expected_end = True
        self.send(number)
        self.thaw()  # a frozen process must also see the signal

    def freeze(self, seconds):
        self.send(signal.SIGSTOP)
        self.frozen_until = time.monotonic() + seconds

    def thaw(self):
        self.send(signal.SIGCONT)
        self.frozen_until = None

    def tend(self):
        """Thaws and restarts the processes for which the time has come."""
        if self.frozen_until and time.monotonic() >= self.frozen_until:
            self.thaw()
        if not self.is_alive():
            if not self.expected_end:
                self.surprises.append(f"{self.name} ended by itself with {self.process.returncode}")
            self.start()

    def close(self):
        if self.is_alive():
            self.process.kill()
            self.process.wait()
        self._log.close()


class Fight:
    def __init__(self, options, directory, endpoint):
        self._random = random.Random(options.seed)
        self.ledger = directory / "ledger"
        self.ledger.touch()
        self._read_to = 0
        self._holder = None
        self.faults = {}
        table = f"fight-{os.getpid()}-{time.monotonic_ns()}"
        with contextlib.ExitStack() as undo:
            self.proxy = None
            theirs = endpoint
            if options.drop:
                self.proxy = undo.enter_context(FaultProxy(endpoint, options.seed))
                self.proxy.add("drop_after", operation=["UpdateItem", "TransactWriteItems"], probability=options.drop)
                theirs = self.proxy.endpoint
            if options.store == "dynamodb" and not options.candidates:
                self._make_table(endpoint, table)
            if options.store == "dynamodb":
                store = DYNAMODB.format(table=table, endpoint=theirs)
            else:
                store = store_kinds.section(options.store, str(directory.resolve()))
            self.contenders = []
            # The older release starts first: after an upgrade, the newer one finds what the older one has created.
            for side, program in (("rival", options.rival), ("tenure", options.tenure)):
                for n in range(options.candidates if program else 0):
                    name = f"{side}-{n + 1}"
                    self._add(undo, name, self._candidate(program, directory, store, name), directory)
            if options.java and options.candidates:
                self._wait_for_table(endpoint, table)  # tenure creates it; the Java client needs it
            for n in range(options.java):
                name = f"java-{n + 1}"
                self._add(undo, name, [*peers.java(), "fight", endpoint, table, GROUP, name, str(LEASE_MS),
                                       str(HEARTBEAT_MS), str(self.ledger)], directory)
            self._undo = undo.pop_all()

    def _add(self, undo, name, command, directory):
        contender = Contender(name, command, directory)
        undo.callback(contender.close)
        self.contenders.append(contender)

    def _candidate(self, program, directory, store, name):
        config = directory / f"{name}.yaml"
        config.write_text(YAML.format(group=GROUP, name=name, lease=LEASE_MS, heartbeat=HEARTBEAT_MS, store=store),
                          encoding="utf-8")
        job = [sys.executable, "-E", "-S", "-B", str(HERE / "holder_job.py"), str(self.ledger), name, str(MOST_HOLD_MS)]
        return [program, "run", "--config", str(config), "--", *job]

    @staticmethod
    def _make_table(endpoint, table):
        dynamodb_server.call(endpoint, "CreateTable", {
            "TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "key", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "key", "AttributeType": "S"}]})

    def _wait_for_table(self, endpoint, table):
        deadline = time.monotonic() + 20
        while True:
            status, reply = dynamodb_server.call(endpoint, "DescribeTable", {"TableName": table})
            if status == 200 and reply["Table"]["TableStatus"] == "ACTIVE":
                return
            if time.monotonic() > deadline or not all(c.is_alive() for c in self.contenders):
                raise SystemExit(f"fight: tenure has made no table; see its log:\n{self.tail()}")
            time.sleep(0.05)

    def tail(self):
        for contender in self.contenders:
            contender._log.flush()
        return "\n".join(f"{c.name}: {pathlib.Path(c._log.name).read_text(errors='replace')[-2000:]}"
                         for c in self.contenders)

    def close(self):
        self._undo.close()

    # -- what happens ----------------------------------------------------------------------------------------------

    def holder(self):
        """The contender that began last, by the ledger."""
        with open(self.ledger, "rb") as file:
            file.seek(self._read_to)
            data = file.read()
        end = data.rfind(b"\n") + 1
        self._read_to += end
        for line in data[:end].splitlines():
            if b'"begin"' in line:
                self._holder = line.split(b'"holder": "')[1].split(b'"')[0].decode()
        return next((c for c in self.contenders if c.name == self._holder), None)

    def _victim(self):
        holder = self.holder()
        if holder and self._random.random() < 0.75:
            return holder
        return self._random.choice(self.contenders)

    def _disturb(self):
        victim = self._victim()
        if not victim.is_alive() or victim.frozen_until or victim.expected_end:
            return
        what = self._random.choices(["kill", "freeze", "stop"], [2, 5, 2])[0]
        self.faults[what] = self.faults.get(what, 0) + 1
        if what == "kill":
            victim.end_with(signal.SIGKILL)
        elif what == "stop":
            victim.end_with(signal.SIGTERM)
        else:
            # Short ones must not cost anything, long ones cost the term.
            victim.freeze(self._random.uniform(0.1, 2.0) * LEASE_MS / 1000)

    def run(self, seconds):
        end = time.monotonic() + seconds
        next_fault = time.monotonic() + 3
        while time.monotonic() < end:
            for contender in self.contenders:
                contender.tend()
            if time.monotonic() >= next_fault:
                self._disturb()
                next_fault = time.monotonic() + self._random.uniform(0.5, 4.0)
            time.sleep(0.02)

    def finish(self):
        """Ends all processes properly; reports those that do not end."""
        left = []
        for contender in self.contenders:
            contender.end_with(signal.SIGTERM)
        deadline = time.monotonic() + 20
        for contender in self.contenders:
            try:
                contender.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                left.append(f"{contender.name} did not end after SIGTERM")
        return left + [s for c in self.contenders for s in c.surprises]


def keep_figures(path, fight, seconds, verdict, faults):
    """For scripts/evidence."""
    figures = {"seconds": round(seconds), "contenders": len(fight.contenders), "lease_ms": LEASE_MS, "faults": fight.faults,
               "terms": verdict.wins, "changes_of_side": verdict.changes, "two_holders_at_once": len(verdict.overlaps),
               "tokens_that_do_not_rise": len(verdict.token_faults), "closest_ms": verdict.closest_ms, "holds": not faults}
    pathlib.Path(path).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def report(fight, seconds, fewest_wins, errors, keep):
    verdict = judge.Verdict(judge.terms_of(judge.read(fight.ledger)),
                            {s: p for s, p in SIDES.items() if any(c.name.startswith(p) for c in fight.contenders)})
    tokens = [term.token for term in verdict.terms if term.token is not None]
    print(f"{seconds:.0f} s, {len(fight.contenders)} contenders, lease {LEASE_MS} ms; faults: "
          + (", ".join(f"{n} x {what}" for what, n in sorted(fight.faults.items())) or "none"))
    print("terms: " + ", ".join(f"{wins} of {side}" for side, wins in verdict.wins.items())
          + f"; the side changed {verdict.changes} times")
    if tokens:
        print(f"fencing tokens: {tokens[0]} to {tokens[-1]} in {len(tokens)} terms")
    if verdict.closest_ms is not None:
        print(f"from one holder's last claim to the next one's first: {verdict.closest_ms:.1f} to "
              f"{verdict.longest_ms:.1f} ms")
    if fight.proxy:
        lost = sum(rule["applied"] for rule in fight.proxy.rules())
        print(f"replies to tenure that were lost: {lost}")
    faults = verdict.faults(fewest_wins) + errors
    for fault in faults:
        print(f"FAULT: {fault}")
    if keep:
        keep_figures(keep, fight, seconds, verdict, faults)
    print("verdict: " + ("FAILED" if faults else "never two holders, tokens rise, each side wins"))
    return not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenure", help="the program; needed unless --candidates 0")
    parser.add_argument("--rival", metavar="PROGRAM", help="another release of it, with as many processes")
    parser.add_argument("--store", choices=store_kinds.names(), default="dynamodb")
    parser.add_argument("--java", type=int, default=3, metavar="N")
    parser.add_argument("--candidates", type=int, default=3, metavar="N", help="processes of tenure run")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--fewest-wins", type=int, help="of each side (default: 3, or 2 a minute)")
    parser.add_argument("--drop", type=float, default=0, metavar="P", help="lose replies to tenure with this probability")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--json", metavar="FILE", help="write the figures here")
    parser.add_argument("--keep", metavar="DIR", help="keep the ledger and the logs here")
    options = parser.parse_args()
    if options.candidates and not options.tenure:
        parser.error("--tenure PROGRAM is missing")
    if options.store != "dynamodb" and (options.java or options.drop):
        parser.error("only on DynamoDB there are Java clients and replies to lose: --java 0, without --drop")
    endpoint = os.environ.get(dynamodb_server.ENDPOINT)
    if options.store == "dynamodb" and not endpoint:
        parser.error(f"{dynamodb_server.ENDPOINT} is not set; run it under scripts/dynamodb_local --")
    seconds = options.minutes * 60 if options.minutes else options.seconds
    fewest = options.fewest_wins if options.fewest_wins is not None else max(3, int(seconds / 60 * 2))
    directory = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="tenure-fight."))
    directory.mkdir(parents=True, exist_ok=True)
    print(f"seed {options.seed}, files in {directory}", flush=True)
    if options.java:
        peers.java()
    fight = Fight(options, directory, endpoint)
    try:
        fight.run(seconds)
        good = report(fight, seconds, fewest, fight.finish(), options.json)
        if not good:
            print(fight.tail())
    finally:
        fight.close()
    if good and not options.keep:
        shutil.rmtree(directory)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
