#!/usr/bin/env python3
"""Measures how long after the end of the lease `tenure` takes over from a holder that fell silent. Nobody may take over
before the lease ends.

    scripts/bench takeover                  # 20 deaths of each holder
    scripts/bench takeover --rounds 100

The holders: AWS's Java lock client, killed; a client that pauses for the whole period after each heartbeat, as scripts in
Python do (so its rhythm is slower than it says); and `tenure`. Each holder has lived for some heartbeats before a candidate
starts, at a random phase. It dies some heartbeats later, at a random phase. Times count from the reply to its last
heartbeat.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import uuid

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests" / "interop"), str(ROOT / "tests" / "faults"), str(ROOT / "scripts")]
import dynamodb_server
import java_program
from client import FaultProxy

TABLE = "takeover"
YAML = """group: {group}
candidate: {{ id: {name} }}
lease: {{ duration: {lease}ms, heartbeat: {heartbeat}ms }}
store: {{ type: dynamodb, table: takeover, region: us-east-1, endpoint: "{endpoint}" }}
"""
BOUNDS = {"p50": 60, "p99": 150, "looks": 1.5}


def call(endpoint, operation, **body):
    status, reply = dynamodb_server.call(endpoint, operation, {"TableName": TABLE, **body})
    if status != 200:
        raise RuntimeError(f"{operation}: {reply}")
    return reply


class Java:
    """AWS's Java lock client as a process."""

    def __init__(self, endpoint, group, options):
        self._holder = java_program.Holder(endpoint, TABLE, group, lease_ms=options.lease, heartbeat_ms=options.heartbeat)
        self._holder.wait_for("heartbeat")

    def die(self):
        """Kills the holder. Returns when its last heartbeat was answered, at the latest, and the present time."""
        self._holder.__exit__()
        return max(e["t"] for e in self._holder.events if e["e"] == "heartbeat"), time.monotonic_ns()

    def version(self):
        return [e["rvn"] for e in self._holder.events if e["e"] == "heartbeat"][-1]


class Pausing(threading.Thread):
    """A holder in this process that writes the same rows as the Java client."""

    def __init__(self, endpoint, group, options):
        super().__init__(daemon=True)
        self._endpoint, self._group, self._options = endpoint, group, options
        self._ends = threading.Event()
        self._version = None
        self._at = 0
        self._write("attribute_not_exists(#k)")
        self.start()

    def _write(self, condition, **values):
        version = str(uuid.uuid4())
        call(self._endpoint, "UpdateItem", Key={"key": {"S": self._group}}, ConditionExpression=condition,
             UpdateExpression="SET ownerName = :o, leaseDuration = :l, recordVersionNumber = :v",
             ExpressionAttributeNames={"#k": "key"} if "#k" in condition else {"#r": "recordVersionNumber"},
             ExpressionAttributeValues={":o": {"S": "pausing"}, ":l": {"S": str(self._options.lease)}, ":v": {"S": version},
                                        **values})
        self._version, self._at = version, time.monotonic_ns()

    def run(self):
        while not self._ends.wait(self._options.heartbeat / 1000):
            self._write("#r = :was", **{":was": {"S": self._version}})

    def die(self):
        self._ends.set()
        self.join()
        return self._at, time.monotonic_ns()

    def version(self):
        return self._version


