"""The acts of `scripts/demo --zombie`: a leader is frozen between its check and its write, and wakes after the takeover."""

import os
import signal
import sqlite3
import sys

import demo_run
import freezing
import redis_server

RESOURCES = ("SQLite", "file", "Redis")
UNFENCED = "unfenced file"


class Zombie(demo_run.Demo):
    LEDGER = ""  # these candidates get the directory instead
    LANES = (*RESOURCES, UNFENCED)
    FREEZE_NOTE = "between its check and its write"
    PATIENCE_S = 60

    def __init__(self, options, directory):
        self.redis = redis_server.RedisServer(directory)
        super().__init__(options, directory)
        self.zombie, self.token_of_zombie = None, 0
        self.contents = {}

    def acts(self):
        return self.first_election, self.freeze_in_the_write, self.wake, self.end

    def freeze_in_the_write(self):
        self.zombie, self.token_of_zombie = self.leader, self.token
        print("\nThe leader checks that it leads, and is frozen before it writes. Its successor comes and writes.")
        self.let_it_stop_itself()
        while freezing.has_write_lock(os.path.join(self.directory, "leases.db"), self.zombie.process.pid):
            self.zombie.process.send_signal(signal.SIGCONT)  # its heartbeat was in a transaction
            self.let_it_stop_itself()
        self.zombie.faults.append((demo_run.now_ns(), "SIGSTOP"))
        self.say(f"{self.zombie.name} is frozen between its check and its write, with token {self.token_of_zombie}", "31")
        self.await_next(self.token_of_zombie, self.PATIENCE_S)
        self.wait(lambda: self.resources_of(self.leader, "wrote", self.token) >= set(RESOURCES), self.PATIENCE_S,
                  "the successor's writes")
        self.say(f"{self.leader.name} has written to {', '.join(RESOURCES)} with token {self.token}", "32")
        self.run_for(1.0)

    def let_it_stop_itself(self):
        with open(os.path.join(self.directory, "freeze"), "w", encoding="utf-8"):
            pass  # the leader removes it after its check, and stops itself
        os.waitid(os.P_PID, self.zombie.process.pid, os.WSTOPPED)

    def wake(self):
        print("\nIt wakes, and goes on where it was: it has checked, so it writes.")
        self.zombie.send(signal.SIGCONT, "SIGCONT")
        self.say(f"SIGCONT for {self.zombie.name}", "31")
        self.wait(lambda: self.resources_of(self.zombie, "refused", self.token_of_zombie) == set(RESOURCES), self.PATIENCE_S,
                  "the refusals")
        self.run_for(2.0)

    @staticmethod
    def resources_of(candidate, kind, token):
        return {e["resource"] for e in candidate.events if e["e"] == kind and e["token"] == token}

    def abort(self):
        super().abort()
        self.redis.end()

    def end(self):
        super().end()
        self.contents = self.read()

    def read(self):
        """Independent readers: the lines of each resource in the order in which the resource accepted them."""
        def lines_of(name):
            with open(os.path.join(self.directory, name), encoding="utf-8") as file:
                return file.read().splitlines()

        with sqlite3.connect(os.path.join(self.directory, "ledger.db")) as database:
            rows = [line for line, in database.execute("SELECT line FROM ledger ORDER BY rowid")]
        return {"SQLite": rows, "file": lines_of("ledger.log"), "Redis": self.redis.ask("LRANGE", "ledger", "0", "-1"),
                UNFENCED: lines_of("unfenced.log")}


def stale_in(lines):
    highest, stale = 0, 0
    for line in lines:
        token = int(line.split(" ")[0])
        stale += token < highest
        highest = max(highest, token)
    return stale


def verdict(demo, terms):
    contents = demo.contents
    refused = {r: sum(e["e"] == "refused" and e["resource"] == r for c in demo.candidates for e in c.events)
               for r in RESOURCES}
    stale = {name: stale_in(lines) for name, lines in contents.items()}
    overlaps = demo_run.overlaps_of(terms)
    print("\nVerdict")
    print(f"  terms                    {len(terms)}, fencing tokens {', '.join(str(term[1]) for term in terms)}")
    for name in RESOURCES:
        print(f"  {name:<24} {len(contents[name])} writes, {refused[name]} stale refused, {stale[name]} stale accepted")
    print(f"  {'the same without a fence':<24} {len(contents[UNFENCED])} writes, {stale[UNFENCED]} stale accepted")
    print(f"  two leaders at once      {len(overlaps)} times")
    # If no stale write was tried, or the file without a fence has none, the demo has shown nothing. On a busy machine a
    # leader may lose its term; that is no fault of a fence.
    good = (not overlaps and len(terms) >= 2 and stale[UNFENCED] > 0
            and all(refused[name] > 0 and stale[name] == 0 and contents[name] for name in RESOURCES))
    text = "each fence refused what the file without one took" if good else "FAILED"
    print("  => " + (f"\x1b[{32 if good else 31}m{text}\x1b[0m" if demo_run.COLOURS else text))
    return good


if __name__ == "__main__":
    sys.exit(demo_run.main(Zombie, verdict))
