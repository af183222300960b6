"""The faults of scripts/chaos, and the plan of a run: which fault, when, on which process, and for how long. The plan
follows from its seed alone; which process "the leader" is, is decided when the fault begins."""

import random
import signal
import threading
import time

import cgroups
from cgroups import CpuQuota, Freezer, Unavailable
from processes import now
from verdict import SECOND

MOST_IMPAIRED = 2  # at once, of five: there is always a candidate that can be elected
RESTART_S = (0.0, 2.0)


class Fault:
    """One kind. `stores`: where it exists, None: everywhere; `on_process`: it needs a victim."""
    stores = None
    on_process = True
    weight = 2
    leases = (0.0, 0.0)  # how long, in leases

    def why_not(self):
        """None, or why this machine cannot do it."""
        return None

    def begin(self, fleet, victim, seconds):
        raise NotImplementedError


class Kill(Fault):
    """SIGKILL; another process of that name comes up to 2 s later"""

    def begin(self, fleet, victim, seconds):
        fleet.kill(victim, restart_after=seconds)

    leases = (0.0, 1.0)


class Freeze(Fault):
    """SIGSTOP for 0.1 to 3 leases, then SIGCONT"""
    weight = 5
    leases = (0.1, 3.0)

    def begin(self, fleet, victim, seconds):
        fleet.freeze(victim, seconds)


class FreezeGroup(Fault):
    """the freezer of a control group for 0.1 to 3 leases: the process is not even told"""
    leases = (0.1, 3.0)

    def why_not(self):
        return cgroups.why_not(Freezer)

    def begin(self, fleet, victim, seconds):
        group = Freezer()
        process = victim.process
        group.add(process.pid)
        group.freeze()
        fleet.mark_frozen(process, "freezer")

        def thaw():
            group.close()
            fleet.mark_thawed(process)
        fleet.note("freezer", victim, seconds)
        fleet.after(seconds, thaw, always=True)


class Quota(Fault):
    """2 % of one processor for up to 2 leases"""
    leases = (0.5, 2.0)

    def why_not(self):
        return cgroups.why_not(lambda: CpuQuota(2))

    def begin(self, fleet, victim, seconds):
        group = CpuQuota(2)
        group.add(victim.process.pid)
        fleet.note("CPU 2 %", victim, seconds)
        fleet.after(seconds, group.close, always=True)


class Stop(Fault):
    """SIGTERM: the job ends, the lease is released; another process of that name comes up to 2 s later"""
    leases = (0.0, 1.0)

    def begin(self, fleet, victim, seconds):
        fleet.stop(victim, restart_after=seconds)


class Storm(Fault):
    """SIGUSR1 without pause for a second, to a process that does not restart interrupted calls"""
    leases = (0.5, 0.5)

    def begin(self, fleet, victim, seconds):
        process = victim.process
        end = time.monotonic() + seconds
        fleet.note("SIGUSR1 storm", victim, seconds)

        def storm():
            while time.monotonic() < end and process.is_alive():
                try:
                    process.send(signal.SIGUSR1)
                except OSError:
                    return  # it ended just now
                time.sleep(0.0005)
        threading.Thread(target=storm, daemon=True).start()


