"""Directs the demo: starts the candidates, brings the faults, reads the ledger, draws the picture, gives a verdict."""

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import freezing
import store_kinds
import timeline

LEASE_S = 2.0
YAML = """# One file for all candidates of this demo.
group: demo-ledger
candidate: {{ id: "${{DEMO_CANDIDATE}}" }}
lease: {{ duration: 2s, heartbeat: 500ms }}
store: {store}
log: {{ level: "off" }}
"""


PROVEN = "The kernel drops the lock on its liveness file: that is proof of its end."
UNPROVEN = "Nobody elsewhere can know why it is silent: only the lease can decide."

COLOURS = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Candidate:
    """One process. It writes what it does into its events file, which survives a SIGKILL."""

    def __init__(self, name, program, config, ledger, directory):
        self.name = name
        self.events_path = os.path.join(directory, name + ".events")
        self.events = []
        self._read = 0
        environment = dict(os.environ, DEMO_CANDIDATE=name)
        self.process = subprocess.Popen([program, config, ledger, self.events_path], env=environment)
        self.faults = []  # (time, what)
        self.frozen_since = None

    def poll(self):
        """New events since the last call."""
        try:
            with open(self.events_path, "rb") as file:
                file.seek(self._read)
                data = file.read()
        except FileNotFoundError:
            return []
        end = data.rfind(b"\n") + 1
        self._read += end
        new = [json.loads(line) for line in data[:end].splitlines()]
        self.events += new
        return new

    def send(self, which, what):
        os.kill(self.process.pid, which)
        self.faults.append((now_ns(), what))