class Tenure:
    """A process of `tenure run`: the candidate that takes over, or a holder."""

    def __init__(self, endpoint, group, options, directory, name):
        path = directory / f"{group}-{name}.yaml"
        path.write_text(YAML.format(group=group, name=name, lease=options.lease, heartbeat=options.heartbeat, endpoint=endpoint))
        self._process = subprocess.Popen([options.tenure, "run", "--config", path, "--", "sleep", "1000000"],
                                         env=dynamodb_server.environment(endpoint), stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self._elected = threading.Event()
        self.elected_at = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stderr:
            if ": elected with" in line:
                self.elected_at = time.monotonic_ns()
                self._elected.set()

    def await_elected(self, patience=60):
        if not self._elected.wait(patience):
            raise RuntimeError("tenure was not elected")

    def kill(self):
        self._process.kill()
        self._process.wait()


class OwnTenure(Tenure):
    """`tenure run` as a holder. It does not report its heartbeats, so they are read from the record."""

    def __init__(self, endpoint, group, options, directory):
        super().__init__(endpoint, group, options, directory, "holder")
        self._endpoint, self._group = endpoint, group
        self._seen = (None, 0)
        self._dead = threading.Event()
        self.await_elected()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()

    def version(self):
        return self._seen[0]

    def _look(self):
        while not self._dead.wait(0.004):
            version = version_of(self._endpoint, self._group)
            if version != self._seen[0]:
                self._seen = (version, time.monotonic_ns())

    def die(self):
        self.kill()
        dead = time.monotonic_ns()
        self._dead.set()
        self._watch.join()
        return self._seen[1], dead


def version_of(endpoint, group):
    item = call(endpoint, "GetItem", Key={"key": {"S": group}}, ConsistentRead=True).get("Item")
    return item["recordVersionNumber"]["S"] if item else None


def one(kind, number, endpoint, proxy, options, directory, chance):
    """The milliseconds from the end of the lease to the takeover."""
    group = f"{kind}-{number}"
    if kind == "Java":
        holder = Java(endpoint, group, options)
    elif kind == "pausing":
        holder = Pausing(endpoint, group, options)
    else:
        holder = OwnTenure(endpoint, group, options, directory)
    beat = options.heartbeat / 1000
    time.sleep(beat * (1 + chance.random()))
    candidate = Tenure(proxy.endpoint, group, options, directory, "candidate")
    try:
        time.sleep(beat * (options.beats + chance.random()))
        last, dead = holder.die()
        if version_of(endpoint, group) != holder.version():
            last = dead  # the holder wrote once more, and died before it reported the reply
        candidate.await_elected()
        return (candidate.elected_at - last) / 1e6 - options.lease
    finally:
        candidate.kill()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]


def measure(kind, endpoint, options, directory):
    results, faults = [], []
    lock = threading.Lock()
    numbers = iter(range(options.rounds))

    def work(seed):
        chance = random.Random(seed)
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            try:
                excess = one(kind, number, endpoint, proxy, options, directory, chance)
                with lock:
                    results.append(excess)
            except Exception as fault:  # raised below; the other rounds go on
                with lock:
                    faults.append(fault)

    with FaultProxy(endpoint) as proxy:
        workers = [threading.Thread(target=work, args=(f"{options.seed}/{kind}/{n}",)) for n in range(options.at_once)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    if faults:
        raise faults[0]
    return results


def looks_per_heartbeat(kind, endpoint, options, directory):
    """The reads for each heartbeat of one candidate that waits behind one holder for three heartbeats a round."""
    counted = 3 * options.rounds
    group = f"{kind}-looks"
    with FaultProxy(endpoint) as proxy:
        holder = {"Java": Java, "pausing": Pausing}[kind](endpoint, group, options) if kind != "tenure" else OwnTenure(
            endpoint, group, options, directory)
        candidate = Tenure(proxy.endpoint, group, options, directory, "candidate")
        try:
            time.sleep(options.heartbeat / 1000 * (options.beats + 2))
            proxy.forget()
            time.sleep(options.heartbeat / 1000 * counted)
            return sum(e["operation"] == "GetItem" for e in proxy.log()) / counted
        finally:
            candidate.kill()
            holder.die()


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench takeover", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenure", required=True, help="the program")
    parser.add_argument("--rounds", type=int, default=20, help="deaths of each holder (default %(default)s)")
    parser.add_argument("--at-once", type=int, default=4, help="groups beside each other (default %(default)s)")
    parser.add_argument("--beats", type=int, default=8, help="heartbeats that the candidate sees (default %(default)s)")
    parser.add_argument("--lease", type=int, default=2000)
    parser.add_argument("--heartbeat", type=int, default=500)
    parser.add_argument("--holders", nargs="+", default=["Java", "pausing", "tenure"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="a file for the figures")
    options = parser.parse_args()
    endpoint = os.environ[dynamodb_server.ENDPOINT]
    call(endpoint, "CreateTable", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
         AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}])
    figures = {}
    holds = True
    with tempfile.TemporaryDirectory(prefix="tenure-takeover.") as name:
        for kind in options.holders:
            excess = measure(kind, endpoint, options, pathlib.Path(name))
            seen = {"p50": percentile(excess, 50), "p99": percentile(excess, 99),
                    "looks": looks_per_heartbeat(kind, endpoint, options, pathlib.Path(name))}
            figures[kind] = {**seen, "least": min(excess), "n": len(excess)}
            print(f"takeover from {kind}, {len(excess)} deaths: over the lease p50 {seen['p50']:.0f} ms, p99 {seen['p99']:.0f} ms, "
                  f"least {min(excess):.0f} ms; {seen['looks']:.2f} looks a heartbeat", flush=True)
            for figure, bound in BOUNDS.items():
                ok = seen[figure] <= bound
                holds = holds and ok
                print(f"  {'ok    ' if ok else 'MISSED'} {figure} {seen[figure]:.2f}, bound {bound}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
