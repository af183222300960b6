"""Faults of servers, and of what lies between the candidates and them."""

import threading

from cgroups import Unavailable
from process_faults import Fault


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


class Rejection(SwitchFault):
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