class Demo:
    LEDGER = "ledger.db"
    LANES = ()  # resources whose writes the picture shows
    FREEZE_NOTE = ""  # what the picture says of a freeze in addition to its length
    PATIENCE_S = 10  # how long to wait for an election; a busy machine may be slow

    def __init__(self, options, directory):
        self.directory = directory
        self.ledger = os.path.join(directory, self.LEDGER)
        self.config = os.path.join(directory, "group.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            store = store_kinds.section(options.store, directory)
            file.write(YAML.format(store=store))
        self.proof = PROVEN if store_kinds.proves_deaths(options.store, store) else UNPROVEN
        self.started = now_ns()
        self.candidates = [
            Candidate(f"candidate-{i + 1}", options.candidate, self.config, self.ledger, directory)
            for i in range(options.candidates)
        ]
        self.leader = None
        self.token = 0
        self.pages = {}  # addresses by candidate

    def say(self, text, colour=None):
        seconds = (now_ns() - self.started) / 1e9
        if COLOURS and colour:
            text = f"\x1b[{colour}m{text}\x1b[0m"
        print(f"  {seconds:6.2f} s  {text}", flush=True)

    def tell(self):
        """Reads and prints what the candidates did."""
        for candidate in self.candidates:
            for event in candidate.poll():
                kind = event["e"]
                if kind == "page":
                    self.pages[candidate.name] = event["address"]
                elif kind == "elected":
                    self.leader, self.token = candidate, event["token"]
                    self.say(f"{candidate.name} is elected with fencing token {event['token']}", "32")
                elif kind == "revoked":
                    self.say(f"{candidate.name} is revoked ({event['reason']}), token {event['token']}", "33")
                elif kind == "refused":
                    self.say(
                        f"the fence{' of ' + event['resource'] if 'resource' in event else ''} refuses a stale write of "
                        f"{candidate.name}: token {event['token']}, the ledger has seen {event['seen']}", "36")
                elif kind == "doubt":
                    self.say(f"{candidate.name} is in doubt: {event['error']}", "33")

    def wait(self, condition, seconds, what):
        deadline = now_ns() + int(seconds * 1e9)
        while not condition():
            if now_ns() > deadline:
                raise TimeoutError(f"waited {seconds:.0f} s for {what}")
            time.sleep(0.005)
            self.tell()

    def run_for(self, seconds):
        deadline = now_ns() + int(seconds * 1e9)
        self.wait(lambda: now_ns() >= deadline, seconds + 1, "time to pass")

    def await_next(self, token, seconds):
        self.wait(lambda: self.token > token, seconds, "a new leader")

    # -- the acts ---------------------------------------------------------------------------------------------------

    def acts(self):
        return self.first_election, self.kill_leader, self.freeze_leader, self.stop_leader, self.end

    def first_election(self):
        print(f"\nFive processes, one lease of {LEASE_S:.0f} s:" if len(self.candidates) == 5 else
              f"\n{len(self.candidates)} processes, one lease of {LEASE_S:.0f} s:")
        self.await_next(0, self.PATIENCE_S)
        self.show_pages()
        self.run_for(2.5)

    def show_pages(self):
        """Each candidate serves what it knows until it ends."""
        self.wait(lambda: len(self.pages) == len(self.candidates), self.PATIENCE_S, "the pages")
        print("  To be looked at in a browser meanwhile:")
        for name, address in sorted(self.pages.items()):
            print(f"    {name}  {address}", flush=True)

    def kill_leader(self):
        victim, token = self.leader, self.token
        print(f"\nThe leader is killed with SIGKILL. {self.proof}")
        victim.send(signal.SIGKILL, "SIGKILL")
        self.say(f"SIGKILL for {victim.name}", "31")
        self.await_next(token, 10)
        self.run_for(2.5)

    def freeze_leader(self):
        victim, token = self.leader, self.token
        print("\nThe next one is frozen with SIGSTOP for 1.5 leases. It is not dead: only the lease can decide.")
        freezing.freeze(victim.process.pid, [os.path.join(self.directory, "leases.db")])
        victim.faults.append((now_ns(), "SIGSTOP"))
        self.say(f"SIGSTOP for {victim.name}", "31")
        until = now_ns() + int(1.5 * LEASE_S * 1e9)
        self.await_next(token, 10)
        self.wait(lambda: now_ns() >= until, 10, "the end of the freeze")
        refused_before = sum(e["e"] == "refused" for e in victim.events)
        victim.send(signal.SIGCONT, "SIGCONT")
        self.say(f"SIGCONT for {victim.name}, which still holds its old token {token}", "31")
        self.wait(lambda: sum(e["e"] == "refused" for e in victim.events) > refused_before, 10, "the stale write")
        self.run_for(2.0)

    def stop_leader(self):
        victim, token = self.leader, self.token
        print("\nThe next one is stopped politely with SIGTERM: its job ends first, then it releases the lease.")
        victim.send(signal.SIGTERM, "SIGTERM")
        self.say(f"SIGTERM for {victim.name}", "31")
        self.await_next(token, 10)
        self.run_for(2.0)

    def end(self):
        print("\nThe end: all others are stopped.")
        for candidate in self.candidates:
            if candidate.process.poll() is None:
                candidate.send(signal.SIGTERM, "SIGTERM")
        for candidate in self.candidates:
            candidate.process.wait(timeout=20)
        self.tell()
        self.ended = now_ns()

    def abort(self):
        for candidate in self.candidates:
            if candidate.process.poll() is None:
                candidate.process.send_signal(signal.SIGCONT)
                candidate.process.kill()
                candidate.process.wait()


def terms_of(demo):
    """(candidate, token, elected, ended, last instant at which isLeader() was seen true), in the order of election."""
    terms = []
    for candidate in demo.candidates:
        kills = [at for at, what in candidate.faults if what == "SIGKILL"]
        for event in candidate.events:
            if event["e"] != "elected":
                continue
            token = event["token"]
            led = [e["t"] for e in candidate.events if e["e"] == "led" and e["token"] == token]
            revoked = [e["t"] for e in candidate.events if e["e"] == "revoked" and e["token"] == token]
            # A frozen process cannot act. So its term ends with the last instant at which it saw isLeader() true, or
            # with the announcement if that came while the process ran.
            last = max(led, default=event["t"])
            ended = min(revoked + kills + [demo.ended], default=demo.ended)
            terms.append((candidate, token, event["t"], ended, last))
    return sorted(terms, key=lambda term: term[2])


def overlaps_of(terms):
    """Pairs of terms in which the later one began while the earlier one's isLeader() was still seen true."""
    return [(a, b) for i, a in enumerate(terms) for b in terms[i + 1:] if a[0] is not b[0] and b[2] <= a[4]]


def audit(path):
    """An independent reader: rows in the order in which SQLite accepted them."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        rows = database.execute("SELECT token, holder FROM ledger ORDER BY id").fetchall()
    highest, stale = 0, 0
    owners = {}
    for token, holder in rows:
        stale += token < highest or owners.setdefault(token, holder) != holder
        highest = max(highest, token)
    return len(rows), stale, sorted(owners)


def verdict(demo, terms):
    rows, stale, ledger_tokens = audit(demo.ledger)
    refused = sum(e["e"] == "refused" for c in demo.candidates for e in c.events)
    overlaps = overlaps_of(terms)
    tokens = [term[1] for term in terms]
    rising = all(a < b for a, b in zip(tokens, tokens[1:]))
    gaps = []
    for before, after in zip(terms, terms[1:]):
        faults = [(at, what) for at, what in before[0].faults if what != "SIGCONT" and before[2] < at < after[2]]
        cause = faults[-1] if faults else (before[3], "revoked")
        gaps.append((before[1], after[1], cause[1], (after[2] - cause[0]) / 1e6))

    print("\nVerdict")
    print(f"  terms                    {len(terms)}, fencing tokens {', '.join(map(str, tokens))}"
          f"{'' if rising else '  NOT RISING'}")
    for earlier, later, cause, millis in gaps:
        print(f"  {cause:<8} to successor    {millis:9.1f} ms   (term {earlier} -> {later})")
    print(f"  rows in the ledger       {rows}, of terms {', '.join(map(str, ledger_tokens))}")
    print(f"  stale writes             {refused + stale} attempted, {refused} refused, {stale} accepted")
    print(f"  two leaders at once      {len(overlaps)} times")
    unpaired = sum(abs(sum(e["e"] == "elected" for e in c.events) - sum(e["e"] == "revoked" for e in c.events))
                   for c in demo.candidates if not any(what == "SIGKILL" for _, what in c.faults))
    print(f"  onElected without its onRevoked: {unpaired}")
    # If no stale write was tried, or nothing was written, the demo has shown nothing.
    good = (not overlaps and stale == 0 and rising and unpaired == 0 and refused > 0 and rows > 0 and len(terms) == 4)
    text = "one leader at a time, no stale write accepted" if good else "FAILED"
    print("  => " + (f"\x1b[{32 if good else 31}m{text}\x1b[0m" if COLOURS else text))
    return good


def main(make=Demo, judge=verdict):
    parser = argparse.ArgumentParser(prog="scripts/demo")
    parser.add_argument("--candidate", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--store", choices=store_kinds.names(), default="sqlite")
    parser.add_argument("--candidates", type=int, default=5, metavar="N")
    parser.add_argument("--keep", metavar="DIR", help="keep the files of the run here")
    options = parser.parse_args()
    if not 4 <= options.candidates <= 20:
        parser.error("--candidates must be 4 to 20: three of them are taken out one after the other")
    directory = options.keep or tempfile.mkdtemp(prefix="tenure-demo-")
    os.makedirs(directory, exist_ok=True)
    random.seed()
    demo = make(options, directory)
    try:
        for act in demo.acts():
            act()
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        print(f"\nFAILED: {error}; the files are in {directory}", file=sys.stderr)
        return 1
    finally:
        demo.abort()
    terms = terms_of(demo)
    chart = timeline.Chart(demo, terms)
    print()
    print(chart.text(COLOURS))
    page = os.path.join(directory, "timeline.html")
    with open(page, "w", encoding="utf-8") as file:
        file.write(chart.html())
    good = judge(demo, terms)
    print(f"\n  The picture: {page}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