class DeleteRecord(Fault):
    """the lease's record is deleted under its holder"""
    on_process = False
    weight = 1

    def begin(self, fleet, victim, seconds):
        # A newcomer that never saw the holder may be elected before the holder notices (docs/how-it-works.md, records
        # that vanish): that is a documented limit, and not tested here.
        if fleet.ongoing or not fleet.all_know_the_leader():
            raise Unavailable("a candidate has not seen the leader yet")
        # Candidates wait for a vanished record's lease from the time when it vanished. If nobody leads, this would be
        # added to the wait for the silent leader, but the bound for times without a leader covers only one wait.
        if not fleet.leader or not fleet.leader.process.told("led", now() - SECOND // 5):
            raise Unavailable("nobody leads just now")
        fleet.hold_starts(1.5)
        if not fleet.store.delete_record():
            raise Unavailable("the database is locked")
        fleet.note("record deleted")


class Lock(Fault):
    """somebody else holds the write lock of the database for up to 1.5 leases: no renewal, no election"""
    stores = ("sqlite",)
    on_process = False
    weight = 1
    leases = (0.1, 1.5)

    def begin(self, fleet, victim, seconds):
        if fleet.ongoing or not fleet.store.lock():
            raise Unavailable("the database is locked, or cannot be asked")
        fleet.note("database locked", seconds=seconds)
        fleet.block("the database was locked", True)

        def unlock():
            fleet.store.unlock()
            fleet.block("the database was locked", False)
        fleet.after(seconds, unlock, always=True)


class LockedRow(Lock):
    """somebody else has locked the lease's row for up to 1.5 leases: no renewal, no election"""
    stores = ("postgresql",)


class ServerFault(Fault):
    """Something at the server, or between the candidates and it, for a while."""
    stores = ("postgresql",)
    on_process = False
    leases = (0.3, 2.0)
    name = ""
    blocks = True  # nobody can be elected meanwhile

    def start(self, store):
        raise NotImplementedError

    def end(self, store):
        """Undoes it."""

    def begin(self, fleet, victim, seconds):
        if fleet.ongoing:
            raise Unavailable("another one goes on")
        fleet.note(self.name, seconds=seconds)
        fleet.ongoing.add(self.name)
        if self.blocks:
            fleet.block(self.name, True)
        self.start(fleet.store)

        def over():
            self.end(fleet.store)
            self.finish(fleet)
        fleet.after(seconds, over, always=True)

    def finish(self, fleet):
        fleet.ongoing.discard(self.name)
        fleet.block(self.name, False)


class SwitchFault(ServerFault):
    """Between the candidates and all servers."""
    stores = ("postgresql", "etcd")

    def start(self, store):
        for switch in store.switches:
            self.disturb(switch)

    def end(self, store):
        for switch in store.switches:
            self.mend(switch)

    def disturb(self, switch):
        raise NotImplementedError

    def mend(self, switch):
        raise NotImplementedError


class LoseAnswers(SwitchFault):
    """a third of what the server sends is lost together with the connection, though it was committed"""
    name, weight = "answers lost", 4
    leases = (1.0, 3.0)

    def disturb(self, switch):
        switch.lose_replies(0.3)

    def mend(self, switch):
        switch.lose_replies(0.0)


class LateAnswers(SwitchFault):
    """answers come up to 0.2 s late"""
    name, blocks = "late answers", False
    leases = (1.0, 3.0)

    def disturb(self, switch):
        switch.delay_replies(0.2)

    def mend(self, switch):
        switch.delay_replies(0.0)


class Silence(SwitchFault):
    """connections stay open and nothing gets through for up to 2 leases"""
    name = "silence"

    def disturb(self, switch):
        switch.silence()

    def mend(self, switch):
        switch.speak()


class Refusal(SwitchFault):
    """all connections are reset, and new ones are refused for up to 2 leases"""
    name = "refused connections"

    def disturb(self, switch):
        switch.refuse()
        switch.cut()

    def mend(self, switch):
        switch.refuse(False)


class FrozenServer(ServerFault):
    """SIGSTOP for every process of the server, for up to 2 leases"""
    name = "server frozen"

    def start(self, store):
        store.server.freeze()

    def end(self, store):
        store.server.thaw()


class ReadOnly(ServerFault):
    """the server takes no writes for up to 2 leases (default_transaction_read_only)"""
    name = "read-only"

    def start(self, store):
        store.server.set("default_transaction_read_only", "on")

    def end(self, store):
        store.server.set("default_transaction_read_only", "off")


class ServerCrash(ServerFault):
    """PostgreSQL ends at once and is started again up to a lease later"""
    name, weight = "server crash", 1
    leases = (0.0, 1.0)

    def start(self, store):
        store.server.crash()

    def end(self, store):
        store.server.start()


class EndedSessions(ServerFault):
    """pg_terminate_backend for all sessions of the candidates"""
    name, blocks = "sessions ended", False
    leases = (0.0, 0.0)

    def start(self, store):
        store.end_sessions()


class MemberKilled(ServerFault):
    """SIGKILL for the member that leads the cluster, which is started again up to 2 leases later"""
    stores = ("etcd",)
    name, count = "member killed", 1

    def begin(self, fleet, victim, seconds):
        if not fleet.store.serves():
            raise Unavailable("the cluster has no leader")
        super().begin(fleet, victim, seconds)
        self.when_served(fleet, lambda: fleet.block(self.name, False))

    def finish(self, fleet):
        self.when_served(fleet, lambda: super(MemberKilled, self).finish(fleet))

    @staticmethod
    def when_served(fleet, what):
        """The cluster chooses a leader anew, before the fault is over or after it, and nobody can be elected meanwhile."""
        served = threading.Event()
        threading.Thread(target=fleet.store.await_service, args=(served,), daemon=True).start()

        def look():
            if served.is_set():
                what()
            else:
                fleet.after(0.02, look)
        look()

    def start(self, store):
        self.victims = store.members(self.count)
        for member in self.victims:
            member.kill()

    def end(self, store):
        for member in self.victims:
            member.start(wait=False)


class MemberFrozen(MemberKilled):
    """SIGSTOP for the member that leads the cluster, for up to 2 leases"""
    name = "member frozen"

    def start(self, store):
        self.victims = store.members(self.count)
        for member in self.victims:
            member.freeze()

    def end(self, store):
        for member in self.victims:
            member.thaw()


class QuorumKilled(MemberKilled):
    """SIGKILL for two of the three members"""
    name, weight, count = "quorum killed", 1, 2


class QuorumFrozen(MemberFrozen):
    """SIGSTOP for two of the three members"""
    name, weight, count = "quorum frozen", 1, 2


class FullDatabase(ServerFault):
    """the alarm NOSPACE: no write for up to 2 leases"""
    stores = ("etcd",)
    name, weight = "database full", 1

    def begin(self, fleet, victim, seconds):
        if not fleet.store.serves():
            raise Unavailable("the cluster has no leader")
        super().begin(fleet, victim, seconds)

    def start(self, store):
        store.refuse_writes(True)

    def end(self, store):
        store.refuse_writes(False)


class ProxyFault(Fault):
    """Rules of the fault proxy for a while."""
    stores = ("dynamodb",)
    on_process = False
    leases = (1.0, 3.0)
    name = ""
    rules = ()
    blocks = False  # nobody can be elected meanwhile

    def begin(self, fleet, victim, seconds):
        fleet.note(self.name, seconds=seconds)
        fleet.proxy_rules(self.name, self.rules)
        if self.blocks:
            fleet.block(self.name, True)

        def over():
            fleet.proxy_rules(self.name, ())
            fleet.block(self.name, False)
        fleet.after(seconds, over, always=True)


class LoseReplies(ProxyFault):
    """half of all writes are applied and their replies lost"""
    name, weight = "replies lost", 4
    rules = ({"action": "drop_after", "operation": ["UpdateItem", "TransactWriteItems"], "probability": 0.5},)


class LoseRequests(ProxyFault):
    """a quarter of all requests never arrives"""
    name = "requests lost"
    rules = ({"action": "drop_before", "probability": 0.25, "reset": True},)


class Delay(ProxyFault):
    """half of the requests come up to a heartbeat late, half of the replies too"""
    name = "delays"
    rules = ({"action": "delay", "seconds": 0.05, "probability": 0.5}, {"action": "delay", "seconds": 0.2, "probability": 0.25},
             {"action": "delay", "seconds": 0.2, "when": "after", "probability": 0.25})


class Errors(ProxyFault):
    """server errors (some of them though the write was applied) and throttling"""
    name = "errors"
    rules = ({"action": "error", "name": "InternalServerError", "probability": 0.15},
             {"action": "error", "name": "ServiceUnavailable", "apply": True, "probability": 0.15},
             {"action": "error", "name": "ProvisionedThroughputExceededException", "probability": 0.15})


class Twice(ProxyFault):
    """writes arrive twice, or two leases late though their sender has gone"""
    name = "duplicates and latecomers"
    rules = ({"action": "duplicate", "operation": ["UpdateItem", "TransactWriteItems"], "seconds": 0.3, "probability": 0.3},
             {"action": "hold", "operation": ["UpdateItem", "TransactWriteItems"], "seconds": 4, "close": True,
              "probability": 0.2})


class Cut(ProxyFault):
    """replies that end, or stand still, in the middle"""
    name = "replies cut"
    rules = ({"action": "cut", "probability": 0.2}, {"action": "stall", "seconds": 3, "probability": 0.1})


class Outage(ProxyFault):
    """no request is answered for up to 2 leases"""
    name, weight, blocks = "outage", 1, True
    leases = (0.3, 2.0)
    rules = ({"action": "drop_before", "reset": True},)


KINDS = {"kill": Kill, "freeze": Freeze, "freezer": FreezeGroup, "cpu": Quota, "stop": Stop, "signals": Storm,
         "record": DeleteRecord, "lock": Lock, "replies": LoseReplies, "requests": LoseRequests, "delay": Delay,
         "errors": Errors, "twice": Twice, "cut": Cut, "outage": Outage, "row": LockedRow, "answers": LoseAnswers,
         "late": LateAnswers, "silence": Silence, "refused": Refusal, "frozen": FrozenServer, "readonly": ReadOnly,
         "crash": ServerCrash, "sessions": EndedSessions, "member": MemberKilled,
         "memberfrozen": MemberFrozen, "quorum": QuorumKilled, "quorumfrozen": QuorumFrozen, "full": FullDatabase}


def kinds_for(store):
    return [name for name, kind in KINDS.items() if kind.stores is None or store in kind.stores]


def plan(seed, seconds, names, lease_s):
    """[{at, fault, victim: "leader" or a number to choose by, seconds}], by time."""
    dice = random.Random(f"{seed}:{','.join(sorted(names))}")
    kinds = sorted(names)
    weights = [KINDS[name].weight for name in kinds]
    entries, at = [], 2.0
    while at < seconds - 1:
        name = dice.choices(kinds, weights)[0]
        low, high = KINDS[name].leases
        entries.append({"at": round(at, 3), "fault": name,
                        "victim": "leader" if dice.random() < 0.7 else round(dice.random(), 4),
                        "seconds": round(dice.uniform(low, high) * lease_s, 3)})
        at += dice.uniform(0.3, 2.0) * lease_s
    return entries


def jepsen_plan(seed, seconds, lease_s):
    """A pause of the leader every 5 s."""
    dice = random.Random(seed)
    return [{"at": float(at), "fault": "freeze", "victim": "leader", "seconds": round(dice.uniform(0.5, 2.0) * lease_s, 3)}
            for at in range(5, int(seconds), 5)]


def carry_out(fleet, entry):
    """False if it is impossible now: the victim is frozen or gone already, or too many are."""
    fault = KINDS[entry["fault"]]()
    victim = None
    if fault.on_process:
        victim = choose_victim(fleet, entry["victim"])
        if victim is None:
            return False
    try:
        fault.begin(fleet, victim, entry["seconds"])
    except Unavailable:
        return False
    return True


def choose_victim(fleet, whom):
    whole = [c for c in fleet.candidates if c.process.is_alive() and c.process.is_ready() and
             not c.process.frozen_by and c.restart_at is None]
    if len(whole) <= len(fleet.candidates) - MOST_IMPAIRED:
        return None
    if whom == "leader":
        return fleet.leader if fleet.leader in whole else None
    return whole[int(whom * len(whole))]
